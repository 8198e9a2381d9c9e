// Package size counts the lines of Go in the module. CONTRIBUTING.md states the parts.
package size

import (
	"fmt"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Lines are numbers of lines. A line with any code is a line of code, whatever follows the code.
type Lines struct{ Code, Comment, Blank int }

// All returns the number of lines.
func (l Lines) All() int { return l.Code + l.Comment + l.Blank }

func (l Lines) plus(m Lines) Lines {
	return Lines{l.Code + m.Code, l.Comment + m.Comment, l.Blank + m.Blank}
}

// Part says whom a line of Go serves.
type Part string

// Product is each package, its test files apart, that a promised package or the command reaches by its imports.
// Support is every other package of the module: packages for tests, examples and tools. Tests are the test files.
// Generators are the modules of their own in folders whose names begin with "_", which write assembly. Laboratory is
// the module lab with its tests.
const (
	Product    Part = "product"
	Support    Part = "support"
	Tests      Part = "tests"
	Generators Part = "generators"
	Laboratory Part = "laboratory"
)

// Parts lists the parts.
var Parts = []Part{Product, Support, Tests, Generators, Laboratory}

// Count is the size of one folder in one part.
type Count struct {
	Folder string
	Part   Part
	Lines
}

// Total returns the lines of a part.
func Total(counts []Count, part Part) (sum Lines) {
	for _, c := range counts {
		if c.Part == part {
			sum = sum.plus(c.Lines)
		}
	}
	return sum
}

// Load counts the lines of the module in the folder dir, largest first. Module is its path, and roots are the
// packages, relative to the module, that are product for their own sake: the promised ones and the command.
// Packages whose names end in "test" are support also if they are promised.
func Load(dir, module string, roots []string) (counts []Count, err error) {
	type key struct {
		folder string
		part   Part
	}
	lines, imports := map[key]Lines{}, map[string][]string{}
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if name := e.Name(); err != nil || e.IsDir() {
			if err == nil && rel != "." && strings.HasPrefix(name, ".") {
				return fs.SkipDir
			}
			return err
		} else if !strings.HasSuffix(name, ".go") {
			return nil
		}
		folder, part := filepath.ToSlash(filepath.Dir(rel)), Support
		switch {
		case strings.HasPrefix(folder+"/", "lab/"):
			part = Laboratory
		case strings.Contains("/"+folder, "/_"):
			part = Generators
		case strings.HasSuffix(rel, "_test.go"):
			part = Tests
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		k := key{folder, part}
		lines[k] = lines[k].plus(Of(text))
		if part != Support {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range file.Imports {
			if to, err := strconv.Unquote(i.Path.Value); err == nil && (to == module || strings.HasPrefix(to, module+"/")) {
				imports[folder] = append(imports[folder], strings.TrimPrefix(strings.TrimPrefix(to, module), "/"))
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	reached := map[string]bool{}
	for next := slices.Clone(roots); len(next) > 0; next = next[1:] {
		name := next[0]
		if name == "" {
			name = "."
		}
		if lines[key{name, Support}] == (Lines{}) {
			return nil, fmt.Errorf("size: %q is no package of the module", name)
		}
		if !reached[name] && !strings.HasSuffix(name, "test") {
			reached[name] = true
			next = append(next, imports[name]...)
		}
	}
	for _, k := range slices.Collect(maps.Keys(lines)) {
		c := Count{k.folder, k.part, lines[k]}
		if reached[k.folder] && k.part == Support {
			c.Part = Product
		}
		counts = append(counts, c)
	}
	slices.SortFunc(counts, func(a, b Count) int {
		if d := b.All() - a.All(); d != 0 {
			return d
		}
		return strings.Compare(a.Folder+string(a.Part), b.Folder+string(b.Part))
	})
	return counts, nil
}

// Of counts the lines of a file of Go.
func Of(text []byte) (l Lines) {
	const comment, code = 1, 2
	kinds := make([]int, strings.Count(string(text), "\n")+2)
	set := token.NewFileSet()
	file := set.AddFile("", set.Base(), len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, scanner.ScanComments)
	for {
		at, tok, literal := s.Scan()
		if tok == token.EOF {
			break
		}
		if tok == token.SEMICOLON && literal == "\n" {
			continue // a line's end, which is no text
		}
		kind := code
		if tok == token.COMMENT {
			kind = comment
		}
		for i := range strings.Count(literal, "\n") + 1 {
			line := file.Line(at) + i
			kinds[line] = max(kinds[line], kind)
		}
	}
	for _, kind := range kinds[1 : file.LineCount()+1] {
		switch kind {
		case code:
			l.Code++
		case comment:
			l.Comment++
		default:
			l.Blank++
		}
	}
	return l
}
