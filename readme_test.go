package stillpoint_test

import (
	"strings"
	"testing"
)

// TestReadmeIsAnExample: the Go in README.md is, to the letter, the body of an example of
// this package, which is compiled and run.
func TestReadmeIsAnExample(t *testing.T) {
	examples := read(t, "example_test.go")
	for _, block := range found(t, "README.md", "(?s)```go\n(.*?)```", 1) {
		lines := strings.Split(strings.TrimSpace(block), "\n")
		for i, line := range lines {
			if line != "" {
				lines[i] = "\t" + line
			}
		}
		if body := "() {\n" + strings.Join(lines, "\n") + "\n\t// Output:"; !strings.Contains(examples, body) {
			t.Errorf("README.md shows Go that is the body of no example:\n%s", block)
		}
	}
}
