package stillpoint_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// readText returns a file's text with its line breaks and their indents as single spaces.
func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(text)), " ")
}

// TestContributingSaysTheLayers: the sentence of CONTRIBUTING on packages that import
// little of the module agrees with the table of layers.
func TestContributingSaysTheLayers(t *testing.T) {
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
	markdownLink = regexp.MustCompile(`\]\(([^)#\s]+)`)
	testNamed    = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z]\\w+)`")
)

// TestDocumentsNameWhatThereIs: the files that documents link to exist, and so do the
// tests that CONTRIBUTING names. Fails for a file moved and a test renamed.
func TestDocumentsNameWhatThereIs(t *testing.T) {
	documents, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"docs/*.md", "docs/adr/*.md", "docs/papers/*.md", "results/*.md", "python/*.md"} {
		more, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, more...)
	}
	links := 0
	for _, d := range documents {
		text, err := os.ReadFile(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range markdownLink.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], ":") || !strings.ContainsAny(m[1], "./") {
				continue // an address, or mathematics
			}
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(d), filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s links to %s: %v", d, m[1], err)
			}
		}
	}
	if len(documents) < 30 || links < 50 {
		t.Fatalf("%d links in %d documents: the test shows nothing", links, len(documents))
	}
	var tests strings.Builder
	err = filepath.WalkDir(".", func(path string, e os.DirEntry, err error) error {
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
