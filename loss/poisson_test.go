package loss_test

import (
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/loss"
)

// TestPoissonIsTheLikelihood uses a clip that is too large to matter. It tests that the mean loss
// over counts is smallest where e^z is the mean count. Differences of values must be differences of
// the counts' negative log-likelihood, -log(rate^k e^(-rate)/k!), divided by the largest count.
// Rate must be the expected count. The test fails if counts are multiplied by 1/2, or if the rate is another
// function of the margin than e^z.
func TestPoissonIsTheLikelihood(t *testing.T) {
	const most = 8
	counts := []float64{0, 1, 1, 3, 8, 0, 2}
	l, err := loss.Poisson(1e6)
	if err != nil {
		t.Fatal(err)
	}
	var y []float64
	var mean float64
	for _, k := range counts {
		y, mean = append(y, 2*k/most-1), mean+k/float64(len(counts))
	}
	at := func(f func(dst, z, y []float64), z float64) (sum float64) {
		dst, margins := make([]float64, len(y)), make([]float64, len(y))
		for i := range margins {
			margins[i] = z
		}
		f(dst, margins, y)
		for _, v := range dst {
			sum += v
		}
		return sum
	}
	if s := at(l.Slopes, math.Log(mean/most)); math.Abs(s) > 1e-14 {
		t.Errorf("slope %v at the counts' mean", s)
	}
	likelihood := func(z float64) (sum float64) {
		rate := most * math.Exp(z)
		for _, k := range counts {
			sum += rate - k*math.Log(rate)
		}
		return sum / most
	}
	for _, z := range []float64{-3, -1, .5, 2} {
		if got, want := at(l.Values, z)-at(l.Values, 0),
			likelihood(z)-likelihood(0); math.Abs(got-want) > 1e-12*math.Abs(want) {
			t.Errorf("z = %v: %v: want %v", z, got, want)
		}
		if got, want := l.(interface{ Rate(z float64) float64 }).Rate(z), math.Exp(z); math.Abs(got-want) > 1e-14*want {
			t.Errorf("prediction %v at %v: want %v", got, z, want)
		}
	}
}

// TestCloglogIsTheLikelihood compares the loss of grouped times with the likelihood of the events of intervals: the
// probability of none in those before the event, and of one in its own. Slopes and curvatures must be those of
// differences. Values are apart by the logarithm of the hazard of the interval, which depends on no margin.
func TestCloglogIsTheLikelihood(t *testing.T) {
	l, err := loss.Parse("cloglog(1e+06,0.0001)")
	if err != nil {
		t.Fatal(err)
	}
	for _, before := range []float64{.0002, .25, .75} {
		for _, own := range []float64{0, .00003, .0625, .25} {
			for _, z := range []float64{-9, -2, 0, 1.5, 4, 6.5} {
				of := func(z float64) float64 { // minus the logarithm of the likelihood
					if own == 0 {
						return before * math.Exp(z)
					}
					return before*math.Exp(z) - math.Log(-math.Expm1(-own*math.Exp(z))) + math.Log(own)
				}
				const h = 1e-4
				var got [3]float64
				y := []float64{loss.Carry(loss.Real, 2*own-1, before)}
				l.(loss.RankOne).Values(got[:1], []float64{z}, y)
				l.(loss.RankOne).Slopes(got[1:2], []float64{z}, y)
				l.(loss.RankOne).Curvatures(got[2:], []float64{z}, y)
				want := [3]float64{of(z), (of(z+h) - of(z-h)) / (2 * h), (of(z+h) - 2*of(z) + of(z-h)) / (h * h)}
				for k, w := range want {
					// The exposure is stored in steps of 2^-16.
					if math.Abs(got[k]-w) > 1e-5*(1+math.Abs(w))+math.Exp(z)*0x1p-17 {
						t.Errorf("hazard %v before and %v in the interval at %v: derivative %d is %v: want %v", before, own, z, k, got[k], w)
					}
				}
			}
		}
	}
}
