package describe

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

func close(a, b, r float64) bool { return math.Abs(a-b) <= r*(1+math.Abs(b)) }

// hatsOf returns the sums over numbers, divided by their number, of the hats at knots: each number is shared between the
// two knots beside it in inverse proportion to its distances.
func hatsOf(knots, numbers []float64) []float64 {
	masses := make([]float64, len(knots))
	for _, x := range numbers {
		for j := range knots[:len(knots)-1] {
			if a, b := knots[j], knots[j+1]; x >= a && x <= b {
				masses[j] += (b - x) / (b - a) / float64(len(numbers))
				masses[j+1] += (x - a) / (b - a) / float64(len(numbers))
				break
			}
		}
	}
	return masses
}

// slope returns how fast a number changes with each entry of a list.
func slope(v []float64, f func() float64) []float64 {
	const step = 1e-6
	out := make([]float64, len(v))
	for i := range v {
		v[i] += step
		above := f()
		v[i] -= 2 * step
		out[i] = (above - f()) / (2 * step)
		v[i] += step
	}
	return out
}

func squares(v []float64) (s float64) {
	for _, x := range v {
		s += x * x
	}
	return s
}

var uneven = []float64{0, 1, 3, 4, 7, 8, 10}

// evenly returns numbers that fill the cells between knots, more of them in some cells.
func evenly(knots []float64) (numbers []float64) {
	for j := range knots[:len(knots)-1] {
		n := 400 * (j%3 + 1)
		for k := range n {
			numbers = append(numbers, knots[j]+(knots[j+1]-knots[j])*(float64(k)+.5)/float64(n))
		}
	}
	return numbers
}

func moments(numbers []float64) (mean, deviation float64) {
	n := float64(len(numbers))
	for _, x := range numbers {
		mean += x / n
	}
	for _, x := range numbers {
		deviation += (x - mean) * (x - mean) / n
	}
	return mean, math.Sqrt(deviation)
}

// TestMeansOfHats compares the mean that follows from hats with that of the numbers, and its interval with the slopes
// of the mean by each mass.
func TestMeansOfHats(t *testing.T) {
	numbers := evenly(uneven)
	masses := hatsOf(uneven, numbers)
	mean, _ := moments(numbers)
	d := &describing{z: 1.5}
	in := span{low: 0, high: 10, seen: true}
	const variance = 1e-6
	v := d.mean(uneven, in, masses, variance)
	by := slope(masses, func() float64 { return d.mean(uneven, in, masses, variance).Estimate })
	half := 1.5 * math.Sqrt(variance*squares(by))
	if !close(v.Estimate, mean, 1e-9) || !close(v.Low, mean-half, 1e-6) || !close(v.High, mean+half, 1e-6) {
		t.Errorf("%+v: must be %v with half a width of %v", v, mean, half)
	}
	// Knots beyond the range count as its ends.
	v = d.mean(uneven, span{low: 2, high: 9}, masses, variance)
	want := 0.
	for i, m := range masses {
		want += min(max(uneven[i], 2), 9) * m
	}
	if !close(v.Estimate, want, 1e-9) {
		t.Errorf("%+v: must be %v", v, want)
	}
	for factor, some := range map[float64]bool{.99: true, 1.01: false} { // all masses are 5 deviations of their sum
		if v := d.mean(uneven, in, masses, math.Pow(factor/5, 2)/7); (v != nil) != some {
			t.Errorf("a sum of %v times the least: %v", 1/factor, v)
		}
		if v := d.spread(uneven, in, masses, math.Pow(factor/5, 2)/7, 0); (v != nil) != some {
			t.Errorf("a sum of %v times the least: spread %v", 1/factor, v)
		}
	}
}

// TestSpreadOfHats compares the standard deviation that follows from hats with that of the numbers, which fill their
// cells. The lower end takes the largest product of distances, and both ends the noise of the masses.
func TestSpreadOfHats(t *testing.T) {
	even := []float64{0, 1.5, 3, 4.5, 6, 7.5, 9}
	numbers := evenly(even)
	masses := hatsOf(even, numbers)
	mean, deviation := moments(numbers)
	d := &describing{z: 1.5}
	const variance = 1e-6
	v := d.spread(even, span{low: 0, high: 9}, masses, variance, 0)
	if !close(v.Estimate, deviation, 1e-5) {
		t.Errorf("%+v: must be %v", v, deviation)
	}
	var square, fourth float64
	for i, m := range masses {
		square += math.Pow(even[i]-mean, 2) * m
		fourth += math.Pow(even[i]-mean, 4)
	}
	half := 1.5 * math.Sqrt(variance*fourth)
	if !close(v.Low*v.Low, square-1.5*1.5/4-half, 1e-9) || !close(v.High*v.High, square+half, 1e-9) {
		t.Errorf("%+v: must be the roots of %v and %v", v, square-1.5*1.5/4-half, square+half)
	}
}

// TestSpreadHoldsTheTruth tests that, without noise, the interval of a standard deviation holds that of any numbers:
// also of numbers in the middle of the first cell, or of a cell beside a narrow one.
func TestSpreadHoldsTheTruth(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	d := &describing{z: 1.5}
	for range 300 {
		var numbers []float64
		for range 1 + r.IntN(3) {
			j := r.IntN(6)
			x := uneven[j] + (uneven[j+1]-uneven[j])*[]float64{.5, r.Float64()}[r.IntN(2)]
			for range 1 + r.IntN(5) {
				numbers = append(numbers, x)
			}
		}
		_, truth := moments(numbers)
		v := d.spread(uneven, span{low: 0, high: 10}, hatsOf(uneven, numbers), 1e-30, 0)
		if v.Low > truth+1e-6 || v.High < truth-1e-6 {
			t.Fatalf("%v: %+v: must hold %v", numbers, v, truth)
		}
	}
}

// TestSpreadIsNotBelowZero: numbers that may all be the same have a standard deviation of 0 or more, however much noise
// and rounding widen its interval, and rounding widens the interval at both ends otherwise.
func TestSpreadIsNotBelowZero(t *testing.T) {
	d := &describing{z: 1.5}
	const rounding = .25
	for _, numbers := range [][]float64{{5, 5, 5}, {5, 5.5}, evenly(uneven)} {
		for _, variance := range []float64{1e-30, 1e-6, 1e-3} {
			masses := hatsOf(uneven, numbers)
			exact := d.spread(uneven, span{low: 0, high: 10}, masses, variance, 0)
			v := d.spread(uneven, span{low: 0, high: 10}, masses, variance, rounding)
			if v.Low != max(exact.Low-rounding, 0) || v.High != exact.High+rounding {
				t.Errorf("%v of variance %v: %+v, without rounding %+v", numbers[:2], variance, v, exact)
			}
		}
	}
}

// TestEstimatesAdd tests the arithmetic of estimates by the slopes of what they compute, with independent noise.
func TestEstimatesAdd(t *testing.T) {
	v := []float64{.3, .8}
	ratio := func() float64 { return estimate{v[0], 0}.over(estimate{v[1], 0}).value }
	by := slope(v, ratio)
	got := estimate{.3, .0004}.over(estimate{.8, .0009})
	if want := by[0]*by[0]*.0004 + by[1]*by[1]*.0009; !close(got.value, .375, 1e-12) || !close(got.variance, want, 1e-6) {
		t.Errorf("%+v: must be .375 with the variance %v", got, want)
	}

	// Two stages with deviations 1 and 2: the mean of the precise one counts four times as much.
	stages := []*stage{{mean: []float64{9, 1, 2}, sigma: 1}, {mean: []float64{6, 7, 9, 9}, sigma: 2}}
	first := func(s *stage) int { return map[float64]int{1: 1, 2: 0}[s.sigma] }
	means, variance := pooled(stages, first, 2)
	if !close(means[0], 2, 1e-12) || !close(means[1], 3, 1e-12) || !close(variance, .8, 1e-12) {
		t.Errorf("%v, variance %v: must be 2 and 3, .8", means, variance)
	}

	parts := []float64{.2, .3, .1}
	sum := []float64{.75}
	moved := func() float64 {
		list := append([]float64(nil), parts...)
		adding(list, 0, estimate{sum[0], 0})
		return list[1]
	}
	want := squares(slope(parts, moved))*.01 + squares(slope(sum, moved))*.04
	variance = adding(parts, .01, estimate{.75, .04})
	if !close(parts[0], .25, 1e-12) || !close(parts[1], .35, 1e-12) || !close(variance, want, 1e-6) {
		t.Errorf("%v, variance %v: must be .25, .35, .15, %v", parts, variance, want)
	}

	d := &describing{z: 2}
	if v := d.value(estimate{.9, .01}, 0, 1); v != (Value{.9, .7, 1}) {
		t.Errorf("%+v: must be .9 from .7 to 1", v)
	}
	if v := (&Value{5, 4, 7}).widened(.5); *v != (Value{5, 3.5, 7.5}) {
		t.Errorf("%+v: must be half a unit wider on either side", v)
	}
}

// TestDeviationsOfShares tests the noise of a cumulated share against the slopes by each mass and by the sum.
func TestDeviationsOfShares(t *testing.T) {
	masses, total := hatsOf(uneven, evenly(uneven)), []float64{1.02}
	const variance, ofTotal = .0003, .0007
	for _, q := range []float64{.05, .5, .8} {
		for j := range uneven[:6] {
			at := func() float64 {
				f := cumulated(uneven, masses, variance, estimate{total[0], ofTotal})
				return f.at[j] - q*f.of.value
			}
			want := math.Sqrt(variance*squares(slope(masses, at)) + ofTotal*squares(slope(total, at)))
			if got := cumulated(uneven, masses, variance, estimate{total[0], ofTotal}).deviation(j, q); !close(got, want, 1e-6) {
				t.Errorf("share %v at %d: deviation %v: must be %v", q, j, got, want)
			}
		}
	}
	f := cumulated(uneven, masses, variance, estimate{1, ofTotal})
	if got, want := f.outer(), .005+2*f.deviation(3, .5); !close(got, want, 1e-12) {
		t.Errorf("outer share %v: must be %v", got, want)
	}
	if got := cumulated(uneven, masses, .3, estimate{1, 0}).outer(); got != .25 {
		t.Errorf("outer share %v: must be at most .25", got)
	}
}

// TestQuantilesOfHats compares quantiles with those of numbers that fill fine cells. With noise the interval ends at
// the cells where the distance from the share is the wanted number of deviations.
func TestQuantilesOfHats(t *testing.T) {
	var knots, numbers []float64
	for k := range 41 {
		knots = append(knots, float64(k)/4)
	}
	for k := range 20_000 { // of the distribution function (x/10)^2
		numbers = append(numbers, 10*math.Sqrt((float64(k)+.5)/20_000))
	}
	masses := hatsOf(knots, numbers)
	in := span{low: 0, high: 10}
	for _, sigma := range []float64{1e-6, .003} {
		f := cumulated(knots, masses, sigma*sigma, estimate{1, 1e-12})
		for _, q := range []float64{.05, .25, .5, .75, .95} {
			v, truth := f.quantile(q, 1.96, in), 10*math.Sqrt(q)
			if !(math.Abs(v.Estimate-truth) <= .04) || v.Low > truth || v.High < truth {
				t.Errorf("sigma %v, share %v: %+v: must be %v", sigma, q, v, truth)
			}
			low, high := 0., 10.
			for j, sum := range f.at {
				if q-sum > 1.96*f.deviation(j, q) {
					low = knots[j]
				}
				if k := len(f.at) - 1 - j; f.at[k]-q > 1.96*f.deviation(k, q) {
					high = knots[k+1]
				}
			}
			if v.Low != low || v.High != high || sigma < 1e-5 && v.High-v.Low > .76 {
				t.Errorf("sigma %v, share %v: %+v: must be from %v to %v", sigma, q, v, low, high)
			}
		}
	}
	// Nearly all numbers are at one knot, so that a quantile near it is that knot.
	masses = make([]float64, len(knots))
	masses[12], masses[11], masses[30] = .9, .05, .05
	f := cumulated(knots, masses, 1e-12, estimate{1, 1e-12})
	if v := f.quantile(.4, 1.96, in); v.Estimate != 3 {
		t.Errorf("%+v: must be 3", v)
	}
	masses[11], masses[12] = .5, .45
	if v := f.atom(2.9); v != 2.9 {
		t.Errorf("%v: must stay between two knots with masses", v)
	}
}

// TestIsotonic compares the rising numbers with their definition: the largest, over the numbers before, of the least
// mean of a range that begins there and ends at the number or after it.
func TestIsotonic(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 50 {
		v := make([]float64, 1+r.IntN(9))
		for i := range v {
			v[i] = float64(r.IntN(7))
		}
		for i, got := range isotonic(v) {
			want := math.Inf(-1)
			for a := 0; a <= i; a++ {
				least := math.Inf(1)
				for b := i; b < len(v); b++ {
					mean, _ := moments(v[a : b+1])
					least = min(least, mean)
				}
				want = max(want, least)
			}
			if !close(got, want, 1e-9) {
				t.Errorf("%v: entry %d is %v: must be %v", v, i, got, want)
			}
		}
	}
}

// TestBoundsToTheLetter tests proposed bounds: a tenth wider on either side, rounded outwards to two digits of the
// distance, within the public bounds.
func TestBoundsToTheLetter(t *testing.T) {
	number := dataset.Column{Kind: dataset.Number, Low: -1000, High: 1000}
	date := dataset.Column{Kind: dataset.Date, Low: 0, High: 20_000}
	for _, c := range []struct {
		column    dataset.Column
		low, high float64
		in        span
		want      [2]float64
	}{
		{number, 12.34, 87.65, span{}, [2]float64{4, 96}},
		{number, .1234, .4567, span{}, [2]float64{.09, .5}},
		{number, 1, 92, span{}, [2]float64{-9, 102}},
		{number, 1, 92, span{positive: true}, [2]float64{0, 102}},
		{number, -950, 960, span{}, [2]float64{-1000, 1000}},
		{date, 10_957, 11_322, span{positive: true}, [2]float64{10_920, 11_359}},
		{date, 10, 110, span{positive: true}, [2]float64{0, 120}},
	} {
		got := bounds(c.column, c.low, c.high, c.in)
		if len(got) != 2 || got[0] != c.want[0] || got[1] != c.want[1] {
			t.Errorf("%v to %v: %v: must be %v", c.low, c.high, got, c.want)
		}
	}
	if got := bounds(number, 5, 5, span{}); got != nil {
		t.Errorf("one number: %v", got)
	}
	if tidy(.1+.2) != .3 || tidy(0) != 0 || tidy(-123456789012345) != -123456789012000 {
		t.Error(tidy(.1+.2), tidy(-123456789012345))
	}
}

// TestIntervalsHaveAWidth: the interval is around the estimate within its ends, so that one far outside of them has a width, and
// it contains the part within the ends of the interval around the released number.
func TestIntervalsHaveAWidth(t *testing.T) {
	d := &describing{z: 2}
	for _, c := range []struct{ released, estimate, low, high float64 }{{-.5, 0, 0, .2}, {-.05, 0, 0, .2}, {.05, .05, 0, .25}, {.4, .4, .2, .6},
		{.95, .95, .75, 1}, {1.5, 1, .8, 1}} {
		if v := d.value(estimate{c.released, .01}, 0, 1); !close(v.Estimate, c.estimate, 1e-12) || !close(v.Low, c.low, 1e-12) ||
			!close(v.High, c.high, 1e-12) {
			t.Errorf("%v: %+v: must be %v from %v to %v", c.released, v, c.estimate, c.low, c.high)
		}
	}
}

// TestNoiseOfTheMissingCells: quantiles are of the numbers that are known, and are not told where five deviations of the noise of
// the rows and of the missing cells together hide them.
func TestNoiseOfTheMissingCells(t *testing.T) {
	s, err := dataset.New(dataset.Definition{Columns: []dataset.Column{{Name: "x", Kind: dataset.Number, High: 8, Indicator: true, Curve: 5,
		Knots: []float64{0, 2, 4, 6, 8}}},
		Target: dataset.Target{Kind: dataset.Ignore}})
	if err != nil {
		t.Fatal(err)
	}
	c := s.Columns()[0]
	for sigma, told := range map[float64]bool{.19: false, .17: true} { // of one stage: five deviations of sigma / sqrt 3
		d := &describing{z: 2, found: map[string]span{"x": {low: 0, high: 8, seen: true}}}
		for range 3 {
			of := &stage{schema: s, mean: make([]float64, s.Dim()), sigma: sigma}
			of.place()
			of.mean[of.at["x"]+1] = .5
			d.stages = append(d.stages, of)
		}
		variance := sigma * sigma / 3
		if got := d.number(c, estimate{1, 0}); (len(got.Quantiles) == 5) != told || !close(got.Missing.High, .5+2*math.Sqrt(variance), 1e-9) {
			t.Errorf("noise of %v: %d quantiles, missing %+v", sigma, len(got.Quantiles), *got.Missing)
		}
	}
}
