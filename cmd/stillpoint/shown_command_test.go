package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// TestBarsSayTheNorm tests the bar on a terminal: its length, its numbers, the norm if more is asked for, and that it is
// wiped off at the end.
func TestBarsSayTheNorm(t *testing.T) {
	for verbose, norm := range map[bool]string{true: "noisy gradient norm 0.012 ", false: ""} {
		var out strings.Builder
		p := &progress{c: &console{}, w: &out, terminal: true, verbose: verbose}
		p.step(train.Step{Number: 7, Of: 20, GradientNorm: .01234})
		p.step(train.Step{Number: 8, Of: 20, GradientNorm: 5}) // too soon after the one before
		p.step(train.Step{Number: 20, Of: 20, GradientNorm: .01234})
		p.finish()
		want := "\r\x1b[K" + norm + "[==========                    ] 7/20\r\x1b[K" + norm +
			"[==============================] 20/20\r\x1b[K"
		if out.String() != want {
			t.Errorf("verbose %v: %q: must be %q", verbose, out.String(), want)
		}
	}
}

// TestPlotsEndAtTheirCurve tests that the drawn curve of delta reaches the upper end of the axis, which is its largest
// delta, and the lower end.
func TestPlotsEndAtTheirCurve(t *testing.T) {
	m, err := mechanism.NewGaussian(2)
	if err != nil {
		t.Fatal(err)
	}
	c, err := mechanism.Compose(t.Context(), []mechanism.Composed{{Mechanism: m, Count: 1}}, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "curve.svg")
	if err := plotCurve(t.Context(), path, c); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	frame := regexp.MustCompile(`x1="(\S+)" y1="(\S+)" x2="(\S+)" y2="(\S+)" class="grid"`).FindAllStringSubmatch(string(text), -1)
	curve := regexp.MustCompile(`<path d="M(\S+?) ([^L]+)(?:L[^L"]+){60}"`).FindStringSubmatch(string(text))
	if frame == nil || curve == nil {
		t.Fatalf("no frame, or no curve, in\n%s", text)
	}
	left, top := frame[len(frame)-1], frame[len(frame)-1][2] // the last line of the grid is upright
	if left[1] != left[3] || !(math.Abs(parsed(t, curve[2])-parsed(t, top)) <= .1) {
		t.Errorf("the curve begins at the height %s: must be %s, the upper end of the frame", curve[2], top)
	}
}

// TestMoreIsSaidIfAsked tests that plan and a fit that is not run say more with --verbose alone, such as the mu of their
// budget, which is worked out from epsilon and delta.
func TestMoreIsSaidIfAsked(t *testing.T) {
	dir := t.TempDir()
	var rows strings.Builder
	rows.WriteString("x,y\n")
	for i := range 200 {
		fmt.Fprintf(&rows, "%d,%d\n", i%50, i%50/25)
	}
	config := "data: t.csv\nschema:\n  columns: {x: {number: [0, 50]}}\n  target: {column: y, classes: [\"0\", \"1\"]}\n" +
		"model: {loss: logistic, family: lines}\ntrain: {algorithm: gd}\n" +
		"privacy: {epsilon: 50, delta: 1e-3, relation: replace-one}\n"
	for name, text := range map[string]string{"t.csv": rows.String(), "t.yaml": config} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	do := func(args ...string) (string, string) {
		t.Helper()
		var out, failures strings.Builder
		if code := run(t.Context(), args, &console{out: &out, err: &failures}); code != 0 {
			t.Fatalf("%v: %s", args, failures.String())
		}
		return out.String(), failures.String()
	}
	mu := fmt.Sprintf(" (mu %.5g)\n", gaussianBudget(50, 1e-3))
	path := filepath.Join(dir, "t.yaml")
	for _, command := range [][]string{{"plan", path}, {"fit", path, "--dry-run", "--anyway", "--out", filepath.Join(dir, "r")}} {
		short, _ := do(command...)
		long, _ := do(append(command, "--verbose")...)
		if !strings.Contains(long, mu) || strings.Contains(short, "(mu ") || !(len(long) > len(short)) {
			t.Errorf("%s\nmust be shorter, and without %q, than\n%s", short, mu, long)
		}
	}
}

// TestColumnsWithoutAHeaderAreCounted tests the names that columns get where the first row is a record.
func TestColumnsWithoutAHeaderAreCounted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte("1,2,3\n4,5,6\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if code := run(t.Context(), []string{"schema", path, "--no-header"}, &console{out: &out, err: &out}); code != 0 {
		t.Fatal(out.String())
	}
	for i, name := range []string{"column1:", "column2:", "column3:"} {
		if strings.Count(out.String(), name) != 1 {
			t.Errorf("%s is not there once, as column %d of\n%s", name, i+1, out.String())
		}
	}
}
