package train

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write comments.txt from the doc comments of settings")

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
// -rewrite the test writes comments.txt instead.
func TestHelpIsTheComments(t *testing.T) {
	var lines []string
	for name, doc := range sourceComments(t) {
		lines = append(lines, name+" "+doc+"\n")
	}
	slices.Sort(lines)
	want := strings.Join(lines, "")
	if *rewrite {
		if err := os.WriteFile("comments.txt", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if comments != want {
		t.Error("comments.txt is not what the settings' comments say: go test ./internal/train -run TestHelpIsTheComments -rewrite")
	}
	for _, name := range append(Algorithms(), selected) {
		for _, s := range HelpOf(name) {
			if s.Doc == "" {
				t.Errorf("%s: train.%s has no doc comment", name, s.Key)
			}
		}
	}
}
