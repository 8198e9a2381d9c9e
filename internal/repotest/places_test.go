package repotest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the root of the repository. Each test runs there, so that it names files as documents do, and so that
// the go command knows the files whose changes make it run the test again.
const root = "../.."

// TestPlacesExist: the files, folders and tests in CONTRIBUTING.md's table of places must exist.
func TestPlacesExist(t *testing.T) {
	t.Chdir(root)
	_, table, found := strings.Cut(read(t, "CONTRIBUTING.md"), "\n| change | places |")
	table, _, _ = strings.Cut(table, "\n\n")
	if !found || strings.Count(table, "\n| a") != 27 {
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

// TestOutputRulesAreEverywhere: the audit must replay each output rule, the report must state its noise,
// and a test must compare it with another implementation. The rules that the algorithms use by default,
// averages and the last iterate, need no mention in audit and report.
func TestOutputRulesAreEverywhere(t *testing.T) {
	t.Chdir(root)
	list := found(t, "optimize/output.go", `outputNames = \[\.\.\.\]string\{"", (.*)\}`, 1)[0]
	for _, name := range strings.Split(list, ", ") {
		if name != `"tail-average"` {
			contains(t, "lab/audit/subject_train_test.go", `"output": `+name)
			if name != `"last"` {
				contains(t, "cmd/stillpoint/noise_test.go", `"output": `+name)
			}
		}
	}
	for _, m := range found(t, "optimize/output.go", `(?m)^\tcase ([A-Z]\w*):`, 3) {
		contains(t, "optimize/firstorder/output_test.go", "optimize."+m)
	}
}

// TestReadmeIsShort: README.md must have at most 150 lines.
func TestReadmeIsShort(t *testing.T) {
	t.Chdir(root)
	if lines := strings.Count(read(t, "README.md"), "\n"); lines > 150 {
		t.Errorf("README.md has %d lines: must be at most 150; docs has room", lines)
	}
}

// TestConfigurationNamesThem: docs/reference/configuration.md must name every algorithm that a configuration may
// name. Losses have a page that is written from their entries.
func TestConfigurationNamesThem(t *testing.T) {
	t.Chdir(root)
	algorithm := found(t, "docs/reference/configuration.md", `(?m)^#   algorithm: (.*)$`, 1)[0]
	for _, name := range found(t, "internal/train/registry.go", `(?m)^\t\{"([a-z-]+)", `, 10) {
		if !strings.Contains(algorithm, name) {
			t.Errorf("docs/reference/configuration.md: algorithm %s is not named", name)
		}
	}
}

// TestSourcesAreTried: for each source of encoded rows, the suite of sources must be run, and engines must
// be tested over it.
func TestSourcesAreTried(t *testing.T) {
	t.Chdir(root)
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
	engines := read(t, "curator/internal/engine/conformance_test.go")
	for _, m := range sources {
		tried := func(text string) bool { // rowtest.Table makes a row.Table
			return strings.Contains(text, "row.New"+m[1]) || strings.Contains(text, "rowtest."+m[1])
		}
		if !tried(tests.String()) {
			t.Errorf("row.%s: no test of package row runs the suite over it", m[1])
		}
		if !tried(engines) {
			t.Errorf("row.%s: the suite of engines does not run over it", m[1])
		}
	}
}

// found returns the text of the expression's group in each match in a file. It fails the test if there are
// fewer than least matches.
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
