package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
)

// renew is the flag by which TestPagesRun writes the printed lines of noisy blocks into the pages: after a change of
// the program, run it, read the differences and correct the sentences around them.
var renew = flag.Bool("renew", false, "write what commands print into the noisy blocks of pages")

var (
	numberText = regexp.MustCompile(`-?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?`)
	wholeText  = regexp.MustCompile(`^-?\d[\d,]*$`)
	spaceText  = regexp.MustCompile(`[ \t]+`)
	budgetText = regexp.MustCompile(`(?:epsilon|delta) $`)              // before a number without noise
	partText   = regexp.MustCompile(`^% (?:spent|interval|confidence)`) // after one
)

// noise says which numbers of a block have noise, and how much.
type noise struct {
	any    bool    // some have: runs of spaces, and numbers with a point, an exponent or a percent sign, may differ
	counts bool    // whole numbers have noise, too
	slack  float64 // by which numbers may differ, beside a third of the larger one and one of the last digit shown
	again  bool    // the page is renewed: every number may be any other
}

// noiseOf reads the noise of a block from its directive.
func noiseOf(b block) (n noise, err error) {
	if n.any = b.directive == "noisy"; !n.any || b.detail == "" {
		return n, nil
	}
	text, counts, has := strings.Cut(b.detail, ", ")
	n.counts = counts == "counts"
	if n.slack, err = strconv.ParseFloat(text, 64); err != nil || has != n.counts {
		return n, errors.New("the directive noisy is not as in noisy: 0.5 or noisy: 0.5, counts")
	}
	return n, nil
}

// exact says whether the number text[from:to] of a shown line is without noise: whole numbers, epsilon, delta, the
// share of a budget and the level of an interval.
func (n noise) exact(text string, from, to int) bool {
	after := text[to:]
	return !n.again && (wholeText.MatchString(text[from:to]) && !strings.HasPrefix(after, "%") && !n.counts ||
		budgetText.MatchString(text[:from]) || partText.MatchString(after))
}

// patternOf returns the regular expression of an output that a page shows, with a group for each number that has
// noise, and these numbers. A line "..." matches any lines, and " ..." at the end of a line matches the rest of the
// line. The expression matches the whole output, so lines left out at the beginning or the end need a "..." too. If
// the page is renewed, the groups are the lines.
func patternOf(expected string, n noise) (pattern *regexp.Regexp, numbers []string) {
	var p strings.Builder
	quoted := func(text string) string {
		text = regexp.QuoteMeta(text)
		if n.any {
			text = spaceText.ReplaceAllString(text, "[ \t]+")
		}
		return text
	}
	group := "(" + numberText.String() + ")"
	open, shut := "", ""
	if n.again {
		group, open, shut = numberText.String(), "(", ")"
	}
	write := func(text string) {
		done := 0
		for _, at := range numberText.FindAllStringIndex(text, -1) {
			if !n.any || n.exact(text, at[0], at[1]) {
				continue
			}
			p.WriteString(quoted(text[done:at[0]]) + group)
			numbers = append(numbers, text[at[0]:at[1]])
			done = at[1]
		}
		p.WriteString(quoted(text[done:]))
	}
	for line := range strings.Lines(expected) {
		line = strings.TrimRight(line, " \n")
		rest, cut := strings.CutSuffix(line, " ...")
		if line == "..." {
			p.WriteString(`(?:.*\n)*?`)
			continue
		}
		p.WriteString(open)
		write(rest)
		p.WriteString(shut)
		if cut {
			p.WriteString(".*")
		}
		p.WriteString(" *\n")
	}
	return regexp.MustCompile(`^` + p.String() + `$`), numbers
}

// differs compares a printed output with the one that a page shows. It returns the difference, or "".
func differs(expected, printed string, n noise) string {
	pattern, numbers := patternOf(expected, n)
	found := pattern.FindStringSubmatch(printed)
	if found == nil {
		return "another text, or another number without noise"
	}
	for i, number := range numbers {
		if !near(number, found[i+1], n.slack) {
			return fmt.Sprintf("%s where the page has %s", found[i+1], number)
		}
	}
	return ""
}

// renewed returns an output that a page shows, with the printed lines in place of its own, unless they differ in
// more than numbers.
func renewed(expected, printed string) (newer string, ok bool) {
	pattern, _ := patternOf(expected, noise{any: true, again: true})
	found := pattern.FindStringSubmatch(printed)
	if found == nil {
		return "", false
	}
	var b strings.Builder
	for line := range strings.Lines(expected) {
		switch line = strings.TrimRight(line, " \n"); {
		case line == "...":
			b.WriteString(line)
		case strings.HasSuffix(line, " ..."):
			b.WriteString(found[1] + " ...")
			found = found[1:]
		default:
			b.WriteString(found[1])
			found = found[1:]
		}
		b.WriteString("\n")
	}
	return b.String(), true
}

// near says whether a printed number with noise is about that of a page.
func near(page, printed string, slack float64) bool {
	a, errA := numberOf(page)
	b, errB := numberOf(printed)
	return errA == nil && errB == nil &&
		math.Abs(a-b) <= max(slack, max(math.Abs(a), math.Abs(b))/3+1.0001*digitOf(page))
}

func numberOf(text string) (float64, error) {
	return strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
}

// digitOf returns the worth of the last digit of a number's text.
func digitOf(text string) float64 {
	mantissa, exponent, _ := strings.Cut(text, "e")
	power, _ := strconv.Atoi(exponent)
	_, digits, _ := strings.Cut(mantissa, ".")
	return math.Pow10(power - len(digits))
}

// TestPagesAreTried tests the test of documentation pages: it must detect a page whose output
// differs, a block that is not tested, and an unknown comment. It must accept another number with noise in
// a noisy block, and no other number.
func TestPagesAreTried(t *testing.T) {
	same, noisy := noise{}, noise{any: true}
	for _, c := range []struct {
		expected, got string
		noise         noise
		same          bool
	}{
		{"a 1\n", "a 1\n", same, true}, {"a 1\n", "a 2\n", same, false}, {"a  1\n", "a 1\n", same, false},
		{"...\nb\n", "a\na\nb\n", same, true}, {"...\nb\n", "b\nc\n", same, false},
		{"a ...\n", "a b c\n", same, true}, {"a\n", "a\nb\n", same, false}, {"", "a\n", same, false},
		{"a 1.5\n", "b 1.5\n", noisy, false}, {"a  1.5\n", "a 2\n", noisy, true},
		{"33 answers\n", "35 answers\n", noisy, false},
		{"33 answers\n", "35 answers\n", noise{any: true, counts: true}, true},
		{"a 0.46 (noise 0.19)\n", "a 1.5 (noise 0.19)\n", noisy, false},
		{"a 0.46\n", "a 1.5\n", noise{any: true, slack: 1.1}, true}, {"a 0.46\n", "a -0.46\n", noisy, false},
		{"a 2.5e-03\n", "a 3e-03\n", noisy, true}, {"a 2.5e-03\n", "a 3e-02\n", noisy, false},
		{"a 0.0%\n", "a 0.1%\n", noisy, true}, {"34%\n", "35%\n", noisy, true}, {"34%\n", "70%\n", noisy, false},
		{"100% spent\n", "99% spent\n", noisy, false}, {"95% interval\n", "90% interval\n", noisy, false},
		{"epsilon 1.455 at delta 1e-06\n", "epsilon 1.465 at delta 1e-06\n", noisy, false},
	} {
		if d := differs(c.expected, c.got, c.noise); (d == "") != c.same {
			t.Errorf("%q shows %q with the noise %+v: %q", c.expected, c.got, c.noise, d)
		}
	}
	if again, _ := renewed("...\na  33 ...\nb 1.5\n", "x\na 35 y\nb  2.5\n"); again != "...\na 35 ...\nb  2.5\n" {
		t.Errorf("a page is renewed to %q", again)
	}
	blocks := blocksOf("x\n<!-- file: a.yaml -->\n```yaml\na: 1\n```\n\n```console\n$ a \\\n  b\nc\n$ d\n```\n")
	if len(blocks) != 2 || blocks[0] != (block{3, "yaml", "file", "a.yaml", "a: 1\n"}) || blocks[1].directive != "" {
		t.Fatalf("blocks are %+v", blocks)
	}
	if steps := stepsOf(blocks[1].text); len(steps) != 2 || steps[0] != (step{"a \\\n  b\n", "c\n"}) ||
		steps[1].output != "" {
		t.Fatalf("steps are %q", steps)
	}
}

var (
	tableLine   = regexp.MustCompile(`^<!-- (printed above|source|checked by)(?:: (.+))? -->$`)
	decimalText = regexp.MustCompile(`-?\d*\.\d+(?:e[-+]?\d+)?`)
	notNumbers  = regexp.MustCompile("`[^`]*`|\\]\\([^)]*\\)")
)

// tableFaults returns what is wrong with the tables of a page. A table with decimal numbers needs a comment above it:
//
//	<!-- printed above -->   its numbers are rounded ones of the blocks above it
//	<!-- source: PATHS -->   its numbers stand in these files of the repository
//	<!-- checked by: TEST --> the test of that name computes them
func tableFaults(root, page, tests string) (faults []string) {
	var blocks strings.Builder
	above, directive, detail := "", "", ""
	inBlock, inTable := false, false
	for i, line := range strings.Split(page, "\n") {
		fault := func(format string, args ...any) {
			faults = append(faults, fmt.Sprintf("line %d: ", i+1)+fmt.Sprintf(format, args...))
		}
		switch {
		case strings.HasPrefix(line, "```"):
			inBlock = !inBlock
		case inBlock:
			blocks.WriteString(line + "\n")
		case strings.HasPrefix(line, "|"):
			if !inTable {
				directive, detail = "", ""
				if m := tableLine.FindStringSubmatch(above); m != nil {
					directive, detail = m[1], m[2]
				}
				if directive == "checked by" && !strings.Contains(tests, "func "+detail+"(") {
					fault("there is no test %s", detail)
				}
			}
			inTable = true
			source := blocks.String()
			if directive == "source" {
				source = ""
				for _, file := range strings.Split(detail, ", ") {
					text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
					if err != nil {
						fault("%v", err)
					}
					source += string(text) + "\n"
				}
			}
			for _, number := range decimalText.FindAllString(notNumbers.ReplaceAllString(line, ""), -1) {
				switch directive {
				case "":
					fault("no comment above the table says where its numbers, such as %s, are from", number)
				case "printed above", "source":
					if !rounds(source, number) {
						fault("the number %s is not in %s", number, strings.TrimSpace(directive+" "+detail))
					}
				}
			}
		}
		if !strings.HasPrefix(line, "|") {
			inTable = false
			if strings.TrimSpace(line) != "" {
				above = line
			}
		}
	}
	return faults
}

// rounds says whether a text has a number that rounds to the given one.
func rounds(text, number string) bool {
	want, err := numberOf(number)
	for _, t := range anyNumber.FindAllString(text, -1) {
		if got, wrong := numberOf(t); err == nil && wrong == nil && math.Abs(got-want) <= .50001*digitOf(number) {
			return true
		}
	}
	return false
}

var anyNumber = regexp.MustCompile(`-?(?:\d[\d,]*)?\.?\d+(?:e[-+]?\d+)?`)

// TestTablesOfPages: the numbers in tables of README, tutorials and how-to pages are those of blocks that are run, of
// a file of results, or of a test. It fails if a table's number is changed, and if the block or the file changes.
func TestTablesOfPages(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	pages := []string{"README.md", "python/README.md"}
	for _, folder := range []string{"docs/tutorials", "docs/how-to"} {
		entries, err := fs.Glob(os.DirFS(root), folder+"/*.md")
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, entries...)
	}
	tests := sources(t, root, "_test.go")
	tables := 0
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(page)))
		if err != nil {
			t.Fatal(err)
		}
		tables += strings.Count(string(text), "\n|---")
		for _, f := range tableFaults(root, string(text), tests) {
			t.Errorf("%s, %s", page, f)
		}
	}
	if tables < 15 {
		t.Errorf("%d tables in %d pages: the test shows nothing", tables, len(pages))
	}
	for page, faults := range map[string]int{
		"```\na 7.4771\n```\n<!-- printed above -->\n| 7.48 | 2 |\n":        0,
		"```\na 7.4771\n```\n<!-- printed above -->\n| 7.49 | 2 |\n":        1,
		"```\na 7.4771\n```\n| 7.48 |\n":                                    1,
		"<!-- source: LICENSE -->\n| 2.0 |\n| 2.7 |\n":                      1,
		"<!-- checked by: TestTablesOfPages -->\n| 2.0 |\n\nb\n\n| 2.0 |\n": 1,
		"<!-- checked by: TestOfNothing -->\n| 2.0 |\n":                     1,
	} {
		if found := tableFaults(root, page, tests); len(found) != faults {
			t.Errorf("%q has the faults %q", page, found)
		}
	}
}

// TestGuessesOfOneRow: the page on epsilon states the probability of a right guess between two rows under mu-Gaussian
// differential privacy, normal(mu/2), rounded up.
func TestGuessesOfOneRow(t *testing.T) {
	text, err := os.ReadFile("../../docs/how-to/epsilon.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| ([0-9.]+) \| ([0-9.]+) % \|$`).FindAllStringSubmatch(string(text), -1)
	if len(rows) != 8 {
		t.Fatalf("the table has %d rows", len(rows))
	}
	for _, row := range rows {
		epsilon, err := numberOf(row[1])
		if err != nil {
			t.Fatal(err)
		}
		budget, err := account.NewBudget(epsilon, 1e-6, account.ReplaceOne)
		if err != nil {
			t.Fatal(err)
		}
		right := math.Erfc(-budget.Mu()/2/math.Sqrt2) / 2
		if got := fmt.Sprintf("%.1f", math.Ceil(1000*right)/10); got != row[2] {
			t.Errorf("epsilon %s: %s %%, and the page has %s %%", row[1], got, row[2])
		}
	}
}
