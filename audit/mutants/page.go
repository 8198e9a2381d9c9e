//go:build mutants

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// results are the latest verdicts by a mutant's name.
type results map[string]verdict

// caught reports whether the mutant as it is now was caught.
func (r results) caught(m mutant) bool {
	v, ok := r[m.name]
	return ok && v.key == m.key() && v.test != ""
}

func readCaught(path string) (results, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return results{}, nil
	}
	if err != nil {
		return nil, err
	}
	r := results{}
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 4 {
			return nil, fmt.Errorf("%s: %q: must have four fields", path, line)
		}
		r[f[0]] = verdict{f[1], f[2], f[3]}
	}
	return r, nil
}

// write writes the verdicts of the mutants there are, in their order.
func (r results) write(path string, table []mutant) error {
	var b strings.Builder
	for _, m := range table {
		if v, ok := r[m.name]; ok {
			fmt.Fprintf(&b, "%s\t%s\t%s\t%s\n", m.name, v.key, v.pkg, v.test)
		}
	}
	return os.WriteFile(path, []byte(b.String()), 0o666)
}

const preface = `# Seeded defects

A test that cannot fail proves nothing. Each row below is a defect that was put
into the source on purpose, alone, and the first test that failed because of it.
%d defects, %d caught, %d not caught, %d not run since they were last changed.

    go run -tags mutants ./audit/mutants              # all of them, and this page
    go run -tags mutants ./audit/mutants -run clip    # those whose name matches
    go run -tags mutants ./audit/mutants -resume      # those not caught yet, or new
    go run -tags mutants ./audit/mutants -check       # only: do they fit and compile?

The defects are in [audit/mutants/mutants.txt](../audit/mutants/mutants.txt),
whose head says how one is added. A defect that does not compile, whose text is
not found exactly once, or whose tests fail without it is an error and no catch.
Tests are run in their default mode, and of a package only those that the table
names. This page is written by the program and not edited by hand.
`

// writePage writes the table for readers.
func writePage(path string, table []mutant, found results) error {
	var caught, survived, pending int
	var b strings.Builder
	section := ""
	for _, m := range table {
		if m.section != section {
			section = m.section
			fmt.Fprintf(&b, "\n## %s\n\n| Defect | Where | What it would have broken | Caught by |\n|---|---|---|---|\n", section)
		}
		v, ok := found[m.name]
		var by string
		switch {
		case !ok || v.key != m.key():
			pending++
			by = "not run"
		case v.test == "":
			survived++
			by = "**nothing**"
		default:
			caught++
			by = v.test
			if !strings.HasPrefix(m.file, v.pkg+"/") {
				by = v.pkg + " " + by
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", m.name, m.file, m.breaks, by)
	}
	text := fmt.Sprintf(preface, len(table), caught, survived, pending) + b.String()
	return os.WriteFile(path, []byte(text), 0o666)
}
