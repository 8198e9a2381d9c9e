package main

import (
	"go/ast"
	"os"
	"path/filepath"
	"slices"
)

// around returns the functions (see place) around a defect: the one that it is in or, of a constant or variable of a
// package, all that use it or what is made of it.
func (s *source) around(d site) (places []string) {
	if _, _, _, ok := s.body(d); ok {
		return []string{place(d)}
	}
	names := []string{} // of what is declared, with its package
	add := func(pkg string, spec ast.Spec) {
		if v, is := spec.(*ast.ValueSpec); is {
			for _, n := range v.Names {
				if name := pkg + "." + n.Name; n.Name != "_" && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	s.declarations(func(c scope, decl ast.Decl) {
		if g, is := decl.(*ast.GenDecl); is && c.file == d.file {
			for _, spec := range g.Specs {
				if c.at(spec.Pos()) <= d.edits[0].start && d.edits[0].end <= c.at(spec.End()) {
					add(c.pkg.PkgPath, spec)
				}
			}
		}
	})
	for i := 0; i < len(names); i++ {
		s.declarations(func(c scope, decl ast.Decl) {
			uses := func(n ast.Node) (is bool) {
				ast.Inspect(n, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok {
						o := c.pkg.TypesInfo.Uses[id]
						is = is || o != nil && o.Pkg() != nil && o.Parent() == o.Pkg().Scope() && o.Pkg().Path()+"."+o.Name() == names[i]
					}
					return !is
				})
				return is
			}
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if uses(decl) {
					places = append(places, c.file+" "+named(decl))
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if uses(spec) {
						add(c.pkg.PkgPath, spec)
					}
				}
			}
		})
	}
	return places
}

// declarations calls a function for each declaration of the product.
func (s *source) declarations(each func(c scope, d ast.Decl)) {
	for _, p := range s.packages {
		for _, file := range p.Syntax {
			path, err := filepath.Rel(s.root, s.fset.Position(file.FileStart).Filename)
			if err != nil {
				continue
			}
			for _, d := range file.Decls {
				each(scope{source: s, pkg: p, file: filepath.ToSlash(path)}, d)
			}
		}
	}
}

// alone is p for a defect that cannot be behind a switch, since it is in no function: it is compiled for itself. It
// returns nil if the defect does not compile.
func (j *judge) alone(p *pooled, i int) (*pooled, error) {
	overlay, err := j.overlaid(p.list[i].site)
	if err != nil {
		return nil, err
	}
	w := &switched{scratch: filepath.Join(j.scratch, "alone"), overlay: overlay, binaries: map[string]string{}, limit: p.limit}
	if err := os.MkdirAll(w.scratch, 0o777); err != nil {
		return nil, err
	}
	if _, err := w.binary(p.list[i].folder); err != nil {
		return nil, nil
	}
	return &pooled{switched: w, reaches: p.reaches, list: p.list, source: p.source, without: p}, nil
}
