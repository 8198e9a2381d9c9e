package inference_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/internal/inference"
)

// TestFitInTheUsersColumns compares a fit's coefficients and both covariances with P b and P M P, added up entry by entry
// for a metric P that does not commute with the covariances M, and the other facts with those of its shape and releases.
func TestFitInTheUsersColumns(t *testing.T) {
	p := [][]float64{{2, .5}, {.5, 1}}
	covariance, sampling := [][]float64{{.5, .1}, {.1, .3}}, [][]float64{{.25, -.05}, {-.05, .2}}
	s := &inference.Shape{Columns: []inference.Column{{Feature: 3}, {Feature: 5, Kept: true}}, Metric: sym(p), Last: 1.5, Reach: 7,
		Effective: 1.75}
	e := &inference.Estimate{Level: .9, Method: inference.Wald, B: []float64{1, -3}, Covariance: sym(covariance), Sampling: sym(sampling)}
	r := inference.Released{Records: 1234, Curvature: sym([][]float64{{.4, 0}, {0, .1}}), CurvatureSigma: .002}
	f, err := inference.NewFit(s, []int{4, 0}, e, r, .125)
	if err != nil {
		t.Fatal(err)
	}
	around := func(m [][]float64) (list []float64) { // P M P on and above the diagonal
		for i := range p {
			for j := i; j < len(p); j++ {
				sum := 0.
				for a := range p {
					for b := range p {
						sum += p[i][a] * m[a][b] * p[b][j]
					}
				}
				list = append(list, sum)
			}
		}
		return list
	}
	near := func(name string, got, want []float64) {
		if len(got) != len(want) || slices.ContainsFunc(got, math.IsNaN) {
			t.Errorf("%s %v: must be %v", name, got, want)
			return
		}
		for i, v := range want {
			if !(math.Abs(got[i]-v) <= 1e-12) {
				t.Errorf("%s %v: must be %v", name, got, want)
			}
		}
	}
	near("beta", f.Beta, []float64{2*1 - .5*3, .5*1 - 3})
	near("covariance", f.Covariance, around(covariance))
	near("sampling", f.Sampling, around(sampling))
	near("metric", f.Metric, []float64{2, .5, 1})
	near("direction", f.LeastDirection, []float64{.5 * f.LeastDirection[1], f.LeastDirection[1]}) // P times the second axis
	near("numbers", []float64{f.Level, f.Records, f.Reach, f.Effective, f.Allowance, f.LeastCurvature},
		[]float64{.9, 1234, 1.5, 1.75, .125, .1 / inference.Edge(.002, 2)})
	if !slices.Equal(f.Dropped, []int{4, 0}) || f.Unweighted || f.Check(6) != nil {
		t.Errorf("%+v: %v", f, f.Check(6))
	}
	s.Whole, e.Method = true, inference.NotIdentified
	if f, err = inference.NewFit(s, nil, e, r, 0); err != nil || !f.Unweighted || f.Covariance != nil || f.Sampling != nil ||
		f.Weighted != "every row that the schema allows has the weight 1" {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestEveryFaultOfAFit changes one field of a good fit at a time: each change must be an error of its own words.
func TestEveryFaultOfAFit(t *testing.T) {
	whole := func() *inference.Fit {
		f := fitted()
		f.LeastDirection, f.Remainders, f.Left = []float64{1, 0, .5}, []float64{.1, .2, .3}, []float64{1, 2, 3, 4, 5, 6}
		f.Absorbed = []inference.Absorbed{{Feature: 2, By: 1, Correlation: -1}}
		f.Gone, f.Merged = []inference.Gone{{Feature: 2, Share: .1}}, []int{4}
		return f
	}
	if err := whole().Check(5); err != nil {
		t.Fatal(err)
	}
	region := whole()
	if region.Method = inference.Region; region.Check(5) != nil {
		t.Error(region.Check(5))
	}
	region.Method, region.Covariance, region.Sampling = inference.NotIdentified, nil, nil
	if region.Check(5) != nil {
		t.Error(region.Check(5))
	}
	nan, inf := math.NaN(), math.Inf(1)
	const formula, entry, absorbed, once, finite = "must be of the columns of the formula", "must have an entry for each",
		"an absorbed feature must be", "must hold each feature once at most", "numbers must be finite"
	for _, c := range []struct {
		change func(*inference.Fit)
		want   string
	}{
		{func(f *inference.Fit) { f.Method = "exact" }, `method = "exact": must be "wald", "region" or "not identified"`},
		{func(f *inference.Fit) { f.Columns = nil }, formula},
		{func(f *inference.Fit) { f.Beta = f.Beta[1:] }, formula},
		{func(f *inference.Fit) { f.Metric = f.Metric[1:] }, formula},
		{func(f *inference.Fit) { f.LeastDirection = f.LeastDirection[1:] }, "the least direction and the remainders " + entry},
		{func(f *inference.Fit) { f.Remainders = f.Remainders[1:] }, "the least direction and the remainders " + entry},
		{func(f *inference.Fit) { f.Left = f.Left[1:] }, "must have two numbers for each column"},
		{func(f *inference.Fit) { f.Covariance = f.Covariance[1:] }, "the covariance " + entry},
		{func(f *inference.Fit) { f.Sampling = nil }, "the covariance " + entry},
		{func(f *inference.Fit) { f.Allowance = -1e-9 }, "must be numbers >= 0"},
		{func(f *inference.Fit) { f.Allowance = nan }, "must be numbers >= 0"},
		{func(f *inference.Fit) { f.Records = 0 }, "must be numbers >= 0"},
		{func(f *inference.Fit) { f.Reach = 0 }, "must be numbers >= 0"},
		{func(f *inference.Fit) { f.Dropped = []int{5} }, once},
		{func(f *inference.Fit) { f.Dropped = []int{-1} }, once},
		{func(f *inference.Fit) { f.Dropped = []int{3} }, once},
		{func(f *inference.Fit) { f.Columns[0].Feature = 3 }, once},
		{func(f *inference.Fit) { f.Absorbed[0].Feature = 0 }, absorbed},
		{func(f *inference.Fit) { f.Absorbed[0].By = 2 }, absorbed},
		{func(f *inference.Fit) { f.Absorbed[0].Correlation = 1.01 }, absorbed},
		{func(f *inference.Fit) { f.Gone[0].Feature = 0 }, "with its rows must be dropped"},
		{func(f *inference.Fit) { f.Gone[0].Share = -1e-9 }, "with its rows must be dropped"},
		{func(f *inference.Fit) { f.Gone[0].Share = inf }, "with its rows must be dropped"},
		{func(f *inference.Fit) { f.Merged[0] = 5 }, once},
		{func(f *inference.Fit) { f.Merged[0] = -1 }, once},
		{func(f *inference.Fit) { f.Merged[0] = 3 }, once},
		{func(f *inference.Fit) { f.Level = .4 }, "level"},
		{func(f *inference.Fit) { f.Level = .9991 }, "level"},
		{func(f *inference.Fit) { f.Beta[2] = nan }, finite},
		{func(f *inference.Fit) { f.Beta[0] = inf }, finite},
		{func(f *inference.Fit) { f.Covariance[5] = -inf }, finite},
		{func(f *inference.Fit) { f.Sampling[4] = inf }, finite},
		{func(f *inference.Fit) { f.Metric[3] = nan }, finite},
		{func(f *inference.Fit) { f.LeastDirection[1] = inf }, finite},
		{func(f *inference.Fit) { f.Remainders[2] = inf }, finite},
		{func(f *inference.Fit) { f.Left[5] = nan }, finite},
	} {
		f := whole()
		c.change(f)
		if err := f.Check(5); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v: must be %q", f, err, c.want)
		}
	}
}

// TestFitBelongsToItsWeights tests that weights are a fit's if they differ by at most a millionth of the largest
// coefficient, and that features without a column must have the weight 0.
func TestFitBelongsToItsWeights(t *testing.T) {
	f := fitted() // 1, -2 and .5 of the features 1, 0 and 3
	for _, c := range []struct {
		weights []float64
		want    bool
	}{
		{[]float64{-2, 1, 0, .5}, true}, {[]float64{-2, 1, 0, .5 + 1.9e-6}, true}, {[]float64{-2, 1, 0, .5 - 2.1e-6}, false},
		{[]float64{-2, 1, 1e-5, .5}, false}, {[]float64{-2, 1, 0}, false}, {[]float64{-2, 1, 0, math.NaN()}, false},
		{[]float64{1, -2, 0, .5}, false}, {[]float64{-2, 1, 0, .5, 0}, true}, {[]float64{-2, 1, 0, .5, .1}, false},
	} {
		if got := f.Belongs(c.weights); got != c.want {
			t.Errorf("%v: %v", c.weights, got)
		}
	}
	if !f.Has(3) || f.Has(2) {
		t.Error("columns of other features")
	}
}

// TestAllowancesByHand works out the bounds on the remainder in two coefficients, a level's and a number's, from the
// released second moment in a metric of 1, with a bound on the bend that is not the same in both directions.
func TestAllowancesByHand(t *testing.T) {
	const intercept = .5
	// A level of a fifth of the rows, of the value .5, and a number of mean -.1 and mean square .05.
	moment := sym([][]float64{{.05, .01, .05}, {.01, .05, -.05}, {.05, -.05, .25}})
	s := &inference.Shape{Columns: []inference.Column{{Feature: 0, Level: true}, {Feature: 1}, {Feature: 2, Kept: true}}, Moment: moment,
		Metric: sym([][]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}})}
	e := &inference.Estimate{Method: inference.Wald, B: []float64{1, 2, 3}, Step: []float64{.8, .4, .6},
		StepCovariance: sym([][]float64{{.02, 0, 0}, {0, .03, 0}, {0, 0, .01}}), Sampling: sym([][]float64{{.01, 0, 0}, {0, .02, 0}, {0, 0, .005}})}
	bend := func(from, to float64) float64 { return .1 + .3*from + .05*to }
	// The mean rows with the level and with the number at .5, farther from its mean than -.5.
	for j, row := range [][]float64{{.5, -.1 + (.01+.01)/.04*.4, .5}, {.1 + (.01+.01)/.04*.6, .5, .5}} {
		bound, mean, variance := .5, []float64{.1, -.1}[j], .04
		dot := func(of []float64) (sum float64) {
			for i, v := range row {
				sum += v * of[i]
			}
			return sum
		}
		square := func(m *mat.SymDense) (sum float64) {
			for i, v := range row {
				sum += v * v * m.At(i, i)
			}
			return sum
		}
		to, moved, noise := dot(e.B), dot(e.Step), square(e.StepCovariance)
		far, jump := moved*moved-noise, bound-mean+variance/(bound-mean)
		if got, want := e.Allowances(s, intercept, bend, nil)[j], .5*bend(to-moved, to)*far/jump; !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("column %d: %v: must be %v", j, got, want)
		}
		ahead := []float64{.7, .5, .45}
		apart := moved - dot(ahead)
		left := apart*apart + noise - square(e.Sampling)
		if want := (.5*bend(to-moved, to)*math.Sqrt(far*left) + math.Pow(far, 1.5)/24) / jump; left > far ||
			!(math.Abs(e.Allowances(s, intercept, bend, ahead)[j]-want) <= 1e-12) {
			t.Errorf("column %d: %v with a step ahead: must be %v", j, e.Allowances(s, intercept, bend, ahead)[j], want)
		}
	}
	if list := e.Allowances(s, intercept, bend, nil); len(list) != 3 || list[2] != 0 {
		t.Errorf("%v: the intercept must have none", list)
	}
	e.Method = inference.NotIdentified
	if list := e.Allowances(s, intercept, bend, nil); !slices.Equal(list, make([]float64, 3)) {
		t.Errorf("%v of an estimate that is not identified", list)
	}
}
