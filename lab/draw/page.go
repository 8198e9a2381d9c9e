package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
)

const (
	pageFile  = "docs/mutants.md"
	tableFile = "lab/mutants/mutants.txt"
)

const page = `# Seeded defects

A test that cannot fail proves nothing. A seeded defect is put into the source on purpose, alone, and a test must fail
because of it. There are three kinds.

**Written by hand.** %d defects of the code that guards people (curator, account, query, budget, certificate, runs in
folders) are in [lab/mutants/mutants.txt](../lab/mutants/mutants.txt), whose head says how one is added. Each is caught
if a test fails with it, fails with it again when it is run alone, and passes without it.

    go run -tags mutants ./lab/mutants -resume      # those not caught yet, new, or touched by a change
    go run -tags mutants ./lab/mutants -run clip    # those whose name matches
    go run -tags mutants ./lab/mutants -status      # none: how many verdicts hold for the source as it is
    go run -tags mutants ./lab/mutants -check       # only: do they fit and compile?
    go run -tags mutants ./lab/mutants -sample 40 -minutes 4 -seed 7

The verdicts are in [lab/mutants/caught.tsv](../lab/mutants/caught.tsv), with a key of the source on which each was run.

**Shown facts.** %d numbers and truths that users read (printed, drawn, or written to JSON, SQL or ONNX) each have an
oracle in [lab/draw/shown.tsv](../lab/draw/shown.tsv): a test that fails if the number is a sixteenth larger, the count
one more, or the truth its opposite. The program finds the facts in the source: arguments of formats, of functions that
write numbers, fields of JSON, and parts of pages. A default test of the laboratory fails if a fact has no line there,
or if its oracle has random cases, which notice by chance.
%s
Numbers of the summaries in Python and R are made wrong one by one by python/tests/test_shown.py and r/tests/shown.R.

    go run ./lab/draw -enrol                        # look for oracles of new facts
    go run ./lab/draw -verify -minutes 1            # make facts wrong in a random order, and run their oracles

All 863 facts that had an oracle were made wrong three times, each time in another order: each oracle noticed in its first
turn.

**Drawn.** A program draws defects that nobody wrote a test for: operands, operators and constants that are exchanged,
conditions that are inverted, statements that are left out, fields of the same type that are exchanged, an index that
is one off, a unit that is wrong. It draws as many of each kind of place, half of them in lines of the last 50
commits, and runs the short tests that reach the function: those of its package, then those of all packages that import
it. The defects of a draw are compiled together, each behind a switch. The functions that a test reaches are kept for
later draws. A value beside an error, the capacity of a list, and a file or context that is freed later are not drawn:
nobody can tell them from the program.

    go run ./lab/draw -n 60                         # draw, and say which survive
    go run ./lab/draw -n 60 -python -keep           # with bindings, added to lab/draw/drawn.tsv

A drawn defect that survives is no proof of a bad test, since some changes of the source are no faults. Each is read,
and those that are faults lead to a test. The draws that were kept ([lab/draw/drawn.tsv](../lab/draw/drawn.tsv), with
the commit of each) had these outcomes when they were drawn:

| kind of place | drawn | caught | not caught | timed out | no fault |
|---|---|---|---|---|---|
%s
The next table has a row for each draw. The rate is the share of caught defects among the drawn ones that are faults:

| commit | seed | drawn | caught | not caught | timed out | no fault | rate |
|---|---|---|---|---|---|---|---|
%s
The draw 120451 ran on a busy machine, and its rate is before tests of the classes of its survivors followed. Of the
100 defects of the draw 666037, which came after those tests, 18 were judged before its time was over: its rate says
little. The draw 271828 caught all 20 shown numbers. All 11 faults that it did not catch have tests since, and so have
the 21 of the first draw 314159, which ran while other programs took most of the machine, and the 5 of the draw 141421. Of
that draw, 16 defects lie in functions that were newer than the kept lists of functions. They were judged by hand:
tests of that commit catch them. Today such a function is judged by all tests of its package. The 13 faults that the
second draw 314159 did not catch have tests since, too. Half of the defects of the draws 730915 and 184523 lie in
code of one day, and the second draw came after tests of the classes of the first one's survivors. Of the first draw,
eight faults that the tests of their own packages did not catch were not tried with those of other packages. All faults
that these two draws did not catch have tests since, but two: the order in which bounds of a composition are refined,
and an error that no grid of a query is known to cause. Of the 100 defects of the draw 190017, which came after those
tests, 27 were judged before its time was over. The one that was not caught has a test since. The draw 261130 ran
beside other programs. For four of its defects, tests of other packages were chosen by hand. The seven that were not
caught have tests since. The draw 113021 came after these tests. For most of the defects that the tests of their own
packages did not catch, few tests of other packages were tried, so its rate is a lower bound. Of the nine that were not
caught seven have tests since. Two are open: the length of a gradient estimate that adds up several gradients, and an
error in drawing a cohort for one-pass STORM. The draw 223001 came after these tests. Of its defects 85 were caught by
short tests of their own packages: 56 by the program, which judged the first 67 of its list, and 29 by such tests that
were run by hand. Of the other 15, seven are no faults. For each of the other eight, all default tests of its own package
that reach the function were run, and caught none. Default tests of some other packages were then run for seven, and
caught three. Of the five that were not caught four have tests since. One is open: an error in the eigenvalues of second
moments that rows may have.

Into code of the 120 commits before it 271 defects were written by hand, and judged by the tests of their own packages.
Of numbers and words that users read 86 of 134 were caught, of statistics 60 of 75, of privacy 33 of 38, of state 10 of
19, and of the reading of texts 2 of 5. Of the other 80, 12 are no faults and 67 have tests since. One is open: a part of
a bound on rounding errors, of 1e-13.

Of the draw of bindings 161803, 11 of 40 defects of Python and R were judged within its time: 10 were caught, and
one is no fault. Of 30 defects of Python that were written by hand 7 were not noticed: 2 are no faults, and 5 have tests since.

Five draws were judged by the tests of their own packages alone (-own). Their rates are lower bounds: a defect that only
the tests of the command, of runs in folders or of the stores notice counts as not caught there.

| seed | of | drawn | caught | rate | the others |
|---|---|---|---|---|---|
| 777 | code that was new then | 90 | 69 | 77%% | 4 no faults; tests of the classes of 13 followed |
| 4242 | code that was new then | 50 | 36 | 72%% | tests of the classes of at least 9 followed |
| 31337 | 29 folders with short tests | 100 | 70 | 70%% | 9 no faults; tests of the classes of 18 followed; 3 are open |
| 90210 | the same, after those tests | 100 | 73 | 73%% | tests of the classes of 7 followed; 20 are open or not read |
| 61007 | all code | 28 | 21 | 78%% | 1 no fault; tests of the classes of 4 followed; 2 are open |

By kind of place the draw 90210 caught 20 of 22 shown numbers, 16 of 25 statistics, 6 of 14 faults of stores, 18 of 21 of
state and 13 of 18 security settings.

In the first draws a defect could time out: no test failed, and one did not end. Today such a test is run alone, in six
times the time that it takes without the defect. A defect is no fault if the program does the same with it; the file of
draws has the reason. Defects of Python and R are drawn with -python alone.

Continuous integration runs a sample of the written defects, of the facts and of the drawn ones, each within minutes. It
judges drawn defects by the tests of their own packages or, where a draw with -scratch ~/.cache/stillpoint/draw has left
what tests reach, by those of all packages: to find that out takes ten minutes.
Gremlins, a mutation tool for Go that is kept up, is not used: it says of itself that a run on a large module takes hours,
and it exchanges operators, but knows neither formats nor fields of the same type nor units, and no kinds of place.
This page is written by go run ./lab/draw -page and not edited by hand.
`

// written returns the page about seeded defects, from the files that it speaks of.
func written() ([]byte, error) {
	table, err := os.ReadFile(tableFile)
	if err != nil {
		return nil, err
	}
	r, _, err := readRegistry(registryFile)
	if err != nil {
		return nil, err
	}
	drawn, err := os.ReadFile(drawnFile)
	if err != nil {
		return nil, err
	}
	bare := r.bare()
	left := "Each has one."
	if bare > 0 {
		left = fmt.Sprintf("%d more are listed there as without one; that list may only become shorter.", bare)
	}
	rates, draws := map[string]map[outcome]int{}, []string{}
	for line := range strings.Lines(string(drawn)) {
		f := strings.Split(line, "\t")
		if len(f) != 7 {
			return nil, fmt.Errorf("%s: %q: must have seven fields", drawnFile, line)
		}
		draw := f[0] + " | " + f[1]
		if !slices.Contains(draws, draw) {
			draws = append(draws, draw)
		}
		for _, of := range []string{f[2], draw} {
			if rates[of] == nil {
				rates[of] = map[outcome]int{}
			}
			rates[of][outcome(f[4])]++
		}
	}
	var rows, each strings.Builder
	count := func(name string, t map[outcome]int) string {
		return fmt.Sprintf("| %s | %d | %d | %d | %d | %d |", name, t[caught]+t[survived]+t[timedOut]+t[noFault], t[caught],
			t[survived], t[timedOut], t[noFault])
	}
	for _, k := range classes {
		if t := rates[k.name]; t != nil {
			fmt.Fprintln(&rows, count(k.name, t))
		}
	}
	for _, draw := range draws {
		t := rates[draw]
		faults := t[caught] + t[survived] + t[timedOut]
		fmt.Fprintf(&each, "%s %.0f%% |\n", count(draw, t), 100*float64(t[caught])/float64(max(faults, 1)))
	}
	return fmt.Appendf(nil, page, bytes.Count(table, []byte("\nmutant ")), len(r)-bare, left, rows.String(), each.String()), nil
}
