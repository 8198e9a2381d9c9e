package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// block is a fenced block of a documentation page. An HTML comment above the fence says how the
// block is tested:
//
//	<!-- noisy -->           numbers with noise and widths of columns differ from run to run (patternOf)
//	<!-- noisy: NUMBER -->   as noisy, and numbers may differ by NUMBER; ", counts": whole numbers have noise, too
//	<!-- file: NAME -->      the block is a file for the commands below it
//	<!-- part of: PATH -->   the lines stand in this file of the repository, one after the other
//	<!-- checked by: TEST --> the Go or Python test of that name tries the block
//	<!-- not run: REASON -->
type block struct {
	line              int // of the fence, from 1
	language          string
	directive, detail string
	text              string
}

var directiveLine = regexp.MustCompile(`^<!-- (noisy|file|part of|checked by|not run)(?:: (.+))? -->$`)

// blocksOf lists the fenced blocks of a page.
func blocksOf(text string) (blocks []block) {
	var open *block
	above := ""
	for i, line := range strings.Split(text, "\n") {
		switch {
		case open == nil && strings.HasPrefix(line, "```"):
			open = &block{line: i + 1, language: strings.TrimPrefix(line, "```")}
			if m := directiveLine.FindStringSubmatch(above); m != nil {
				open.directive, open.detail = m[1], m[2]
			}
		case open != nil && line == "```":
			blocks = append(blocks, *open)
			open, above = nil, ""
		case open != nil:
			open.text += line + "\n"
		case strings.TrimSpace(line) != "":
			above = line
		}
	}
	return blocks
}

// step is a command of a page's console block, with the output that the page shows for it.
type step struct{ command, output string }

// stepsOf divides a page's console block into its commands and their outputs. A command line that
// ends in a backslash continues on the next line.
func stepsOf(text string) (steps []step) {
	goesOn := false
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "$ "):
			steps = append(steps, step{command: line[2:]})
			goesOn = strings.HasSuffix(line, "\\\n")
		case len(steps) == 0:
			steps = append(steps, step{output: line}) // output without a command; the caller refuses it
		case goesOn:
			steps[len(steps)-1].command += line
			goesOn = strings.HasSuffix(line, "\\\n")
		default:
			steps[len(steps)-1].output += line
		}
	}
	return steps
}

// attempts is how often a page with noisy blocks is tried. Rarely the noise makes a fit print a line that the
// page does not show, for example that its steps were too few. In 40 runs of all pages this happened twice,
// each time to one page.
const attempts = 3

// TestPagesRun runs the commands of each documentation page in a new folder, which has the repository's
// folder examples. The commands must print the output that the page shows.
func TestPagesRun(t *testing.T) {
	if testing.Short() {
		t.Skip("fits the tables of the tutorials")
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("pages are written for bash")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	pages := []string{filepath.Join(root, "README.md"), filepath.Join(root, ".github", "RELEASING.md"),
		filepath.Join(root, "python", "README.md")}
	err = filepath.WalkDir(filepath.Join(root, "docs"), func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	tests := sources(t, root, "_test.go") + sources(t, filepath.Join(root, "python", "tests"), ".py")
	for _, page := range pages {
		name, err := filepath.Rel(root, page)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.ToSlash(name), func(t *testing.T) {
			t.Parallel()
			var faults []string
			for range attempts {
				var noisy bool
				if faults, noisy = tryPage(t, root, page, tests); len(faults) == 0 || !noisy {
					break
				}
			}
			for _, f := range faults {
				t.Error(f)
			}
		})
	}
}

// sources returns the text of all files below a folder whose names have the given end.
func sources(t *testing.T, folder, end string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, end) {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// tryPage tries the blocks of a page in a folder of their own. It returns what is wrong with them, and
// whether one of them is noisy.
func tryPage(t *testing.T, root, page, tests string) (faults []string, noisy bool) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	fault := func(b block, format string, args ...any) {
		faults = append(faults, fmt.Sprintf("line %d: ", b.line)+fmt.Sprintf(format, args...))
	}
	work, now := "", string(text)
	for _, b := range blocksOf(string(text)) {
		if work == "" {
			work = t.TempDir()
			if err := os.Symlink(filepath.Join(root, "examples"), filepath.Join(work, "examples")); err != nil {
				t.Fatal(err)
			}
			if command, err := exec.LookPath("stillpoint"); err != nil {
				t.Fatal(err)
			} else if err := os.Symlink(command, filepath.Join(work, "stillpoint")); err != nil {
				t.Fatal(err)
			}
		}
		noisy = noisy || b.directive == "noisy"
		switch {
		case b.directive == "not run" && len(b.detail) > 5, b.language == "text" && b.directive == "":
		case b.directive == "file":
			if err := os.WriteFile(filepath.Join(work, filepath.Base(b.detail)), []byte(b.text), 0o600); err != nil {
				t.Fatal(err)
			}
		case b.directive == "part of":
			whole, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(b.detail)))
			if err != nil || !strings.Contains(string(whole), b.text) {
				fault(b, "these lines are not in %s (%v)", b.detail, err)
			}
		case b.directive == "checked by":
			if !strings.Contains(tests, "func "+b.detail+"(") && !strings.Contains(tests, "def "+b.detail+"(") {
				fault(b, "there is no test %s", b.detail)
			}
		case b.language == "console" && (b.directive == "" || b.directive == "noisy"):
			newer := b.text
			for _, s := range stepsOf(b.text) {
				wrong, again := tryStep(work, b, s)
				newer = strings.Replace(newer, s.command+s.output, s.command+again, 1)
				if wrong != "" {
					fault(b, "%s", wrong)
				}
			}
			if *renew && newer != b.text {
				now = strings.Replace(now, b.text, newer, 1)
				if err := os.WriteFile(page, []byte(now), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		default:
			fault(b, "a block of %q is neither run nor said to be tried elsewhere (%q)", b.language,
				b.directive)
		}
	}
	return faults, noisy
}

// tryStep runs a command of a page and compares its output, standard error included, with the
// output that the page shows. It returns what is wrong, or "", and the output that a renewed page has.
func tryStep(work string, b block, s step) (wrong, again string) {
	if s.command == "" {
		return "output without a command", s.output
	}
	c := exec.Command("bash", "-c", s.command)
	c.Dir = work
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "STILLPOINT_ANYWAY=") {
			c.Env = append(c.Env, v)
		}
	}
	out, err := c.CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%s: %v:\n%s", s.command, err, out), s.output
	}
	noise, err := noiseOf(b)
	if err != nil {
		return err.Error(), s.output
	}
	again = s.output
	if *renew && noise.any {
		if newer, ok := renewed(s.output, string(out)); ok {
			return "", newer
		}
	}
	if d := differs(s.output, string(out), noise); d != "" {
		return fmt.Sprintf("%sprints\n%s\nand not\n%s\n(%s)", s.command, out, s.output, d), s.output
	}
	return "", again
}
