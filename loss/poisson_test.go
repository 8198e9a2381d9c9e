package loss_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
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
	if s := at(l.Slopes, math.Log(mean/most)); !(math.Abs(s) <= 1e-14) {
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
			likelihood(z)-likelihood(0); !(math.Abs(got-want) <= 1e-12*math.Abs(want)) {
			t.Errorf("z = %v: %v: want %v", z, got, want)
		}
		if got, want := l.(interface{ Rate(z float64) float64 }).Rate(z), math.Exp(z); !(math.Abs(got-want) <= 1e-14*want) {
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
					if !(math.Abs(got[k]-w) <= 1e-5*(1+math.Abs(w))+math.Exp(z)*0x1p-17) {
						t.Errorf("hazard %v before and %v in the interval at %v: derivative %d is %v: want %v", before, own, z, k, got[k], w)
					}
				}
			}
		}
	}
}

// TestLogitHazardIsLogisticByRows compares the loss of logit hazards with the sum of logistic losses over a row for each
// interval at risk, for records of random entries, times and events and for random odds of intervals, some of which are
// 0. Slopes and curvatures are sums of those of the rows. Values are apart by the logarithm of the odds of the interval of
// the event.
func TestLogitHazardIsLogisticByRows(t *testing.T) {
	l, err := loss.Parse("logit-hazard(1e+06,1.52587890625e-05)")
	if err != nil {
		t.Fatal(err)
	}
	coin := rand.New(rand.NewPCG(6, 21))
	events := 0
	for range 2000 {
		k := 1 + coin.IntN(12)
		times, odds, sum := targetpair.Times{Grouped: targetpair.Logit}, make([]float64, k), 0.
		for j := range k {
			times.Cuts = append(times.Cuts, float64(j+1))
			if odds[j] = .01 + coin.Float64(); coin.IntN(5) == 0 && j > 0 {
				odds[j] = 0
			}
			sum += odds[j]
		}
		times.Increments = odds
		bound := l.(interface {
			Timed(targetpair.Times) loss.Loss
		}).Timed(times).(loss.RankOne)
		entry := coin.IntN(k)
		exit, event := entry+1+coin.IntN(k-entry), coin.IntN(2) == 0
		at := float64(exit)
		if event {
			at -= .9 * coin.Float64() // any time within the interval
		}
		y := []float64{times.Carried(targetpair.JoinTimes(float64(entry)/float64(k), at/float64(k), event))}
		z := []float64{4 * coin.NormFloat64()}
		var got, want [3]float64
		bound.Values(got[:1], z, y)
		bound.Slopes(got[1:2], z, y)
		bound.Curvatures(got[2:], z, y)
		for j := entry; j < exit; j++ {
			if odds[j] == 0 {
				continue // an event there does not count
			}
			score, is := z[0]+math.Log(odds[j]/sum), 0.
			p := 1 / (1 + math.Exp(-score))
			if event && j == exit-1 {
				is = 1
				want[0] += math.Log(odds[j] / sum)
				events++
			}
			want[0] -= is*math.Log(p) + (1-is)*math.Log(1-p)
			want[1] += p - is
			want[2] += p * (1 - p)
		}
		for k, w := range want {
			if !(math.Abs(got[k]-w) <= 1e-9*(1+math.Abs(w))) {
				t.Fatalf("from %d to %d, event %v, odds %v at %v: derivative %d is %v: want %v", entry, exit, event, odds, z, k, got[k], w)
			}
		}
	}
	if events < 500 {
		t.Errorf("%d events", events)
	}
}

// TestLogitHazardIsClipped: the slope of a record of many intervals stays within the clip, and the curvature is that of
// the clipped slope, for every target, also one that no record has.
func TestLogitHazardIsClipped(t *testing.T) {
	l, _ := loss.Parse("logit-hazard(3,0.01)")
	cuts := make([]float64, 64)
	for j := range cuts {
		cuts[j] = float64(j + 1)
	}
	at := func(l loss.Loss) loss.RankOne {
		return l.(interface {
			Timed(targetpair.Times) loss.Loss
		}).Timed(targetpair.Times{Cuts: cuts, Grouped: targetpair.Logit}).(loss.RankOne)
	}
	free, _ := loss.Parse("logit-hazard(1e+06,0.01)")
	bound, whole := at(l), at(free)
	most := bound.Constants().Curvature.Hi
	steepest := 0.
	for y := -1.; y <= 1; y += 1. / 999 {
		for _, z := range []float64{-750, -3, 0, 2, 4.2, 6, 750} {
			var s, c, v, u [1]float64
			whole.Slopes(u[:], []float64{z}, []float64{y})
			bound.Slopes(s[:], []float64{z}, []float64{y})
			bound.Curvatures(c[:], []float64{z}, []float64{y})
			bound.Values(v[:], []float64{z}, []float64{y})
			if !(s[0] >= -1 && s[0] <= 3) || !(c[0] >= 0 && c[0] <= most) || s[0] != min(u[0], 3) || u[0] > 3 && c[0] != 0 || math.IsNaN(v[0]) || math.IsInf(v[0], 0) {
				t.Fatalf("%v at %v: value %v, slope %v, curvature %v", y, z, v, s, c)
			}
			steepest = max(steepest, s[0])
		}
	}
	if steepest != 3 {
		t.Errorf("no slope is clipped: %v", steepest)
	}
}

// TestLeastOdds: an interval with odds above 0 has at least the least odds, by which the gap at the start is bounded, and
// one without has none.
func TestLeastOdds(t *testing.T) {
	l, _ := loss.Parse("logit-hazard(3,0.01)")
	timed := l.(interface {
		Timed(targetpair.Times) loss.Loss
	}).Timed(targetpair.Times{Cuts: []float64{1, 2, 3}, Increments: []float64{1e-9, 0, 1}, Grouped: targetpair.Logit})
	if odds := timed.(interface{ Odds() []float64 }).Odds(); odds[0] != .01 || odds[1] != 0 || !(odds[2] > .99) {
		t.Errorf("odds %v", odds)
	}
	var value, least [1]float64
	y := []float64{targetpair.JoinRisk(0, 1, true)}
	timed.(loss.RankOne).Values(value[:], []float64{0}, y)
	timed.(loss.RankOne).Values(least[:], []float64{40}, y)
	if gap := value[0] - least[0]; !(gap <= l.Constants().InitialGap+1e-12) {
		t.Errorf("the value falls by %v: bound %v", gap, l.Constants().InitialGap)
	}
}
