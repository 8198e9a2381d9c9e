package loss

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mathext"
)

// TestBallAgainstBeta tests the distribution function of a coordinate of the ball against the beta
// law: U^2 is Beta(1/2, (d+1)/2). Dimensions are even and odd, small and large, and the tolerance
// is 1e-8 everywhere. The test fails for the density (1-t^2)^(d/2), which belongs to another dimension.
func TestBallAgainstBeta(t *testing.T) {
	for _, dim := range []int{1, 2, 3, 4, 5, 8, 20, 99, 1000, 1 << 20} {
		b := newBall(dim)
		for i := range 4001 {
			u := math.Min(1.1, 5/math.Sqrt(float64(dim))) * (float64(i)/2000 - 1)
			half := .5
			if a := math.Abs(u); a < 1 {
				half = mathext.RegIncBeta(.5, float64(dim+1)/2, a*a) / 2
			}
			want := .5 + math.Copysign(half, u)
			if got := b.below(u); !(math.Abs(got-want) <= 1e-8) {
				t.Fatalf("dim %d: %v below %v, want %v", dim, got, u, want)
			}
		}
		lg := func(x float64) float64 { v, _ := math.Lgamma(x); return v }
		d := float64(dim)
		if want := math.Exp(lg(d/2+1)-lg((d+1)/2)) / math.Sqrt(math.Pi); !(math.Abs(b.peak/want-1) <= 1e-8) {
			t.Errorf("dim %d: density %v at 0, want %v", dim, b.peak, want)
		}
	}
}

// TestSmoothedIsTheMeanOverTheBall tests that the smoothed slope times the row is the mean gradient
// over random points of the ball. The tolerance is 5.4 standard deviations, each at most 1/(2 sqrt
// n), of a mean of n numbers within 1 of each other. A correct smoothing exceeds it less than once
// in 10^7 comparisons.
func TestSmoothedIsTheMeanOverTheBall(t *testing.T) {
	const n, radius = 20000, .6
	r := rand.New(rand.NewPCG(3, 14))
	for _, l := range []Kinked{Absolute(), must(Pinball(.9)), must(EpsilonInsensitive(.2)), Hinge(),
		must(CappedAbsolute(.3)), Ramp()} {
		for _, dim := range []int{1, 2, 5} {
			x, w := make([]float64, dim), make([]float64, dim)
			var z, long float64
			for j := range x {
				x[j], w[j] = r.NormFloat64()/math.Sqrt(float64(dim)), r.NormFloat64()
				z += x[j] * w[j]
				long = math.Hypot(long, x[j])
			}
			y := math.Copysign(1, r.NormFloat64())
			var sum float64
			slope := []float64{0}
			for range n {
				u, size := make([]float64, dim), 0.
				for j := range u {
					u[j] = r.NormFloat64()
					size = math.Hypot(size, u[j])
				}
				far := math.Pow(r.Float64(), 1/float64(dim)) * radius / size
				moved := z
				for j := range u {
					moved += far * u[j] * x[j]
				}
				l.Slopes(slope, []float64{moved}, []float64{y})
				sum += slope[0]
			}
			l.SmoothedSlopes(slope, []float64{z}, []float64{y}, []float64{long}, must(OverBall(dim, radius)))
			if got, want := slope[0], sum/n; !(math.Abs(got-want) <= 2*5.4/2/math.Sqrt(n)) {
				t.Errorf("%s, dim %d: slope %v, mean over the ball %v", l.Name(), dim, got, want)
			}
		}
	}
}

// TestLasryLionsIsTheDoubleEnvelope tests that the smoothed slopes are the derivative of the double
// envelope computed on a grid, for upward and downward kinks.
func TestLasryLionsIsTheDoubleEnvelope(t *testing.T) {
	const lambda, step, n = .1, .002, 1501 // margins from -1.5 to 1.5
	at := func(i int) float64 { return step * float64(i-n/2) }
	for _, l := range []Kinked{Absolute(), must(Pinball(.8)), must(EpsilonInsensitive(.3)), must(CappedAbsolute(.4))} {
		value, inner, outer := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range n {
			l.Values(value[i:i+1], []float64{at(i)}, []float64{0})
		}
		// Slopes are at most 1, so minima and maxima are attained within 2 lambda.
		const near = int(2 * lambda / step)
		for i := range n {
			inner[i], outer[i] = math.Inf(1), math.Inf(-1)
			for j := max(0, i-near); j <= min(n-1, i+near); j++ {
				inner[i] = min(inner[i], value[j]+(at(i)-at(j))*(at(i)-at(j))/(4*lambda))
			}
		}
		for i := range n {
			for j := max(0, i-near); j <= min(n-1, i+near); j++ {
				outer[i] = max(outer[i], inner[j]-(at(i)-at(j))*(at(i)-at(j))/(2*lambda))
			}
		}
		s := must(LasryLions(lambda))
		if _, err := l.SmoothedConstants(s); err != nil {
			t.Fatal(err)
		}
		const wide = 10 // number of steps of divided differences
		for i := 2 * near; i < n-2*near-wide; i++ {
			slope := []float64{0}
			l.SmoothedSlopes(slope, []float64{at(i) + wide*step/2}, []float64{0}, []float64{1}, s)
			if want := (outer[i+wide] - outer[i]) / (wide * step); !(math.Abs(slope[0]-want) <= .06) {
				t.Fatalf("%s: slope %v at %v, of the double envelope %v", l.Name(), slope[0], at(i), want)
			}
		}
	}
	// The intervals into which the ramp's kinks at 1 and -1 are spread overlap for lambda above 2.
	if _, err := Ramp().SmoothedConstants(must(LasryLions(2.1))); err == nil {
		t.Error("intervals that meet are not refused")
	}
	if _, err := Ramp().SmoothedConstants(must(LasryLions(1.9))); err != nil {
		t.Error(err)
	}
}

func TestSmoothingErrors(t *testing.T) {
	for _, radius := range []float64{0, -1, math.NaN(), math.Inf(1), 1e10} {
		if _, err := OverBall(3, radius); err == nil {
			t.Errorf("radius %v is taken", radius)
		}
		if _, err := LasryLions(radius); err == nil {
			t.Errorf("radius %v is taken", radius)
		}
	}
	if _, err := OverBall(0, 1); err == nil {
		t.Error("dimension 0 is taken")
	}
}
