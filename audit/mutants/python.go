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

// pythonFolder holds the Python package, and is what its mutants name as theirs.
const pythonFolder = "python"

// needsPython is the fate of a mutant of the Python package where Python or the
// packages that its tests compare with cannot be had.
const needsPython outcome = "needs Python"

func (m mutant) isPython() bool { return strings.HasPrefix(m.file, pythonFolder+"/") }

// pythonNames is the form of the tests that a mutant of the Python package names.
var pythonNames = regexp.MustCompile(`^(\w+(\|\w+)*)?$`)

// environment makes the environment of the package's tests in a folder and returns
// its interpreter; empty if it cannot be had here.
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

// runPython tests a mutant of the Python package. Its folder is copied, since Python
// knows no overlays; the command is that of the source as it is.
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

// confirmedPython is confirmed, for a test of the Python package.
func (r *runner) confirmedPython(x execution, interpreter, tree string) (verdict, error) {
	v := verdict{pkg: pythonFolder, test: x.test}
	switch {
	case x.none:
		return verdict{outcome: survived, none: true}, nil
	case x.passed:
		return verdict{outcome: survived}, nil
	case x.late:
		v.outcome = timedOut
		return v, nil
	case x.test == "":
		return verdict{}, fmt.Errorf("no test is named by: %.2000s", x.out)
	}
	switch again := r.pytest(interpreter, tree, x.test); {
	case again.passed:
		v.outcome = flaky
		return v, nil
	case again.late:
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

// reads demands that a mutant of the Python package can be read, if Python is there.
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

// parses demands that a file of Python is one: what cannot be read fails every test.
// Any other file is as good as its text.
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

// pytest runs tests of the Python package in a tree that has it. What Python and
// hypothesis keep goes to the scratch folder: none of it is left beside a source.
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
	x := execution{passed: err == nil, late: ctx.Err() != nil, out: string(out)}
	const noneCollected = 5 // as an exit code of pytest
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

// pythonCatcher finds the failing test in what pytest printed, or the one that did
// not end.
func pythonCatcher(out string) string {
	for _, form := range []*regexp.Regexp{failedPython, begunPython} {
		if m := form.FindStringSubmatch(out); m != nil {
			return m[1]
		}
	}
	return ""
}

// tree makes a copy of the Python package with the defect, beside all else that the
// module has.
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

// pythonFiles lists the files of the Python package, without what its tools leave;
// none in a module that has no such package.
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
