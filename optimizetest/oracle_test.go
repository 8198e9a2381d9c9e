package optimizetest_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

func budget(t *testing.T, r account.Relation) account.Budget {
	t.Helper()
	b, err := account.NewBudget(1, 1e-6, r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func ask(t *testing.T, o *optimizetest.Oracle, charge float64, terms ...query.Term) query.Release {
	t.Helper()
	q, err := query.New(charge, terms...)
	if err != nil {
		t.Fatal(err)
	}
	r, err := o.Ask(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func near(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) <= 1e-12 })
}

// TestAnswersByHand compares the answers to every kind of query, for a loss of each form, with values
// computed by hand on three small rows. It fails if a kind is missing.
func TestAnswersByHand(t *testing.T) {
	nan := math.NaN()
	// The logistic slope at margin 0 is -y/2; at margin m it is -y/(1+e^(ym)).
	slope := func(y, m float64) float64 { return -y / (1 + math.Exp(y*m)) }
	rank := optimizetest.Config{Rows: [][]float32{{1, 0}, {0, .5}, {.5, .5}}, Targets: []float64{1, -1, nan}, Repeat: 2,
		Loss: loss.Logistic(), Noiseless: true}
	square := rank
	square.Loss = optimizetest.Quadratic{Eigenvalues: []float64{1, 1}, Lipschitz: 1, InitialGap: 1}
	o, w := []float64{0, 0}, []float64{1, 0}
	metric, err := query.NewMetric(2, []float64{2, 0, 0, 1})
	if err != nil {
		t.Fatal(err)
	}
	type askedOf struct {
		kind    query.Kind
		general bool
	}
	done := map[askedOf]bool{}
	for name, c := range map[string]struct {
		config optimizetest.Config
		terms  func(c query.Cohort) []query.Term
		want   []float64
		cut    int
	}{
		"gradient": {rank, func(c query.Cohort) []query.Term { return []query.Term{query.GradientAt(c, o, 1)} },
			[]float64{-.5 / 3, .25 / 3}, 0},
		"gradient, clipped": {rank, func(c query.Cohort) []query.Term { return []query.Term{query.GradientAt(c, o, .25)} },
			[]float64{-.25 / 3, .125 / 3}, 2},
		"gradient, weighted": {rank, func(c query.Cohort) []query.Term {
			return []query.Term{query.GradientAt(c, o, 1).Weighted(3)}
		},
			[]float64{-.5, .25}, 0},
		"norm": {rank, func(c query.Cohort) []query.Term {
			return []query.Term{query.NormAt(c, o, 1, []float64{.5 / 3, .75 / 3})}
		},
			[]float64{1. / 3}, 0},
		// The margin of row 1 changes by 1. Row 2's does not change. The third row is faulty and
		// contributes zero.
		"difference, centred": {rank, func(c query.Cohort) []query.Term {
			return []query.Term{query.DifferenceByCurvature(c, w, o, 0, .25)}
		},
			[]float64{(slope(1, 1) + .5) / 3, 0}, 0},
		"difference, interval too short": {rank,
			func(c query.Cohort) []query.Term { return []query.Term{query.DifferenceByCurvature(c, w, o, 0, .1)} },
			[]float64{.1 / 3, 0}, 1},
		"difference, around zero": {rank, func(c query.Cohort) []query.Term {
			return []query.Term{query.DifferenceWithin(c, w, o, .125)}
		},
			[]float64{.125 / 3, 0}, 1},
		"mix": {rank, func(c query.Cohort) []query.Term {
			return []query.Term{query.GradientAt(c, w, 1).Weighted(.25),
				query.DifferenceByCurvature(c, w, o, 0, .25).Weighted(.75)}
		}, []float64{(.25*slope(1, 1) + .75*(slope(1, 1)+.5)) / 3, .25 * .25 / 3}, 0},
		"value": {rank, func(c query.Cohort) []query.Term { return []query.Term{query.ValueAt(c, o, .5, .125)} },
			[]float64{(.625 + .625 + .375) / 3}, 2},
		// Logistic losses: row 1's margin changes from 0 to 1, row 2's margin does not change.
		"difference of values": {rank, func(c query.Cohort) []query.Term {
			return []query.Term{query.ValueChangeAt(c, w, o, 1)}
		},
			[]float64{(math.Log1p(math.Exp(-1)) - math.Ln2) / 3}, 0},
		"difference of values, clipped": {rank,
			func(c query.Cohort) []query.Term { return []query.Term{query.ValueChangeAt(c, o, w, .125)} },
			[]float64{.125 / 3}, 1},
		// The interval is [-.75, -.25]: row 2 and the faulty record change by 0, which is clipped to its end.
		"difference of values, off centre": {rank,
			func(c query.Cohort) []query.Term { return []query.Term{query.ValueChangeWithin(c, w, o, -.5, .25)} },
			[]float64{(math.Log1p(math.Exp(-1)) - math.Ln2 - .25 - .25) / 3}, 1},
		"general difference of values": {square,
			func(c query.Cohort) []query.Term { return []query.Term{query.ValueChangeAt(c, w, []float64{0, 1}, 10)} },
			[]float64{-.5 / 3}, 0},
		// The gradients are (1,0)-(1,0) and (1,0)-(0,.5); the third record is faulty.
		"general gradient": {square, func(c query.Cohort) []query.Term { return []query.Term{query.GradientAt(c, w, 1)} },
			[]float64{1 / math.Sqrt(1.25) / 3, -.5 / math.Sqrt(1.25) / 3}, 1},
		"general difference": {square, func(c query.Cohort) []query.Term {
			return []query.Term{query.DifferenceByCurvature(c, w, o, 0, .8)}
		},
			[]float64{(.8 + .8) / 3, 0}, 2},
		"general value": {square, func(c query.Cohort) []query.Term { return []query.Term{query.ValueAt(c, w, 0, .25)} },
			[]float64{(-.25 + .25 + 0) / 3}, 2},
		"second moment": {rank, func(c query.Cohort) []query.Term { return []query.Term{query.SecondMomentOf(c, 2)} },
			[]float64{1. / 3, 0, .25 / 3}, 0},
		"general second moment": {square, func(c query.Cohort) []query.Term {
			return []query.Term{query.SecondMomentOf(c, 2)}
		},
			[]float64{1. / 3, 0, .25 / 3}, 0},
		// The rows are (1, 0) and (0, 1/2); the third record is faulty.
		"mean row": {rank, func(c query.Cohort) []query.Term { return []query.Term{query.RowMeanOf(c, 2)} },
			[]float64{1. / 3, .5 / 3}, 0},
		"squared features": {rank, func(c query.Cohort) []query.Term { return []query.Term{query.SquaredFeaturesOf(c, 2)} },
			[]float64{1. / 3, .25 / 3}, 0},
		"squares and pairs": {rank, func(c query.Cohort) []query.Term {
			return []query.Term{query.BlockMomentOf(c, []bool{true, true})}
		}, []float64{1. / 3, .25 / 3, 0}, 0},
		"general squared features": {square,
			func(c query.Cohort) []query.Term { return []query.Term{query.SquaredFeaturesOf(c, 2)} },
			[]float64{1. / 3, .25 / 3}, 0},
		"squared distance": {rank, func(c query.Cohort) []query.Term {
			return []query.Term{query.SquaredDistanceFrom(c, []float64{0, .5}, 1)}
		}, []float64{1. / 3}, 1},
		// (1, -1/2) has squared norm 5/4 and is shortened to the squared norm 5/8. (0, 0) is unchanged.
		"centred second moment": {rank, func(c query.Cohort) []query.Term {
			return []query.Term{query.CentredMomentOf(c, []float64{0, .5}, math.Sqrt(.625))}
		}, []float64{.5 / 3, -.25 * math.Sqrt2 / 3, .125 / 3}, 1},
		"general mean row": {square, func(c query.Cohort) []query.Term { return []query.Term{query.RowMeanOf(c, 2)} },
			[]float64{1. / 3, .5 / 3}, 0},
		"general squared distance": {square, func(c query.Cohort) []query.Term {
			return []query.Term{query.SquaredDistanceFrom(c, []float64{0, .5}, 1)}
		}, []float64{1. / 3}, 1},
		"general centred second moment": {square, func(c query.Cohort) []query.Term {
			return []query.Term{query.CentredMomentOf(c, []float64{0, .5}, math.Sqrt(.625))}
		}, []float64{.5 / 3, -.25 * math.Sqrt2 / 3, .125 / 3}, 1},
		"curvature": {rank, func(c query.Cohort) []query.Term { return []query.Term{query.CurvatureAt(c, o, .125)} },
			[]float64{.125 / 3, 0, .125 * .25 / 3}, 2},
		// The metric doubles the first coordinate. With reach 1 the first row's weight is 1/4: its
		// contribution is 1/4 of (2, 0), times the slope -1/2. The second row's weight is 1: its
		// contribution is (0, 1/2) times the slope 1/2. In the second case slopes are clipped to 1/4.
		"weighted gradient": {rank, func(c query.Cohort) []query.Term {
			return []query.Term{query.WeightedGradientAt(c, o, 1, 1, metric)}
		}, []float64{-.25 / 3, .25 / 3}, 0},
		"weighted gradient, clipped": {rank, func(c query.Cohort) []query.Term {
			return []query.Term{query.WeightedGradientAt(c, o, .25, 1, metric)}
		}, []float64{-.125 / 3, .125 / 3}, 2},
		"weighted curvature": {rank, func(c query.Cohort) []query.Term {
			return []query.Term{query.WeightedCurvatureAt(c, o, 1, 1, metric)}
		}, []float64{.25 / 3, 0, .0625 / 3}, 0},
		"second moment of scores": {rank, func(c query.Cohort) []query.Term {
			return []query.Term{query.ScoreMomentAt(c, o, 1, 1, metric)}
		}, []float64{.0625 / 3, 0, .0625 / 3}, 0},
		"weighted second moment": {rank, func(c query.Cohort) []query.Term {
			return []query.Term{query.WeightedMomentOf(c, 1, metric)}
		}, []float64{1. / 3, 0, .25 / 3}, 0},
		// The metric doubles the first coordinate, so that the first row's gradient is clipped.
		"gradient in a metric": {rank, func(c query.Cohort) []query.Term {
			return []query.Term{query.GradientInMetric(c, o, .5, 1, metric)}
		}, []float64{-.5 / 3, .25 / 3}, 1},
		"squared slope": {rank, func(c query.Cohort) []query.Term {
			return []query.Term{query.SquaredSlopeAt(c, o, .5, metric)}
		},
			[]float64{(.5 + .0625) / 3}, 1},
		// The logistic curvature at margin 0 is 1/4. At margin 1, the first row's, it is s(1-s) with s
		// = 1/(1+e). The second row's margin stays 0.
		"Hessian product": {rank, func(c query.Cohort) []query.Term {
			return []query.Term{query.ProductAt(c, o, []float64{2, 1}, 0, .25)}
		},
			[]float64{.5 / 3, .0625 / 3}, 0},
		"Hessian product, interval too short": {rank, func(c query.Cohort) []query.Term {
			return []query.Term{query.ProductAt(c, o, []float64{2, 1}, 0, .125)}
		}, []float64{.25 / 3, .03125 / 3}, 2},
		"change of products": {rank, func(c query.Cohort) []query.Term {
			return []query.Term{query.ProductChangeAt(c, w, o, []float64{2, 1}, 0, .25, 1)}
		}, []float64{2 * (-slope(1, 1)*(1+slope(1, 1)) - .25) / 3, 0}, 0},
		"change of products, clipped": {rank, func(c query.Cohort) []query.Term {
			return []query.Term{query.ProductChangeAt(c, w, o, []float64{2, 0}, 0, .25, .01)}
		}, []float64{-.02 / 3, 0}, 1},
		"curvature along": {rank, func(c query.Cohort) []query.Term {
			return []query.Term{query.CurvatureAlongAt(c, o, []float64{.6, .8}, 0, .05)}
		}, []float64{(.05 + .04) / 3}, 1},
		"general Hessian product": {square, func(c query.Cohort) []query.Term {
			return []query.Term{query.ProductAt(c, w, []float64{3, 4}, 0, .8)}
		},
			[]float64{2 * .8 * 3 / 3., 2 * .8 * 4 / 3.}, 2},
		"general change of products": {square, func(c query.Cohort) []query.Term {
			return []query.Term{query.ProductChangeAt(c, w, o, []float64{3, 4}, 0, 1, 1)}
		}, []float64{0, 0}, 0},
		"general curvature along": {square, func(c query.Cohort) []query.Term {
			return []query.Term{query.CurvatureAlongAt(c, w, []float64{.6, .8}, 0, 2)}
		}, []float64{2. / 3}, 0},
		"general norm": {square, func(c query.Cohort) []query.Term { return []query.Term{query.NormAt(c, w, 1, nil)} },
			[]float64{math.Hypot(1, .5) / math.Sqrt(1.25) / 3}, 1},
	} {
		c.config.Budget = budget(t, account.ReplaceOne)
		oracle := optimizetest.New(c.config)
		got := ask(t, oracle, .01, c.terms(oracle.All())...)
		asked := oracle.Asked[0]
		if !near(got.Mean, c.want) || !near(asked.Exact, c.want) || asked.Clipped != c.cut {
			t.Errorf("%s: %v, exact %v, %d clipped: want %v and %d", name, got.Mean, asked.Exact, asked.Clipped, c.want, c.cut)
		}
		_, general := c.config.Loss.(loss.General)
		for _, term := range asked.Question.Terms() {
			done[askedOf{term.Kind(), general}] = true
		}
	}
	for _, k := range query.Kinds() {
		for _, general := range []bool{false, true} {
			if !done[askedOf{k, general}] && !(general && !k.Facts().Suits(0, true, false)) {
				t.Errorf("%v, of a general loss %v: not worked out by hand", k, general)
			}
		}
	}
}

// TestNoise: the noise must have the stated standard deviation: the sensitivity divided by the square root
// of the charge and by the size of the cohort. A sum of 20000 squared normals is outside [1 +- .06] 20000
// with probability below 1e-6 (Laurent and Massart 2000: 2 sqrt(x/20000) + 2x/20000 = .055 with x = ln
// 2e6).
func TestNoise(t *testing.T) {
	for relation, sensitivity := range map[account.Relation]float64{account.ReplaceOne: 4, account.AddOrRemove: 2} {
		w := make([]float64, 20000)
		o := optimizetest.New(optimizetest.Config{Rows: [][]float32{make([]float32, len(w))}, Targets: []float64{0},
			Repeat: 10, Declared: 10,
			Loss: optimizetest.Quadratic{Eigenvalues: w}, Budget: budget(t, relation), Seed: 5})
		r := ask(t, o, .0025, query.GradientAt(o.All(), w, 2))
		want := sensitivity / .05 / 10
		if !(math.Abs(r.Sigma-want) <= 1e-12*want) || !(r.Charge <= .0025 && r.Charge > .0025*(1-1e-12)) {
			t.Errorf("%v: sigma %v, charge %v: want %v, .0025", relation, r.Sigma, r.Charge, want)
		}
		var squares float64
		for _, v := range r.Mean {
			squares += v * v / (want * want) / 20000
		}
		if !(math.Abs(squares-1) <= .06) {
			t.Errorf("%v: the noise has %v times the stated variance", relation, squares)
		}
	}
}

func TestRefusals(t *testing.T) {
	b := budget(t, account.ReplaceOne)
	broken := errors.New("broken")
	ctx, cancel := context.WithCancel(context.Background())
	o := optimizetest.New(optimizetest.Config{Rows: [][]float32{{1}}, Targets: []float64{1}, Loss: loss.Logistic(),
		Budget: b, Script: func(k int) error {
			switch k {
			case 1:
				return broken
			case 3:
				cancel()
			}
			return nil
		}})
	q := func(share float64) query.Question {
		q, err := query.New(share*b.Charge(), query.GradientAt(o.All(), []float64{0}, 1))
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	if _, err := o.Ask(ctx, q(.75)); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Ask(ctx, q(.1)); !errors.Is(err, broken) {
		t.Errorf("scripted error: %v", err)
	}
	var over *account.BudgetError
	if _, err := o.Ask(ctx, q(.5)); !errors.As(err, &over) {
		t.Errorf("over budget: %v", err)
	}
	if _, err := o.Ask(ctx, q(.1)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if got := o.Charged() / b.Charge(); !(math.Abs(got-.75) <= 1e-9) {
		t.Errorf("charged %v of the budget, want .75: refused questions are free", got)
	}
	if len(o.Asked) != 4 || o.Asked[0].Err != nil || o.Asked[3].Err == nil {
		t.Errorf("recorded %d questions", len(o.Asked))
	}
}

func TestDraw(t *testing.T) {
	rows, targets := make([][]float32, 8), make([]float64, 8)
	for i := range rows {
		rows[i] = []float32{float32(int(1) << i)}
	}
	o := optimizetest.New(optimizetest.Config{Rows: rows, Targets: targets,
		Loss:   optimizetest.Quadratic{Eigenvalues: []float64{0}},
		Budget: budget(t, account.ReplaceOne), Noiseless: true})
	var sum float64
	for _, size := range []int{1, 4, 3} {
		c, err := o.Draw(size)
		if err != nil {
			t.Fatal(err)
		}
		sum -= float64(size) * ask(t, o, .01, query.GradientAt(c, []float64{0}, 1000)).Mean[0]
	}
	if sum != 255 {
		t.Errorf("cohorts sum to %v: want every row once, 255", sum)
	}
	if _, err := o.Draw(1); err == nil {
		t.Error("a ninth record of eight was drawn")
	}
}

// TestProblems: the gradient at the stated minimiser must be zero, the objective there must be the
// stated minimum, and the gap at w = 0 must be positive and at most the declared InitialGap.
func TestProblems(t *testing.T) {
	for _, p := range optimizetest.Problems() {
		if g := p.Gradient(p.Minimiser); !near(g, make([]float64, len(g))) {
			t.Errorf("%s: gradient %v at the minimiser", p.Name, g)
		}
		if f := p.Objective(p.Minimiser); !(math.Abs(f-p.Minimum) <= 1e-12) {
			t.Errorf("%s: objective %v at the minimiser, minimum %v", p.Name, f, p.Minimum)
		}
		if gap := p.Objective(make([]float64, p.Public.Dim())) - p.Minimum; !(gap > 0 &&
			gap <= p.Public.Constants.InitialGap) {
			t.Errorf("%s: F(0) - min F = %v: want in (0, %v]", p.Name, gap, p.Public.Constants.InitialGap)
		}
		if err := optimizetest.With(p.Public, optimizetest.Size{Records: 1, Mu: 1}).Validate(); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
}
