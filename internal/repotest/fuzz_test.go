package repotest

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFuzzTargetsKeepInputs: each fuzz target must have inputs in testdata/fuzz, which every run of the tests tries.
// .ci/run finds new ones for some seconds a target. Inputs that reach code which the kept ones do not reach are in the
// folder fuzz of the go command's cache.
func TestFuzzTargetsKeepInputs(t *testing.T) {
	t.Chdir(root)
	targets := 0
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		for _, m := range regexp.MustCompile(`(?m)^func (Fuzz\w*)\(f \*testing\.F\)`).FindAllStringSubmatch(read(t, path), -1) {
			targets++
			kept, err := filepath.Glob(filepath.Join(filepath.Dir(path), "testdata", "fuzz", m[1], "*"))
			if err != nil || len(kept) == 0 {
				t.Errorf("%s: %s keeps no input: %v", path, m[1], err)
			}
		}
		return nil
	})
	if err != nil || targets < 20 {
		t.Fatalf("%d fuzz targets: %v", targets, err)
	}
}
