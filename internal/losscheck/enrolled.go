package losscheck

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// EveryTypeRan reports a test error for every type that has one of the given methods and is not in ran: a
// loss that is missing from the conformance test. It parses the non-test Go files in the working directory,
// which is the folder of the tested package. ran holds the names of the types that were tested.
func EveryTypeRan(t *testing.T, ran map[string]bool, methods ...string) {
	t.Helper()
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			method, ok := decl.(*ast.FuncDecl)
			if !ok || method.Recv == nil {
				continue
			}
			for _, want := range methods {
				if method.Name.Name != want {
					continue
				}
				found++
				receiver := method.Recv.List[0].Type
				if star, ok := receiver.(*ast.StarExpr); ok {
					receiver = star.X
				}
				if name := receiver.(*ast.Ident).Name; !ran[name] {
					t.Errorf("type %s has method %s and was not run through the conformance suite", name, want)
				}
			}
		}
	}
	if found != len(ran) {
		t.Errorf("%d types ran, %d have one of %v: the search is broken", len(ran), found, methods)
	}
}
