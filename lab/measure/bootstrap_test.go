package measure_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/lab/measure"
)

// TestSlopeOfAPowerLaw: without noise the slope must be exact, for any spacing of the sizes.
func TestSlopeOfAPowerLaw(t *testing.T) {
	var x []float64
	var y [][]float64
	for _, n := range []float64{100, 250, 4000, 1e5} {
		x = append(x, math.Log(n))
		v := math.Log(3 * math.Pow(n, -2./3))
		y = append(y, []float64{v, v, v})
	}
	got, err := measure.Slope(x, y)
	if err != nil || math.Abs(got.Value+2./3) > 1e-12 || math.Abs(got.Low-got.Value) > 1e-12 ||
		math.Abs(got.High-got.Value) > 1e-12 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestSlopeCovers: with 21 noisy runs at each of four sizes, the interval must contain the true slope in 75
// or more of 100 cases. If an interval covers with probability 95%, fewer than 75 of 100 have a probability
// below exp(-200 .2^2) = 4e-4 by Hoeffding's inequality, and below 1e-10 by the binomial distribution.
// Intervals of a half or a third of the length would contain the slope in fewer than 70. Bootstrapped
// medians make the interval a little too short or too long.
func TestSlopeCovers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	const cases = 100
	held := 0
	for range cases {
		var x []float64
		var y [][]float64
		for i := range 4 {
			x = append(x, float64(i))
			g := make([]float64, 21)
			for j := range g {
				g[j] = -.5*float64(i) + .3*r.NormFloat64()
			}
			y = append(y, g)
		}
		got, err := measure.Slope(x, y)
		if err != nil || !(got.Low <= got.Value && got.Value <= got.High) {
			t.Fatalf("%+v, %v", got, err)
		}
		if got.Low <= -.5 && -.5 <= got.High {
			held++
		}
	}
	if share := float64(held) / cases; share < .75 {
		t.Errorf("%v of the intervals hold the slope", share)
	}
}

// TestBootstrapOfAMean: the interval of a mean must extend 1.96 standard errors to both sides, within a
// tenth, and a second call must return the same interval.
func TestBootstrapOfAMean(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	g := make([]float64, 400)
	var sum, squares float64
	for i := range g {
		g[i] = 5 + r.NormFloat64()
		sum += g[i]
		squares += g[i] * g[i]
	}
	n := float64(len(g))
	mean := func(groups [][]float64) float64 {
		var s float64
		for _, x := range groups[0] {
			s += x
		}
		return s / n
	}
	sd := math.Sqrt((squares/n - sum/n*sum/n) / n)
	got, err := measure.Bootstrap([][]float64{g}, mean)
	if err != nil || math.Abs(got.Value-sum/n) > 1e-12 || math.Abs((got.High-got.Low)/(2*1.96*sd)-1) > .1 {
		t.Errorf("%+v, %v: want %v +- %v", got, err, sum/n, 1.96*sd)
	}
	if again, _ := measure.Bootstrap([][]float64{g}, mean); again != got {
		t.Errorf("%+v, then %+v", got, again)
	}
}

func TestSlopeRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		x []float64
		y [][]float64
	}{
		"lengths": {[]float64{1, 2}, [][]float64{{1}}}, "no runs": {[]float64{1, 2}, [][]float64{{1}, nil}},
		"one size": {[]float64{2, 2}, [][]float64{{1}, {2}}}, "none": {nil, nil},
		"infinite": {[]float64{1, math.Inf(1)}, [][]float64{{1}, {2}}},
	} {
		if got, err := measure.Slope(c.x, c.y); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
