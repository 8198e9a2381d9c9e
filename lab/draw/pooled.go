package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/go/packages"
)

// pooled is the product with many drawn defects in it, each of which is off until it is named (see switched). So the
// tests of a package are compiled once, and a defect is judged by the tests alone that reach its function.
type pooled struct {
	*switched
	units map[string][]unit // the tests of a package, the quickest first, by its folder
}

// poolHelpers is the source that each package with defects gets.
const poolHelpers = `package %s

import (
	"os"
	"strconv"
	"strings"
)

var (
	activeDefect = func() int {
		text, _ := os.ReadFile(%q)
		switch name := strings.TrimSpace(string(text)); name {
		case "":
			return -1
		case "trace":
			return -2
		default:
			i, _ := strconv.Atoi(name)
			return i
		}
	}()
	seenDefects [%d]bool
)

func isDefect(i int) bool {
	if activeDefect == -2 && !seenDefects[i] {
		seenDefects[i] = true
		if f, err := os.OpenFile(%q, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666); err == nil {
			f.WriteString(strconv.Itoa(i) + "\n")
			f.Close()
		}
	}
	return activeDefect == i
}
`

// body returns where the body of the function around a defect begins and ends in its file, and the source of its
// results. ok is false if the defect is in no function's body.
func (s *source) body(d site) (start, end int, results string, ok bool) {
	for _, p := range s.packages {
		for _, file := range p.Syntax {
			path, err := filepath.Rel(s.root, s.fset.Position(file.FileStart).Filename)
			if err != nil || filepath.ToSlash(path) != d.file {
				continue
			}
			c := scope{source: s, pkg: p, file: d.file}
			for _, of := range file.Decls {
				f, is := of.(*ast.FuncDecl)
				if !is || f.Body == nil {
					continue
				}
				start, end = c.at(f.Body.Pos()), c.at(f.Body.End())
				inside := true
				for _, e := range d.edits {
					inside = inside && e.start > start && e.end < end
				}
				if inside {
					if f.Type.Results != nil {
						results = c.code(f.Type.Results)
					}
					return start, end, results, true
				}
			}
		}
	}
	return 0, 0, "", false
}

// pool puts defects into the source. Defects that do not compile alone are left out: fits says which are in.
func (j *judge) pool(list []drawn, until time.Time) (*pooled, map[int]bool, error) {
	fits := map[int]bool{}
	edits := map[string][]edit{}
	for i, d := range list {
		start, end, results, ok := j.body(d.site)
		if !ok || time.Now().After(until) {
			continue
		}
		if !j.compiles(d.site) {
			continue
		}
		moved := slices.Clone(d.edits)
		for k := range moved {
			moved[k].start, moved[k].end = moved[k].start-start, moved[k].end-start
		}
		call := fmt.Sprintf("func() %s %s()", results, apply(j.text[d.file][start:end], moved))
		if results == "" {
			call += "; return"
		} else {
			call = "return " + call
		}
		edits[d.file] = append(edits[d.file], edit{start + 1, start + 1, fmt.Sprintf(" if isDefect(%d) { %s };", i, call)})
		fits[i] = true
	}
	w := &switched{scratch: j.scratch, overlay: filepath.Join(j.scratch, "pool.json"), binaries: map[string]string{},
		limit: 10 * time.Minute} // of a whole test with its parts, on a busy machine
	replaced := map[string]string{}
	write := func(target, text string) error {
		path := filepath.Join(j.scratch, fmt.Sprintf("pool%d.go", len(replaced)))
		replaced[filepath.Join(j.root, target)] = path
		return os.WriteFile(path, []byte(text), 0o666)
	}
	for _, p := range j.packages {
		touched := false
		for _, name := range p.GoFiles {
			file, err := filepath.Rel(j.root, name)
			if err != nil {
				return nil, nil, err
			}
			if list := edits[file]; list != nil {
				touched = true
				if err := write(file, string(inserted(j.text[file], list))); err != nil {
					return nil, nil, err
				}
			}
		}
		if touched {
			text := fmt.Sprintf(poolHelpers, p.Name, w.file("active"), len(list), w.file("trace"))
			if err := write(filepath.Join(folder(p.PkgPath), "zz_defects.go"), text); err != nil {
				return nil, nil, err
			}
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return nil, nil, err
	}
	return &pooled{w, map[string][]unit{}}, fits, os.WriteFile(w.overlay, text, 0o666)
}

// imported are the packages that a package may import.
type imported map[string]*packages.Package

// Import implements types.Importer.
func (m imported) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if p := m[path]; p != nil && p.Types != nil {
		return p.Types, nil
	}
	return nil, fmt.Errorf("%s: is not imported", path)
}

// compiles says whether the package of a defect compiles with it.
func (s *source) compiles(d site) bool {
	for _, p := range s.packages {
		if folder(p.PkgPath) != d.folder {
			continue
		}
		var files []*ast.File
		for _, file := range p.Syntax {
			name := s.fset.Position(file.FileStart).Filename
			if path, err := filepath.Rel(s.root, name); err == nil && filepath.ToSlash(path) == d.file {
				changed, err := parser.ParseFile(s.fset, name, apply(s.text[d.file], d.edits), parser.SkipObjectResolution)
				if err != nil {
					return false
				}
				file = changed
			}
			files = append(files, file)
		}
		c := types.Config{Importer: imported(p.Imports)}
		_, err := c.Check(p.PkgPath, s.fset, files, nil)
		return err == nil
	}
	return false
}

// of returns the tests of a package with the defects that they reach.
func (p *pooled) of(folder string) ([]unit, error) {
	list, known := p.units[folder]
	if !known {
		var err error
		if list, err = p.switched.units(folder); err != nil {
			return nil, err
		}
		p.units[folder] = list
	}
	return list, nil
}

// judge runs the tests that reach the function of a defect, those of its package first, then those of the packages that
// import it, and returns the test that fails. A test that lasts five times as long as without the defect, and half a
// minute at least, does not end.
func (p *pooled) judge(i int, d site, importers []string) (outcome, string, error) {
	for _, folder := range append([]string{d.folder}, importers...) {
		units, err := p.of(folder)
		if err != nil {
			return "", "", err
		}
		for _, u := range units {
			if !u.shows[i] {
				continue
			}
			p.limit = max(30*time.Second, 5*u.takes)
			failed, out, err := p.failed(i, u)
			if err != nil || !failed {
				if err != nil {
					return "", "", err
				}
				continue
			}
			if again, _, err := p.failed(-1, u); err != nil || again { // a test that fails without the defect
				if err != nil {
					return "", "", err
				}
				continue
			}
			name := cmp.Or(folder, ".") + " " + u.test
			if strings.Contains(out, outOfTime) {
				name += " (does not end)"
			}
			return caught, name, nil
		}
	}
	return survived, "", nil
}

// failed says whether a test fails with a defect; -1 is none.
func (p *pooled) failed(i int, u unit) (bool, string, error) {
	if err := p.turn(fmt.Sprint(i)); err != nil {
		return false, "", err
	}
	passed, out, err := p.run(u.folder, only(u.test))
	return !passed, out, err
}
