package repotest

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mostHard is the largest number of hard constructions for 1,000 words that an area of texts may have.
const mostHard = .3

var long = flag.Int("long", 90, "with -v: the number of characters that tests print of a hard construction")

// hard finds constructions that readers understand only at the second reading.
//
// A free "what" stands for a noun: "the store charges what the journal proves". The pattern finds one after a
// punctuation mark or one of some prepositions and verbs. Questions may have one. A chain of colons is a sentence of
// which each of two colons or more introduces the next part.
var hard = map[string]*regexp.Regexp{
	"free what": regexp.MustCompile(`(?i)(?:^\t?|[.,;:(|] |["(]|\b(?:of|by|to|from|with|for|and|is|are|than|on|in) )` +
		`(what \w+[^.?]*.?)`),
	"which that":      regexp.MustCompile(`(?i)\b((?:which|that) (?:which|that) [^.]*)`),
	"chain of colons": regexp.MustCompile("(?:^|[.] )([^.:;|`\"{\\[]*\\w: [^.:;|`\"{\\[]*\\w: [^.:;|`\"{\\[]*)"),
}

// printedTexts is the area of the texts that are in Go files.
const printedTexts = "texts in Go"

// codeSpan matches code within a sentence, and the target of a link.
var codeSpan = regexp.MustCompile("`[^`]*`|\\]\\([^)]*\\)")

// text is a page, or the texts that one Go file prints.
type text struct {
	area, path string
	paragraphs []string // the paragraphs and, with a tab before them, the lines of blocks of code
}

// hard returns the hard constructions of a page, and its number of words.
func (x text) hard() (all []string, words int) {
	for _, p := range x.paragraphs {
		words += len(strings.Fields(p))
		for kind, expression := range hard {
			words := p
			if kind == "chain of colons" {
				if x.area == printedTexts || strings.HasPrefix(p, "\t") || strings.HasPrefix(p, "|") {
					continue // errors name package, field and rule; code and rows of tables have colons of their own
				}
				words = codeSpan.ReplaceAllString(p, "code")
			}
			for _, m := range expression.FindAllStringSubmatch(words, -1) {
				if kind != "free what" || !strings.HasSuffix(m[1], "?") {
					all = append(all, fmt.Sprintf("%s: %.*s", kind, *long, m[1]))
				}
			}
		}
	}
	slices.Sort(all)
	return all, words
}

// TestWordsAreEasy: in each area of the documentation and of the texts that the command prints, at most mostHard
// constructions for 1,000 words may be hard. With -v the test lists them, the worst pages first.
func TestWordsAreEasy(t *testing.T) {
	t.Chdir(root)
	type count struct{ hard, words int }
	counts := map[string]count{}
	type page struct {
		text
		hard []string
		rate float64
	}
	var pages []page
	for _, x := range texts(t) {
		all, words := x.hard()
		c := counts[x.area]
		counts[x.area] = count{c.hard + len(all), c.words + words}
		if len(all) > 0 {
			pages = append(pages, page{x, all, 1000 * float64(len(all)) / float64(words)})
		}
	}
	slices.SortStableFunc(pages, func(a, b page) int { return cmp.Compare(b.rate, a.rate) })
	for _, p := range pages {
		if !testing.Verbose() {
			break
		}
		t.Logf("%s: %.2g for 1,000 words\n\t%s", p.path, p.rate, strings.Join(p.hard, "\n\t"))
	}
	if len(counts) < 9 {
		t.Fatalf("areas with texts: %v: the test shows nothing", counts)
	}
	for area, c := range counts {
		if c.words < 100 {
			t.Errorf("%s has %d words: the test shows nothing", area, c.words)
		}
		if rate := 1000 * float64(c.hard) / float64(c.words); rate > mostHard {
			t.Errorf("%s: %d hard constructions in %d words, %.2g for 1,000: must be at most %v (go test ./internal/repotest -v -run %s)",
				area, c.hard, c.words, rate, mostHard, t.Name())
		}
	}
}

// TestHardWordsAreFound: the patterns must find each kind of hard construction, and no question or plain sentence.
func TestHardWordsAreFound(t *testing.T) {
	for words, want := range map[string]int{
		"The store charges by what the journal proves.":                          1,
		"What a fit needs is apart.":                                             1,
		"It is noise, what it adds is small, and what it takes is large.":        1,
		"| settle | what the journal holds |":                                    1,
		"A value, which that run had, stays.":                                    1,
		"One rule: a fit has two parts: the gradient and the noise.":             1,
		"What does a fit cost?":                                                  0,
		"`fit` says what it costs.":                                              0,
		"One rule, `a: b`: a fit has `two: parts`, the gradient: and the noise.": 1,
		"Three parts: the gradient, the noise and the sum. One more: a table.":   0,
	} {
		if got, _ := (text{paragraphs: []string{words}}).hard(); len(got) != want {
			t.Errorf("%q: found %q, want %d", words, got, want)
		}
	}
}

// texts returns the pages of the documentation, and the texts of the packages whose words the command prints.
func texts(t *testing.T) (all []text) {
	t.Helper()
	area := func(path string) string {
		if folder, _, below := strings.Cut(path, "/"); below {
			if sub, _, deep := strings.Cut(strings.TrimPrefix(path, "docs/"), "/"); folder == "docs" && deep {
				return "docs/" + sub
			}
			return folder
		}
		return path
	}
	for _, folder := range []string{".", ".github", "docs", "lab", "python", "r"} {
		err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() && folder == "." && path != "." {
				return cmp.Or(err, fs.SkipDir)
			}
			switch path = filepath.ToSlash(path); filepath.Ext(path) {
			case ".md", ".Rd", ".Rmd":
				words, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				all = append(all, text{area(path), path, paragraphs(string(words))})
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{"cmd/stillpoint", "lab/cmd", "internal/train", "internal/report", "export", "internal/inspect", "optimize",
		"certificate", "internal/runfolder", "internal/runrecord"} {
		err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				if p := printed(t, path); len(p) > 0 {
					all = append(all, text{printedTexts, filepath.ToSlash(path), p})
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// paragraphs returns the paragraphs, items, rows of tables and lines of code of a page, each in one line. The
// settings that a page may begin with, between two lines of dashes, are left out.
func paragraphs(page string) (all []string) {
	if text, begins := strings.CutPrefix(page, "---\n"); begins {
		_, page, _ = strings.Cut(text, "\n---\n")
	}
	begins := regexp.MustCompile(`^\s*([-*|#>]|\d+\. |\\item)`)
	code, after := false, ""
	for line := range strings.Lines(page) {
		words := strings.Join(strings.Fields(line), " ")
		switch {
		case strings.HasPrefix(words, "```"):
			code, after = !code, ""
			continue
		case after != "" && words != "" && !begins.MatchString(line):
			all[len(all)-1] += " " + words
		case code:
			all = append(all, "\t"+words)
		default:
			all = append(all, words)
		}
		after = words
	}
	return all
}

// printed returns the string literals of a Go file that hold four words or more, in which literals that are added to
// each other are one, and the texts of struct tags.
func printed(t *testing.T, path string) (all []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var joined func(ast.Expr) string
	joined = func(e ast.Expr) string {
		switch e := e.(type) {
		case *ast.BasicLit:
			if s, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
				return s
			}
		case *ast.BinaryExpr:
			if e.Op == token.ADD {
				return joined(e.X) + joined(e.Y)
			}
		case *ast.ParenExpr:
			return joined(e.X)
		}
		return " ... "
	}
	ast.Inspect(file, func(n ast.Node) bool {
		e, is := n.(ast.Expr)
		if !is {
			return true
		}
		switch e.(type) {
		case *ast.BasicLit, *ast.BinaryExpr:
			if s := joined(e); len(strings.Fields(s)) >= 4 {
				all = append(all, paragraphs(s)...)
				return false
			}
		}
		return true
	})
	return all
}
