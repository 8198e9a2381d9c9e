package repotest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestAccountHasNoCircles: no two files of account or of account/mechanism may refer to each other in a
// circle, as docs/explanation/decisions/0045 states.
func TestAccountHasNoCircles(t *testing.T) {
	t.Chdir(root)
	for folder, least := range map[string]int{"account": 7, "account/mechanism": 75} {
		files := fileReferences(t, folder)
		count := 0
		for _, to := range files {
			count += len(to)
		}
		if count < least {
			t.Errorf("%s: %d references between files: the search for them is broken", folder, count)
		}
		if circle := circle(files); circle != nil {
			t.Errorf("%s: files refer to each other in a circle: %s", folder, strings.Join(circle, " -> "))
		}
	}
}

// TestCirclesAreFound: circle must find a circle of two and one of three files, and none in a graph
// without a circle.
func TestCirclesAreFound(t *testing.T) {
	for _, c := range []struct {
		files map[string][]string
		size  int
	}{
		{map[string][]string{"a": {"b", "c"}, "b": {"c"}}, 0},
		{map[string][]string{"a": {"b"}, "b": {"a"}}, 2},
		{map[string][]string{"a": {"b"}, "b": {"c", "d"}, "c": {"b", "a"}}, 2},
		{map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"a"}}, 3},
	} {
		if got := circle(c.files); max(len(got)-1, 0) != c.size {
			t.Errorf("%v: circle %v: must be of %d files", c.files, got, c.size)
		}
	}
}

// fileReferences returns, for each file of a package without its tests, the other files whose functions,
// methods, types, fields, variables or constants the file uses.
func fileReferences(t *testing.T, folder string) map[string][]string {
	t.Helper()
	paths, err := filepath.Glob(folder + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	var parsed []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, path, read(t, path), parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, file)
	}
	// Imports are not resolved. The type checker therefore reports an error for each use of an import, which
	// the test ignores. Names that the package itself declares are resolved all the same.
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Error: func(error) {}, Importer: noImports{}}
	own, _ := config.Check(folder, set, parsed, info)
	files := map[string]map[string]bool{}
	for used, object := range info.Uses {
		if object.Pkg() != own || !object.Pos().IsValid() {
			continue
		}
		from, to := set.Position(used.Pos()).Filename, set.Position(object.Pos()).Filename
		if from != to {
			if files[from] == nil {
				files[from] = map[string]bool{}
			}
			files[from][to] = true
		}
	}
	all := map[string][]string{}
	for from, to := range files {
		all[from] = slices.Sorted(maps.Keys(to))
	}
	return all
}

// noImports resolves every import to an empty package.
type noImports struct{}

func (noImports) Import(path string) (*types.Package, error) {
	p := types.NewPackage(path, path[strings.LastIndex(path, "/")+1:])
	p.MarkComplete()
	return p, nil
}

// circle returns files of which each refers to the next one and the last is the first, or nil if there is
// no circle.
func circle(files map[string][]string) []string {
	done := map[string]bool{}
	var walk func(path []string) []string
	walk = func(path []string) []string {
		last := path[len(path)-1]
		if i := slices.Index(path, last); i < len(path)-1 {
			return path[i:]
		}
		for _, next := range files[last] {
			if !done[next] {
				if found := walk(append(path, next)); found != nil {
					return found
				}
			}
		}
		done[last] = true
		return nil
	}
	for _, first := range slices.Sorted(maps.Keys(files)) {
		if found := walk([]string{first}); found != nil {
			return found
		}
	}
	return nil
}
