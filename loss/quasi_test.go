package loss_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/loss"
)

// TestLogLinksAgreeWithStatsmodels fits the losses with a logarithmic link to twelve records, by Newton's method and
// with a cap that is too large to matter. Coefficients and deviance must be those of statsmodels 0.15.0 (GLM with
// NegativeBinomial(alpha=1/1.5), Tweedie(var_power=1.6) and Gamma, logarithmic links, exposures where the loss has some, tol=1e-14). It fails for a
// halved slope in the weight of the mean, and for numbers in another unit than that of the bounds.
func TestLogLinksAgreeWithStatsmodels(t *testing.T) {
	x := []float64{-1, -.8, -.6, -.4, -.2, 0, .2, .4, .6, .8, 1, .1}
	counts := []float64{0, 1, 0, 2, 1, 3, 0, 9, 4, 6, 14, 2}
	costs := []float64{0, 12.5, 0, 0, 80, 33, 0, 210.5, 95, 0, 400, 61}
	exposures := []float64{1, .5, .25, 1, .75, .5, 1, .25, .5, 1, .75, 1}
	above := make([]float64, len(costs))
	for i, c := range costs {
		above[i] = c + 1
	}
	for _, c := range []struct {
		loss              string
		numbers           []float64
		least, most       float64
		intercept, slope  float64
		deviance, typical float64
	}{
		{"negbinomial(1.5,1e6,200)", counts, 0, 200, 0.7078994700082482, 1.7949667491686858, 7.2098707248622205, 1},
		{"tweedie(1.6,1e6,50,5000)", costs, 0, 5000, 3.624629599537504, 2.067373443421004, 123.21757300993504, 50},
		{"negbinomial-rate(1.5,1e6,200,0.1)", counts, 0, 200, 1.2839132957894792, 1.8663512733414103, 12.885233763405402, 1},
		{"tweedie-rate(1.6,1e6,50,5000,0.2)", costs, 0, 5000, 4.200689642086916, 2.053630325756342, 160.47160751621723, 50},
		{"gamma(1e6,0.0002)", above, 1, 5000, 3.6503280967356053, 2.171279852990282, 0, 50},
	} {
		parsed, err := loss.Parse(c.loss)
		if err != nil {
			t.Fatal(err)
		}
		l := parsed.(loss.RankOne)
		y, z := make([]float64, len(x)), make([]float64, len(x))
		for i, v := range c.numbers {
			if y[i] = 2*(v-c.least)/(c.most-c.least) - 1; loss.LeastExposure(l) > 0 {
				y[i] = loss.Carry(loss.Real, y[i], exposures[i])
			}
		}
		slopes, bends := make([]float64, len(x)), make([]float64, len(x))
		a, b := math.Log(c.typical), 0.
		for range 60 {
			for i := range z {
				z[i] = a + b*x[i] - math.Log(c.most)
			}
			l.Slopes(slopes, z, y)
			l.Curvatures(bends, z, y)
			var g, gx, h, hx, hxx float64
			for i := range z {
				g, gx = g+slopes[i], gx+slopes[i]*x[i]
				h, hx, hxx = h+bends[i], hx+bends[i]*x[i], hxx+bends[i]*x[i]*x[i]
			}
			det := h*hxx - hx*hx
			a, b = a-(hxx*g-hx*gx)/det, b-(h*gx-hx*g)/det
		}
		near := 1e-8
		if loss.LeastExposure(l) > 0 {
			near = 1e-4 // an exposure is rounded to 16 bits
		}
		if !(math.Abs(a-c.intercept) <= near) || !(math.Abs(b-c.slope) <= near) {
			t.Errorf("%s: %.10f and %.10f: want %v and %v", c.loss, a, b, c.intercept, c.slope)
		}
		of, ok := parsed.(interface{ Deviance(v, mean float64) float64 })
		if !ok {
			continue
		}
		sum := 0.
		for i, v := range c.numbers {
			mean := math.Exp(a + b*x[i])
			if loss.LeastExposure(l) > 0 {
				mean *= exposures[i]
			}
			sum += of.Deviance(v, mean)
		}
		if !(math.Abs(sum-c.deviance) <= near*c.deviance) {
			t.Errorf("%s: deviance %v: want %v", c.loss, sum, c.deviance)
		}
	}
}

// TestExposuresOfQuasi: a loss with exposures must be that of its name, whether it was made from one without or with
// other exposures.
func TestExposuresOfQuasi(t *testing.T) {
	for _, text := range []string{"negbinomial(2,5,40)", "negbinomial-rate(2,5,40,0.5)"} {
		l, err := loss.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		exposed, err := loss.WithExposure(l, .25)
		if err != nil || exposed.Name() != "negbinomial-rate(2,5,40,0.25)" || loss.LeastExposure(exposed) != .25 {
			t.Fatalf("%s: %v, %v", text, exposed, err)
		}
		if again, err := loss.Parse(exposed.Name()); err != nil || again != exposed {
			t.Errorf("%s: %+v is read back as %+v: %v", text, exposed, again, err)
		}
	}
}

// TestQuasiDoesNotFeelTheBounds: bounds a thousand times as wide must leave the slopes and values of the same number at
// the same mean as they are, capped or not.
func TestQuasiDoesNotFeelTheBounds(t *testing.T) {
	for _, text := range []string{"negbinomial(2,5,%v)", "tweedie(1.5,5,20,%v)"} {
		var slopes, values [2][]float64
		for k, most := range []float64{1000, 1e6} {
			l, err := loss.Parse(fmt.Sprintf(text, most))
			if err != nil {
				t.Fatal(err)
			}
			var z, y []float64
			for _, number := range []float64{0, 3, 50, 900} {
				for _, mean := range []float64{.01, 1, 30, 700} {
					z, y = append(z, math.Log(mean/most)), append(y, 2*number/most-1)
				}
			}
			slopes[k], values[k] = make([]float64, len(z)), make([]float64, len(z))
			l.(loss.RankOne).Slopes(slopes[k], z, y)
			l.(loss.RankOne).Values(values[k], z, y)
		}
		for i := range slopes[0] {
			if !(math.Abs(slopes[0][i]-slopes[1][i]) <= 1e-9) || !(math.Abs(values[0][i]-values[1][i]) <= 1e-8*(1+values[0][i])) {
				t.Errorf("%s, point %d: slope %v and %v, value %v and %v", text, i, slopes[0][i], slopes[1][i], values[0][i],
					values[1][i])
			}
		}
	}
}

// TestQuasiAtZero: the loss of the number 0 must be the integral of its capped slope, and no record's change may exceed
// the range of changes, for a cap far below the slope of 0 (which fails if a logarithm of 0 counts as a small number's).
func TestQuasiAtZero(t *testing.T) {
	for _, text := range []string{"negbinomial(0.001,0.5,1000)", "negbinomial(2,0.5,1000)", "tweedie(1.5,0.5,20,1000)"} {
		parsed, err := loss.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		l := parsed.(loss.RankOne)
		y, sum := []float64{-1}, 0.
		const step = 1. / 64
		for z := -60.; z < 4; z += step {
			var slope, value [1]float64
			l.Slopes(slope[:], []float64{z + step/2}, y)
			sum += step * slope[0]
			if l.Values(value[:], []float64{z + step}, y); !(math.Abs(value[0]-sum) <= .01) {
				t.Errorf("%s: the loss of 0 at %v is %v: want %v", text, z+step, value[0], sum)
				break
			}
		}
		reach := func(v []float64) (low, high float64) { return -30, 10 }
		for _, at := range []float64{-20, -13.8, -6, -1} {
			least, most, ok := loss.ChangeRange(l, []float64{1}, []float64{at}, reach)
			var before, after [1]float64
			l.Values(before[:], []float64{at}, y)
			l.Values(after[:], []float64{0}, y)
			if !ok || after[0]-before[0] > most+1e-9 {
				t.Errorf("%s: from %v the number 0 changes by %v: above %v", text, at, after[0]-before[0], most)
			}
			if l.Values(after[:], []float64{-30}, y); after[0]-before[0] < least-1e-9 {
				t.Errorf("%s: from %v the number 0 changes by %v: below %v", text, at, after[0]-before[0], least)
			}
		}
	}
}

// TestLeastExposureIsRead: an exposure below the rounding of a stored share counts as the least one, not as more.
func TestLeastExposureIsRead(t *testing.T) {
	const least = 1e-6
	for _, text := range []string{"negbinomial%s(2,5,1000%s)", "tweedie%s(1.5,5,20,1000%s)"} {
		alike, err := loss.Parse(fmt.Sprintf(text, "", ""))
		if err != nil {
			t.Fatal(err)
		}
		exposed, err := loss.Parse(fmt.Sprintf(text, "-rate", ",1e-06"))
		if err != nil {
			t.Fatal(err)
		}
		for _, z := range []float64{3, 8, 12} {
			var got, want [1]float64
			exposed.(loss.RankOne).Values(got[:], []float64{z}, []float64{loss.Carry(loss.Real, -.99, least)})
			alike.(loss.RankOne).Values(want[:], []float64{z + math.Log(least)}, []float64{-.99})
			if !(math.Abs(got[0]-want[0]) <= 1e-6*(1+want[0])) {
				t.Errorf("%s at %v: %v: want %v", exposed.Name(), z, got[0], want[0])
			}
		}
	}
}

// TestRangeOfExposuresFarOut: the slope of a large power rises over hundreds of units, and no change of a record may
// exceed the range on the way.
func TestRangeOfExposuresFarOut(t *testing.T) {
	parsed, err := loss.Parse("tweedie-rate(1.99,5,1,1000,0.001)")
	if err != nil {
		t.Fatal(err)
	}
	least, most, ok := loss.ChangeRange(parsed, []float64{1}, []float64{0},
		func([]float64) (low, high float64) { return -10, 300 })
	var before, after [1]float64
	for _, z := range []float64{-10, 100, 300} {
		y := []float64{loss.Carry(loss.Real, -1, 1)}
		parsed.(loss.RankOne).Values(before[:], []float64{0}, y)
		parsed.(loss.RankOne).Values(after[:], []float64{z}, y)
		if change := after[0] - before[0]; !ok || change < least || change > most {
			t.Errorf("a change by %v at %v: outside of %v to %v", change, z, least, most)
		}
	}
}

// TestSmallCapsHaveValues: a cap so small that the weight is constant from a tiny mean on must leave the gap finite, and
// the values those of the integral of the slope.
func TestSmallCapsHaveValues(t *testing.T) {
	for _, p := range []float64{1.01, 1.3, 1.5, 1.9, 1.99} {
		for _, clip := range []float64{1e-6, 1e-3, .1, 1, 100, 1e6} {
			for _, most := range []float64{1, 1e4, 1e12} {
				l, err := loss.Parse(fmt.Sprintf("tweedie(%v,%v,1,%v)", p, clip, most))
				if err != nil {
					t.Fatal(err)
				}
				if gap := l.Constants().InitialGap; !(gap > 0 && gap <= clip*60+60*60) {
					t.Errorf("%s: the initial gap is %v", l.Name(), gap)
				}
			}
		}
		parsed, err := loss.Parse(fmt.Sprintf("tweedie(%v,1e-06,1,1)", p))
		if err != nil {
			t.Fatal(err)
		}
		l, y, sum := parsed.(loss.RankOne), []float64{0}, 0.
		const step = 1. / 256
		for z := -math.Ln2; z < 4; z += step { // from the number's own margin on
			var slope, value [1]float64
			l.Slopes(slope[:], []float64{z + step/2}, y)
			sum += step * slope[0]
			if l.Values(value[:], []float64{z + step}, y); !(math.Abs(value[0]-sum) < 1e-10) {
				t.Errorf("%s: the loss at %v is %v: want %v", l.Name(), z+step, value[0], sum)
				break
			}
		}
	}
}
