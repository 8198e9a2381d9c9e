package kernel

import (
	"embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// kernelSource is the source of this package as it was built. It includes files that the go command
// replaced by an overlay.
//
//go:embed *.go
var kernelSource embed.FS

// guarded lists the functions of the kernel in which a name may occur, as a call, a value, a field
// or anything else. All other functions must use the gate (function through).
var guarded = map[string][]string{
	// The steps of the gate in their order: reservation, charge, computation, watcher and release.
	"permit":   {"permit", "Session", "New", "through", "get", "unasked", "Follow"},
	"Reserve":  {"through"},
	"compute":  {"through", "compute"},
	"watch":    {"through", "watch"},
	"released": {"through", "released"},
	"reserved": {"through", "release", "item"},
	"answer":   {"through", "release", "question", "selection", "item", "stable"},
	// Exact sums of records.
	"Sum":     {"compute"},
	"Average": {"compute"},
	"New":     {"New", "engine.New"},
	// Noise and its random bits.
	"noises":  {"noises", "through", "release", "add", "normals", "coins", "draw", "question", "item", "release", "stable", "selection"},
	"Normals": {"normals"},
	"Fork":    {"coins"},
	// The receiver of exact sums.
	"watcher": {"Session", "New", "watch", "exchange", "released"},
	"Watcher": {"Config", "New", "Watcher", "exchange", "Session"},
}

// parts lists the methods that may be called on a part of a session, and the functions in which the
// part may be used in any other way: passed on or assigned.
var parts = map[string]struct{ methods, whole []string }{
	"engine": {[]string{"Table", "Loss", "Parameters", "Sum", "Average"}, []string{"Session", "New"}},
	"Table":  {[]string{"Layout", "Len", "Close"}, []string{"Config", "New"}},
	"ledger": {[]string{"Budget", "Schedule", "Follow", "View", "Reserve", "End"}, []string{"Session", "New"}},
	"coins":  {[]string{"Bernoulli", "IntN", "Fork"}, []string{"Session", "New", "Draw", "DrawEach", "draw", "join", "coins", "normals"}},
	"noise":  {[]string{"Normals", "MaxBits"}, nil},
}

// TestNothingGoesRoundTheGate reads the kernel's source. Code that charges, sums over records,
// draws noise or shows exact sums is in the gate only, and no other code can reach the parts of a
// session that do so.
func TestNothingGoesRoundTheGate(t *testing.T) {
	var files []*ast.File
	entries, err := kernelSource.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		text, err := kernelSource.ReadFile(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), e.Name(), text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	found := map[string]int{}
	for _, f := range files {
		for _, complaint := range around(f, found) {
			t.Error(complaint)
		}
	}
	// Each step of the gate occurs once.
	for _, name := range []string{"Reserve", "Sum", "Average", "Normals", "Fork"} {
		if found[name] != 1 {
			t.Errorf("%s occurs %d times: want once, in the gate", name, found[name])
		}
	}
}

func parsed(t *testing.T, path string) *ast.File {
	t.Helper()
	// The test opens the file itself, so that go test reruns it if the file changes.
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// around returns the uses in a file that bypass the gate, and counts guarded names.
func around(f *ast.File, found map[string]int) (complaints []string) {
	for _, i := range f.Imports {
		if i.Name != nil {
			complaints = append(complaints, "an import is renamed: "+i.Path.Value)
		}
	}
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok {
			for _, s := range g.Specs {
				name := ""
				if s, ok := s.(*ast.TypeSpec); ok {
					name = s.Name.Name
				}
				complaints = append(complaints, look(name, s, found)...)
			}
			continue
		}
		complaints = append(complaints, look(d.(*ast.FuncDecl).Name.Name, d, found)...)
	}
	return complaints
}

// look walks a declaration of a name.
func look(in string, d ast.Node, found map[string]int) (complaints []string) {
	asked := map[*ast.Ident]bool{} // names of a part on which a method is called
	var above []ast.Node
	ast.Inspect(d, func(n ast.Node) bool {
		if n == nil {
			above = above[:len(above)-1]
			return true
		}
		above = append(above, n)
		switch n := n.(type) {
		case *ast.ImportSpec:
			above = above[:len(above)-1]
			return false
		case *ast.SelectorExpr:
			of := n.X
			if call, ok := of.(*ast.CallExpr); ok {
				of = call.Fun
			}
			id, ok := of.(*ast.Ident)
			if s, is := of.(*ast.SelectorExpr); is {
				id, ok = s.Sel, true
			}
			if !ok {
				break
			}
			if p, is := parts[id.Name]; is {
				asked[id] = true
				if id.Name == "engine" && of == ast.Expr(id) {
					break // the package
				}
				if !slices.Contains(p.methods, n.Sel.Name) {
					complaints = append(complaints, fmt.Sprintf("%s asks %s for %s", in, id.Name, n.Sel.Name))
				}
			}
		case *ast.Ident:
			if where, is := guarded[n.Name]; is {
				what := n.Name
				if n.Name == "New" && isOf(above, "engine") {
					what = "engine.New"
					where = []string{"New"}
				} else if n.Name == "New" {
					break // errors.New, query.New and New itself
				}
				found[what]++
				if !slices.Contains(where, in) {
					complaints = append(complaints, fmt.Sprintf("%s has %s, which is the gate's", in, what))
				}
			}
			if p, is := parts[n.Name]; is && !asked[n] && n.Name != "noise" && !slices.Contains(p.whole, in) {
				complaints = append(complaints, fmt.Sprintf("%s hands on %s", in, n.Name))
			}
		}
		return true
	})
	return complaints
}

// isOf reports whether the last node is selected from a package.
func isOf(above []ast.Node, pkg string) bool {
	s, ok := above[len(above)-2].(*ast.SelectorExpr)
	if !ok {
		return false
	}
	id, ok := s.X.(*ast.Ident)
	return ok && id.Name == pkg
}

// TestGateIsGuarded: the walk finds each way of bypassing the gate.
func TestGateIsGuarded(t *testing.T) {
	for _, body := range []string{
		"s.engine.Sum(ctx, q, 1, nil)",
		"s.engine.Average(ctx, q, 1, nil)",
		"s.engine.Hessian(ctx, q, 1, nil)",
		"e := s.engine; e.Other()",
		"f := s.engine.Sum; f()",
		"e, _ := engine.New(nil, nil, 1); _ = e",
		"s.engine.Table().Row(3)",
		"t := s.engine.Table; t()",
		"for range s.engine.Table().Blocks() {}",
		"s.ledger.Reserve(event)",
		"l := s.ledger; _ = l",
		"other(s.ledger)",
		"s.ledger.Events()",
		"noise.Normals(z, 3, nil, 1)",
		"noise.Other(z)",
		"s.coins.Fork()",
		"s.coins.Uint64()",
		"s.coins.Fill(nil)",
		"c := s.coins; _ = c",
		"compute(ctx, s, r)",
		"n := &noises{session: s}; n.add(v, 3)",
		"var n noises; n.draw(nil, 1, 2)",
		"r.answer(exact, nil)",
		"s.watcher(Exchange{})",
		"s.watch(nil, query.Prefix{}, nil, event, g)",
		"released(nil, 3)",
		"var x interface{ Reserve(account.Event) error }; _ = x",
	} {
		for _, file := range []string{
			"package kernel\nfunc (s *Session) Around() {\n%s\n}\n",
			"package kernel\nvar around = func(s *Session) {\n%s\n}\n",
			"package kernel\nfunc other() { func() {\n%s\n}() }\n",
		} {
			f, err := parser.ParseFile(token.NewFileSet(), "x.go", fmt.Sprintf(file, body), parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			if around(f, map[string]int{}) == nil {
				t.Errorf("not seen: %s", body)
			}
		}
	}
	for _, file := range []string{
		"package kernel\nimport e \"github.com/stillpoint-dp/stillpoint/curator/internal/engine\"\n",
		"package kernel\nimport . \"github.com/stillpoint-dp/stillpoint/curator/internal/noise\"\n",
		"package kernel\ntype twin struct{ ledger *account.Ledger }\n",
		"package kernel\ntype twin struct{ *engine.Engine; Sum func() }\n",
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", file, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if around(f, map[string]int{}) == nil {
			t.Errorf("not seen: %s", file)
		}
	}
}

// TestOnlyTheKernelComputes: no other package below curator imports the packages that sum over
// records or draw noise, except to find out which losses are proven.
func TestOnlyTheKernelComputes(t *testing.T) {
	importers := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() && e.Name() == "enginetest" {
			return fs.SkipDir // a test suite
		}
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f := parsed(t, path)
		for _, i := range f.Imports {
			if strings.HasSuffix(i.Path.Value, `/internal/noise"`) || strings.HasSuffix(i.Path.Value, `/internal/engine"`) && !onlyProven(f) {
				importers[filepath.Dir(path)] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Collect(maps.Keys(importers)); !slices.Equal(got, []string{"../../internal/kernel"}) {
		t.Errorf("the engine or its noise is imported by %q: want the kernel alone", got)
	}
}

// onlyProven reports whether a file uses nothing of the engine but Proven.
func onlyProven(f *ast.File) bool {
	only := true
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name != "Proven" {
			if id, ok := s.X.(*ast.Ident); ok && id.Name == "engine" {
				only = false
			}
		}
		return true
	})
	for _, i := range f.Imports {
		only = only && i.Name == nil
	}
	return only
}
