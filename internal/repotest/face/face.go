// Package face lists the public face of the module: every exported name of the packages that are promised to stay,
// and every promised member whose type is declared in a package that is not promised.
package face

import (
	"fmt"
	"go/types"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Module is the module's path.
const Module = "github.com/stillpoint-dp/stillpoint"

// Face is the public face of a module.
type Face struct {
	// Packages are the promised packages, by import path relative to the module ("." is the module's root).
	Packages []Package
}

// Package is one promised package.
type Package struct {
	Path string
	// Names are the exported identifiers, and methods as (T).M; Fields are exported fields of exported structs, as
	// T.F. Each is followed by its type.
	Names, Fields []Member
}

// Member is an exported name with its type. Leaks lists the types of other packages of the module, not promised,
// that the member's type shows.
type Member struct {
	Name, Type string
	Leaks      []string
}

// Load reads the face of the given packages of the module in the folder dir. Packages are paths relative to the
// module.
func Load(dir string, promised []string) (Face, error) {
	var patterns []string
	for _, p := range promised {
		patterns = append(patterns, "./"+p)
	}
	const mode = packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedDeps | packages.NeedFiles |
		packages.NeedSyntax | packages.NeedTypesInfo
	loaded, err := packages.Load(&packages.Config{Mode: mode, Dir: dir}, patterns...)
	if err != nil {
		return Face{}, err
	}
	allowed := map[string]bool{}
	for _, p := range promised {
		allowed[strings.TrimSuffix(Module+"/"+p, "/.")] = true
	}
	var f Face
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			return Face{}, p.Errors[0]
		}
		l := lister{allowed: allowed, self: p.Types}
		f.Packages = append(f.Packages, l.list())
	}
	slices.SortFunc(f.Packages, func(a, b Package) int { return strings.Compare(a.Path, b.Path) })
	return f, nil
}

// embeds ends the name of a member that says which interface another embeds. It is no identifier.
const embeds = " embeds"

func (p Package) names() (count int) {
	for _, m := range p.Names {
		if !strings.HasSuffix(m.Name, embeds) {
			count++
		}
	}
	return count
}

// Count returns the numbers of exported identifiers and methods, of exported fields, and of members that
// show a type which is not promised.
func (f Face) Count() (names, fields, leaks int) {
	for _, p := range f.Packages {
		names, fields = names+p.names(), fields+len(p.Fields)
		for _, m := range slices.Concat(p.Names, p.Fields) {
			leaks += min(len(m.Leaks), 1)
		}
	}
	return names, fields, leaks
}

// text returns the face as text, one member a line.
func (f Face) text() string {
	var out strings.Builder
	names, fields, leaks := f.Count()
	fmt.Fprintf(&out, "%d packages, %d names, %d fields, %d leaks\n", len(f.Packages), names, fields, leaks)
	for _, p := range f.Packages {
		fmt.Fprintf(&out, "\npackage %s: %d names, %d fields\n", p.Path, p.names(), len(p.Fields))
		for _, m := range slices.Concat(p.Names, p.Fields) {
			fmt.Fprintf(&out, "  %s %s", m.Name, m.Type)
			if len(m.Leaks) > 0 {
				fmt.Fprintf(&out, "  LEAKS %s", strings.Join(m.Leaks, ", "))
			}
			out.WriteByte('\n')
		}
	}
	return out.String()
}

// lister collects the members of one package.
type lister struct {
	allowed map[string]bool
	self    *types.Package
	out     Package
}

func (l *lister) list() Package {
	l.out.Path = strings.TrimPrefix(strings.TrimPrefix(l.self.Path(), Module), "/")
	if l.out.Path == "" {
		l.out.Path = "."
	}
	scope := l.self.Scope()
	for _, name := range scope.Names() {
		if o := scope.Lookup(name); o.Exported() {
			l.object(o)
		}
	}
	return l.out
}

func (l *lister) object(o types.Object) {
	n, ok := o.(*types.TypeName)
	if !ok {
		l.name(o.Name(), o.Type())
		return
	}
	if n.IsAlias() {
		l.name(n.Name()+" =", types.Unalias(n.Type()))
		return
	}
	named := n.Type().(*types.Named)
	switch under := named.Underlying().(type) {
	case *types.Struct:
		l.text(n.Name(), "struct", nil)
		for f := range under.Fields() {
			if f.Exported() {
				l.out.Fields = append(l.out.Fields, l.member(n.Name()+"."+f.Name(), f.Type()))
			}
		}
	case *types.Interface:
		l.text(n.Name(), "interface", nil)
		for m := range under.ExplicitMethods() {
			if m.Exported() {
				l.name("("+n.Name()+")."+m.Name(), m.Type())
			}
		}
		for e := range under.EmbeddedTypes() {
			l.name("("+n.Name()+")"+embeds, e)
		}
	default:
		l.name(n.Name(), under)
	}
	for m := range named.Methods() {
		if m.Exported() {
			l.name("("+n.Name()+")."+m.Name(), m.Type())
		}
	}
}

func (l *lister) name(name string, t types.Type) {
	l.out.Names = append(l.out.Names, l.member(name, t))
}

func (l *lister) text(name, text string, leaks []string) {
	l.out.Names = append(l.out.Names, Member{name, text, leaks})
}

func (l *lister) member(name string, t types.Type) Member {
	leaks := map[string]bool{}
	l.leaks(t, leaks, map[types.Type]bool{})
	short := func(p *types.Package) string {
		if p == l.self {
			return ""
		}
		return strings.TrimPrefix(p.Path(), Module+"/")
	}
	return Member{name, types.TypeString(t, short), slices.Sorted(maps.Keys(leaks))}
}

// leaks adds the named types of the module that t shows and that no promised package declares.
func (l *lister) leaks(t types.Type, found map[string]bool, seen map[types.Type]bool) {
	if t == nil || seen[t] {
		return
	}
	seen[t] = true
	each := func(tuple *types.Tuple) {
		for v := range tuple.Variables() {
			l.leaks(v.Type(), found, seen)
		}
	}
	switch t := t.(type) {
	case *types.Alias:
		l.leaks(types.Unalias(t), found, seen)
	case *types.Named:
		p := t.Obj().Pkg()
		if p != nil && (p.Path() == Module || strings.HasPrefix(p.Path(), Module+"/")) &&
			(!l.allowed[p.Path()] || !t.Obj().Exported()) {
			found[strings.TrimPrefix(p.Path(), Module+"/")+"."+t.Obj().Name()] = true
		}
		for a := range t.TypeArgs().Types() {
			l.leaks(a, found, seen)
		}
	case *types.Pointer:
		l.leaks(t.Elem(), found, seen)
	case *types.Slice:
		l.leaks(t.Elem(), found, seen)
	case *types.Array:
		l.leaks(t.Elem(), found, seen)
	case *types.Chan:
		l.leaks(t.Elem(), found, seen)
	case *types.Map:
		l.leaks(t.Key(), found, seen)
		l.leaks(t.Elem(), found, seen)
	case *types.Signature:
		each(t.Params())
		each(t.Results())
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() {
				l.leaks(f.Type(), found, seen)
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			l.leaks(m.Type(), found, seen)
		}
	}
}
