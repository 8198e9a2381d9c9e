package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// reaches knows which functions of the product each of its tests reaches. What is found out about the tests of a
// package is kept in the scratch folder, for draws to come: tests that are new there are run alone, once.
type reaches struct {
	marks     *switched
	functions []string // a name for each mark (see place)
	kept      string   // the folder of what is known
	known     map[string][]reaching
	names     func(folder string) ([]string, error) // of the tests of a package
}

// reaching is a test, or a subtest of a test that takes long, with the functions that it reaches.
type reaching struct {
	Test   string
	Takes  time.Duration
	Places []string
}

// place names the function around a defect.
func place(d site) string { return d.file + " " + d.function }

// marked puts a mark into each function of the folders of a draw or, unless judged by own packages alone, into those of
// all files from which defects are drawn.
func (j *judge) marked(list []drawn, names func(folder string) ([]string, error)) (*reaches, error) {
	r := &reaches{kept: filepath.Join(j.scratch, "reached"), known: map[string][]reaching{}, names: names}
	if j.own {
		r.kept += "-own"
	}
	edits := map[string][]edit{}
	for _, p := range j.packages {
		for _, file := range p.Syntax {
			path, err := filepath.Rel(j.root, j.fset.Position(file.FileStart).Filename)
			if err != nil {
				return nil, err
			}
			path = filepath.ToSlash(path)
			if j.text[path] == nil || !slices.ContainsFunc(classes, func(k class) bool { return k.has(path) }) ||
				j.own && !slices.ContainsFunc(list, func(d drawn) bool { return d.folder == folder(p.PkgPath) }) {
				continue
			}
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
					at := j.fset.Position(f.Body.Lbrace).Offset + 1
					edits[path] = append(edits[path], edit{at, at, fmt.Sprintf(" isDefect(%d);", len(r.functions))})
					r.functions = append(r.functions, path+" "+named(d))
				}
			}
		}
	}
	var err error
	if r.marks, err = j.switchedBy("marks", edits, len(r.functions)); err != nil {
		return nil, err
	}
	return r, os.MkdirAll(r.kept, 0o777)
}

// in returns the tests of a package that reach one of some functions, the quickest first.
func (r *reaches) in(folder string, places []string) (list []unit, err error) {
	tests, ok := r.known[folder]
	if !ok {
		if tests, err = r.find(folder); err != nil {
			return nil, err
		}
		r.known[folder] = tests
	}
	for _, t := range tests {
		if slices.ContainsFunc(places, func(p string) bool { return slices.Contains(t.Places, p) }) {
			list = append(list, unit{folder: folder, test: t.Test, takes: t.Takes})
		}
	}
	return list, nil
}

// all returns the tests of a package that are known, the quickest first.
func (r *reaches) all(folder string) (list []unit) {
	for _, t := range r.known[folder] {
		list = append(list, unit{folder: folder, test: t.Test, takes: t.Takes})
	}
	return list
}

// find returns what is known about the tests of a package, after it has found out about those that are new.
func (r *reaches) find(folder string) (tests []reaching, err error) {
	path := filepath.Join(r.kept, strings.ReplaceAll(folder, "/", "_")+".json")
	if text, err := os.ReadFile(path); err == nil {
		if err := json.Unmarshal(text, &tests); err != nil {
			return nil, err
		}
	}
	names, err := r.names(folder)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	old := map[string]bool{}
	tests = slices.DeleteFunc(tests, func(t reaching) bool {
		whole, _, _ := strings.Cut(t.Test, "/")
		old[whole] = true
		return !slices.Contains(names, whole)
	})
	fresh := slices.DeleteFunc(names, func(name string) bool { return old[name] })
	if len(fresh) > 0 {
		r.marks.only = regexp.MustCompile("^(" + strings.Join(fresh, "|") + ")$")
		list, err := r.marks.units(folder)
		if err != nil {
			return nil, err
		}
		for _, u := range list {
			t := reaching{Test: u.test, Takes: u.takes}
			for i := range u.shows {
				if i >= 0 && i < len(r.functions) {
					t.Places = append(t.Places, r.functions[i])
				}
			}
			slices.Sort(t.Places)
			t.Places = slices.Compact(t.Places)
			tests = append(tests, t)
		}
		slices.SortStableFunc(tests, func(a, b reaching) int { return int(a.Takes - b.Takes) })
	}
	text, err := json.Marshal(tests)
	if err != nil {
		return nil, err
	}
	return tests, os.WriteFile(path, text, 0o666)
}

// readersOf returns the packages that import a package, directly or by others, by their folders.
func (s *source) readersOf(folder string) (list []string) {
	seen := map[string]bool{folder: true}
	for next := []string{folder}; len(next) > 0; next = next[1:] {
		for _, f := range s.importer[next[0]] {
			if !seen[f] {
				seen[f] = true
				list, next = append(list, f), append(next, f)
			}
		}
	}
	return list
}
