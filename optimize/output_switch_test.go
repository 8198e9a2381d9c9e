package optimize_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestOutputSwitchesKnowEveryRule: each switch over output rules, in any package below optimize, must have
// a case for each rule, or a default that panics or returns an error. The test fails if a switch lacks a
// rule. Such a rule would be treated like another rule without an error.
func TestOutputSwitchesKnowEveryRule(t *testing.T) {
	rules := outputRules(t)
	found := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return nil // of another module's testdata
		}
		ast.Inspect(f, func(n ast.Node) bool {
			s, ok := n.(*ast.SwitchStmt)
			if !ok {
				return true
			}
			named, safe := switched(s, rules, f.Name.Name == "optimize")
			if len(named) == 0 {
				return true
			}
			found++
			for _, rule := range rules {
				if !safe && !slices.Contains(named, rule) {
					t.Errorf("%v: has no case for %s, and no default that panics or returns an error", set.Position(s.Pos()), rule)
				}
			}
			return true
		})
		return nil
	})
	if err != nil || found < 2 {
		t.Fatalf("%d switches: %v", found, err)
	}
}

// outputRules returns the names of the rules that output.go declares.
func outputRules(t *testing.T) (list []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "output.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			for _, name := range s.(*ast.ValueSpec).Names {
				if ast.IsExported(name.Name) && name.Name != "RuleOutput" {
					list = append(list, name.Name)
				}
			}
		}
	}
	if len(list) < 5 {
		t.Fatalf("rules %v", list)
	}
	return list
}

// switched returns the rules for which a switch has cases, and whether its default panics or returns an
// error.
func switched(s *ast.SwitchStmt, rules []string, inside bool) (named []string, safe bool) {
	for _, c := range s.Body.List {
		clause := c.(*ast.CaseClause)
		for _, e := range clause.List {
			if name := ruleIn(e, inside); slices.Contains(rules, name) {
				named = append(named, name)
			}
		}
		if clause.List == nil {
			safe = refuses(clause)
		}
	}
	return named, safe
}

// ruleIn returns the name in a case that may be a rule: optimize.Last, or Last inside package optimize.
func ruleIn(e ast.Expr, inside bool) string {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok && x.Name == "optimize" {
			return e.Sel.Name
		}
	case *ast.Ident:
		if inside {
			return e.Name
		}
	}
	return ""
}

// refuses reports whether a clause panics or makes an error.
func refuses(c *ast.CaseClause) (yes bool) {
	ast.Inspect(c, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch f := call.Fun.(type) {
		case *ast.Ident:
			yes = yes || f.Name == "panic"
		case *ast.SelectorExpr:
			yes = yes || f.Sel.Name == "Errorf"
		}
		return true
	})
	return yes
}
