package strictyaml

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// nested returns texts nested to a depth, in each way that YAML has.
func nested(depth int) map[string]string {
	indented := func(key string) string {
		var b strings.Builder
		for i := range depth {
			fmt.Fprintf(&b, "%s%s\n", strings.Repeat(" ", i), key)
		}
		return b.String() + strings.Repeat(" ", depth) + "x\n"
	}
	keys := ""
	for i := range depth { // puts the colons into one column
		keys += strings.Repeat(" ", i) + strings.Repeat("k", depth-i) + ":\n"
	}
	return map[string]string{
		"lists":            "a: " + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1),
		"lists never shut": "a: " + strings.Repeat("[", depth-1),
		"mappings":         "a: " + strings.Repeat("{a: ", depth-1) + "1" + strings.Repeat("}", depth-1),
		"both":             strings.Repeat("[{a: ", depth/2) + strings.Repeat("}]", depth/2),
		"dashes":           strings.Repeat("- ", depth) + "1",
		"indented lists":   indented("-"),
		"indented keys":    indented("a:"),
		"even colons":      keys + strings.Repeat(" ", depth) + "x\n",
		"question marks":   strings.Repeat("? ", depth) + "1",
		"after shut ones":  "a: " + strings.Repeat("[[], {}, ", depth-2) + "[]" + strings.Repeat("]", depth-2),
		"shut too often":   strings.Repeat("]", 2*depth) + strings.Repeat("[", depth),
	}
}

func TestDepth(t *testing.T) {
	for depth, refused := range map[int]bool{deepest: false, deepest + 2: true, 20 * deepest: true} {
		for name, text := range nested(depth) {
			if err := shallow([]byte(text)); (err != nil) != refused {
				t.Errorf("%s to depth %d: error %v", name, depth, err)
			} else if err != nil && !strings.HasSuffix(err.Error(), "lists and mappings are nested more than 24 deep") {
				t.Errorf("%s: error %v", name, err)
			}
		}
	}
}

func TestAliases(t *testing.T) {
	for _, text := range []string{
		"a: &x 1", "a: &x [1]\nb: *x", "a: *x", "<<: {a: 1}", "- &a [&b [1], *b]",
	} {
		if err := shallow([]byte(text)); err == nil ||
			!strings.HasSuffix(err.Error(), "anchors, aliases and tags are not taken") {
			t.Errorf("%q: error %v", text, err)
		}
	}
	for _, text := range []string{"", "a: 'x & y'", "a: \"*x\"", "a: b&c*d", "# &x\na: 1",
		"a: |\n  &x *y [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\n"} {
		if err := shallow([]byte(text)); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestSize(t *testing.T) {
	if err := shallow(make([]byte, Largest+1)); err == nil || !strings.Contains(err.Error(), "is larger than") {
		t.Errorf("error %v", err)
	}
	if err := shallow([]byte("a: 1" + strings.Repeat("\n", Largest-4))); err != nil {
		t.Errorf("a file of the largest size: %v", err)
	}
	if err := shallow([]byte("a: [" + strings.Repeat("1,", mostTokens) + "]")); err == nil ||
		!strings.Contains(err.Error(), "has more than") {
		t.Errorf("error %v", err)
	}
	columns := "schema:\n  columns:\n" + strings.Repeat("    c: {category: [a, b, c]}\n", 10_000)
	if err := shallow([]byte(columns)); err != nil {
		t.Errorf("10,000 columns: %v", err)
	}
}

// TestExamples tests that the project's own configurations are accepted.
func TestExamples(t *testing.T) {
	for _, pattern := range []string{"examples/*/*.yaml", "lab/results/specs/*.yaml"} {
		paths, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pattern)))
		if err != nil || len(paths) == 0 {
			t.Fatal(paths, err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := shallow(text); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}
