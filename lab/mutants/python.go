//go:build mutants

package main

import (
	"context"
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

// pythonFolder is the folder of the Python package. A row of mutants.txt that names it as the
// package to test is tested by pytest.
const pythonFolder = "python"

// needsPython is the outcome of a mutant of the Python package if Python, or a package that its
// tests need, is not available.
const needsPython outcome = "needs Python"

func (m mutant) isPython() bool { return strings.HasPrefix(m.file, pythonFolder+"/") }

// pythonNames matches the selections of tests that mutants.txt may give for a mutant of the Python package:
// words with | between them, or nothing, which selects all tests.
var pythonNames = regexp.MustCompile(`^(\w+(\|\w+)*)?$`)

// environment makes a Python environment (venv) for the tests of the Python package in the given folder,
// and returns the path of its interpreter. The path is empty if the environment cannot be made on this
// machine.
func environment(folder string) (string, error) {
	c := polite(context.Background(), []string{"bash", pythonFolder + "/test.sh", "--environment", folder})
	out, err := c.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("%s/test.sh: %w: %s", pythonFolder, err, out)
	}
	if _, err := os.Stat(filepath.Join(folder, "bin", "stillpoint")); err != nil {
		return "", nil
	}
	return filepath.Join(folder, "bin", "python"), nil
}

// runPython tests a mutant of the Python package. It makes a copy of the package with the defect, since
// Python has no overlays. The stillpoint command that the tests run is built from the unchanged source.
func (r *runner) runPython(m mutant) (verdict, error) {
	interpreter, err := r.interpreter()
	if err != nil {
		return verdict{}, err
	}
	if interpreter == "" {
		return verdict{outcome: needsPython}, nil
	}
	tree, err := r.tree(m)
	if err != nil {
		return verdict{}, err
	}
	defer os.RemoveAll(tree)
	if err := parses(interpreter, filepath.Join(tree, m.file)); err != nil {
		return verdict{}, err
	}
	if hint := r.hints[m.name]; hint.outcome == caught && named(hint.test).matches(m.tests) {
		v, err := r.confirmedPython(r.pytest(interpreter, tree, hint.test), interpreter, tree)
		if err != nil || v.outcome == caught {
			return v, err
		}
	}
	x := r.pytest(interpreter, tree, "-k", strings.ReplaceAll(m.tests, "|", " or "))
	v, err := r.confirmedPython(x, interpreter, tree)
	if err == nil && v.none {
		err = fmt.Errorf("no test of %q matches %q", m.packages, m.tests)
	}
	return v, err
}

// confirmedPython returns the verdict on a run x of the Python package's tests on a mutant, as
// [runner.confirmed] does for Go tests. The mutant is caught if a test fails again with the mutant and
// passes without it.
func (r *runner) confirmedPython(x execution, interpreter, tree string) (verdict, error) {
	v := verdict{pkg: pythonFolder, test: x.test}
	switch {
	case x.none:
		return verdict{outcome: survived, none: true}, nil
	case x.passed:
		return verdict{outcome: survived}, nil
	case x.timedOut:
		v.outcome = timedOut
		return v, nil
	case x.test == "":
		return verdict{}, fmt.Errorf("no test is named by: %.2000s", x.out)
	}
	switch again := r.pytest(interpreter, tree, x.test); {
	case again.passed:
		v.outcome = flaky
		return v, nil
	case again.timedOut:
		v.outcome = timedOut
		return v, nil
	}
	v.outcome = caught
	return v, r.soundly(pythonFolder+" "+x.test, func() error {
		root, err := os.Getwd()
		if err != nil {
			return err
		}
		if x := r.pytest(interpreter, root, x.test); !x.passed {
			return fmt.Errorf("fails without the mutant: %.2000s", x.out)
		}
		return nil
	})
}

// reads returns an error if the mutant's file of the Python package cannot be parsed after the defect is
// put into it. It returns nil if the system has no Python interpreter.
func (r *runner) reads(m mutant) error {
	interpreter, err := exec.LookPath("python3")
	if err != nil {
		return nil
	}
	tree, err := r.tree(m)
	if err != nil {
		return err
	}
	defer os.RemoveAll(tree)
	return parses(interpreter, filepath.Join(tree, m.file))
}

// parses returns an error if a Python file cannot be parsed, since every test would fail with such a file.
// It returns nil for a file whose name does not end in .py.
func parses(interpreter, file string) error {
	if !strings.HasSuffix(file, ".py") {
		return nil
	}
	const read = "import ast, sys; ast.parse(open(sys.argv[1], encoding='utf-8').read())"
	if out, err := polite(context.Background(), []string{interpreter, "-c", read, file}).CombinedOutput(); err != nil {
		return fmt.Errorf("does not parse: %w: %s", err, out)
	}
	return nil
}

// pytest runs tests of the copy of the Python package in the folder tree. Files that Python and the test
// library hypothesis write go to the scratch folder and not beside the sources.
func (r *runner) pytest(interpreter, tree string, selection ...string) execution {
	ctx, stop := context.WithTimeout(context.Background(), r.limit)
	defer stop()
	folder := filepath.Join(tree, pythonFolder)
	c := polite(ctx, append([]string{interpreter, "-m", "pytest", "-x", "-v", "-p", "no:cacheprovider",
		"-c", "../pyproject.toml", "--rootdir", "."}, selection...))
	c.Dir = filepath.Join(folder, "tests")
	c.Env = append(c.Environ(), "PYTHONPYCACHEPREFIX="+filepath.Join(r.scratch, "bytecode"),
		"HYPOTHESIS_STORAGE_DIRECTORY="+filepath.Join(r.scratch, "hypothesis"),
		"PYTHONPATH="+filepath.Join(folder, "src"),
		"PATH="+filepath.Dir(interpreter)+string(os.PathListSeparator)+os.Getenv("PATH"))
	c.WaitDelay = 5 * time.Second
	out, err := c.CombinedOutput()
	x := execution{passed: err == nil, timedOut: ctx.Err() != nil, out: string(out)}
	const noneCollected = 5 // exit code of pytest
	x.none = err != nil && c.ProcessState != nil && c.ProcessState.ExitCode() == noneCollected
	if !x.passed {
		x.test = pythonCatcher(x.out)
	}
	return x
}

var (
	failedPython = regexp.MustCompile(`(?m)^(?:FAILED|ERROR) (\S+?::\w+(?:\[.*?\])?)(?: - .*)?$`)
	begunPython  = regexp.MustCompile(`(?m)^(\S+?::\w+(?:\[.*?\])?) *$`)
)

// pythonCatcher returns the first failing test in pytest's output. If there is none, it returns the test
// that began and did not end, and "" if there is none either.
func pythonCatcher(out string) string {
	for _, form := range []*regexp.Regexp{failedPython, begunPython} {
		if m := form.FindStringSubmatch(out); m != nil {
			return m[1]
		}
	}
	return ""
}

// tree makes a folder with a copy of the Python package that has the mutant's defect, and with
// links to everything else in the module. It returns the folder's path.
func (r *runner) tree(m mutant) (string, error) {
	root, err := os.Getwd()
	if err != nil {
		return "", err
	}
	tree, err := os.MkdirTemp(r.scratch, m.name+"-")
	if err != nil {
		return "", err
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if e.Name() == pythonFolder || e.Name() == ".git" {
			continue
		}
		if err := os.Symlink(filepath.Join(root, e.Name()), filepath.Join(tree, e.Name())); err != nil {
			return "", err
		}
	}
	files, err := pythonFiles()
	if err != nil {
		return "", err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		if file == filepath.FromSlash(m.file) {
			changed, err := m.apply(string(text))
			if err != nil {
				return "", err
			}
			text = []byte(changed)
		}
		target := filepath.Join(tree, file)
		if err := os.MkdirAll(filepath.Dir(target), 0o777); err != nil {
			return "", err
		}
		if err := os.WriteFile(target, text, 0o777); err != nil {
			return "", err
		}
	}
	return tree, nil
}

// pythonFiles lists the files of the Python package, without caches and build results. The list is
// empty if the module has no Python package.
func pythonFiles() (files []string, err error) {
	left := map[string]bool{"__pycache__": true, "dist": true, ".hypothesis": true, ".pytest_cache": true}
	err = filepath.WalkDir(pythonFolder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && path == pythonFolder:
			return nil
		case err != nil:
			return err
		case entry.IsDir() && left[entry.Name()]:
			return fs.SkipDir
		case entry.Type().IsRegular():
			files = append(files, path)
		}
		return nil
	})
	return files, err
}
