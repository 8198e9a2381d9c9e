package experiment_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/lab/experiment"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// TestKnownRises tests the KL condition that a family states. At the start, at random points near
// it and along a path to the minimum, the excess risk must satisfy the condition. The stated gamma
// must be at most twice the smallest gamma for which the condition holds at these points. The test
// fails for a gamma with 2e in place of sqrt(2e), or for 1/kappa in place of kappa.
func TestKnownRises(t *testing.T) {
	const d, rows = 12, 60
	for _, name := range []string{"low-rank(4)", "exp-tail", "quartic", "three-halves", "three-halves-fine", "phase",
		"softmax"} {
		f, err := experiment.NewFamily(name, d, rows, 2)
		if err != nil {
			t.Fatal(err)
		}
		if f.Minimum == nil || f.KL.Known() == (name == "phase") {
			t.Fatalf("%s: minimum %v, %+v", name, f.Minimum, f.KL)
		}
		r, w := rand.New(rand.NewPCG(4, 4)), make([]float64, d)
		var tightest float64
		for step := range 4000 {
			at := append([]float64(nil), w...)
			if step%2 == 1 { // near the path
				for j := range at {
					at[j] += .1 * r.NormFloat64() * math.Pow(.997, float64(step))
				}
				if name == "exp-tail" { // the condition holds for nonnegative first coordinates
					at[0] = math.Abs(at[0])
				}
			}
			value, err := stationarity.Objective(f.Loss, f.Regularizer, f.Sample, at)
			if err != nil {
				t.Fatal(err)
			}
			g, err := stationarity.Gradient(f.Loss, f.Regularizer, f.Sample, at)
			if err != nil {
				t.Fatal(err)
			}
			excess, norm := value-*f.Minimum, stationarity.Norm(g)
			if excess < -1e-12 {
				t.Fatalf("%s: %v below the minimum", name, -excess)
			}
			if rounded := excess < map[string]float64{"three-halves": .02, "three-halves-fine": 4e-6}[name]; f.KL.Known() &&
				excess > 1e-9 && !rounded && norm < 1 {
				if most := f.KL.Excess(norm); excess > most*(1+1e-6) {
					t.Fatalf("%s: excess %v at a gradient of %v: at most %v is stated", name, excess, norm, most)
				}
				tightest = max(tightest, f.KL.Gradient(excess)/norm)
			}
			for j := range w {
				w[j] -= .1 * g[j]
			}
		}
		if f.KL.Known() && tightest < .5 {
			t.Errorf("%s: gradients are at least %.2f times what is stated", name, 1/tightest)
		}
	}
}

// TestRunsShowTheRise tests that a run on a family with a known minimum states the excess risk of
// its result, and estimates kappa approximately.
func TestRunsShowTheRise(t *testing.T) {
	f, err := experiment.NewFamily("quartic", 5, 20, 1)
	if err != nil {
		t.Fatal(err)
	}
	b, err := account.NewBudget(1, 1e-9, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	s := experiment.Instance{Family: f, Repeat: 5_000_000, Budget: b}
	p, err := s.Problem()
	if err != nil {
		t.Fatal(err)
	}
	plan, err := firstorder.GD{Steps: 60, StepScale: 1}.Plan(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	o, err := s.Run(t.Context(), plan, 1)
	if err != nil {
		t.Fatal(err)
	}
	if o.Excess == nil || o.Rise == nil || *o.Excess != o.Loss || math.Abs(o.Rise.Kappa-4./3) > .02 ||
		math.Abs(o.Rise.Gamma-f.KL.Gamma) > .02 {
		t.Errorf("%+v, %+v: want kappa 4/3, gamma %v", o.Excess, o.Rise, f.KL.Gamma)
	}
}

func TestLowRankRefuses(t *testing.T) {
	for name, want := range map[string]string{"low-rank(x)": "rank must be a whole number",
		"low-rank(9)": "rank = 9: must be between 1 and the dimension", "low-rank(0)": "rank = 0",
		"softmax": "dimension = 8: must be a multiple of its 3 classes"} {
		if _, err := experiment.NewFamily(name, 8, 40, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v: want %q", name, err, want)
		}
	}
}
