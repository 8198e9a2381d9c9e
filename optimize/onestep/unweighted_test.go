package onestep_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize/onestep"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// legal are the rows of two numbers in [-1, 1] and an intercept.
func legal() []inference.Corners {
	one := func(j int, v float64) []inference.Entry { return []inference.Entry{{Feature: j, Value: v * scale}} }
	return []inference.Corners{{one(0, -1), one(0, 1)}, {one(1, -1), one(1, 1)}, {one(2, 1)}}
}

// tailed returns n rows of which the first number has a long tail and the target is a logarithm of it, in [-1, 1].
func tailed(n int) (rows [][]float32, targets []float64) {
	r := rand.New(rand.NewPCG(6, 6))
	for range n {
		v, b := min(math.Exp(.9*r.NormFloat64())/20, 1), 2*r.Float64()-1
		rows = append(rows, []float32{float32(scale * (2*v - 1)), float32(scale * b), float32(scale)})
		targets = append(targets, max(-1, min(1, .25*math.Log(20*v)+.2*b+.1*r.NormFloat64())))
	}
	return rows, targets
}

// TestUnweightedRows: the last releases of a fit of unweighted rows have a reach beyond every row, and its estimate is the
// line of least squares over all rows alike, which that of weighted rows misses by far. The share of the spread that the
// weights leave is that of the rows themselves, and a fit whose rows are all within the reach does not spend on it.
func TestUnweightedRows(t *testing.T) {
	rows, targets := tailed(40_000)
	l, err := loss.Parse("squared(2)")
	if err != nil {
		t.Fatal(err)
	}
	var inverse [3]float64 // slopes of the line of least squares, by Cramer's rule in the centred moments
	var m [3]float64
	for i, x := range rows {
		for j := range m {
			m[j] += append([]float64{float64(x[0]), float64(x[1])}, targets[i])[j] / float64(len(rows))
		}
	}
	var c [3][3]float64
	for i, x := range rows {
		v := [3]float64{float64(x[0]) - m[0], float64(x[1]) - m[1], targets[i] - m[2]}
		for j := range v {
			for k := range v {
				c[j][k] += v[j] * v[k] / float64(len(rows))
			}
		}
	}
	det := c[0][0]*c[1][1] - c[0][1]*c[0][1]
	inverse[0] = (c[0][2]*c[1][1] - c[1][2]*c[0][1]) / det
	off := map[bool]float64{}
	for _, unweighted := range []bool{false, true} {
		of := intervals()
		of.Curvature, of.Rows, of.Unweighted = 0, legal(), unweighted
		res, o, err := run(t, optimizetest.Config{Rows: rows, Targets: targets, Loss: l, Budget: budget(t, 30, account.ReplaceOne),
			Seed: 3}, of)
		if err != nil {
			t.Fatal(err)
		}
		fit := res.Inference
		off[unweighted] = math.Abs(res.W[0]-inverse[0]) / inverse[0]
		asked, charge := 0, 0.
		var reach, first float64
		var metric, weighted []float64
		var noise float64
		var after []query.Term // the releases after the last gradient
		for _, a := range o.Asked {
			term := a.Question.Terms()[0]
			after = append(after, term)
			switch charge += a.Answer.Charge; term.Kind() {
			case query.WeightedMoment:
				asked++
				weighted, noise = a.Answer.Mean, a.Answer.Sigma
			case query.WeightedGradient:
				if reach, after = term.Reach(), nil; first == 0 {
					first = reach
				}
				metric = metricOf(term.Metric())
			}
		}
		if budget := budget(t, 30, account.ReplaceOne); !(math.Abs(charge/budget.Charge()-1) <= 1e-6) {
			t.Errorf("unweighted %v: charged %v of the budget", unweighted, charge/budget.Charge())
		}
		if fit.Unweighted != unweighted || (asked == 0) != unweighted || (len(fit.Left) == 0) != unweighted || fit.Reach != reach {
			t.Errorf("unweighted %v: %v, %d questions about weights, %d shares, reach %v of %v", unweighted, fit.Unweighted, asked,
				len(fit.Left), fit.Reach, reach)
		}
		for _, term := range after {
			if term.Reach() != reach || len(after) != 2+asked {
				t.Errorf("unweighted %v: reach %v of %v: must be %v, that of the gradient", unweighted, term.Reach(), term.Kind(), reach)
			}
		}
		longest, left, all := 0., 0., 0.
		for _, x := range rows {
			var z [3]float64
			length := 0.
			for j := range z {
				for k, v := range x {
					z[j] += metric[3*j+k] * float64(v)
				}
				length += z[j] * z[j]
			}
			along := 0. // the column's direction given the others
			for j := range z {
				along += metric[j] * z[j]
			}
			longest = max(longest, math.Sqrt(length))
			left += min(1, reach*reach/length) * along * along
			all += along * along
		}
		if (longest > reach) == unweighted || unweighted && reach > 1.5*longest || first > 5 {
			t.Errorf("unweighted %v: the longest row is %v: reach %v, first %v", unweighted, longest, reach, first)
		}
		if !unweighted && (!(math.Abs(fit.Left[0]-left/all) <= .02) || left/all > .9 || !(fit.Left[1] > 0 && fit.Left[1] < .02)) {
			t.Errorf("the weights leave %v: the rows' own share is %v", fit.Left, left/all)
		}
		if !unweighted {
			matrix, _, err := query.Symmetric(weighted)
			if err != nil {
				t.Fatal(err)
			}
			var share, square float64 // p'Ap and p'p for the column's row p of the metric, of which the share is over one number
			for j := range 3 {
				square += metric[j] * metric[j]
				for k := range 3 {
					share += metric[j] * matrix[3*j+k] * metric[k]
				}
			}
			if want := fit.Left[0] * noise * square / share; !(math.Abs(fit.Left[1]/want-1) <= 1e-6) {
				t.Errorf("noise of %v in the share: must be %v, from the noise of its release", fit.Left[1], want)
			}
		}
	}
	if off[true] > .02 || off[false] < .1 {
		t.Errorf("the slope is off by the share %v of it: want the line of least squares from unweighted rows alone", off)
	}
}

// TestCountsBeginWithinTheReach tests that the gradients by which a fit of counts finds its mean rate have the reach of the
// first releases, also where no row is beyond the reach of the last.
func TestCountsBeginWithinTheReach(t *testing.T) {
	rows, targets := tailed(4000)
	l, err := loss.Poisson(.5)
	if err != nil {
		t.Fatal(err)
	}
	of := intervals()
	of.Curvature, of.Rows, of.Unweighted = onestep.Exponential, legal(), true
	_, o, err := run(t, optimizetest.Config{Rows: rows, Targets: targets, Loss: l, Budget: budget(t, 30, account.ReplaceOne), Seed: 3}, of)
	if err != nil {
		t.Fatal(err)
	}
	var reaches []float64 // of the gradients
	for _, a := range o.Asked {
		if term := a.Question.Terms()[0]; term.Kind() == query.WeightedGradient {
			reaches = append(reaches, term.Reach())
		}
	}
	last := reaches[len(reaches)-1]
	for i, reach := range reaches[:len(reaches)-1] {
		if reach != reaches[0] || !(reach < last/2) {
			t.Errorf("gradient %d has the reach %v: must be %v, below half of the last, %v", i, reach, reaches[0], last)
		}
	}
}
