package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// switched is the product with the defects of many facts in it, each of which is off until it is named. So the tests
// of a package are compiled once for all facts.
type switched struct {
	scratch  string
	overlay  string
	binaries map[string]string // of the tests of a package, by its folder
	limit    time.Duration
	only     *regexp.Regexp // the tests among which oracles are looked for; nil for all
}

// helpers is the source that each package gets: active names the defect that is on, by its number. In place of a
// number "trace" makes the program note which facts it shows.
const helpers = `package %s

import (
	"os"
	"strconv"
	"strings"
)

var (
	activeFact = func() string { text, _ := os.ReadFile(%q); return strings.TrimSpace(string(text)) }()
	seenFacts  [%d]bool
)

func isFact(i int) bool {
	if activeFact == "trace" && !seenFacts[i] {
		seenFacts[i] = true
		if f, err := os.OpenFile(%q, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666); err == nil {
			f.WriteString("\n" + strconv.Itoa(i) + "\n") // a line that a killed program cut stands alone
			f.Close()
		}
	}
	return activeFact == strconv.Itoa(i)
}

func factInt[T ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64](i int, v T) T {
	if isFact(i) {
		return v + 1
	}
	return v
}

func factFloat[T ~float64 | ~float32](i int, v T) T {
	if isFact(i) {
		return v * 1.0625
	}
	return v
}

func factBool[T ~bool](i int, v T) T {
	if isFact(i) {
		return !v
	}
	return v
}

func factFloats[T ~[]float64](i int, v T) T {
	if !isFact(i) {
		return v
	}
	w := append(T(nil), v...)
	for j := range w {
		w[j] *= 1.0625
	}
	return w
}
`

// instrument writes the source with a switch at each of the facts to the folder scratch.
func (s *source) instrument(scratch string, facts []fact, limit time.Duration) (*switched, error) {
	w := &switched{scratch: scratch, overlay: filepath.Join(scratch, "overlay.json"), binaries: map[string]string{},
		limit: limit}
	edits := map[string][]edit{}
	for i, f := range facts {
		e := f.edits[0]
		// Both edits are insertions, so that facts may contain facts.
		edits[f.file] = append(edits[f.file], edit{e.start, e.start, fmt.Sprintf("%s(%d, ", switchOf[f.of], i)},
			edit{e.end, e.end, ")"})
	}
	replaced := map[string]string{}
	write := func(target, text string) error {
		path := filepath.Join(scratch, fmt.Sprintf("%d.go", len(replaced)))
		replaced[filepath.Join(s.root, target)] = path
		return os.WriteFile(path, []byte(text), 0o666)
	}
	for _, p := range s.packages {
		touched := false
		for _, name := range p.GoFiles {
			file, err := filepath.Rel(s.root, name)
			if err != nil {
				return nil, err
			}
			if list := edits[file]; list != nil {
				touched = true
				if err := write(file, string(inserted(s.text[file], list))); err != nil {
					return nil, err
				}
			}
		}
		if touched {
			text := fmt.Sprintf(helpers, p.Name, w.file("active"), len(facts), w.file("trace"))
			if err := write(filepath.Join(folder(p.PkgPath), "zz_facts.go"), text); err != nil {
				return nil, err
			}
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return nil, err
	}
	return w, os.WriteFile(w.overlay, text, 0o666)
}

var switchOf = map[string]string{"int": "factInt", "float": "factFloat", "bool": "factBool", "floats": "factFloats"}

// inserted returns a text with insertions. Where a fact begins in the place of another, the longer is outside.
func inserted(text []byte, edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.start - b.start })
	var out []byte
	at := 0
	for i := 0; i < len(edits); {
		e := edits[i]
		out = append(out, text[at:e.start]...)
		at = e.start
		n := i
		for n < len(edits) && edits[n].start == e.start {
			n++
		}
		for _, other := range edits[i:n] { // first those that end here
			if other.text == ")" {
				out = append(out, ')')
			}
		}
		for _, other := range edits[i:n] {
			if other.text != ")" {
				out = append(out, other.text...)
			}
		}
		i = n
	}
	return append(out, text[at:]...)
}

func (w *switched) file(name string) string { return filepath.Join(w.scratch, name) }

// turn names the defect that is on: its number, "trace", or "" for none.
func (w *switched) turn(which string) error {
	os.Remove(w.file("trace"))
	return os.WriteFile(w.file("active"), []byte(which), 0o666)
}

// traced returns the numbers of the facts that programs have shown since the last turn to "trace".
func (w *switched) traced() (list []int) {
	text, _ := os.ReadFile(w.file("trace"))
	for line := range strings.Lines(string(text)) {
		var i int
		if _, err := fmt.Sscan(line, &i); err == nil && !slices.Contains(list, i) {
			list = append(list, i)
		}
	}
	return list
}

// binary returns the compiled tests of a package with all switches. It is "" if the package has no tests.
func (w *switched) binary(folder string) (string, error) {
	if path, ok := w.binaries[folder]; ok {
		return path, nil
	}
	path := w.file(strings.ReplaceAll(folder, "/", "_") + ".test")
	out, err := exec.Command("go", "test", "-c", "-vet=off", "-overlay", w.overlay, "-o", path, "./"+folder).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("tests of %s: %w: %.3000s", folder, err, out)
	}
	if _, err := os.Stat(path); err != nil {
		path = ""
	}
	w.binaries[folder] = path
	return path, nil
}

// run runs some tests of a package, and returns whether they passed, and their output.
func (w *switched) run(folder, tests string) (passed bool, out string, err error) {
	path, err := w.binary(folder)
	if err != nil || path == "" {
		return true, "", err
	}
	c := exec.Command(path, "-test.short", "-test.v", "-test.failfast", "-test.paniconexit0", "-test.timeout",
		w.limit.String(), "-test.run", tests)
	c.Dir = folder
	c.WaitDelay = 5 * time.Second
	defer apart(c)()
	text, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return false, "", err
	}
	return err == nil, string(text), nil
}
