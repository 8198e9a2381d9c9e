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
// [verdict.caught], it ignores changes of the tests' sources. The page docs/mutants.md lists the mutants
// for which claimed is false.
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

const preface = `# Seeded defects

A test that cannot fail proves nothing. A seeded defect is put into the source on purpose, alone, and a
test must fail because of it.

| | defects |
|---|---|
| in the table | %d |
| caught by a test | %d |
| not caught | %d |
| not run since they were last changed | %d |
| left out where Python or its packages could not be had | %d |

%d of those run were run on an earlier state of the source than this page's.

The defects, and the fault that each causes, are in [lab/mutants/mutants.txt](../lab/mutants/mutants.txt),
whose head says how one is added. The test that caught each is in [lab/mutants/caught.tsv](../lab/mutants/caught.tsv),
a line for each defect: its name, two keys of its text and of the source, the outcome, the test's package and the test.

    go run -tags mutants ./lab/mutants              # all of them, and this page
    go run -tags mutants ./lab/mutants -run clip    # those whose name matches
    go run -tags mutants ./lab/mutants -resume      # those not caught yet, new, or touched by a change
    go run -tags mutants ./lab/mutants -new         # those never caught as they stand in the table
    go run -tags mutants ./lab/mutants -check       # only: do they fit and compile?
    go run -tags mutants ./lab/mutants -page        # none: only this page, from the recorded runs
    go run -tags mutants ./lab/mutants -sample 40 -minutes 4 -seed 7

A defect is caught if a test fails with it, fails with it again when it is run alone, and passes without
it. A test that fails once and then passes (flaky), or a run that only exceeds its time limit, is no catch
and is listed below as what it is. A defect that does not compile, whose text is not found exactly once, or
whose tests fail without it is an error. Tests are run in their default mode, and of a package only those
that the table names; Python's in the environment that python/test.sh makes.

-resume runs a defect again when the defect, the tests' own files, or the
module's code that they depend on has changed; -new only if the defect itself has. Continuous integration runs a
random sample of all of them (the last line above, by another seed each time,
which it prints) and fails if one of those is not caught; that writes no file.
Where Python or its packages cannot be had, the Python defects of a sample are
named and skipped. This page is written by the program and not edited by hand.
`

// writePage writes the page docs/mutants.md: the number of defects with each outcome, and a line for each
// defect that no test is recorded to catch. For each caught defect, the file caught.tsv names the test.
func writePage(path string, table []mutant, found results, s sources) error {
	var count, stale int
	var missed, pending, lacking []string
	for _, m := range table {
		v, ok := found[m.name]
		run := ok && v.key == m.key()
		switch {
		case !run:
			pending = append(pending, m.line(""))
		case v.outcome == caught:
			count++
		case v.outcome == needsPython:
			lacking = append(lacking, m.line(""))
		default:
			missed = append(missed, m.line(strings.TrimSpace(string(v.outcome)+" "+v.where(m))))
		}
		if run && v.sources != s.key(m) {
			stale++
		}
	}
	text := fmt.Sprintf(preface, len(table), count, len(missed), len(pending), len(lacking), stale) +
		sectionOf("Not caught", missed) + sectionOf("Not run since they were last changed", pending) +
		sectionOf("Left out where Python or its packages could not be had", lacking)
	return os.WriteFile(path, []byte(text), 0o666)
}

// sectionOf returns a section of the page with the given heading and lines, one for each defect. It returns
// "" if there are no lines.
func sectionOf(heading string, lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return "\n## " + heading + "\n\n" + strings.Join(lines, "")
}

// line returns the line about the seeded defect on the page. became is the outcome of its run, which line
// adds in parentheses. became is "" if the section's heading already states the outcome.
func (m mutant) line(became string) string {
	if became != "" {
		became = " (" + became + ")"
	}
	return fmt.Sprintf("- %s, in %s: %s%s\n", m.name, m.file, m.breaks, became)
}

// where returns the name of the test that decided the verdict on the defect. The test's package precedes
// the name if it is not the defect's own package.
func (v verdict) where(m mutant) string {
	if v.test == "" || strings.HasPrefix(m.file, v.pkg+"/") {
		return v.test
	}
	return v.pkg + " " + v.test
}
