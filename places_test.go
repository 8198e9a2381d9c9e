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
	if !found || strings.Count(table, "\n| a") != 7 {
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

// TestOutputRulesAreEverywhere: an output rule is replayed by the audit, its runs
// are recorded, its noise is told by the report, and another implementation of it
// is compared, or this fails. The algorithms' own rules are averages and the last
// iterate, so that audit and report need not name those.
func TestOutputRulesAreEverywhere(t *testing.T) {
	list := found(t, "optimize/output.go", `outputNames = \[\.\.\.\]string\{"", (.*)\}`, 1)[0]
	for _, name := range strings.Split(list, ", ") {
		if name != `"tail-average"` {
			contains(t, "audit/subject_train.go", `"output": `+name)
			if name != `"last"` {
				contains(t, "cmd/stillpoint/noise_test.go", `"output": `+name)
			}
		}
		contains(t, "experiment/recorded_amd64_test.go", `"output":`+name)
	}
	for _, m := range found(t, "optimize/output.go", `(?m)^\tcase ([A-Z]\w*):`, 3) {
		contains(t, "optimize/firstorder/output_test.go", "optimize."+m)
	}
}

// TestSettingsAreRecorded: each setting of an algorithm has a recorded run, so that
// what it does can change only where somebody says so.
func TestSettingsAreRecorded(t *testing.T) {
	files, err := filepath.Glob("optimize/*/*.go")
	if err != nil || len(files) < 10 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, path := range append(files, "optimize/selected.go") {
		for _, key := range found(t, path, "`yaml:\"(\\w+)\"`", 0) {
			contains(t, "experiment/recorded_amd64_test.go", `"`+key+`":`)
		}
	}
}

// TestReadmeNamesThem: README.md names every loss and algorithm that a
// configuration may.
func TestReadmeNamesThem(t *testing.T) {
	loss := found(t, "README.md", `(?m)^  loss: (.*)$`, 1)[0]
	for _, name := range found(t, "loss/losses.go", `(?m)^\t"([a-z-]+)":`, 9) {
		if !strings.Contains(loss, name) {
			t.Errorf("README.md: loss %s is not named", name)
		}
	}
	algorithm := found(t, "README.md", `(?m)^#   algorithm: (.*)$`, 1)[0]
	for _, name := range found(t, "train/registry.go", `(?m)^\t\{"([a-z-]+)", `, 10) {
		if !strings.Contains(algorithm, name) {
			t.Errorf("README.md: algorithm %s is not named", name)
		}
	}
}

// TestSourcesAreTried: each source of encoded rows has the suite of sources run over
// it, and engines give the reference's integers over it.
func TestSourcesAreTried(t *testing.T) {
	files, err := filepath.Glob("curator/internal/row/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var tests, code strings.Builder
	for _, path := range files {
		text := &code
		if strings.HasSuffix(path, "_test.go") && strings.Contains(read(t, path), "rowtest.Run") {
			text = &tests
		}
		text.WriteString(read(t, path))
	}
	sources := regexp.MustCompile(`(?m)^func \(\w+ \*(\w+)\) Blocks\(\) int`).FindAllStringSubmatch(code.String(), -1)
	if len(sources) < 2 {
		t.Fatalf("the search for sources is broken: %q", sources)
	}
	for _, m := range sources {
		if !strings.Contains(tests.String(), "New"+m[1]) {
			t.Errorf("row.%s: no test of package row runs the suite over it", m[1])
		}
		contains(t, "curator/internal/engine/conformance_test.go", "row.New"+m[1])
	}
}

// found returns what an expression's group matches in a file, at least so often.
func found(t *testing.T, path, expression string, least int) (all []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(expression).FindAllStringSubmatch(read(t, path), -1) {
		all = append(all, m[1])
	}
	if len(all) < least {
		t.Fatalf("%s has changed shape: %s is found %d times", path, expression, len(all))
	}
	return all
}

func contains(t *testing.T, path, text string) {
	t.Helper()
	if !strings.Contains(read(t, path), text) {
		t.Errorf("%s: nothing of %s", path, text)
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
