package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/lab/experiment"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
)

// TestCompares: the program must print the tables with bootstrap intervals. A second call must continue
// from the stored runs and print the same.
func TestCompares(t *testing.T) {
	dir := t.TempDir()
	var first, second strings.Builder
	if err := compare(t.Context(), dir, &first); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, experiment.RunsFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"heavy-ball", "## Against gd at equal budget", "bootstrap", `"momentum":`} {
		if !strings.Contains(first.String(), want) {
			t.Errorf("nothing of %s in\n%s", want, first.String())
		}
	}
	if err := compare(t.Context(), dir, &second); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(filepath.Join(dir, experiment.RunsFile))
	if err != nil || string(after) != string(before) || first.String() != second.String() {
		t.Errorf("a second run of the same program repeats runs, or prints something else: %v", err)
	}
	// If another program wrote the runs, its algorithm of this name may be another one. Runs of that
	// algorithm must be made again, and the others kept.
	old := strings.ReplaceAll(string(before), `"code":"`, `"code":"0`)
	lines := strings.Split(strings.TrimSpace(old), "\n")
	for i, line := range lines {
		lines[i] = rekeyed(t, line)
	}
	if err := os.WriteFile(filepath.Join(dir, experiment.RunsFile), []byte(strings.Join(lines, "\n")+"\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	if err := compare(t.Context(), dir, &second); err != nil {
		t.Fatal(err)
	}
	runs, err := experiment.ReadFinished(dir)
	if err != nil {
		t.Fatal(err)
	}
	if own := strings.Count(string(before), `"code":"`); len(runs) != len(lines)+own || own == 0 {
		t.Errorf("%d runs: want %d, and %d again", len(runs), len(lines), own)
	}
	// The command does not know the algorithm, but must summarize its runs.
	s, err := experiment.ParseSpec(spec)
	if err != nil {
		t.Fatal(err)
	}
	summary, err := s.Summarize(runs)
	if err != nil || summary.Missing != 0 || len(summary.Cells) != 4 {
		t.Errorf("%d cells, %d runs missing, %v", len(summary.Cells), summary.Missing, err)
	}
}

// TestMomentumHasTheSameMinimum: with nearly no noise, momentum must end at the minimum of the regularized
// loss, as gradient descent does. If the regularizer's gradient were added once to a sum of 1/(1-beta)
// gradients, the regularizer would have a tenth of its weight.
func TestMomentumHasTheSameMinimum(t *testing.T) {
	family, err := experiment.NewFamily("logistic", 5, 60, 1)
	if err != nil {
		t.Fatal(err)
	}
	if family.Regularizer, err = loss.L2(.1); err != nil {
		t.Fatal(err)
	}
	b, err := account.NewBudget(1e4, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	s := experiment.Instance{Family: family, Repeat: 1_000_000, Budget: b}
	p, err := s.Problem()
	if err != nil {
		t.Fatal(err)
	}
	norm := func(a optimize.Algorithm) float64 {
		made, err := a.Plan(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		o, err := s.Run(context.Background(), made, 1)
		if err != nil {
			t.Fatal(err)
		}
		return o.GradientNorm
	}
	if g := norm(firstorder.GD{Steps: 400, StepScale: 1}); g > 1e-4 {
		t.Fatalf("gradient descent ends at a gradient of norm %v: the test is broken", g)
	}
	for _, beta := range []float64{0, .5, .9} {
		if g := norm(HeavyBall{Momentum: beta, Steps: 400}); g > 1e-4 {
			t.Errorf("momentum %v ends at a gradient of norm %v: must be near 0", beta, g)
		}
	}
}
