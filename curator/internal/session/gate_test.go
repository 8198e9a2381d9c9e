package session

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

// packageSource is the source of this package as it was built. It includes files that the go command
// replaced by an overlay.
//
//go:embed *.go
var packageSource embed.FS

// guarded lists names and, for each name, the functions of the package in which the name may occur,
// as a call, a value, a field or anything else. All other functions must use the gate (function
// through).
var guarded = map[string][]string{
	// These are the steps of the gate in their order: reservation, charge, computation, watcher and
	// release.
	"permit":   {"permit", "Session", "New", "through", "get", "unasked", "Follow"},
	"Reserve":  {"through"},
	"compute":  {"through", "compute"},
	"watch":    {"through", "watch"},
	"released": {"through", "released"},
	"reserved": {"through", "release", "item"},
	"answer":   {"through", "release", "question", "selection", "item", "stable"},
	// These compute exact sums of records.
	"Sum":     {"compute"},
	"Average": {"compute"},
	"New":     nil, // engine.New: a session takes an engine and makes none
	// These are noise and its random bits.
	"noises": {"noises", "through", "release", "add", "normals", "coins", "draw", "question", "item", "release", "stable",
		"selection"},
	"Normals": {"normals"},
	"Fork":    {"coins"},
	// These receive exact sums.
	"watcher": {"Session", "New", "watch", "exchange", "released"},
	"Watcher": {"Config", "New", "Watcher", "exchange", "Session"},
}

// parts lists, for each part of a session, the methods that may be called on it, and the functions in
// which it may be used in any other way, for instance passed on or assigned.
var parts = map[string]struct{ methods, whole []string }{
	"engine": {[]string{"Len", "Dim", "Loss", "Parameters", "Sum", "Ordered", "Average", "Close"},
		[]string{"table", "New", "engine", "Refine"}},
	"Engine": {[]string{"Len"}, []string{"Config", "table", "New", "engine", "Refine"}},
	"ledger": {[]string{"Budget", "Schedule", "Follow", "View", "Reserve", "End"}, []string{"Session", "New"}},
	"coins": {[]string{"Heads", "IntN", "Fork"},
		[]string{"Session", "New", "Draw", "DrawEach", "draw", "join", "coins", "normals"}},
	"noise": {[]string{"Normals", "MaxBits"}, nil},
}

// TestNothingGoesRoundTheGate reads the package's source. It tests that code that charges, sums over
// records, draws noise or shows exact sums is in the gate only, and that no other code can reach
// the parts of a session that do so.
func TestNothingGoesRoundTheGate(t *testing.T) {
	var files []*ast.File
	entries, err := packageSource.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		text, err := packageSource.ReadFile(e.Name())
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
	// Each step of the gate must occur once.
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

// around returns the uses in a file of guarded names that bypass the gate (the function through), and
// counts guarded names.
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

// look examines the declaration of the function or type named in. It returns the uses of guarded
// names that bypass the gate (the function through), and counts guarded names in found.
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
					break // here engine is the package, not the field
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
				} else if n.Name == "New" {
					break // New is errors.New, query.New or this package's New
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

// isOf reports whether the last node of the path above is a name that is selected from the package
// named pkg, as in pkg.Name.
func isOf(above []ast.Node, pkg string) bool {
	s, ok := above[len(above)-2].(*ast.SelectorExpr)
	if !ok {
		return false
	}
	id, ok := s.X.(*ast.Ident)
	return ok && id.Name == pkg
}

// TestGateIsGuarded tests that each way of bypassing the gate (the function through) is found.
func TestGateIsGuarded(t *testing.T) {
	for _, body := range []string{
		"s.engine().Sum(ctx, q, 1, nil)",
		"s.engine().Average(ctx, q, 1, nil)",
		"s.engine().Hessian(ctx, q, 1, nil)",
		"e := s.engine(); e.Other()",
		"e := s.table.Load().engine; e.Other()",
		"f := s.engine().Sum; f()",
		"e, _ := engine.New(nil, nil, 1); _ = e",
		"s.engine().Rows().Row(3)",
		"t := s.engine.Rows; t()",
		"for range s.engine.Rows().Blocks() {}",
		"c.Engine.Sum(ctx, q, 1, nil)",
		"e := c.Engine; e.Other()",
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
			"package session\nfunc (s *Session) Around() {\n%s\n}\n",
			"package session\nvar around = func(s *Session) {\n%s\n}\n",
			"package session\nfunc other() { func() {\n%s\n}() }\n",
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
		"package session\nimport e \"github.com/stillpoint-dp/stillpoint/curator/internal/engine\"\n",
		"package session\nimport . \"github.com/stillpoint-dp/stillpoint/curator/internal/noise\"\n",
		"package session\ntype twin struct{ ledger *account.Ledger }\n",
		"package session\ntype twin struct{ *engine.Engine; Sum func() }\n",
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

// TestOnlyTheKernelComputes tests that no other package below curator asks an engine for sums of
// records or draws noise. Package wire carries the questions of an engine to another process and the
// sums back. Other packages make an engine, pass it to a session, and find out which losses are
// proven. The file pace.go, which measures the speed of this machine, asks an engine over generated
// rows.
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
			if strings.HasSuffix(i.Path.Value, `/internal/noise"`) || strings.HasSuffix(i.Path.Value, `/internal/engine"`) &&
				!onlyMakes(f) && !(path == "../../pace.go" && readsNothing(f)) {
				importers[filepath.Dir(path)] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(importers)); !slices.Equal(got,
		[]string{"../../internal/session", "../../internal/wire"}) {
		t.Errorf("the engine or its noise is used by %q: want the session and what carries its questions", got)
	}
}

// readsNothing reports whether a file contains no name of package curator by which records are
// read.
func readsNothing(f *ast.File) bool {
	none := true
	ast.Inspect(f, func(n ast.Node) bool {
		if i, ok := n.(*ast.Ident); ok && slices.Contains([]string{"read", "open", "Open", "Count", "Session", "Paths",
			"Reader", "Rows", "gather"}, i.Name) {
			none = false
		}
		return none
	})
	return none
}

// onlyMakes reports whether a file uses only New, Engine and Proven of package engine, and names no
// method by which an engine is asked.
func onlyMakes(f *ast.File) bool {
	only := true
	ast.Inspect(f, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		of, _ := s.X.(*ast.Ident)
		switch {
		case of != nil && of.Name == "engine":
			only = only && slices.Contains([]string{"New", "Engine", "Proven"}, s.Sel.Name)
		case of != nil && slices.Contains([]string{"account", "digest"},
			of.Name): // account.Sum is no method of an engine, but a rule for the rows of a unit
		case s.Sel.Name == "Sum" || s.Sel.Name == "Average":
			only = false
		}
		return true
	})
	for _, i := range f.Imports {
		only = only && i.Name == nil
	}
	return only
}
