package report

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// TestShareIsWhatReaches compares the stated share of a number with the change of a simulated run, almost without
// noise, whose minimum has another weight for the number. After three steps the share of the second must be below .9; a
// term may have its noise stated only if its value is within .6 deviations of the minimum.
func TestShareIsWhatReaches(t *testing.T) {
	for _, steps := range []int{3, 12} {
		w := newBowl(t, 0)
		w.sigma, w.ridge = 1e-7, .03
		w.law.Noise, w.law.Momentum, w.law.Weights = w.law.Noise[:steps], w.law.Momentum[:steps], nil
		for i := range w.law.Noise {
			w.law.Noise[i] = 1e-6
		}
		run := func() ([]float64, *trace) { return w.fit(rand.New(rand.NewPCG(1, 1))) }
		w.law.Weights = make([]float64, steps+1)
		w.law.Weights[steps-1] = 1
		weights, l := run()
		f := w.fitted(t, weights, l)
		e, ok := f.explained(f.noise())
		if !ok || e.how != estimated {
			t.Fatal(e.why)
		}
		for j := range 2 { // the numbers
			best := mat.VecDenseCopyOf(w.best)
			w.best.SetVec(j, best.AtVec(j)+1)
			moved, _ := run()
			w.best = best
			want := moved[j] - weights[j]
			if got := *e.list[j].share; !(math.Abs(got-want) <= .02) {
				t.Errorf("%d steps, %s: share %v: %v reach the result", steps, e.list[j].name, got, want)
			}
			if steps == 3 && j == 1 && want > .9 {
				t.Errorf("%v reach the result after three steps: this test shows nothing", want)
			}
		}
		for _, c := range e.list[:2] {
			off := math.Abs(c.effect - partsOf(c.parts, w.best.RawVector().Data))
			if part := off > partBias*c.noiseSD; part != c.part() || c.late {
				t.Errorf("%d steps, %s: %v from the minimum with noise %v: bias %v, late %v", steps, c.name, off, c.noiseSD, c.bias, c.late)
			}
			if !near(c.effectSD, math.Sqrt(c.noiseSD*c.noiseSD+c.bias*c.bias), 1e-9) {
				t.Errorf("%d steps, %s: deviation %v of noise %v and bias %v", steps, c.name, c.effectSD, c.noiseSD, c.bias)
			}
			if c.part() && !(c.bias > off/3 && c.bias < 3*off) {
				t.Errorf("%d steps, %s: stated bias %v: is %v", steps, c.name, c.bias, off)
			}
		}
	}
}

// TestNoiseToTheLetter tests the noise of a term as displays show it, and the state of a term by its bias.
func TestNoiseToTheLetter(t *testing.T) {
	c := coefficient{effectSD: .4567, noiseSD: .1928, bias: .414, share: new(.896)}
	for _, x := range []struct {
		how         certainty
		bias        float64
		late        bool
		text, state string
	}{{estimated, .414, false, "0.46 (noise 0.19, 90% of the way)", "part of the way"},
		{estimated, .115, false, "0.46", "stated"}, {estimated, .117, false, "0.46 (noise 0.19, 90% of the way)", "part of the way"},
		{estimated, .414, true, "not arrived", "not arrived"}, {unstated, 0, false, "-", "not stated"}} {
		c.bias, c.late = x.bias, x.late
		k := c.term(x.how)
		if k.Noise() != x.text || k.State != x.state || (k.Reason != "") != x.late || *k.Share != .896 {
			t.Errorf("%+v: %s, %s, %s", x, k.Noise(), k.State, k.Reason)
		}
	}
}

// TestRestIsAMean compares the rest of each of many ways with sums over a grid of ways, at each scale of their prior,
// weighed by the density of the distances that the steps covered of all ways. In the second case these are small, so that
// the least scale is the probable one. Three ways have the scale 1 alone.
func TestRestIsAMean(t *testing.T) {
	const kept = .8
	for _, c := range []struct {
		d      int
		size   float64
		scales []float64
	}{{120, 1, []float64{1, .25, 1. / 6}}, {60, .6, []float64{1, 1. / 3}}, {3, .1, []float64{1}}} {
		r := rand.New(rand.NewPCG(7, 9))
		a, unit, mix := arrival{}, mat.NewDense(c.d, c.d, nil), mat.NewDense(1, 1, []float64{1})
		var rows [][]float64
		for i := range c.d {
			a.shares, a.prior = append(a.shares, .2+.7*r.Float64()), append(a.prior, .5+r.Float64())
			a.noise = append(a.noise, .01+.05*r.Float64())
			a.went = append(a.went, c.size*a.shares[i]*math.Sqrt(a.prior[i])*r.NormFloat64())
			unit.Set(i, i, 1)
			rows = append(rows, unit.RawRowView(i))
		}
		a.back = unit
		whole := &covariance{mix: mix, ways: []way{{noise: make([]float64, c.d), seen: a.scaled()}}}
		got := whole.rest(rows, kept)

		var logs []float64
		squares := make([][]float64, len(c.scales)) // the mean square of each way, for each scale
		for k, scale := range c.scales {
			logs = append(logs, 0)
			for i, f := range a.shares {
				deviation, sum, square := math.Sqrt(scale*a.prior[i]), 0., 0.
				const step = .02
				for x := -7.; x <= 7; x += step {
					v := x * deviation
					density := step * math.Exp(-x*x/2-math.Pow(a.went[i]-f*v, 2)/(2*a.noise[i]))
					sum += density
					square += density * v * v
				}
				logs[k] += math.Log(sum)
				squares[k] = append(squares[k], square/sum)
			}
		}
		for i, f := range a.shares {
			sum, mean := 0., 0.
			for k := range logs {
				weight := math.Exp(logs[k] - logs[0])
				sum += weight
				mean += weight * squares[k][i]
			}
			if want := math.Pow(1-kept*f, 2) * mean / sum; !near(got.At(i, i), want, 1e-6) {
				t.Errorf("%d ways of size %v: rest %d: %v: the mean is %v", c.d, c.size, i, got.At(i, i), want)
			}
			if i > 0 && got.At(i, 0) != 0 {
				t.Errorf("ways along two coordinates have the covariance %v", got.At(i, 0))
			}
		}
	}
}

// TestPossibleMoments tests two kinds of possible moments for rows of 40 columns with equal variances. With noise added the
// eigenvalues spread by more than half of the edge of the noise. Those of every other moment are corrected, and lie nearer
// to the variance.
func TestPossibleMoments(t *testing.T) {
	const d, sigma = 40, .01
	edge := sigma * math.Sqrt(2*d)
	rows := mat.NewSymDense(d, nil)
	for i := range d {
		rows.SetSym(i, i, .5)
	}
	list, err := possible(rows, rows, nil, nil, sigma)
	if err != nil || len(list) < 4 {
		t.Fatalf("%d moments, %v", len(list), err)
	}
	for n, m := range list {
		var e mat.EigenSym
		if !e.Factorize(m, false) {
			t.Fatal("no eigenvalues")
		}
		values := e.Values(nil)
		if off := max(.5-values[0], values[d-1]-.5); (off < edge/2) != (n%2 == 0) {
			t.Errorf("moment %d: an eigenvalue is %v off, the edge of the noise is %v", n, off, edge)
		}
	}
}

// arrivedAt returns what the steps of a run with one margin covered, of the given shares of independent ways.
func arrivedAt(seen ...arrival) *covariance {
	d := len(seen[0].shares)
	unit := mat.NewDense(d, d, nil)
	for i := range d {
		unit.Set(i, i, 1)
	}
	for i := range seen {
		seen[i].back, seen[i].half = unit, unit
	}
	return &covariance{mix: mat.NewDense(1, 1, []float64{1}), ways: []way{{noise: make([]float64, d), seen: seen, displaced: mat.NewDense(1, d, nil)}}}
}

// TestLikelyMomentsByHand tests how probable two possible moments are: by their likelihoods, and of at most 20 columns by the
// roots of these.
func TestLikelyMomentsByHand(t *testing.T) {
	for d, power := range map[int]float64{2: .5, 20: .5, 21: 1} {
		of := func(share, went float64) (a arrival, logs float64) {
			for i := range d {
				f, w, noise, prior := share+.01*float64(i), went*float64(i+1)/float64(d), .02, 1.5
				a.shares, a.went, a.noise, a.prior = append(a.shares, f), append(a.went, w), append(a.noise, noise), append(a.prior, prior)
				logs -= (w*w/(f*f*prior+noise) + math.Log(f*f*prior+noise)) / 2
			}
			return a, logs
		}
		first, one := of(.3, .5)
		second, two := of(.35, .55)
		got := arrivedAt(first, second).likely()
		if want := 1 / (1 + math.Exp(power*(two-one))); !(math.Abs(got[0]-want) <= 1e-9) || !(math.Abs(got[1]-(1-want)) <= 1e-9) {
			t.Errorf("%d columns: %v: must be %v", d, got, want)
		}
	}
}

// TestLimitsOfArrival: a coefficient has arrived from a share of .05 of its way on, that of the side of a difference of which
// less did. A level also needs a mean of two deviations of its noise. The share is stated where the rest is above .6
// deviations of the noise.
func TestLimitsOfArrival(t *testing.T) {
	for _, c := range []struct {
		shares  []float64
		parts   []dataset.Part
		against string
		mean    float64 // over the deviation of its noise
		share   float64
		late    bool
	}{
		{[]float64{.049, 1}, []dataset.Part{{Feature: 0, Factor: 2}}, "", 1, .049, true},
		{[]float64{.051, 1}, []dataset.Part{{Feature: 0, Factor: 2}}, "", 1, .051, false},
		{[]float64{.5, .04}, []dataset.Part{{Feature: 0, Factor: 2}, {Feature: 1, Factor: -2}}, "b", 9, .04, true},
		{[]float64{.5, .3}, []dataset.Part{{Feature: 0, Factor: 2}, {Feature: 1, Factor: -2}}, "b", 9, .3, false},
		{[]float64{.5, .3}, []dataset.Part{{Feature: 0, Factor: 2}, {Feature: 1, Factor: .5}}, "", 9, .5, false},
		{[]float64{.5, .3}, []dataset.Part{{Feature: 0, Factor: 2}}, "b", 1.95, .5, true},
		{[]float64{.5, .3}, []dataset.Part{{Feature: 0, Factor: 2}}, "b", 2.05, .5, false},
	} {
		const sigma = .03
		of := arrivedAt(arrival{shares: c.shares, went: []float64{.2, .3}, noise: []float64{.01, .02}, prior: []float64{1, 1}})
		e := explanation{how: estimated, list: []coefficient{{parts: c.parts, against: c.against, units: 3}},
			covariance: mat.NewSymDense(1, []float64{.04}), noise: carried{covariance: of, kept: 1}}
		e.arrive([]float64{c.mean * sigma, c.mean * sigma}, sigma)
		k := e.list[0]
		rest := 0.
		for _, p := range c.parts {
			i, f := p.Feature, c.shares[p.Feature]
			went, noise := []float64{.2, .3}[i], []float64{.01, .02}[i]
			seen := f*f + noise
			rest += math.Pow(p.Factor*(1-f), 2) * (math.Pow(f*went/seen, 2) + noise/seen)
		}
		if !(math.Abs(*k.share-c.share) <= 1e-9) || k.late != c.late || !(math.Abs(k.bias-math.Sqrt(rest)) <= 1e-9) ||
			!(math.Abs(k.effectSD-math.Sqrt(.04+rest)) <= 1e-9) || !(math.Abs(k.spanSD-3*k.effectSD) <= 1e-9) {
			t.Errorf("%+v: share %v, late %v, bias %v, deviation %v: the rest must be %v", c, *k.share, k.late, k.bias, k.effectSD, math.Sqrt(rest))
		}
	}
	for bias, want := range map[float64]bool{.59: false, .61: true} {
		if (coefficient{bias: 2 * bias, noiseSD: 2}).part() != want {
			t.Errorf("a rest of %v deviations: stated %v", bias, !want)
		}
	}
}
