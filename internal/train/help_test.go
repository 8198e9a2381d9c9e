package train

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write comments.go from the doc comments of settings")

// sourceComments reads the doc comments of all struct fields with a YAML key from the source of package
// optimize and its algorithms. A field without a comment gets the comment of the field above it.
func sourceComments(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, dir := range []string{"", "choose", "firstorder", "onepass", "recursive", "kl", "nonsmooth", "secondorder"} {
		files, err := filepath.Glob(filepath.Join("..", "..", "optimize", dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				spec, ok := n.(*ast.TypeSpec)
				if !ok {
					return true
				}
				if s, ok := spec.Type.(*ast.StructType); ok {
					last := ""
					for _, f := range s.Fields.List {
						if f.Doc != nil {
							last = strings.Join(strings.Fields(f.Doc.Text()), " ")
						}
						if f.Tag == nil || !strings.Contains(f.Tag.Value, "yaml:") || strings.Contains(f.Tag.Value, inline) {
							continue
						}
						name := fmt.Sprint(f.Type)
						if len(f.Names) > 0 {
							name = f.Names[0].Name
						}
						found[file.Name.Name+"."+spec.Name.Name+"."+name] = last
					}
				}
				return true
			})
		}
	}
	return found
}

// TestHelpIsTheComments tests that the help of each setting is the doc comment of its field. With
// -rewrite the test writes comments.go instead.
func TestHelpIsTheComments(t *testing.T) {
	want := sourceComments(t)
	if *rewrite {
		var b bytes.Buffer
		b.WriteString("package train\n\n// comments are the doc comments of settings, written by\n//\n//\tgo test ./internal/train -run TestHelpIsTheComments -rewrite\nvar comments = map[string]string{\n")
		for _, name := range slices.Sorted(maps.Keys(want)) {
			fmt.Fprintf(&b, "%q: %q,\n", name, want[name])
		}
		b.WriteString("}\n")
		text, err := format.Source(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("comments.go", text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !maps.Equal(comments, want) {
		t.Error("comments.go is not what the settings' comments say: go test ./internal/train -run TestHelpIsTheComments -rewrite")
	}
	for _, name := range append(Algorithms(), selected) {
		for _, s := range HelpOf(name) {
			if s.Doc == "" {
				t.Errorf("%s: train.%s has no doc comment", name, s.Key)
			}
		}
	}
}
