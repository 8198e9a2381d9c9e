package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// modulePath is the path of the product's module.
const modulePath = "github.com/stillpoint-dp/stillpoint"

// laboratory is the folder of a module of its own. Its packages judge defects of the product, and have none drawn.
const laboratory = "lab/"

// patterns are those of the packages in which defects are drawn, and those of the laboratory that judge them.
var patterns = []string{"./...", "./lab/audit"}

// source is the parsed and checked source of the product, without its tests.
type source struct {
	root     string
	fset     *token.FileSet
	packages []*packages.Package
	text     map[string][]byte   // content of each file, by its path in the module
	importer map[string][]string // the packages that import a package, by its folder
}

// folder returns the folder of a package in the module; "." for the root package.
func folder(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, modulePath), "/")
}

// load reads the packages of the product below root.
func load(root string, patterns ...string) (*source, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	s := &source{root: root, fset: token.NewFileSet(), text: map[string][]byte{}, importer: map[string][]string{}}
	const mode = packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes |
		packages.NeedTypesInfo | packages.NeedImports
	list, err := packages.Load(&packages.Config{Mode: mode, Dir: root, Fset: s.fset}, patterns...)
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		if len(p.Errors) > 0 {
			return nil, p.Errors[0]
		}
		for path := range p.Imports {
			if strings.HasPrefix(path, modulePath) {
				s.importer[folder(path)] = append(s.importer[folder(path)], folder(p.PkgPath))
			}
		}
		if strings.HasPrefix(folder(p.PkgPath), laboratory) {
			continue
		}
		s.packages = append(s.packages, p)
		for _, name := range p.GoFiles {
			file, err := filepath.Rel(root, name)
			if err != nil {
				return nil, err
			}
			if s.text[filepath.ToSlash(file)], err = os.ReadFile(name); err != nil {
				return nil, err
			}
		}
	}
	if len(s.packages) == 0 {
		return nil, errors.New("no package")
	}
	slices.SortFunc(s.packages, func(a, b *packages.Package) int { return strings.Compare(a.PkgPath, b.PkgPath) })
	for _, users := range s.importer {
		slices.Sort(users)
	}
	return s, nil
}

// site is a place of the source where a defect may be made.
type site struct {
	file     string // path in the module
	folder   string // of the package
	function string // the function around it, with its receiver
	line     int
	kind     string // of the defect
	edits    []edit
}

// edit replaces the bytes from start to end of a file.
type edit struct {
	start, end int
	text       string
}

// apply returns the text of a file with the edits made.
func apply(text []byte, edits []edit) []byte {
	edits = slices.Clone(edits)
	slices.SortFunc(edits, func(a, b edit) int { return b.start - a.start })
	for _, e := range edits {
		text = slices.Concat(text[:e.start], []byte(e.text), text[e.end:])
	}
	return text
}

// describe returns a defect as a text for readers: its place, and the lines before and after.
func (s *source) describe(d site) string {
	text := s.text[d.file]
	first, last := d.edits[0].start, d.edits[0].end
	for _, e := range d.edits {
		first, last = min(first, e.start), max(last, e.end)
	}
	for first > 0 && text[first-1] != '\n' {
		first--
	}
	for last < len(text) && text[last] != '\n' {
		last++
	}
	var moved []edit
	for _, e := range d.edits {
		moved = append(moved, edit{e.start - first, e.end - first, e.text})
	}
	flat := func(b []byte) string { return strings.Join(strings.Fields(string(b)), " ") }
	return fmt.Sprintf("%s:%d %s, %s: %s => %s", d.file, d.line, d.function, d.kind, flat(text[first:last]),
		flat(apply(text[first:last], moved)))
}

// scope is what a visitor knows about the place of a node.
type scope struct {
	*source
	pkg      *packages.Package
	file     string
	function string
}

// at returns the offset of a position in its file.
func (s scope) at(p token.Pos) int { return s.fset.Position(p).Offset }

// code returns the source of a node.
func (s scope) code(n ast.Node) string { return string(s.text[s.file][s.at(n.Pos()):s.at(n.End())]) }

// site returns a place at a node, with edits.
func (s scope) site(n ast.Node, kind string, edits ...edit) site {
	return site{file: s.file, folder: folder(s.pkg.PkgPath), function: s.function, line: s.fset.Position(n.Pos()).Line,
		kind: kind, edits: edits}
}

// replace returns an edit that replaces the source of a node.
func (s scope) replace(n ast.Node, text string) edit { return edit{s.at(n.Pos()), s.at(n.End()), text} }

// typeOf returns the type of an expression, or nil.
func (s scope) typeOf(e ast.Expr) types.Type { return s.pkg.TypesInfo.TypeOf(e) }

// visit calls f for each node inside of a function of the packages, with the nodes around it, innermost last.
func (s *source) visit(f func(c scope, n ast.Node, around []ast.Node)) {
	for _, p := range s.packages {
		for _, file := range p.Syntax {
			path, err := filepath.Rel(s.root, s.fset.Position(file.FileStart).Filename)
			if err != nil || s.text[filepath.ToSlash(path)] == nil || ast.IsGenerated(file) {
				continue
			}
			for _, d := range file.Decls {
				c := scope{source: s, pkg: p, file: filepath.ToSlash(path), function: named(d)}
				var around []ast.Node
				ast.Inspect(d, func(n ast.Node) bool {
					if n == nil {
						around = around[:len(around)-1]
						return true
					}
					f(c, n, around)
					around = append(around, n)
					return true
				})
			}
		}
	}
}

// named returns the name of a declaration: of a function with its receiver's type, or else the first name.
func named(d ast.Decl) string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil || len(d.Recv.List) == 0 {
			return d.Name.Name
		}
		return types.ExprString(d.Recv.List[0].Type) + "." + d.Name.Name
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				return spec.Names[0].Name
			case *ast.TypeSpec:
				return spec.Name.Name
			}
		}
	}
	return "-"
}
