package repotest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestTracesAreOnlyRead: outside of the builder (optimize/trace.go) and of the record's own package, no code of the
// product may write into the trace of a run, so that a trace says what the run did. The builder is found by its writes.
func TestTracesAreOnlyRead(t *testing.T) {
	written := map[string]int{}
	for _, root := range []string{"optimize", "internal", "cmd", "model", "."} {
		err := filepath.WalkDir(filepath.Join("../..", root), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() && root == "." && path != filepath.Join("../..", root) {
				if d != nil && d.IsDir() && err == nil {
					return fs.SkipDir
				}
				return err
			}
			if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				assigned, ok := n.(*ast.AssignStmt)
				if !ok {
					return true
				}
				for _, to := range assigned.Lhs {
					for {
						if at, ok := to.(*ast.IndexExpr); ok {
							to = at.X
							continue
						}
						break
					}
					field, ok := to.(*ast.SelectorExpr)
					if !ok {
						continue
					}
					if of, ok := field.X.(*ast.SelectorExpr); ok && (of.Sel.Name == "Trace" || of.Sel.Name == "trace" && root == "optimize") {
						written[filepath.ToSlash(strings.TrimPrefix(path, "../../"))]++
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if written["optimize/trace.go"] == 0 {
		t.Error("optimize/trace.go writes no trace: the search is broken")
	}
	delete(written, "optimize/trace.go")
	for path, n := range written {
		t.Errorf("%s: writes %d times into a trace: must make another by a method of runrecord.Trace", path, n)
	}
}
