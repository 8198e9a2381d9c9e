package repotest

import (
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/repotest/face"
	"github.com/stillpoint-dp/stillpoint/internal/repotest/size"
)

// sizes are the largest numbers of lines that a part may have. The limits may fall, and only a decision raises one
// (docs/explanation/decisions/0086, 0088, 0103, 0105): a feature that passes one pays by a simplification elsewhere. slack is
// how far below its limit a part may be before the limit must be lowered.
var sizes = map[size.Part]size.Lines{
	size.Product: {Code: 73_400, Comment: 18_200},
	size.Support: {Code: 8_000},
}

const slack = 2_500

// counted returns the sizes of the module's folders.
func counted(t *testing.T) []size.Count {
	t.Helper()
	t.Chdir(root)
	counts, err := size.Load(".", module, append([]string{"cmd/stillpoint"}, face.Promised...))
	if err != nil {
		t.Fatal(err)
	}
	return counts
}

// TestProductStaysSmall compares the lines of Go with their limits. CONTRIBUTING.md says how lines are counted.
func TestProductStaysSmall(t *testing.T) {
	counts := counted(t)
	for part, limit := range sizes {
		got := size.Total(counts, part)
		for _, c := range []struct {
			name     string
			got, max int
		}{{"code", got.Code, limit.Code}, {"comments", got.Comment, limit.Comment}} {
			if c.max > 0 && (c.got > c.max || c.got < c.max-slack) {
				t.Errorf("%s: %d lines of %s: must be at most %d, and the limit must be lowered if they are %d fewer",
					part, c.got, c.name, c.max, slack)
			}
		}
	}
}

// TestSupportIsApart: no package for tests is part of the product, that is, none is reached from the command or
// from a promised package by imports that are not in test files.
func TestSupportIsApart(t *testing.T) {
	for _, c := range counted(t) {
		name := c.Folder[strings.LastIndex(c.Folder, "/")+1:]
		support := strings.HasPrefix(name, "test") || strings.HasSuffix(name, "test") || strings.HasSuffix(name, "check") ||
			strings.HasPrefix(c.Folder, "examples/") || strings.HasPrefix(c.Folder, "tools/")
		if support && c.Part == size.Product {
			t.Errorf("%s is for tests, and the product imports it", c.Folder)
		}
	}
}

// TestLinesAreCounted counts the lines of a file by hand.
func TestLinesAreCounted(t *testing.T) {
	const file = "// Package a.\npackage a // named\n\n/* two\n\nlines */\nvar x = `one\n\n// two`\n\n"
	if got, want := size.Of([]byte(file)), (size.Lines{Code: 4, Comment: 4, Blank: 2}); got != want {
		t.Errorf("counted %+v: must be %+v", got, want)
	}
}
