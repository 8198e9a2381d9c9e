package report

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPassagesAreTheTexts tests that each passage that the code names has a text of its own in words.txt, and that the code
// names each.
func TestPassagesAreTheTexts(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, file := range files {
		code, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, m := range regexp.MustCompile(`passage\("([^"]*)"\)`).FindAllStringSubmatch(string(code), -1) {
			named[m[1]] = true
			if text := passage(m[1]); text == "" || strings.ContainsAny(text, "#\n") {
				t.Errorf("%s: passage %q has the text %q", file, m[1], text)
			}
		}
	}
	for _, m := range regexp.MustCompile(`(?m)\n\n# (.*)$`).FindAllStringSubmatch(words, -1) {
		if !named[m[1]] {
			t.Errorf("words.txt: passage %q is named nowhere", m[1])
		}
	}
	if n := strings.Count(words, "\n# "); n != len(named) || n < 20 {
		t.Errorf("%d passages in words.txt, %d in the code", n, len(named))
	}
}
