package stillpoint_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPlacesExist: CONTRIBUTING.md's table of places names files, folders and
// tests that are there.
func TestPlacesExist(t *testing.T) {
	_, table, found := strings.Cut(read(t, "CONTRIBUTING.md"), "\n| change | places |")
	table, _, _ = strings.Cut(table, "\n\n")
	if !found || strings.Count(table, "\n| a") != 6 {
		t.Fatalf("the table of places has changed shape: %s", table)
	}
	var tests strings.Builder
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "_test.go") {
			tests.WriteString(read(t, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(table, -1) {
		if strings.HasPrefix(m[1], "Test") {
			if !strings.Contains(tests.String(), "\nfunc "+m[1]+"(t *testing.T)") {
				t.Errorf("%s is named and is no test", m[1])
			}
		} else if _, err := os.Stat(filepath.FromSlash(m[1])); err != nil {
			t.Errorf("%s is named and is not there", m[1])
		}
	}
}

// TestOutputRulesAreEverywhere: an output rule is replayed by the audit and its
// runs are recorded, or this fails. The algorithms' own rules are averages, so the
// audit need not name that one.
func TestOutputRulesAreEverywhere(t *testing.T) {
	list := regexp.MustCompile(`outputNames = \[\.\.\.\]string\{"", (.*)\}`).FindStringSubmatch(read(t, "optimize/output.go"))
	if list == nil || strings.Count(list[1], ",") < 3 {
		t.Fatalf("the list of output rules has changed shape: %q", list)
	}
	audit, recorded := read(t, "audit/subject_train.go"), read(t, "experiment/recorded_amd64_test.go")
	for _, name := range strings.Split(list[1], ", ") {
		if name != `"tail-average"` && !strings.Contains(audit, `"output": `+name) {
			t.Errorf("output %s: no variant in audit/subject_train.go", name)
		}
		if !strings.Contains(recorded, `"output":`+name) {
			t.Errorf("output %s: no run in experiment/recorded_amd64_test.go", name)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
