//go:build results

package results_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// drawnTable is a table of two classes, drawn from a logistic model with the given share of the second class.
type drawnTable struct {
	share, signal float64
	n, d          int
}

// rows draws the table: d numbers in [-1, 1], divided by sqrt(d+1), and the intercept. A number and the score that
// makes the classes are skewed as in many tables.
func (t drawnTable) rows(seed uint64) (x [][]float32, y []float64) {
	r := rand.New(rand.NewPCG(seed, 77))
	scale := 1 / math.Sqrt(float64(t.d+1))
	beta := make([]float64, t.d)
	for j := range beta {
		beta[j] = t.signal * r.NormFloat64() / math.Sqrt(float64(t.d)) * math.Sqrt(3)
	}
	z := make([]float64, t.n)
	for i := range z {
		row := make([]float32, t.d+1)
		for j := range t.d {
			v := 2*r.Float64() - 1
			row[j] = float32(v * scale)
			z[i] += v * beta[j]
		}
		row[t.d] = float32(scale)
		x = append(x, row)
	}
	low, high := -20., 20.
	for range 60 {
		middle, sum := (low+high)/2, 0.
		for _, v := range z {
			sum += 1 / (1 + math.Exp(-v-middle)) / float64(t.n)
		}
		if sum < t.share {
			low = middle
		} else {
			high = middle
		}
	}
	for _, v := range z {
		y = append(y, 1)
		if r.Float64() > 1/(1+math.Exp(-v-low)) {
			y[len(y)-1] = -1
		}
	}
	return x, y
}

// TestDecisions fits drawn tables with and without the comparison, and prints for each cell of a grid how far the
// published models are from the best constant, in shares of what a fit without noise gains: with the comparison off,
// for the fit, for the published model and for other rules that decide from the same releases. After the mean comes the
// worst. Then it prints how often verdicts were better and worse, and how often falsely.
//
//	go test -tags results -run Decisions -v ./lab/results
func TestDecisions(t *testing.T) {
	l := parse(t, "logistic")
	fmt.Println("share n d signal eps | gain | off mean worst | fit mean | published mean worst | worse only | halfway | better worse false false unresolved bounded | t E/true excess")
	for _, cell := range []drawnTable{
		{.02, 1, 20000, 4}, {.02, 0, 20000, 4}, {.1, 1, 3000, 6}, {.1, .3, 3000, 6}, {.3, 1, 1000, 5}, {.5, .5, 4000, 20},
		{.5, 0, 2000, 5}, {.05, 1, 8000, 20}, {.012, 1.5, 60000, 4},
	} {
		x, y := cell.rows(1)
		for _, epsilon := range []float64{.1, .5, 1, 4} {
			cell.decide(t, l, x, y, epsilon)
		}
	}
}

// tabled returns the rows of a drawn table in the form of this package.
func tabled(x [][]float32, y []float64) *rows {
	r := &rows{dim: len(x[0]), start: []int{0}, y: y, truth: y}
	for _, row := range x {
		for j, v := range row {
			r.at, r.x = append(r.at, uint16(j)), append(r.x, float64(v))
		}
		r.start = append(r.start, len(r.at))
	}
	return r
}

func (t drawnTable) decide(tt *testing.T, l loss.RankOne, x [][]float32, y []float64, epsilon float64) {
	b, err := account.NewBudget(epsilon, 1e-6, account.ReplaceOne)
	if err != nil {
		tt.Fatal(err)
	}
	value := func(w []float64) float64 {
		z := make([]float64, len(x))
		for i := range x {
			for j, v := range x[i] {
				z[i] += w[j] * float64(v)
			}
		}
		return mean(l, z, y)
	}
	positive := 0.
	for _, v := range y {
		positive += (v + 1) / 2 / float64(len(y))
	}
	floor := -positive*math.Log(positive) - (1-positive)*math.Log(1-positive)
	intercept := 1 / math.Sqrt(float64(t.d+1))
	gain := floor - value(minimise(tt, tabled(x, y), l))
	var sums, worst [5]float64
	var better, worse, falseBetter, falseWorse, unresolved, bounded, moved, forecast, excess float64
	runs := *rivalRuns
	for seed := range uint64(runs) {
		run := func(share float64) (w []float64, c optimize.Compared, found optimize.Found, base optimize.Base, plan train.Compare) {
			s, err := simulate.Open(simulate.Config{Rows: x, Targets: y, Loss: l, Budget: b, Seed: seed + 1})
			if err != nil {
				tt.Fatal(err)
			}
			p, err := optimize.NewProblem(l, b, s)
			if err != nil {
				tt.Fatal(err)
			}
			rate := optimize.BaseRate{Charge: optimize.BaseShare * b.Charge(), Loss: l, Features: t.d + 1, Intercept: intercept}
			if base, err = rate.Ask(context.Background(), s, p); err != nil {
				tt.Fatal(err)
			}
			p = rate.Begin(p, base)
			if share < 0 {
				share = train.CompareShare(p)
			}
			whole := p
			p.Mu *= math.Sqrt(1 - optimize.BaseShare - share)
			fitting, _, err := train.Train{}.Plan(context.Background(), p)
			if err != nil {
				tt.Skip(err)
			}
			result, err := fitting.Run(context.Background(), s, nil)
			if err != nil {
				tt.Fatal(err)
			}
			plan = train.Compare{Charge: share * b.Charge(), Loss: l, Features: t.d + 1, Intercept: intercept, Reach: func(v []float64) (low,
				high float64) {
				for _, a := range v[:t.d] {
					low, high = low-math.Abs(a)*intercept, high+math.Abs(a)*intercept
				}
				at := v[t.d] * intercept
				return low + at - 1e-6, high + at + 1e-6
			}}
			found = optimize.Found{Square: result.Rows.Square, Excess: result.Excess}
			if share > 0 {
				if c, err = plan.Ask(context.Background(), s, whole, result.W, found); err != nil {
					tt.Fatal(err)
				}
			}
			return result.W, c, found, base, plan
		}
		off, _, _, _, _ := run(0)
		w, c, found, _, plan := run(-1)
		constant := plan.Constant(c.Margins, len(w))
		half, only := c, c
		half.Shrunk, only.Shrunk = 0, 0
		if c.Verdict() == optimize.Worse {
			half.Shrunk, only.Shrunk = 1, 1
		} else if c.Difference > -c.Sigma {
			half.Shrunk = .5
		}
		of := value(w) - floor
		for i, v := range []float64{value(off) - floor, of, value(c.Model(w, constant)) - floor, value(only.Model(w, constant)) - floor,
			value(half.Model(w, constant)) - floor} {
			sums[i] += v / gain / float64(runs)
			if seed == 0 {
				worst[i] = v / gain
			}
			worst[i] = max(worst[i], v/gain)
		}
		count := func(to *float64, yes bool) {
			if yes {
				*to += 1 / float64(runs)
			}
		}
		count(&better, c.Verdict() == optimize.Better)
		count(&worse, c.Verdict() == optimize.Worse)
		count(&falseBetter, c.Verdict() == optimize.Better && of >= 0)
		count(&falseWorse, c.Verdict() == optimize.Worse && of <= 0)
		count(&unresolved, c.Unresolved)
		count(&bounded, c.LowerBound)
		moved += c.Shrunk / float64(runs)
		forecast += found.Excess / float64(runs)
		excess += (of + gain) / float64(runs)
	}
	fmt.Printf("%g %d %d %g %g | %.4f | %.3f %.3f | %.3f %.3f | %.3f %.3f | %.3f %.3f | %.3f %.3f | %.2f %.2f %.2f %.2f %.2f %.2f | %.2f %.2f\n",
		t.share, t.n, t.d, t.signal, epsilon, gain, sums[0], worst[0], sums[1], worst[1], sums[2], worst[2], sums[3], worst[3],
		sums[4], worst[4], better, worse, falseBetter, falseWorse, unresolved, bounded, moved, forecast/excess)
}
