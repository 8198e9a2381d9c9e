package train

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// TestReducedFeatures compares reducedFeatures with the k of Theorem 6 (Arora et al. 2023), which the test
// finds by trying every number of features. The gradient norm is that of Theorem 5 for convex losses and of
// Theorem 1 for other losses, computed from the budget's mu. The test fails if reducedFeatures leaves out the
// cost of the projection, the number of margins, or the bound on the rank.
func TestReducedFeatures(t *testing.T) {
	for _, c := range []struct {
		loss     loss.Loss
		features int
		records  float64
		epsilon  float64
	}{
		{loss.Logistic(), 20_000, 1000, 1}, {loss.Logistic(), 20_000, 30_000, .1}, {loss.Tanh(), 20_000, 1000, 1},
		{loss.Tanh(), 20_000, 5000, 4}, {must(loss.Softmax(5))(t), 4_000, 1000, 1}, {loss.Logistic(), 2, 40, 8},
		{loss.Logistic(), 5, 3, 100},
	} {
		b, err := account.NewBudget(c.epsilon, 1e-6, account.ReplaceOne)
		if err != nil {
			t.Fatal(err)
		}
		features := loss.RecordFeatures(c.loss, c.features)
		p, err := optimize.NewProblem(c.loss, b, optimize.Stated(features, c.records))
		if err != nil {
			t.Fatal(err)
		}
		margins, k := float64(p.Dim())/float64(features), p.Constants
		best, want := math.Inf(1), 0.
		for j := 1.; j <= 200_000; j++ {
			a := 2 * math.Sqrt(j*margins) / (c.records * b.Mu())
			sum := k.Lipschitz*a + k.Lipschitz*math.Log(c.records)/math.Sqrt(j)
			if k.Curvature.Lo < 0 {
				L1 := max(-k.Curvature.Lo, k.Curvature.Hi)
				sum += math.Cbrt(k.InitialGap * L1 * k.Lipschitz * a * a)
			}
			if sum < best {
				best, want = sum, j
			}
		}
		want = math.Ceil(min(want, min(float64(features), c.records)*math.Log(2*c.records/1e-6)))
		if got := reducedFeatures(p, 1e-6); !(math.Abs(float64(got)-want) <= 1e-3*want) {
			t.Errorf("%s, %d features, %v records: %d: want %v", c.loss.Name(), c.features, c.records, got, want)
		}
	}
}

func must(l loss.Loss, err error) func(*testing.T) loss.Loss {
	return func(t *testing.T) loss.Loss {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
}

// TestReducedByRule tests jl(auto) in a plan and a fit. For a convex loss of one margin the rule gives log(n)
// n mu/2 features: 202.5 for 300 records at mu .2367 (epsilon 1, delta 1e-6), computed by hand. The head,
// from which the certificate is made, must state that number. With 3000 records, rows of four features must
// keep all features, with a warning.
func TestReducedByRule(t *testing.T) {
	for setting, want := range map[string]string{"jl(auto)": "jl(203)", "jl( auto , 7 )": "jl(203,7)"} {
		c := config(t, 300, "note: ignore", "note: {hash: 3000}", "{loss: logistic}", "{loss: logistic, reduce: \""+setting+"\"}")
		p, err := c.Plan(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if p.Features != 203 || p.Dim != 203 || c.Model.Reduce != setting {
			t.Errorf("%s: planned for %d features; the configuration has %s now", setting, p.Features, c.Model.Reduce)
		}
		f, err := c.Fit(context.Background(), Options{Software: "test 1"})
		if err != nil {
			t.Fatal(err)
		}
		if text, err := f.Certificate.Bytes(); err != nil || !strings.Contains(string(text), `"reduce": "`+want+`"`) ||
			len(f.Result.W) != 203 {
			t.Errorf("%s: the certificate does not name %s (%d weights): %v", setting, want, len(f.Result.W), err)
		}
	}
	c := config(t, 3000, "{loss: logistic}", "{loss: logistic, reduce: jl(auto)}")
	f, err := c.Fit(context.Background(), Options{Software: "test 1"})
	if err != nil {
		t.Fatal(err)
	}
	kept := func(w Warning) bool { return strings.Contains(w.Text, "rows keep their") }
	if len(f.Result.W) != c.Schema.Dim() || !slices.ContainsFunc(f.Warnings, kept) {
		t.Errorf("%d weights, warnings %v", len(f.Result.W), f.Warnings)
	}
}

// TestReductionByRuleIsRefused tests configurations for which jl(auto) must be refused: a network, an invalid
// seed, confidence intervals, and a stream of rows whose number is not stated.
func TestReductionByRuleIsRefused(t *testing.T) {
	for model, want := range map[string]string{
		"{loss: {network: {hidden: [2], output: logistic}}, reduce: jl(auto)}": "must be of a generalised linear model",
		"{loss: logistic, reduce: \"jl(auto,x)\"}":                             "model.reduce: dataset: projection",
		"{loss: logistic, reduce: \"jl(auto7)\"}":                              "model.reduce: dataset: projection",
		"{loss: logistic, reduce: jl(auto)}\ninference: {level: 0.9}":          "inference: model.reduce: must be left out",
	} {
		c := config(t, 300, "{loss: logistic}", model)
		_, err := c.Plan(context.Background())
		wantError(t, err, want)
	}
	c := config(t, 300, "{loss: logistic}", "{loss: logistic, reduce: jl(auto)}", "data: people.csv",
		"data: \"-\"\ntable: people")
	_, err := c.Plan(context.Background())
	wantError(t, err, "privacy.records: must be given: the knots of curves and jl(auto) follow from it")
}

// TestNoiseOfReducedWeightsByHand works out the noise of the model's weights where rows were reduced to three features: a weight is
// the sum of three trained weights of noise .2, .4 and 1.3, each times +-1/sqrt(3), so its variance is their mean, .63. Without a
// reduction, and without a known noise, nothing changes.
func TestNoiseOfReducedWeightsByHand(t *testing.T) {
	schema := config(t, 300, "{loss: logistic}", "{loss: logistic}").Schema
	trained := []float64{.2, .4, 1.3}
	got := Header{Reduce: "jl(3)", Schema: schema}.lifted(trained)
	if len(got) != schema.Dim() {
		t.Fatalf("%d deviations for %d weights", len(got), schema.Dim())
	}
	for j, v := range got {
		if !(math.Abs(v-math.Sqrt(.63)) <= 1e-12) {
			t.Errorf("weight %d has a noise of %v: must be the root of .63", j, v)
		}
	}
	if got := (Header{Schema: schema}).lifted(trained); !slices.Equal(got, trained) {
		t.Errorf("without a reduction: %v", got)
	}
	if got := (Header{Reduce: "jl(3)", Schema: schema}).lifted(nil); len(got) != 0 {
		t.Errorf("of unknown noise: %v", got)
	}
}
