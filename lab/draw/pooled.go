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
	*reaches
	list    []drawn
	source  *source
	without *pooled // has the tests without a defect; nil for the pool itself, where no defect is on (see alone)
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
	w, err := j.switchedBy("pool", edits, len(list))
	if err != nil {
		return nil, nil, err
	}
	marks, err := j.marked(list, w.tests)
	if err != nil {
		return nil, nil, err
	}
	return &pooled{switched: w, reaches: marks, list: list, source: j.source}, fits, nil
}

// switchedBy writes the source with edits that call isDefect with numbers below n to a folder of the scratch folder.
func (j *judge) switchedBy(name string, edits map[string][]edit, n int) (*switched, error) {
	w := &switched{scratch: filepath.Join(j.scratch, name), binaries: map[string]string{}, limit: 10 * time.Minute}
	w.overlay = w.file("overlay.json")
	if err := os.MkdirAll(w.scratch, 0o777); err != nil {
		return nil, err
	}
	replaced := map[string]string{}
	write := func(target, text string) error {
		path := w.file(fmt.Sprintf("%d.go", len(replaced)))
		replaced[filepath.Join(j.root, target)] = path
		return os.WriteFile(path, []byte(text), 0o666)
	}
	for _, p := range j.packages {
		touched := false
		for _, name := range p.GoFiles {
			file, err := filepath.Rel(j.root, name)
			if err != nil {
				return nil, err
			}
			if list := edits[file]; list != nil {
				touched = true
				if err := write(file, string(inserted(j.text[file], list))); err != nil {
					return nil, err
				}
			}
		}
		if touched {
			text := fmt.Sprintf(poolHelpers, p.Name, w.file("active"), n, w.file("trace"))
			if err := write(filepath.Join(folder(p.PkgPath), "zz_defects.go"), text); err != nil {
				return nil, err
			}
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return nil, err
	}
	return w, os.WriteFile(w.overlay, text, 0o666)
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

// own runs the tests of a defect's own package that reach its function, and returns the test that fails. It runs all
// where none is known to: the function may be newer than what is known (see reaches).
func (p *pooled) own(i int) (outcome, string, error) {
	d := p.list[i]
	list, err := p.in(d.folder, p.source.around(d.site))
	if len(list) == 0 {
		list = p.all(d.folder)
	}
	if err != nil {
		return "", "", err
	}
	return p.among(i, list)
}

// others runs, for about the time of patience, the tests of other packages that reach the function of a defect, the
// quickest first, and returns the test that fails. After until no more is found out about tests.
func (p *pooled) others(i int, folders []string, patience time.Duration, until time.Time) (outcome, string, error) {
	var all []unit
	places := p.source.around(p.list[i].site)
	for _, folder := range folders {
		if _, known := p.known[folder]; !known && time.Now().After(until) {
			continue
		}
		list, err := p.in(folder, places)
		if err != nil {
			return "", "", err
		}
		all = append(all, list...)
	}
	slices.SortStableFunc(all, func(a, b unit) int { return cmp.Compare(a.takes, b.takes) })
	for k := range all {
		if patience -= all[k].takes; patience < 0 {
			all = all[:k]
			break
		}
	}
	slices.SortStableFunc(all, func(a, b unit) int { return cmp.Compare(a.folder, b.folder) }) // see among
	return p.among(i, all)
}

// among runs tests on a defect, the quickest first. Whole tests of a package that take some seconds together are run in
// one process; if one of them fails, it is run alone, and without the defect.
func (p *pooled) among(i int, list []unit) (outcome, string, error) {
	for len(list) > 0 {
		n, takes := 1, list[0].takes
		for !strings.Contains(list[0].test, "/") && n < len(list) && list[n].folder == list[0].folder &&
			!strings.Contains(list[n].test, "/") && takes+list[n].takes < 5*time.Second {
			takes += list[n].takes
			n++
		}
		batch := list[:n]
		list = list[n:]
		if n > 1 {
			var patterns []string
			for _, u := range batch {
				patterns = append(patterns, only(u.test))
			}
			failed, out, err := p.failed(i, batch[0].folder, strings.Join(patterns, "|"), max(30*time.Second, 5*takes))
			if err != nil {
				return "", "", err
			}
			if !failed {
				continue
			}
			name := testOf(out, "") // first the one that failed
			slices.SortStableFunc(batch, func(a, b unit) int {
				switch name {
				case a.test:
					return -1
				case b.test:
					return 1
				}
				return 0
			})
		}
		for _, u := range batch {
			if how, err := p.notices(i, u); err != nil || how != "" {
				return caught, cmp.Or(u.folder, ".") + " " + u.test + strings.TrimPrefix(how, "fails"), err
			}
		}
	}
	return survived, "", nil
}

// notices says how a test shows a defect: it fails, or does not end, and passes without the defect. A test that lasts
// longer than its limit is given five times the time that it takes without the defect just then.
func (p *pooled) notices(i int, u unit) (how string, err error) {
	limit := max(30*time.Second, 5*u.takes)
	for {
		failed, out, err := p.failed(i, u.folder, only(u.test), limit)
		if err != nil || !failed {
			return "", err
		}
		start := time.Now()
		if failed, _, err := cmp.Or(p.without, p).failed(-1, u.folder, only(u.test), 10*time.Minute); err != nil || failed {
			return "", err
		}
		if !strings.Contains(out, outOfTime) {
			return "fails", nil
		}
		if took := time.Since(start); 5*took <= limit {
			return "fails (does not end)", nil
		} else {
			limit = 6 * took
		}
	}
}

// failed says whether tests of a package fail with a defect; -1 is none.
func (p *pooled) failed(i int, folder, tests string, limit time.Duration) (bool, string, error) {
	if err := p.turn(fmt.Sprint(i)); err != nil {
		return false, "", err
	}
	p.limit = limit
	passed, out, err := p.run(folder, tests)
	return !passed, out, err
}
