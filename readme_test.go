package stillpoint_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// given declares what README.md's Go speaks of without saying where it is from.
const given = "ctx context.Context, schema *dataset.Schema"

// TestReadmeCompiles: the Go in README.md is Go, against the packages as they are.
// What it shows it need not use.
func TestReadmeCompiles(t *testing.T) {
	blocks := found(t, "README.md", "(?s)```go\n(.*?)```", 1)
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range blocks {
		var b strings.Builder
		b.WriteString("package stillpoint\n\nimport (\n\t\"context\"\n")
		for name := range layers {
			base := name[strings.LastIndex(name, "/")+1:]
			if base != "" && regexp.MustCompile(`\b`+base+`\.[A-Z]`).MatchString(given+block) {
				b.WriteString("\t\"" + module + "/" + name + "\"\n")
			}
		}
		b.WriteString(")\n\nfunc _(" + given + ") {\n" + block)
		for _, m := range regexp.MustCompile(`(?m)^(\w+), err :?=`).FindAllStringSubmatch(block, -1) {
			b.WriteString("_, _ = " + m[1] + ", err\n")
		}
		for _, m := range regexp.MustCompile(`(?m)^(\w+) :=`).FindAllStringSubmatch(block, -1) {
			b.WriteString("_ = " + m[1] + "\n")
		}
		b.WriteString("}\n")
		loaded, err := packages.Load(&packages.Config{
			Mode:    packages.NeedName | packages.NeedImports | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo,
			Overlay: map[string][]byte{filepath.Join(root, "readme.go"): []byte(b.String())},
		}, ".")
		if err != nil || len(loaded) != 1 || loaded[0].Types.Scope() == nil {
			t.Fatalf("%v, %v", loaded, err)
		}
		if len(loaded[0].Syntax) != 2 {
			t.Fatalf("%d files: the block was not looked at", len(loaded[0].Syntax))
		}
		for _, e := range loaded[0].Errors {
			t.Errorf("%v\n%s", e, b.String())
		}
	}
}
