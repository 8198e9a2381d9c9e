package repotest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// TestReadmeIsAnExample: the Go code in README.md must be, letter by letter, the body of an example of this
// package, which is compiled and run.
func TestReadmeIsAnExample(t *testing.T) {
	t.Chdir(root)
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

// TestReadmeConfigurationIsOne: the configuration in README.md must be read without an error.
func TestReadmeConfigurationIsOne(t *testing.T) {
	t.Chdir(root)
	text := found(t, "README.md", "(?s)```yaml\n(.*?)```", 1)[0]
	path := filepath.Join(t.TempDir(), "people.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := train.ReadConfig(path); err != nil {
		t.Error(err)
	}
}

// TestReadmeCallsWhatRExports: the R code in README.md must call functions that the package exports, and
// must call dp_fit with arguments that it has.
func TestReadmeCallsWhatRExports(t *testing.T) {
	t.Chdir(root)
	code := found(t, "README.md", "(?s)```r\n(.*?)```", 1)[0]
	space := read(t, "r/NAMESPACE")
	usage := found(t, "r/man/dp_fit.Rd", `(?s)\\usage\{(.*?)\n\}`, 1)[0]
	call := found(t, "README.md", `(?s)stillpoint::dp_fit\((.*?)\)\nsummary`, 1)[0]
	calls := regexp.MustCompile(`(?m)(?:^|; |::)([a-z_]+)\(`).FindAllStringSubmatch(code, -1)
	if len(calls) < 4 {
		t.Fatalf("the R in README.md calls %q alone", calls)
	}
	for _, m := range calls {
		if !strings.Contains(space, m[1]+", dp_fit)") && !strings.Contains(space, "("+m[1]+",") {
			t.Errorf("README.md calls %s, which r/NAMESPACE does not export", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`(?:^|,)\s*([a-z]+) = (?:list|c|"|[0-9])`).FindAllStringSubmatch(call, -1) {
		if m[1] != "age" && m[1] != "region" && !strings.Contains(usage, m[1]) {
			t.Errorf("README.md gives dp_fit %s: its arguments are %s", m[1], usage)
		}
	}
}

// TestReadmeInstallsWhatThereIs: until a version is released (CHANGELOG.md says so), the lines of README.md that install
// must install from the source, and from folders that are there. Afterwards they must name the packages as a release
// makes them (RELEASING.md). The line for Python must name the extras that the lines in Python need.
func TestReadmeInstallsWhatThereIs(t *testing.T) {
	t.Chdir(root)
	name := found(t, "python/pyproject.toml", `(?m)^name = "(.+)"$`, 1)[0]
	of := found(t, "r/DESCRIPTION", `(?m)^Package: (.+)$`, 1)[0]
	found(t, ".github/RELEASING.md", "`("+strings.ReplaceAll(name, "-", "_")+`)-[0-9.]+-\*\.whl`, 1)
	found(t, ".github/RELEASING.md", "`("+of+`)_[0-9.]+\.tar\.gz`, 1)
	if strings.Contains(read(t, "CHANGELOG.md"), "No version has been released yet") {
		for _, line := range found(t, "README.md", `(?mi)^\$ (.*install .*)$`, 2) {
			if strings.Contains(line, name) || strings.Contains(line, of+"_") {
				t.Errorf("README.md installs what was not released: %s", line)
			}
		}
		for _, folder := range []string{"cmd/stillpoint/main.go", "python/pyproject.toml", "r/DESCRIPTION"} {
			read(t, folder)
		}
	} else {
		found(t, "README.md", `(?m)^\$ (pip install "?`+regexp.QuoteMeta(name)+`)`, 1)
	}
	if strings.Contains(read(t, "README.md"), "from_formula") {
		found(t, "README.md", `(?m)^\$ pip install "[^"]*(\[sklearn,formula\])"`, 1)
	}
}
