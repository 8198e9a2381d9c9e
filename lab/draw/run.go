package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// outcome is what the tests made of a defect.
type outcome string

const (
	caught   outcome = "caught"
	survived outcome = "survived"
	timedOut outcome = "timed out" // of earlier draws: no test failed, and one was too slow
	noFault  outcome = "no fault"  // set by hand in the file of draws, with the reason: the program does the same
	invalid  outcome = "invalid"   // it does not compile: another is drawn in its place
	skipped  outcome = "skipped"   // Python or R could not be had
)

// judge runs tests on defects.
type judge struct {
	*source
	scratch string
	limit   time.Duration // for the tests of one package
	patient time.Duration // for a defect: no further package's tests are begun after it
	own     bool          // by the tests of a defect's own package alone
	python  string        // the interpreter of an environment that python/test.sh made; "" for none

	// sound says of a test, by its package and name, whether it passes without a defect. A test that does not is left
	// out.
	sound map[string]bool
}

// judge applies a defect and runs the tests of its package, then those of the packages that import it, until one
// fails. It returns the test that failed.
func (j *judge) judge(d site) (outcome, string, error) {
	switch filepath.Ext(d.file) {
	case ".py":
		return j.inPython(d)
	case ".R":
		return j.inR(d)
	}
	overlay, err := j.overlaid(d)
	if err != nil {
		return "", "", err
	}
	start := time.Now()
	for i, folder := range append([]string{d.folder}, j.importer[d.folder]...) {
		if i > 0 && (j.own || time.Since(start) > j.patient) {
			break
		}
		verdict, test, err := j.inPackage(folder, overlay, "-short")
		if err != nil || verdict != survived {
			return verdict, test, err
		}
	}
	return j.inPackage(d.folder, overlay, "-short=false") // the longer tests that also run by default
}

// overlaid writes the file of a defect, and an overlay that puts it into the source.
func (j *judge) overlaid(d site) (overlay string, err error) {
	changed := filepath.Join(j.scratch, "changed.go")
	if err := os.WriteFile(changed, apply(j.text[d.file], d.edits), 0o666); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(j.root, d.file): changed}})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(j.scratch, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o666)
}

// inPackage runs the tests of a package with an overlay. A test that also fails without the overlay is no catch: the
// tests are run again without it. A test that is out of time is run alone, since a busy machine is slow (see ends).
func (j *judge) inPackage(folder, overlay, short string) (outcome, string, error) {
	var skip []string
	for {
		out, passed, err := j.output(j.root, nil, "go", "test", short, "-failfast", "-vet=off", "-overlay", overlay,
			"-timeout", j.limit.String(), "-skip", strings.Join(skip, "|"), "./"+folder)
		switch {
		case err != nil || passed:
			return survived, "", err
		case !strings.Contains(out, "FAIL"): // the machine was too slow to say
			return survived, "", nil
		case strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]"):
			return invalid, "", nil
		}
		test := failed(out)
		if test == outOfTime {
			m := unended.FindStringSubmatch(out)
			if m == nil || len(skip) == 3 {
				return survived, "", nil
			}
			slow, err := j.ends(folder, overlay, short, m[1])
			if err != nil || !slow {
				return caught, folder + " " + m[1] + " (does not end)", err
			}
			skip = append(skip, only(m[1]))
			continue
		}
		key := folder + " " + test
		if _, known := j.sound[key]; !known && strings.HasPrefix(test, "Test") {
			_, j.sound[key], err = j.output(j.root, nil, "go", "test", short, "-vet=off", "-run", only(test), "./"+folder)
			if err != nil {
				return "", "", err
			}
		}
		if sound, known := j.sound[key]; !known || sound || len(skip) == 3 {
			return caught, key, nil
		}
		skip = append(skip, only(test))
	}
}

// ends says whether a test passes alone with an overlay, in six times the time that it takes without it.
func (j *judge) ends(folder, overlay, short, test string) (bool, error) {
	start := time.Now()
	if _, passed, err := j.output(j.root, nil, "go", "test", short, "-count=1", "-vet=off", "-run", only(test), "./"+
		folder); err != nil || !passed { // also without the defect it does not
		return true, err
	}
	limit := max(30*time.Second, 6*time.Since(start))
	_, passed, err := j.output(j.root, nil, "go", "test", short, "-vet=off", "-overlay", overlay, "-timeout", limit.String(),
		"-run", only(test), "./"+folder)
	return passed, err
}

// output runs a command politely, and returns what it prints and whether it succeeded.
func (j *judge) output(dir string, env []string, command ...string) (string, bool, error) {
	ctx, stop := context.WithTimeout(context.Background(), 2*j.limit+10*time.Minute)
	defer stop()
	if nice, err := exec.LookPath("nice"); err == nil {
		command = append([]string{nice}, command...)
	}
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Dir, c.Env, c.WaitDelay = dir, append(os.Environ(), env...), 5*time.Second
	defer apart(c)()
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && ctx.Err() == nil {
		return "", false, err
	}
	return string(out), err == nil, nil
}

// outOfTime is what go test prints where a test does not end.
const outOfTime = "panic: test timed out"

// unended matches the test that was running when the time was over, and since when.
var unended = regexp.MustCompile(`(?m)^\s+(Test\w+)\S* \((\S+)\)$`)

var failure = regexp.MustCompile(`(?m)^(?:--- FAIL: (\S+)|(?:FAILED|ERROR) (\S+)|(panic: test timed out))`)

// failed returns the first test that failed, in the output of go test or of pytest; "" if none is named.
func failed(out string) string {
	m := failure.FindStringSubmatch(out)
	if m == nil {
		return ""
	}
	return m[1] + m[2] + m[3]
}

// inPython runs the tests of the Python package on a copy of it with a defect.
func (j *judge) inPython(d site) (outcome, string, error) {
	if j.python == "" {
		return skipped, "", nil
	}
	tree, err := j.copied("python", d)
	if err != nil {
		return "", "", err
	}
	defer os.RemoveAll(tree)
	if _, ok, err := j.output(tree, nil, j.python, "-c",
		"import ast, sys; ast.parse(open(sys.argv[1], encoding='utf-8').read())", d.file); err != nil || !ok {
		return invalid, "", err
	}
	tests, err := j.reaching(d)
	if err != nil {
		return "", "", err
	}
	src, start := filepath.Join(tree, "python", "src"), time.Now()
	out, passed, err := j.output(filepath.Join(tree, "python", "tests"), []string{"PYTHONPATH=" + src, "PATH=" +
		filepath.Dir(j.python) + string(os.PathListSeparator) + os.Getenv("PATH")}, append([]string{j.python, "-m", "pytest",
		"-x", "-q", "-p", "no:cacheprovider", "-c", "../pyproject.toml", "--rootdir", "."}, tests...)...)
	switch test := failed(out); {
	case err != nil || passed:
		return survived, "", err
	case test == "" && time.Since(start) < 5*mostReached*time.Second: // no test has failed
		return survived, "", nil
	case test == "":
		return caught, "python (does not end)", nil
	default:
		return caught, "python " + test, nil
	}
}

// inR runs the tests of the R package on a copy of it with a defect.
func (j *judge) inR(d site) (outcome, string, error) {
	if _, err := exec.LookPath("Rscript"); err != nil {
		return skipped, "", nil
	}
	tree, err := j.copied("r", d)
	if err != nil {
		return "", "", err
	}
	defer os.RemoveAll(tree)
	if _, ok, err := j.output(tree, nil, "Rscript", "-e", "invisible(parse('"+d.file+"'))"); err != nil || !ok {
		return invalid, "", err
	}
	out, passed, err := j.output(tree, nil, "bash", "r/test.sh", "--quick")
	switch {
	case err != nil || passed && strings.Contains(out, "skipped"):
		return skipped, "", err
	case passed:
		return survived, "", nil
	}
	return caught, "r/tests", nil
}

// copied makes a folder with a copy of one folder of the module that has a defect, and links to all others.
func (j *judge) copied(own string, d site) (string, error) {
	tree, err := os.MkdirTemp(j.scratch, "tree-")
	if err != nil {
		return "", err
	}
	entries, err := os.ReadDir(j.root)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if e.Name() != own && e.Name() != ".git" {
			if err := os.Symlink(filepath.Join(j.root, e.Name()), filepath.Join(tree, e.Name())); err != nil {
				return "", err
			}
		}
	}
	if err := os.CopyFS(filepath.Join(tree, own), os.DirFS(filepath.Join(j.root, own))); err != nil &&
		!errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return tree, os.WriteFile(filepath.Join(tree, d.file), apply(j.text[d.file], d.edits), 0o666)
}

// environment makes a Python environment with the package of this source, and returns its interpreter; "" if none can
// be made.
func (j *judge) environment() (string, error) {
	path := filepath.Join(j.scratch, "python")
	out, ok, err := j.output(j.root, nil, "bash", "python/test.sh", "--environment", path)
	if err != nil || !ok {
		return "", fmt.Errorf("python/test.sh: %v: %.1000s", err, out)
	}
	if _, err := os.Stat(filepath.Join(path, "bin", "stillpoint")); err != nil {
		return "", nil
	}
	return filepath.Join(path, "bin", "python"), nil
}
