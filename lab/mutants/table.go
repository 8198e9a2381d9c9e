//go:build mutants

package main

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
)

// edit replaces the text old, which must occur exactly once in its file, by the text new.
type edit struct{ old, new string }

// mutant is a defect listed in mutants.txt: the edits that make it, and the tests that should catch
// it.
type mutant struct {
	section, name, file string
	packages            []string
	tests               string // a regexp; empty for all
	breaks              string
	edits               []edit
}

// key returns a digest of the parts of a mutant that decide whether its tests catch it. A recorded verdict
// with another key is out of date.
func (m mutant) key() string {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%q %q %q %q", m.file, m.packages, m.tests, m.edits)))
	return fmt.Sprintf("%x", sum[:6])
}

// apply returns the given text of the mutant's file with the edits made. It returns an error if the old
// text of an edit does not occur exactly once.
func (m mutant) apply(text string) (string, error) {
	for _, e := range m.edits {
		if n := strings.Count(text, e.old); n != 1 {
			return "", fmt.Errorf("%s: old text occurs %d times: must occur once:\n%s", m.file, n, e.old)
		}
		text = strings.Replace(text, e.old, e.new, 1)
	}
	return text, nil
}

func (m mutant) validate() error {
	switch {
	case m.file == "" || len(m.packages) == 0 || m.breaks == "":
		return fmt.Errorf("mutant %s: must have in, test and breaks", m.name)
	case len(m.edits) == 0:
		return fmt.Errorf("mutant %s: must have old and new text", m.name)
	}
	for _, e := range m.edits {
		if e.old == "" || e.old == e.new {
			return fmt.Errorf("mutant %s: old text must not be empty or the new text", m.name)
		}
	}
	return nil
}

// readTable reads the defects of mutants.txt, in the format that the head of that file describes.
func readTable(path string) ([]mutant, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var table []mutant
	var section string
	names := map[string]bool{}
	last := byte('+') // sign of the previous line
	s := bufio.NewScanner(file)
	for n := 1; s.Scan(); n++ {
		line := s.Text()
		word, rest, _ := strings.Cut(line, " ")
		rest = strings.TrimSpace(rest)
		var m *mutant
		if len(table) > 0 {
			m = &table[len(table)-1]
		}
		switch {
		case line == "" || line[0] == '#':
		case word == "==":
			section = rest
		case word == "mutant":
			if names[rest] {
				return nil, fmt.Errorf("%s:%d: mutant %s: name taken", path, n, rest)
			}
			names[rest] = true
			table = append(table, mutant{section: section, name: rest})
			last = '+'
		case m == nil:
			return nil, fmt.Errorf("%s:%d: before the first mutant", path, n)
		case line[0] == '-':
			if last == '+' {
				m.edits = append(m.edits, edit{})
			}
			e := &m.edits[len(m.edits)-1]
			e.old = joined(e.old, line[1:], last == '-')
			last = '-'
		case line[0] == '+':
			if len(m.edits) == 0 {
				return nil, fmt.Errorf("%s:%d: new text without old", path, n)
			}
			e := &m.edits[len(m.edits)-1]
			e.new = joined(e.new, line[1:], last == '+')
			last = '+'
		case word == "in":
			m.file = rest
		case word == "test":
			for _, f := range strings.Fields(rest) {
				if strings.HasPrefix(f, "./") {
					m.packages = append(m.packages, f)
				} else {
					m.tests = f
				}
			}
		case word == "breaks":
			m.breaks = rest
		default:
			return nil, fmt.Errorf("%s:%d: %q: must begin a field, - or +", path, n, line)
		}
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	for _, m := range table {
		if err := m.validate(); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return table, nil
}

func joined(text, line string, more bool) string {
	if more {
		return text + "\n" + line
	}
	return line
}
