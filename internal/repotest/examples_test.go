package repotest

import (
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// withoutExample lists the packages that need no example, with the reason.
var withoutExample = map[string]string{
	"internal/crashsafe": "takes away the crash reports of the whole process",
	"losstest":           "for tests alone",

	"curator/simulate/recordtest": "for tests and audits alone",
	"internal/recordedtest":       "for tests alone",

	"internal/budgetstore/budgettest": "for tests alone",
	"internal/budgetstore/sqlite":     "budget/stores opens it",
	"internal/budgetstore/postgres":   "budget/stores opens it, and it needs a server",
	// Programs. Their own tests run them.
	"examples/service": "a program",
	"examples/loss":    "a program",
	"tools/face":       "a program, whose work is internal/repotest/face",
	"tools/size":       "a program, whose work is internal/repotest/size",
}

// TestEveryPackageHasAnExample: each package that users import must have an example whose output is
// checked.
func TestEveryPackageHasAnExample(t *testing.T) {
	t.Chdir(root)
	for name := range layers {
		inner := strings.HasPrefix(name, "cmd/") || slices.Contains(strings.Split(name, "/"), "internal")
		if _, excused := withoutExample[name]; excused || inner {
			continue
		}
		files, err := filepath.Glob(filepath.Join(filepath.FromSlash(name), "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			found = found || slices.ContainsFunc(doc.Examples(file), func(e *doc.Example) bool { return e.Output != "" })
		}
		if !found {
			t.Errorf("%s: has no example with an output", name)
		}
	}
	for name := range withoutExample {
		if _, known := layers[name]; !known {
			t.Errorf("%q is excused and is no package", name)
		}
	}
}
