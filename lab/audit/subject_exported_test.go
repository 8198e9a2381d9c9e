package audit

import "go/types"

func exportedOf(p *types.Package) (kinds, mechanisms, questions []string) {
	scope := p.Scope()
	for _, name := range scope.Names() {
		o := scope.Lookup(name)
		if !o.Exported() {
			continue
		}
		switch o := o.(type) {
		case *types.Const:
			named, ok := o.Type().(*types.Named)
			if !ok {
				continue
			}
			switch named.Obj().Name() {
			case "Kind":
				kinds = append(kinds, name)
			case "Factorization":
				mechanisms = append(mechanisms, name)
			}
		case *types.TypeName:
			methods := types.NewMethodSet(o.Type())
			has := func(name string) bool { return methods.Lookup(p, name) != nil }
			if has("Name") && (has("Charge") || has("Epsilon")) {
				questions = append(questions, name)
			}
		}
	}
	return kinds, mechanisms, questions
}
