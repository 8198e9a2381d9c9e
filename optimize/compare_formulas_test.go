package optimize

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestComparisonsResolve: a comparison is worth its budget if three deviations of its noise are below half of the initial gap,
// with differences up to one and a half gaps. Records of another relation move less.
func TestComparisonsResolve(t *testing.T) {
	const charge = .04
	for relation, moves := range map[account.Relation]float64{account.ReplaceOne: 2, account.AddOrRemove: 1} {
		least := 3 * moves * 1.5 / (.5 * math.Sqrt(charge))
		for factor, want := range map[float64]bool{.999: false, 1.001: true} {
			p := Problem{Relation: relation, Records: factor * least, Constants: loss.Constants{InitialGap: .7}}
			if got := (Compare{Charge: charge, Loss: loss.Logistic()}).Resolves(p); got != want {
				t.Errorf("%v, %v of the least number of records: %v", relation, factor, got)
			}
		}
	}
	if (Compare{Loss: loss.Logistic()}).Resolves(Problem{Relation: account.ReplaceOne, Records: 1e9, Constants: loss.Constants{InitialGap: 1}}) {
		t.Error("a comparison without a budget")
	}
}

// TestComparisonByHand works out the numbers of a comparison from two released ones, with the noise of the constant: half of its
// excess is added to the difference and taken from the constant's loss. A twentieth of the charge is for this loss, if the base
// rate does not tell it.
func TestComparisonByHand(t *testing.T) {
	const charge, excess = .03, .004
	w := []float64{.6, -.2, .1}
	for name, c := range map[string]struct {
		valued bool
		base   Base
		spread float64 // of the constant's excess
	}{
		"huber(0.5)": {true, Base{Margins: []float64{.1}, Resolved: true, Excess: excess}, excess},
		"logistic":   {false, Base{Margins: []float64{.1}, Resolved: true, Excess: excess, Loss: .6, LossSigma: .02}, excess},
		"softmax(3)": {false, Base{Margins: []float64{.1, .2, -.3}, Resolved: true, Excess: .03, Loss: 1, LossSigma: .02, Sigma: .02, Sums: []float64{.3, .5, .01}},
			math.Sqrt(math.Pow(.0004/.3, 2) + math.Pow(.0004/.5, 2) + math.Pow(.0004/.02, 2))},
	} {
		l, margins := lossOf(t, name), len(c.base.Margins)
		at := slices.Repeat(w, margins)
		p := Problem{Relation: account.ReplaceOne, Records: 5000, Mu: 1, Constants: l.Constants(), Base: &c.base, RankOne: margins == 1,
			Shape: Shape{Features: 3, Margins: margins}, Start: make([]float64, 3*margins)}
		o := &told{answers: []query.Release{{Mean: []float64{-.05}, Sigma: .01}}}
		if c.valued {
			o.answers = append([]query.Release{{Mean: []float64{.4}, Sigma: .015}}, o.answers...)
		}
		out := Compared{}
		compare := Compare{Charge: charge, Loss: l, Features: 3, Intercept: .5}
		constant := compare.Constant(c.base.Margins, len(at))
		if err := compare.value(t.Context(), o, p, c.base, constant, &out); err != nil {
			t.Fatal(err)
		}
		if err := compare.difference(t.Context(), o, p, c.base, at, constant, &out); err != nil {
			t.Fatal(err)
		}
		charges, want, lossWant, sigma := []float64{charge}, 1, c.base.Loss, c.base.LossSigma
		if c.valued {
			charges, want, lossWant, sigma = []float64{.05 * charge, .95 * charge}, 2, .4-excess/2, math.Hypot(.015, 1.05*excess)
		}
		if len(o.asked) != want || compare.valued() != c.valued {
			t.Fatalf("%s: %d questions", name, len(o.asked))
		}
		for i, q := range o.asked {
			alike(t, fmt.Sprintf("%s: charge %d", name, i), q.Charge(), charges[i]*usable)
		}
		alike(t, name+": loss of the constant", out.Constant, lossWant)
		alike(t, name+": its noise", out.ConstantSigma, sigma)
		alike(t, name+": difference", out.Difference, -.05+c.base.Excess/2)
		alike(t, name+": noise of the difference", out.Sigma, math.Hypot(.01, 1.05*min(c.spread, c.base.Excess)))
		least, most, _ := loss.ChangeRange(l, at, c.base.Margins, compare.reach)
		rounding := (most - least) / 2 * 1e-9
		alike(t, name+": least", out.Least, least-rounding)
		alike(t, name+": most", out.Most, most+rounding)
	}
	// Along the line from a constant the loss bends with the mean square of the change of the margins.
	square := func(v []float64) float64 { return v[0]*v[0] + 3*v[1]*v[1] + .25*v[2]*v[2] }
	p := Problem{RankOne: true, Shape: Shape{Features: 3, Margins: 1}}
	curvature, rise := Compare{}.line(p, Base{Curvature: .2}, w, []float64{0, 0, .4}, Found{Square: square, Excess: .07})
	alike(t, "curvature", curvature, .2*(.36+3*.04+.25*.09))
	alike(t, "rise", rise, .14)
	low, high := Compare{Intercept: .6}.reach([]float64{3, 4, 2})
	alike(t, "least margin", low, 1.2-5*.8)
	alike(t, "largest margin", high, 1.2+5*.8)
}

// chosen is an oracle that gives stated answers and chooses a stated candidate.
type chosen struct {
	told
	k          int
	selections []query.Selection
}

func (o *chosen) Select(_ context.Context, s query.Selection) (int, error) {
	o.selections = append(o.selections, s)
	return o.k, nil
}

// TestNormSelectionByHand: half of the charge is for the choice among several points and half for the norm at the chosen one, which
// is no less than 0. Of one point there is no choice.
func TestNormSelectionByHand(t *testing.T) {
	const mu = .6
	l, err := NewNormSelection(mu)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := mechanism.SelectionMu(l.Epsilon()); err != nil || m > mu/math.Sqrt2 || m < mu/math.Sqrt2*(1-1e-5) || l.Charge() != mu*mu {
		t.Errorf("epsilon %v costs %v, %v: must be nearly %v", l.Epsilon(), m, err, mu/math.Sqrt2)
	}
	for _, points := range [][][]float64{{{1, 2}}, {{1, 2}, {3, 4}, {5, 6}}} {
		for mean, want := range map[float64]float64{.3: .3, -.3: 0} {
			o := &chosen{told: told{answers: []query.Release{{Mean: []float64{mean}, Sigma: .1}}}, k: 1}
			r := &Run{ctx: t.Context(), oracle: o, plan: &Settled{}, totals: map[uint64]float64{}}
			k, found, err := l.Choose(r, o.All(), .7, points)
			if err != nil {
				t.Fatal(err)
			}
			share, at := 1., 0
			if len(points) > 1 {
				share, at = .5, 1
			}
			term := o.asked[0].First()
			if k != at || *found != (SelectedNorm{GradientNorm: want, Sigma: .1, Among: len(points)}) || len(o.selections) != min(len(points)-1, 1) ||
				!slices.Equal(term.Point(), points[at]) || term.Ball().Radius != .7 {
				t.Errorf("%d points: chose %d, found %+v", len(points), k, found)
			}
			alike(t, "charge of the norm", o.asked[0].Charge(), share*mu*mu*usable)
			if len(o.selections) > 0 && (o.selections[0].Epsilon() != l.Epsilon() || len(o.selections[0].Questions()) != 3) {
				t.Errorf("chosen by %+v", o.selections)
			}
		}
	}
}

// TestSecondOrderSelectionsCostHalf: of a selection by curvature and gradient half of the budget is for each, so that the epsilon of the
// choice costs mu over the root of 2; that of another selection costs mu.
func TestSecondOrderSelectionsCostHalf(t *testing.T) {
	b, err := account.NewBudget(2, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewProblem(loss.Tanh(), b, Stated(4, 40_000))
	if err != nil {
		t.Fatal(err)
	}
	p.Products = true
	for by, share := range map[Score]float64{ByGradient: 1, ByValue: 1, BySecondOrder: 1 / math.Sqrt2} {
		made, err := Selected{Of: settledAlready{}, By: by}.Plan(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		epsilon := made.(*selectedPlan).epsilon
		if mu, err := mechanism.SelectionMu(epsilon); err != nil || mu > share*p.Mu || mu < share*p.Mu*(1-1e-5) {
			t.Errorf("%v: epsilon %v costs %v, %v: must be nearly %v", by, epsilon, mu, err, share*p.Mu)
		}
		if s := made.Summary().Charges; !strings.Contains(s, fmt.Sprintf("epsilon %.3g:", epsilon)) {
			t.Errorf("%v: %q: must state epsilon %.3g", by, s, epsilon)
		}
	}
}

// settledAlready is an algorithm whose plan asks nothing.
type settledAlready struct{}

func (settledAlready) Plan(context.Context, Problem) (Plan, error) { return &Settled{}, nil }

// TestCandidatesOfAShortRun: of a run that ends early, candidates are spread over the steps that it made: each second, fourth and
// so on of its steps, at most twice as many as asked for.
func TestCandidatesOfAShortRun(t *testing.T) {
	for steps, want := range map[int][]string{2: {"iterate 1 of 2", "iterate 2 of 2"}, 7: {"iterate 4 of 7", "iterate 6 of 7"},
		9: {"iterate 4 of 9", "iterate 8 of 9"}, 13: {"iterate 8 of 13", "iterate 12 of 13"}} {
		c := collected{most: 2, stride: 1}
		for i := range steps {
			c.visit(Step{Number: i + 1, Of: 1000, W: []float64{float64(i + 1)}})
		}
		if c.end(); !slices.Equal(c.names, want) {
			t.Errorf("%d steps: %q: must be %q", steps, c.names, want)
		}
	}
}

// TestSelectedCountsItsQuestions: of the records some are held out for the scores of the candidates and the run's result, and the
// algorithm asks about the others. A choice makes no average of iterates.
func TestSelectedCountsItsQuestions(t *testing.T) {
	inner := Workload{}.Count(query.Gradient, 10, 1)
	for by, kinds := range map[Score][]query.Kind{ByGradient: {query.Norm}, ByValue: {query.Value}, BySecondOrder: {query.Norm, query.CurvatureAlong}} {
		s := &selectedPlan{problem: Problem{Records: 1000}, inner: &Settled{workload: inner, properties: Properties{Averaged: true, Convex: true}}, held: 200, candidates: 4, by: by}
		want := Workload{}.Count(query.Gradient, 10, .8)
		for _, k := range kinds {
			want = want.Count(k, 5, .2)
		}
		if got := s.Workload(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v: %+v: must be %+v", by, got, want)
		}
		s.inner.(*Settled).needs = Needs{Seed: true}
		if got := s.Needs(); got != (Needs{Seed: true, Cohorts: true, Selection: true}) {
			t.Errorf("needs %+v", got)
		}
		if got := s.Properties(); got.Averaged || !got.Convex {
			t.Errorf("%+v", got)
		}
	}
}
