package experiment_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/lab/experiment"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// TestCodesErrorIsABound draws codes and Gaussian estimates of their mean, for many seeds. Each step of the derivation
// of CodesError must hold on them: the identity of squares and inner products, the most that the divergence allows to a
// row's inner product, and the bound on the error, also for estimates that are shrunk. Draws have a standard deviation
// below d in each mean, so that means of 4,000 draws of 32 coordinates lie within .05 d of their expectation but for a
// chance below 1e-9.
func TestCodesErrorIsABound(t *testing.T) {
	const d, n, mu, draws = 32, 100, .3, 4000
	codes, bound := experiment.BestCodes(d, n, mu)
	if !(bound > 0) || codes < 2 || bound <= experiment.CodesError(d, n, codes-1, mu) ||
		bound <= experiment.CodesError(d, n, codes+1, mu) {
		t.Fatalf("%d codes, bound %v", codes, bound)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for _, shrunk := range []float64{1, .6, .3, .1, 0} {
		// A mean of corners moves by 2 sqrt(d)/codes if one is replaced.
		sigma := 2 * math.Sqrt(d) / float64(codes) / mu
		var products, long, score, square float64
		for range draws {
			for range d {
				p := 2*r.Float64() - 1
				sum, first := 0., 0.
				for i := range codes {
					x := 1.
					if r.Float64() > (1+p)/2 {
						x = -1
					}
					if sum += x; i == 0 {
						first = x
					}
				}
				mean := sum / float64(codes)
				o := shrunk * (mean + sigma*r.NormFloat64())
				square += (o - mean) * (o - mean) / draws
				products += o * (sum - float64(codes)*p) / draws
				score += o * (first - p) / draws
				long += o * o / draws
			}
		}
		c := float64(codes)
		if want := long + (1+2/c)*(d/3.-products); math.Abs(square-want) > .1*d {
			t.Errorf("shrunk to %v: a mean square of %v: want %v", shrunk, square, want)
		}
		if most := math.Sqrt(long * math.Expm1(mu*mu)); score > most+.05*d {
			t.Errorf("shrunk to %v: a row's inner product is %v: want at most %v", shrunk, score, most)
		}
		if got := math.Sqrt(square) * c / n; got < bound {
			t.Errorf("shrunk to %v: error %v is below the bound %v", shrunk, got, bound)
		}
	}
}

// TestInstancesOfLowerBounds compares gradients with differences of values, and minima with the values near them, and
// tests the growth of the tables of Theorem 8: their excess risk is at least |w - w*|^Tau.
func TestInstancesOfLowerBounds(t *testing.T) {
	const d = 6
	r := rand.New(rand.NewPCG(2, 2))
	for _, l := range []loss.General{experiment.Growth{Tau: 2, Weight: .1, Cap: .4, Gap: 1}, experiment.Growth{Tau: 4, Weight: 1,
		Cap: 1, Gap: 1}, experiment.Growth{Tau: 3, Weight: .5, Cap: 1, Gap: 1}, experiment.Lemma4{},
		experiment.TwoTables{Kappa: 3, Records: 20, Epsilon: .5}} {
		dim := d
		if _, one := l.(experiment.TwoTables); one {
			dim = 1
		}
		rows := experiment.Codes(dim, 8, 8, 3).Rows
		for trial := range 200 {
			w, g, x := make([]float64, dim), make([]float64, dim), rows[trial%8]
			for j := range w {
				w[j] = r.NormFloat64()
			}
			l.Gradient(g, w, x, 0)
			if c := l.Constants(); stationarity.Norm(g) > c.Lipschitz*(1+1e-6) {
				t.Errorf("%s: gradient %v", l.Name(), g)
			}
			for j := range w {
				const h = 1e-5
				up, down := append([]float64(nil), w...), append([]float64(nil), w...)
				up[j], down[j] = w[j]+h, w[j]-h
				if got := (l.Value(up, x, 0) - l.Value(down, x, 0)) / (2 * h); math.Abs(got-g[j]) > 1e-3 {
					t.Errorf("%s: slope %v at %v: want %v", l.Name(), g[j], w, got)
				}
			}
		}
	}
	for _, g := range []experiment.Growth{{Tau: 2, Weight: .1, Cap: .4, Gap: 1}, {Tau: 4, Weight: 1, Cap: 1, Gap: 1}} {
		f := g.Family(d, 30, 12, 4)
		w := make([]float64, d)
		for range 20_000 {
			grad, err := stationarity.Gradient(f.Loss, nil, f.Sample, w)
			if err != nil {
				t.Fatal(err)
			}
			for j := range w {
				w[j] -= .3 * grad[j]
			}
		}
		if v, err := stationarity.Objective(f.Loss, nil, f.Sample, w); err != nil || math.Abs(v-*f.Minimum) > 1e-6 {
			t.Errorf("%s: descent ends at %v, %v: want %v", f.Name, v, err, *f.Minimum)
		}
	}
	for _, kappa := range []float64{2, 3, 4} {
		for _, sign := range []float64{-1, 1} {
			l := experiment.TwoTables{Kappa: kappa, Records: 40, Epsilon: .5}
			f := l.Family(sign)
			tau, rho := kappa/(kappa-1), 1./20
			a := math.Pow(rho, 1/(tau-1)) / 2
			for k := -40; k <= 40; k++ {
				w := []float64{float64(k) / 40 * 3 * a}
				v, err := stationarity.Objective(f.Loss, nil, f.Sample, w)
				if excess := v - *f.Minimum; err != nil || excess < math.Pow(math.Abs(w[0]-sign*a), tau)*(1-1e-9)-1e-12 {
					t.Errorf("kappa %v: excess %v at %v, %v: want at least |w - %v|^%v", kappa, excess, w, err, sign*a, tau)
				}
			}
			if v, _ := stationarity.Objective(f.Loss, nil, f.Sample, []float64{sign * a}); math.Abs(v-*f.Minimum) > 1e-12 {
				t.Errorf("kappa %v: %v at its minimum: want %v", kappa, v, *f.Minimum)
			}
		}
	}
}
