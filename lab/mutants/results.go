//go:build mutants

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// results are the latest verdicts by name of mutant.
type results map[string]verdict

// caught reports whether the mutant was caught when it was last run, and neither the mutant nor the sources
// of its tests have changed since.
func (v verdict) caught(m mutant, s sources) bool {
	return v.outcome == caught && v.key == m.key() && v.sources == s.key(m)
}

// claimed reports whether the mutant was caught when it was last run and has not changed since. Unlike
// [verdict.caught], it ignores changes of the tests' sources.
func (v verdict) claimed(m mutant) bool { return v.outcome == caught && v.key == m.key() }

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
		if len(f) != 6 {
			return nil, fmt.Errorf("%s: %q: must have six fields", path, line)
		}
		r[f[0]] = verdict{key: f[1], sources: f[2], outcome: outcome(f[3]), pkg: f[4], test: f[5]}
	}
	return r, nil
}

// write writes the verdicts on the table's mutants to the file caught.tsv, in the table's order.
func (r results) write(path string, table []mutant) error {
	var b strings.Builder
	for _, m := range table {
		if v, ok := r[m.name]; ok {
			fmt.Fprintf(&b, "%s\t%s\t%s\t%s\t%s\t%s\n", m.name, v.key, v.sources, v.outcome, v.pkg, v.test)
		}
	}
	return os.WriteFile(path, []byte(b.String()), 0o666)
}

// status counts the verdicts of the table's mutants that hold for the source as it is, and lists the mutants without
// such a verdict, with the outcome of their run, if there was one.
func status(table []mutant, found results, s sources) string {
	counts := map[string]int{}
	var list strings.Builder
	for _, m := range table {
		v, ok := found[m.name]
		became := string(v.outcome)
		switch {
		case !ok || v.key != m.key():
			became = "not run since it was last changed"
		case v.sources != s.key(m):
			became += ", on an earlier state of the source"
		}
		if counts[became]++; v.outcome != caught || !ok || v.key != m.key() {
			fmt.Fprintf(&list, "%s, in %s: %s (%s)\n", m.name, m.file, m.breaks, became)
		}
	}
	text := fmt.Sprintf("%d defects\n", len(table))
	for _, became := range sortedKeys(counts) {
		text += fmt.Sprintf("%d %s\n", counts[became], became)
	}
	return text + list.String()
}
