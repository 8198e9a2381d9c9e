package repotest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// readText returns a file's text with each line break, and the indent after it, replaced by a
// space.
func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(text)), " ")
}

// TestContributingSaysTheLayers: the sentence of CONTRIBUTING about packages that import few others of the
// module must agree with the table of layers.
func TestContributingSaysTheLayers(t *testing.T) {
	t.Chdir(root)
	text := readText(t, "CONTRIBUTING.md")
	if len(layers["convex"].local) > 0 || !strings.Contains(text, "`convex` imports no package of the module") {
		t.Errorf("convex imports %q: CONTRIBUTING.md must say so", layers["convex"].local)
	}
	for _, name := range []string{"account", "loss"} {
		sentence := regexp.MustCompile("`" + name + "` imports ((?:`[a-z/]+`(?: and )?)+)").FindStringSubmatch(text)
		if sentence == nil {
			t.Errorf("CONTRIBUTING.md does not say what %s imports", name)
			continue
		}
		var said []string
		for _, m := range regexp.MustCompile("`([a-z/]+)`").FindAllStringSubmatch(sentence[1], -1) {
			said = append(said, m[1])
		}
		if slices.Sort(said); !slices.Equal(said, slices.Sorted(slices.Values(layers[name].local))) {
			t.Errorf("%s imports %q, CONTRIBUTING.md says %q", name, layers[name].local, said)
		}
	}
}

var (
	markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	mathematics  = regexp.MustCompile(`^(?:\w|\W+|\w\W.*)$`) // a variable, or a formula that begins with one
	testNamed    = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z]\\w+)`")
	fenced       = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	tableRule    = regexp.MustCompile(`^\|[-| :]+\|$`)
	notInAnchors = regexp.MustCompile(`[^\pL\pN_\- ]`)
)

// documents lists the Markdown files of the repository that are written for readers.
func documents(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, folder := range []string{"*.md", ".github/*.md"} {
		files, err := filepath.Glob(folder)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, files...)
	}
	found = slices.DeleteFunc(found, func(path string) bool { return strings.HasSuffix(strings.ToLower(path), "template.md") })
	for _, folder := range []string{"docs", "lab/results", "python", "examples"} {
		err := filepath.WalkDir(folder, func(path string, e os.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".md") {
				found = append(found, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// anchors returns the names by which links refer to the headings of a page, as Markdown hosts make them. If
// two headings are equal, the second name ends in -1.
func anchors(t *testing.T, path string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for line := range strings.Lines(fenced.ReplaceAllString(string(text), "")) {
		heading := strings.TrimLeft(line, "#")
		if len(heading) == len(line) || !strings.HasPrefix(heading, " ") {
			continue
		}
		name := strings.ReplaceAll(notInAnchors.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), ""), " ", "-")
		for unique, n := name, 0; ; n++ {
			if n > 0 {
				unique = fmt.Sprintf("%s-%d", name, n)
			}
			if !found[unique] {
				found[unique] = true
				break
			}
		}
	}
	return found
}

// TestDocumentsNameWhatThereIs: the files, pictures and headings to which documents link must exist, and so
// must the tests that CONTRIBUTING names. The test fails if a file is moved, a heading reworded or a test
// renamed.
func TestDocumentsNameWhatThereIs(t *testing.T) {
	t.Chdir(root)
	documents := documents(t)
	links, places := 0, 0
	for _, d := range documents {
		text, err := os.ReadFile(d)
		if err != nil {
			t.Fatal(err)
		}
		inTable, head, above := false, "", "" // the two lines before
		for line := range strings.Lines(fenced.ReplaceAllString(string(text), "")) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "<<<<<<< ") || strings.HasPrefix(line, ">>>>>>> ") {
				t.Errorf("%s has the mark of a conflict of versions: %s", d, line)
			}
			if head == "" && line != "" && strings.ContainsRune(".,;)^=", rune(line[0])) {
				t.Errorf("%s has a paragraph that begins within a sentence, as after a lost sign ||: %s", d, line)
			}
			if !inTable && strings.HasPrefix(line, "|--") && (!strings.HasPrefix(head, "|") || above != "" && !strings.HasPrefix(above, "<!--")) {
				t.Errorf("%s has a table whose row of heads is in a paragraph: %s", d, head)
			}
			head, above = line, head
			inTable = line != "" && (inTable || tableRule.MatchString(line))
			if inTable && !(strings.HasPrefix(line, "|") && strings.HasSuffix(line, "|")) {
				t.Errorf("%s has a line break within a row of a table, or no empty line after it: %s", d, line)
			}
		}
		for _, m := range markdownLink.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
			if strings.Contains(m[1], ":") || mathematics.MatchString(m[1]) {
				continue // a web address, or a product of brackets
			}
			links++
			path, anchor, has := strings.Cut(m[1], "#")
			full := d
			if path != "" {
				full = filepath.Join(filepath.Dir(d), filepath.FromSlash(path))
			}
			if _, err := os.Stat(full); err != nil {
				t.Errorf("%s links to %s: %v", d, m[1], err)
			} else if has {
				places++
				if !anchors(t, full)[anchor] {
					t.Errorf("%s links to %s: %s has no such heading", d, m[1], full)
				}
			}
		}
	}
	if len(documents) < 60 || links < 150 || places < 20 {
		t.Fatalf("%d links in %d documents, %d to headings: the test shows nothing", links, len(documents), places)
	}
	var tests strings.Builder
	err := filepath.WalkDir(".", func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		tests.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range testNamed.FindAllStringSubmatch(readText(t, "CONTRIBUTING.md"), -1) {
		if !strings.Contains(tests.String(), "func "+m[1]+"(") {
			t.Errorf("CONTRIBUTING.md names %s, which no file declares", m[1])
		}
	}
}

// TestTheSiteHasEveryPage: the site's navigation must name each page of docs and no others. Decisions are
// listed on their own page.
func TestTheSiteHasEveryPage(t *testing.T) {
	t.Chdir(root)
	site := read(t, "docs/site.yml")
	named := map[string]bool{}
	for _, m := range regexp.MustCompile(`: ((?:[\w-]+/)*[\w-]+\.md)\n`).FindAllStringSubmatch(site, -1) {
		named[m[1]] = true
	}
	decisions := read(t, "docs/explanation/decisions/index.md")
	for _, d := range documents(t) {
		d = filepath.ToSlash(d)
		page, isDocs := strings.CutPrefix(d, "docs/")
		switch {
		case d == "lab/results/README.md":
			page = "measured/index.md"
		case d == "python/README.md":
			page = "reference/python.md"
		case strings.HasPrefix(d, "lab/results/"):
			page = "measured/" + strings.TrimPrefix(d, "lab/results/")
		case !strings.Contains(d, "/"), strings.HasPrefix(d, ".github/"):
			page = "project/" + strings.ToLower(filepath.Base(d))
		case !isDocs:
			continue
		}
		if name, of := strings.CutPrefix(page, "explanation/decisions/0"); of {
			if !strings.Contains(decisions, "(0"+name+")") {
				t.Errorf("docs/explanation/decisions/index.md does not list 0%s", name)
			}
			continue
		}
		if !named[page] {
			t.Errorf("docs/site.yml does not name %s (%s)", page, d)
		}
		delete(named, page)
	}
	for page := range named {
		t.Errorf("docs/site.yml names %s, which is not there", page)
	}
}

// TestPapersSayWhereEachAlgorithmWorks: for every algorithm but auto a page of docs/explanation/papers must have a row
// that says where it works, where it fails, how it is charged and which figures show it, in this order and with no
// cell empty. A row may be about a variant, which follows the algorithm's name and a comma. One row may be about several
// algorithms.
func TestPapersSayWhereEachAlgorithmWorks(t *testing.T) {
	t.Chdir(root)
	pages, err := filepath.Glob("docs/explanation/papers/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	rows := map[string]bool{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		_, table, _ := strings.Cut(string(text), "| algorithm | works | fails | charge | evidence |\n")
		for line := range strings.Lines(table) {
			cells := strings.Split(strings.TrimSpace(line), "|")
			if len(cells) < 3 {
				break
			}
			for i, c := range cells[1 : len(cells)-1] {
				if len(cells) != 7 || strings.TrimSpace(c) == "" {
					t.Errorf("%s: %.60q: cell %d is empty, or the row has not five", page, line, i+1)
				}
			}
			for name := range strings.SplitSeq(cells[1], ",") {
				rows[strings.Trim(name, " `")] = true
			}
		}
	}
	for _, name := range train.Algorithms() {
		if name != "auto" && !rows[name] {
			t.Errorf("%s: no page of docs/explanation/papers says where it works and fails", name)
		}
	}
}
