//go:build results

package results_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

var (
	outlookSettings = flag.Int("outlook.settings", 400, "how many settings TestOutlook draws")
	outlookFits     = flag.Int("outlook.fits", 3, "how often TestOutlook fits each setting")
)

// outlookKinds are the targets of TestOutlook: the loss, and how a target is drawn from a score of mean 0. level is a
// random number in [0, 1] that sets the base rate: how rare the class, how small the count.
var outlookKinds = []struct {
	name, loss string
	draw       func(r *rand.Rand, score, level float64) float64
}{
	{"class", "logistic", drawClass},
	{"rare class", "logistic", func(r *rand.Rand, score, level float64) float64 { return drawClass(r, score, level*.4) }},
	{"count", "poisson(1)", func(r *rand.Rand, score, level float64) float64 {
		return 2*min(drawCount(r, math.Exp(score+math.Log(.05)+3*level))/40, 1) - 1
	}},
	{"exposed count", "poisson-rate(1,0.001)", func(r *rand.Rand, score, level float64) float64 {
		q := math.Exp(-6.9 * r.Float64())
		return loss.Carry(loss.Real, 2*min(drawCount(r, 40*q*math.Exp(score-3+2*level))/40, 1)-1, q)
	}},
	{"number", "huber(0.1)", func(r *rand.Rand, score, level float64) float64 {
		return max(min(level-.5+.1*score+.1*r.NormFloat64(), 1), -1)
	}},
	{"skewed number", "huber(0.1)", func(r *rand.Rand, score, level float64) float64 {
		return max(min(.02*math.Exp(score+level+r.NormFloat64())-.9, 1), -1)
	}},
}

// drawClass draws a class of share .01 to .5 at a score of 0.
func drawClass(r *rand.Rand, score, level float64) float64 {
	return math.Copysign(1, 1/(1+math.Exp(-score-4.6*(level-1)))-r.Float64())
}

func drawCount(r *rand.Rand, rate float64) (k float64) {
	for p := r.Float64(); p > math.Exp(-rate) && k < 200; k++ {
		p *= r.Float64()
	}
	return k
}

// TestOutlook measures what an outlook states: which share of the gain that a fit without privacy has over the best
// constant, on rows that no fit has seen, a fit by default with the base rate first loses to noise. It draws settings
// of tables, budgets and targets, rare and exposed ones among them, with effective sizes M at the base rate from 5 to
// 10,000, and prints the median and the ninth decile by ranges of M, and a line for each setting. Settings in which
// the fit without privacy gains less than 3% of the constant's loss tell nothing, and are drawn anew.
//
//	go test -tags results -run TestOutlook -v -timeout 2h ./lab/results
func TestOutlook(t *testing.T) {
	type point struct{ size, lost float64 }
	var points []point
	r := rand.New(rand.NewPCG(5, 44))
	for setting := 0; setting < *outlookSettings; {
		kind := outlookKinds[setting%len(outlookKinds)]
		l := parse(t, kind.loss)
		d, level, signal := 2+r.IntN(29), r.Float64(), .5+1.5*r.Float64()
		epsilon := []float64{.1, .3, 1, 3, 8}[r.IntN(5)]
		b, err := account.NewBudget(epsilon, 1e-6, account.ReplaceOne)
		if err != nil {
			t.Fatal(err)
		}
		n := int(math.Exp(math.Log(20)+r.Float64()*math.Log(500)) * math.Sqrt(float64(d+1)) / b.Mu())
		if n < 200 || n > 60_000 {
			continue
		}
		draw := outlookTable(r, d, signal, level, kind.draw)
		x, y := draw(n)
		test, truth := draw(10_000)
		best := constant(l, y)
		value := func(w []float64) float64 { return mean(l, tabled(test, truth).margins(w), truth) }
		flat := mean(l, slices.Repeat([]float64{best}, len(truth)), truth)
		gain := flat - value(withoutPrivacy(t, tabled(x, y), l, best))
		if !(gain > .03*math.Abs(flat)) {
			continue
		}
		setting++
		for seed := range uint64(*outlookFits) {
			w, effective, err := outlookFit(t, x, y, l, b, seed+1)
			if err != nil {
				t.Fatal(kind.name, n, d, epsilon, err)
			}
			size := effective * curvature(l, y)
			lost := 1 - (flat-value(w))/gain
			points = append(points, point{size, lost})
			fmt.Printf("%s n %d d %d epsilon %g N %.3g M %.3g gain %.3g of %.3g lost %.3f\n", kind.name, n, d, epsilon, effective, size,
				gain, flat, lost)
		}
	}
	edges := []float64{0, 8, 15, 30, 60, 100, 200, 400, 800, 1600, math.Inf(1)}
	for i := range edges[1:] {
		var lost []float64
		above := 0
		for _, p := range points {
			if p.size >= edges[i] && p.size < edges[i+1] {
				lost = append(lost, p.lost)
				if p.lost > 1 {
					above++
				}
			}
		}
		slices.Sort(lost)
		if k := len(lost); k > 0 {
			fmt.Printf("M from %v: %d fits, half lost up to %.2f, nine in ten up to %.2f, worst %.2f; %d no better than the constant\n",
				edges[i], k, lost[k/2], lost[k*9/10], lost[k-1], above)
		}
	}
}

// withoutPrivacy returns the minimiser of the mean loss with a ridge of 1e-6: for counts by Newton's method with steps
// that are halved until the loss falls, from the constant.
func withoutPrivacy(t *testing.T, r *rows, l loss.RankOne, constant float64) []float64 {
	const ridge = 1e-6
	if !loss.Counts(l) {
		return minimiseTilted(t, r, l, ridge, make([]float64, r.dim), 1e-6*l.Constants().Lipschitz)
	}
	w := make([]float64, r.dim)
	w[r.dim-1] = constant / r.x[r.dim-1] // the last feature is the intercept's
	value := func(w []float64) float64 { return mean(l, r.margins(w), r.y) + ridge/2*dot(w, w) }
	slopes, curvatures := make([]float64, r.n()), make([]float64, r.n())
	for range 100 {
		z := r.margins(w)
		l.Slopes(slopes, z, r.y)
		l.Curvatures(curvatures, z, r.y)
		gradient, matrix := r.mean(slopes), r.weighted(curvatures)
		for j := range gradient {
			gradient[j] += ridge * w[j]
			matrix.SetSym(j, j, matrix.At(j, j)+ridge)
		}
		var factor mat.Cholesky
		var step mat.VecDense
		if !factor.Factorize(matrix) || factor.SolveVecTo(&step, mat.NewVecDense(r.dim, gradient)) != nil {
			t.Fatal("the matrix is not positive definite")
		}
		next, long := slices.Clone(w), 1.
		for was := value(w); long > 1e-6; long /= 2 {
			for j := range w {
				next[j] = w[j] - long*step.AtVec(j)
			}
			if value(next) < was {
				break
			}
		}
		if long < 1e-6 || long*mat.Norm(&step, 2) < 1e-6 {
			break
		}
		w = slices.Clone(next)
	}
	return w
}

// outlookTable returns a function that draws rows of d columns, of which a third are 0 or 1 and seldom 1, and their
// targets, from one law.
func outlookTable(r *rand.Rand, d int, signal, level float64, target func(r *rand.Rand, score, level float64) float64,
) func(n int) (x [][]float32, y []float64) {
	beta := make([]float64, d)
	for j := range beta {
		beta[j] = signal * math.Sqrt(3) * r.NormFloat64() / math.Sqrt(float64(d))
	}
	scale := 1 / math.Sqrt(float64(d+1))
	return func(n int) (x [][]float32, y []float64) {
		for range n {
			row, score, common := make([]float32, d+1), 0., 2*r.Float64()-1
			for j := range d {
				v := .7*(2*r.Float64()-1) + .3*common
				if j%3 == 2 {
					v = math.Floor(1.15 * r.Float64())
				}
				row[j] = float32(v * scale)
				score += v * beta[j]
			}
			row[d] = float32(scale)
			x, y = append(x, row), append(y, target(r, score, level))
		}
		return x, y
	}
}

// curvature returns M/N: 4 p (1-p) for the share p of a class, and four times the mean count as a share of the largest, but
// at most 1.
func curvature(l loss.Loss, y []float64) float64 {
	share := 0.
	for _, v := range y {
		if loss.LeastExposure(l) > 0 {
			v, _ = loss.Carried(l.Target(), v)
		}
		share += (1 + v) / 2 / float64(len(y))
	}
	switch {
	case l.Target() == loss.Binary:
		return 4 * share * (1 - share)
	case loss.Counts(l):
		return min(1, 4*share)
	}
	return 1
}

// outlookFit fits a table by default: the base rate first, then the algorithm that auto chooses, without the
// comparison. It returns the weights and the effective size N.
func outlookFit(t *testing.T, x [][]float32, y []float64, l loss.Loss, b account.Budget, seed uint64) (w []float64,
	effective float64, err error) {
	t.Helper()
	s, err := simulate.Open(simulate.Config{Rows: x, Targets: y, Loss: l, Budget: b, Seed: seed, Workers: 1})
	if err != nil {
		return nil, 0, err
	}
	p, err := optimize.NewProblem(l, b, s)
	if err != nil {
		return nil, 0, err
	}
	p.Seed = seed
	d := len(x[0])
	rate := optimize.BaseRate{Charge: optimize.BaseShare * b.Charge(), Loss: l, Features: d, Intercept: float64(x[0][d-1])}
	if rate.Possible(b.Relation()) {
		base, err := rate.Ask(t.Context(), s, p)
		if err != nil {
			return nil, 0, err
		}
		p = rate.Begin(p, base)
		p.Mu *= math.Sqrt(1 - optimize.BaseShare)
	}
	plan, _, err := train.Train{}.Plan(t.Context(), p)
	if err != nil {
		return nil, 0, err
	}
	result, err := plan.Run(t.Context(), s, nil)
	return result.W, p.Effective(), err
}
