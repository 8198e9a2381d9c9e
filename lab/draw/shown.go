package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"reflect"
	"slices"
	"strings"
)

// shownIn are the folders whose packages write the numbers that users read, as text, as pages, as JSON or as a model
// for another program. Packages that guard people (account, budget, certificate, internal/runfolder) have defects that
// were written by hand, in lab/mutants.
var shownIn = []string{".", "cmd/stillpoint", "export", "internal/fitting", "internal/inspect", "internal/report",
	"internal/runrecord", "internal/train", "model"}

// geometry are the files that place lines and letters of pictures, and that write a number with some digits. What they
// show comes from other files, and their own tests look at where it is and how it is written.
var geometry = []string{"internal/report/bars.go", "internal/report/draw.go",
	"internal/report/svg.go", "internal/report/plot.go", "internal/report/text.go"}

// fact is a number or a truth that a user reads: an argument of a format, of a function that writes a number as text,
// or a value that becomes a member of JSON or a part of a page. Its defect changes the value.
type fact struct {
	site
	of  string // the kind of its type: int, float, bool or floats
	key string // names the fact in the registry: its file, its function, where it is shown, and its source
}

// facts lists the facts of the packages, sorted by their keys. If a function shows the same expression in the same
// place several times, their keys are numbered.
func (s *source) facts() []fact {
	var list []fact
	s.visit(func(c scope, n ast.Node, around []ast.Node) {
		if !slices.Contains(shownIn, shownFolder(c)) || slices.Contains(geometry, c.file) || strings.HasSuffix(c.function, ".Error") {
			return
		}
		for _, e := range c.shown(n) {
			if text, ok := c.wrong(e.value); ok && !c.inError(append(around, n)) {
				d := c.site(e.value, "shown number", c.replace(e.value, text))
				key := strings.Join([]string{c.file, c.function, e.place, flat(c.code(e.value))}, " ")
				list = append(list, fact{d, kind(c.typeOf(e.value)), key})
			}
		}
	})
	slices.SortStableFunc(list, func(a, b fact) int { return strings.Compare(a.key, b.key) })
	for i, n := 1, 1; i < len(list); i++ {
		n++
		if list[i].key != strings.TrimSuffix(list[i-1].key, fmt.Sprintf(" #%d", n-1)) {
			n = 1
			continue
		}
		list[i].key += fmt.Sprintf(" #%d", n)
	}
	return list
}

func shownFolder(c scope) string {
	if f := folder(c.pkg.PkgPath); f != "" {
		return f
	}
	return "."
}

func flat(s string) string { return strings.Join(strings.Fields(s), " ") }

// part is an expression that is shown, and the place where: a format's verb, a function or a field.
type part struct {
	value ast.Expr
	place string
}

// shown returns the expressions that a node shows.
func (c scope) shown(n ast.Node) (list []part) {
	switch n := n.(type) {
	case *ast.CallExpr:
		signature, ok := types.Unalias(c.typeOf(n.Fun)).(*types.Signature)
		if !ok {
			return nil
		}
		name := types.ExprString(n.Fun)
		switch first, formats := formatting(signature); {
		case formats && len(n.Args) > first && !n.Ellipsis.IsValid():
			verbs := c.verbs(n.Args[first-1])
			for i, a := range n.Args[first:] {
				verb := "?"
				if i < len(verbs) {
					verb = verbs[i]
				}
				list = append(list, part{a, verb})
			}
		case writes(signature):
			for _, a := range n.Args {
				list = append(list, part{a, name + "()"})
			}
		}
	case *ast.CompositeLit:
		of, ok := under[*types.Struct](c.typeOf(n))
		if !ok {
			return nil
		}
		for i, e := range n.Elts {
			name, value := "", e
			if pair, ok := e.(*ast.KeyValueExpr); ok {
				name, value = types.ExprString(pair.Key), pair.Value
			} else {
				name = of.Field(i).Name()
			}
			if c.isShown(of, name, c.typeOf(n)) {
				list = append(list, part{value, "." + name})
			}
		}
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			x, ok := left.(*ast.SelectorExpr)
			if !ok || len(n.Lhs) != len(n.Rhs) {
				continue
			}
			t := c.typeOf(x.X)
			if p, ok := t.(*types.Pointer); ok {
				t = p.Elem()
			}
			if of, ok := under[*types.Struct](t); ok && c.isShown(of, x.Sel.Name, t) {
				list = append(list, part{n.Rhs[i], "." + x.Sel.Name})
			}
		}
	}
	return list
}

func under[T types.Type](t types.Type) (zero T, ok bool) {
	if t == nil {
		return zero, false
	}
	u, ok := t.Underlying().(T)
	return u, ok
}

// formatting says whether a function takes a format and arguments, and where these begin.
func formatting(f *types.Signature) (first int, ok bool) {
	n := f.Params().Len()
	if !f.Variadic() || n < 2 {
		return 0, false
	}
	last, ok := f.Params().At(n - 1).Type().(*types.Slice)
	if !ok {
		return 0, false
	}
	_, any := under[*types.Interface](last.Elem())
	text, isText := under[*types.Basic](f.Params().At(n - 2).Type())
	return n - 1, any && isText && text.Kind() == types.String
}

// writes says whether a function writes numbers as text: it takes numbers, and its only result is a string.
func writes(f *types.Signature) bool {
	if f.Results().Len() != 1 {
		return false
	}
	text, ok := under[*types.Basic](f.Results().At(0).Type())
	if !ok || text.Kind() != types.String {
		return false
	}
	for p := range f.Params().Variables() {
		if kind(p.Type()) != "" {
			return true
		}
	}
	return false
}

// verbs returns the verbs of a constant format, one for each argument.
func (c scope) verbs(format ast.Expr) (list []string) {
	v := c.pkg.TypesInfo.Types[format].Value
	if v == nil || v.Kind() != constant.String {
		return nil
	}
	text := strings.ReplaceAll(constant.StringVal(v), "%%", "")
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			continue
		}
		end := i + 1
		for end < len(text) && strings.ContainsRune("+-# 0123456789.*[]", rune(text[end])) {
			end++
		}
		list = append(list, text[i:min(end+1, len(text))])
		i = end
	}
	return list
}

// isShown says whether the field of a struct reaches users: it has a name in JSON, or is a part of a page.
func (c scope) isShown(of *types.Struct, name string, t types.Type) bool {
	for i := range of.NumFields() {
		f := of.Field(i)
		if f.Name() != name {
			continue
		}
		if tag, ok := reflect.StructTag(of.Tag(i)).Lookup("json"); ok {
			return tag != "-"
		}
		named, ok := types.Unalias(t).(*types.Named)
		return ok && f.Exported() && named.Obj().Exported() && named.Obj().Pkg().Path() == modulePath+"/internal/report"
	}
	return false
}

// kind returns "int", "float", "bool" or "floats" for the types of values that are numbers or truths, else "".
func kind(t types.Type) string {
	if s, ok := under[*types.Slice](t); ok {
		if b, ok := s.Elem().(*types.Basic); ok && b.Kind() == types.Float64 {
			return "floats"
		}
	}
	b, ok := under[*types.Basic](t)
	switch {
	case !ok:
	case b.Info()&types.IsInteger != 0:
		return "int"
	case b.Info()&types.IsFloat != 0:
		return "float"
	case b.Info()&types.IsBoolean != 0:
		return "bool"
	}
	return ""
}

// wrong returns an expression of the same type whose value differs: by one, by a sixteenth, or as the opposite. It
// returns false for a constant, for a list of constants and for what is neither a number nor a truth.
func (c scope) wrong(e ast.Expr) (string, bool) {
	if v := c.pkg.TypesInfo.Types[e]; v.Value != nil || v.IsType() {
		return "", false
	}
	if list, ok := e.(*ast.CompositeLit); ok && !slices.ContainsFunc(list.Elts, func(e ast.Expr) bool { return !c.isConstant(e) }) {
		return "", false
	}
	code := c.code(e)
	switch t := c.typeOf(e); kind(t) {
	case "int":
		if b, ok := t.(*types.Basic); !ok || b.Kind() == types.UnsafePointer || b.Kind() == types.Uintptr {
			return "", false
		}
		return "(" + code + ")+1", true
	case "float":
		return "(" + code + ")*1.0625", true
	case "bool":
		return "!(" + code + ")", true
	case "floats":
		return "func(v []float64) []float64 { w := append([]float64(nil), v...); for i := range w { w[i] *= 1.0625 }; " +
			"return w }(" + code + ")", true
	}
	return "", false
}

// inError says whether a node is inside of a call that makes an error, whose numbers are those of its reader's own
// files and settings, or of a panic.
func (c scope) inError(nodes []ast.Node) bool {
	for _, n := range nodes {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			continue
		}
		if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "panic" {
			return true
		}
		if t := c.typeOf(call); t != nil && types.TypeString(t, nil) == "error" {
			return true
		}
	}
	return false
}
