package repotest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// generators are the functions and types of math/rand/v2 that code outside of tests may use: generators
// with a given seed. The package's other functions draw on the system's randomness, so that a run would not
// follow from its seeds.
var generators = []string{"New", "NewPCG", "NewChaCha8", "Rand", "PCG", "ChaCha8", "Source"}

// seedsOf lists, for each directory, the files below it that may create generators of random
// numbers. Other files below the directory draw random numbers only from what these files return.
var seedsOf = map[string][]string{
	"optimize": {"optimize/oracle.go"},
	"curator":  {"curator/internal/coin/stream.go"},
}

// unseeded lists the files that may draw a random number without a seed, with the reason.
var unseeded = map[string]string{
	"lab/draw/main.go":            "prints the seed that it draws, so that a draw can be repeated",
	"lab/mutants/main.go":         "prints the seed that it draws, so that a sample of defects can be repeated",
	"internal/durable/durable.go": "names a file that is renamed before anybody sees it",
}

// TestCoinsHaveSeeds: only the listed files may draw random numbers that do not follow from a seed. A run
// is then a function of its settings, its public seed and the released values. The test fails, for example,
// for rand.IntN in a plan, and for a generator of an optimizer's own.
func TestCoinsHaveSeeds(t *testing.T) {
	t.Chdir(root)
	files := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); name != "." && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") ||
				name == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files++
		for _, complaint := range coinsIn(t, filepath.ToSlash(path)) {
			t.Errorf("%s: %s", path, complaint)
		}
		return nil
	})
	if err != nil || files < 100 {
		t.Fatalf("%d files: %v", files, err)
	}
}

// coinsIn returns a complaint for each use of math/rand/v2 in a file that is not allowed there.
func coinsIn(t *testing.T, path string) (complaints []string) {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range f.Imports {
		imported, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if imported == "math/rand" {
			complaints = append(complaints, "imports math/rand")
		}
		if imported != "math/rand/v2" {
			continue
		}
		name := "rand"
		if i.Name != nil {
			name = i.Name.Name
		}
		if top, _, _ := strings.Cut(path, "/"); seedsOf[top] != nil && !strings.HasSuffix(filepath.Dir(path), "test") &&
			!slices.Contains(seedsOf[top], path) {
			complaints = append(complaints, "imports math/rand/v2: coins of "+top+" come from "+strings.Join(seedsOf[top], ", "))
		}
		if name == "." || unseeded[path] == "" {
			complaints = append(complaints, drawn(f, name)...)
		}
	}
	return complaints
}

// drawn lists the functions and types of a package that a file uses, except for those in
// generators.
func drawn(f *ast.File, name string) (list []string) {
	if name == "." {
		return []string{"imports math/rand/v2 as its own names"}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := s.X.(*ast.Ident); ok && x.Name == name && !slices.Contains(generators, s.Sel.Name) {
			list = append(list, "uses rand."+s.Sel.Name+": draws on no seed")
		}
		return true
	})
	return list
}
