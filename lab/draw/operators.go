package main

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// exchanged are the operators that a defect puts in the place of others.
var exchanged = map[token.Token]token.Token{
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL,
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
}

// defects lists the defects of a node: each would be a plausible mistake of a programmer that compiles.
func (c scope) defects(n ast.Node, around []ast.Node) (list []site) {
	add := func(kind string, edits ...edit) { list = append(list, c.site(n, kind, edits...)) }
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if c.isConstant(n) {
			return nil
		}
		numbers := kind(c.typeOf(n.X)) != ""
		if to, ok := exchanged[n.Op]; ok && (numbers || n.Op == token.EQL || n.Op == token.NEQ) {
			at := c.at(n.OpPos)
			add("operator", edit{at, at + len(n.Op.String()), to.String()})
		}
		if (n.Op == token.SUB || n.Op == token.QUO || n.Op == token.LSS || n.Op == token.GTR) && numbers &&
			kind(c.typeOf(n.Y)) != "" {
			add("operands swapped", c.replace(n.X, "("+c.code(n.Y)+")"), c.replace(n.Y, "("+c.code(n.X)+")"))
		}
	case *ast.BasicLit:
		if !inType(around) && !c.besideError(n, around) && !inCapacity(n, around) {
			if to := otherNumber(n); to != "" {
				add("constant", c.replace(n, to))
			}
		}
	case *ast.Ident:
		if v := c.pkg.TypesInfo.Types[n]; v.Value != nil && v.Value.Kind() == constant.Bool && n.Name != "_" &&
			!c.besideError(n, around) {
			if other, ok := map[string]string{"true": "false", "false": "true"}[n.Name]; ok {
				add("truth", c.replace(n, other))
			}
		}
	case *ast.IfStmt:
		add("condition inverted", c.replace(n.Cond, "!("+c.code(n.Cond)+")"))
		outer, chained := around[len(around)-1].(*ast.IfStmt)
		chained = chained && outer.Else == n // "else" has a statement
		if n.Init == nil && n.Else == nil && !chained && !endsFlow(n.Body) {
			add("statement dropped", c.replace(n, ""))
		}
	case *ast.ExprStmt:
		if _, waits := around[len(around)-1].(*ast.CommClause); !waits {
			add("statement dropped", c.replace(n, ""))
		}
	case *ast.DeferStmt:
		if !c.frees(n.Call) {
			add("statement dropped", c.replace(n, ""))
		}
	case *ast.IncDecStmt:
		add("statement dropped", c.replace(n, ""))
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			add("statement dropped", c.replace(n, ""))
		}
	case *ast.IndexExpr:
		if v, ok := c.typeOf(n.Index).(*types.Basic); ok && v.Info()&types.IsInteger != 0 && c.isList(n.X) {
			add("off by one", c.replace(n.Index, "("+c.code(n.Index)+")+1"))
		}
	case *ast.SliceExpr:
		for _, e := range []ast.Expr{n.Low, n.High} {
			if e != nil && !c.isConstant(e) {
				add("off by one", c.replace(e, "("+c.code(e)+")-1"))
			}
		}
	case *ast.SelectorExpr:
		if other := c.sibling(n); other != "" {
			add("field of the same type", c.replace(n.Sel, other))
		}
	case *ast.CallExpr:
		for i := 1; i < len(n.Args); i++ {
			a, b := n.Args[i-1], n.Args[i]
			if ta, tb := c.typeOf(a), c.typeOf(b); ta != nil && tb != nil && types.Identical(ta, tb) && !c.isConstant(a) &&
				!symmetric(n.Fun) && c.code(a) != c.code(b) {
				add("arguments swapped", c.replace(a, c.code(b)), c.replace(b, c.code(a)))
			}
		}
		if name := types.ExprString(n.Fun); len(n.Args) > 0 {
			for _, pair := range [][2]string{{"min", "max"}, {"math.Floor", "math.Ceil"}, {"math.Log", "math.Log10"},
				{"math.Log1p", "math.Log"}, {"math.Expm1", "math.Exp"}, {"Above", "Below"}} {
				for i := range pair {
					if name == pair[i] {
						add("function", c.replace(n.Fun, pair[1-i]))
					}
				}
			}
			if name == "math.Sqrt" || name == "math.Abs" || name == "math.Exp" {
				add("function left out", c.replace(n.Fun, "float64"))
			}
		}
	case *ast.ReturnStmt:
		if last := len(n.Results) - 1; last >= 0 && types.ExprString(n.Results[last]) == "err" {
			add("error swallowed", c.replace(n.Results[last], "nil"))
		}
	}
	return list
}

// format lists the defects of the constant text of a format: a share written as a percentage or the opposite, a
// precision, and verbs whose arguments are exchanged.
func (c scope) formats(n ast.Node) (list []site) {
	b, ok := n.(*ast.BinaryExpr)
	if !ok || b.Op != token.MUL {
		return nil
	}
	if lit, ok := b.X.(*ast.BasicLit); ok && (lit.Value == "100" || strings.HasPrefix(lit.Value, "1e")) {
		list = append(list, c.site(n, "unit", c.replace(b, "("+c.code(b.Y)+")")))
	}
	return list
}

func (c scope) isConstant(e ast.Expr) bool { return c.pkg.TypesInfo.Types[e].Value != nil }

func (c scope) isList(e ast.Expr) bool {
	switch t := c.typeOf(e).Underlying().(type) {
	case *types.Slice, *types.Array:
		return true
	case *types.Pointer:
		_, ok := t.Elem().Underlying().(*types.Array)
		return ok
	}
	return false
}

// symmetric says whether the order of a function's arguments hardly matters.
func symmetric(f ast.Expr) bool {
	return slices.Contains([]string{"min", "max", "math.Max", "math.Min", "math.Hypot", "append", "errors.Join",
		"cmp.Compare", "strings.Compare", "bytes.Equal", "slices.Equal"}, types.ExprString(f))
}

// besideError says whether an expression is a result beside an error that is not nil. By the custom of the language
// nobody reads it.
func (c scope) besideError(e ast.Expr, around []ast.Node) bool {
	r, ok := around[len(around)-1].(*ast.ReturnStmt)
	if !ok {
		return false
	}
	last := r.Results[len(r.Results)-1]
	if t := c.typeOf(last); last == e || t == nil || types.TypeString(t, nil) != "error" {
		return false
	}
	name, ok := last.(*ast.Ident)
	if !ok { // an error that is made here, or what a function returns
		_, composite := last.(*ast.UnaryExpr)
		return composite || slices.ContainsFunc([]string{"fmt.Errorf(", "errors.New("}, func(maker string) bool {
			return strings.HasPrefix(c.code(last), maker)
		})
	}
	for _, n := range around { // or the statement is for errors alone
		if i, is := n.(*ast.IfStmt); is && strings.Contains(types.ExprString(i.Cond), name.Name+" != nil") {
			return true
		}
	}
	return false
}

// inCapacity says whether an expression is the capacity of a list that is made: nobody sees it.
func inCapacity(e ast.Expr, around []ast.Node) bool {
	for _, n := range around {
		if call, ok := n.(*ast.CallExpr); ok && len(call.Args) == 3 && types.ExprString(call.Fun) == "make" &&
			call.Args[2].Pos() <= e.Pos() && e.End() <= call.Args[2].End() {
			return true
		}
	}
	return false
}

// frees says whether a call closes a file, or ends a context: without it the program does the same, and keeps something
// for longer.
func (c scope) frees(call *ast.CallExpr) bool {
	if t := c.typeOf(call.Fun); t != nil && types.TypeString(t, nil) == "context.CancelFunc" {
		return true
	}
	x, ok := call.Fun.(*ast.SelectorExpr)
	return ok && x.Sel.Name == "Close" && types.TypeString(c.typeOf(x.X), nil) == "*os.File"
}

// inType says whether a literal stands in a type, a case of constants, or a declaration of constants alone.
func inType(around []ast.Node) bool {
	for _, n := range around {
		switch n.(type) {
		case *ast.ArrayType, *ast.ImportSpec, *ast.Field:
			return true
		}
	}
	return false
}

// otherNumber returns another number in the place of a literal: one more, or twice as much.
func otherNumber(n *ast.BasicLit) string {
	switch n.Kind {
	case token.INT:
		if v, err := strconv.Atoi(n.Value); err == nil {
			return strconv.Itoa(v + 1)
		}
	case token.FLOAT:
		if v, err := strconv.ParseFloat(n.Value, 64); err == nil && v != 0 {
			return strconv.FormatFloat(1.5*v, 'g', -1, 64)
		}
	}
	return ""
}

// endsFlow says whether a block ends the function or a loop's turn, so that it is more than a remark.
func endsFlow(b *ast.BlockStmt) bool {
	if len(b.List) == 0 {
		return false
	}
	_, ok := b.List[len(b.List)-1].(*ast.ReturnStmt)
	return ok
}

// sibling returns another field of the same type for a selector of a field; "" if there is none.
func (c scope) sibling(x *ast.SelectorExpr) string {
	selected := c.pkg.TypesInfo.Selections[x]
	if selected == nil || selected.Kind() != types.FieldVal || len(selected.Index()) != 1 {
		return ""
	}
	t := selected.Recv()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	of, ok := under[*types.Struct](t)
	if !ok {
		return ""
	}
	n := of.NumFields()
	for i := range n { // the next one, around the end
		f := of.Field((selected.Index()[0] + 1 + i) % n)
		if f.Name() != x.Sel.Name && types.Identical(f.Type(), selected.Type()) &&
			(f.Exported() || f.Pkg() == c.pkg.Types) {
			return f.Name()
		}
	}
	return ""
}
