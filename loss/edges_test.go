package loss_test

import (
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// onesided is a loss with bounds of its curvature on one side of 0.
type onesided struct {
	loss.RankOne
	curvature loss.CurvatureInterval
}

func (l onesided) Constants() loss.Constants {
	c := l.RankOne.Constants()
	c.Curvature = l.curvature
	return c
}

// TestBoundsOfSummedRows: a unit of one row of several has a part of the curvature of a row, so that the bound that is nearer to 0
// is that part, and is said to be. Units of a mean, and of one row, have the bounds of a row. A unit has 1024 rows at most.
func TestBoundsOfSummedRows(t *testing.T) {
	for own, want := range map[loss.CurvatureInterval]loss.CurvatureInterval{{Lo: .5, Hi: 2}: {Lo: .125, Hi: 2}, {Lo: -2, Hi: -.5}: {Lo: -2, Hi: -.125},
		{Lo: -1, Hi: 2}: {Lo: -1, Hi: 2}} {
		for rows, summed := range map[int]bool{4: true, 3: false, 1: true} {
			u, err := loss.NewUnits(onesided{loss.Logistic(), own}, rows, summed)
			if err != nil {
				t.Fatal(err)
			}
			bounds, loose := own, ""
			if rows == 4 {
				if bounds = want; own.Lo > 0 || own.Hi < 0 {
					loose = "a bound of the curvature is that of a unit with one row"
				}
			}
			if c := u.Constants(); c.Curvature != bounds || c.Loose != loose {
				t.Errorf("%d rows, summed %v, of %v: %v, %q: must be %v, %q", rows, summed, own, c.Curvature, c.Loose, bounds, loose)
			}
		}
	}
	u, err := loss.NewUnits(onesided{loss.Logistic(), loss.CurvatureInterval{Lo: .5, Hi: 2}}, 2, true)
	if err != nil || u.Constants().Curvature.Lo != .25 {
		t.Errorf("%v, %v", u.Constants(), err)
	}
	for rows, want := range map[int]bool{0: false, 1: true, targetpair.MostRows: true, targetpair.MostRows + 1: false} {
		if _, err := loss.NewUnits(loss.Logistic(), rows, false); (err == nil) != want {
			t.Errorf("%d rows: %v", rows, err)
		}
	}
}

// TestFactsOfQuasiLikelihoods works out the least mean, the grain and the deviance of losses of relative residuals, also far beyond
// the cap. Exposures have a least share below 1, and the rounding of a stored share changes no record.
func TestFactsOfQuasiLikelihoods(t *testing.T) {
	of := func(name string) loss.Loss {
		l, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	for _, c := range []struct {
		name         string
		least, grain float64
		text         string
	}{
		{"negbinomial(2,0.4,10)", 1e-7, .3, "theta + 1"}, {"negbinomial(2,0.4,0.5)", 1e-6, 6, "theta + 1"},
		{"tweedie(1.5,0.5,3,30)", 1e-7, .1, "the typical mean of the loss"}, {"tweedie(1.5,0.5,30,30)", 1e-6, 1, "the typical mean of the loss"},
	} {
		l := of(c.name)
		if got := l.(interface{ LeastMean() float64 }).LeastMean(); !(math.Abs(got/c.least-1) <= 1e-12) {
			t.Errorf("%s: least mean %v: must be %v", c.name, got, c.least)
		}
		if share, text := l.(interface{ Grain() (float64, string) }).Grain(); !(math.Abs(share/c.grain-1) <= 1e-12) || text != c.text {
			t.Errorf("%s: grain %v, %q: must be %v, %q", c.name, share, text, c.grain, c.text)
		}
	}
	const p = 1.5
	tweedie := of("tweedie(1.5,0.5,3,30)").(interface{ Deviance(v, mean float64) float64 })
	for _, v := range []float64{0, .2, 3, 28} {
		for _, mean := range []float64{.1, 2, 9, 29} {
			want := 2 * (math.Pow(v, 2-p)/((1-p)*(2-p)) - v*math.Pow(mean, 1-p)/(1-p) + math.Pow(mean, 2-p)/(2-p))
			if got := tweedie.Deviance(v, mean); !(math.Abs(got-want) <= 1e-9) {
				t.Errorf("deviance of %v at the mean %v: %v: must be %v", v, mean, got, want)
			}
		}
	}
	for name, valid := range map[string]bool{"negbinomial-rate(2,0.4,10,0.999)": true, "negbinomial-rate(2,0.4,10,1)": false, "tweedie-rate(1.5,0.5,3,30,1)": false} {
		if _, err := loss.Parse(name); (err == nil) != valid {
			t.Errorf("%s: %v", name, err)
		}
	}
	for least, at := range map[string]float64{"0.1": .1, "0.3": .3, "0.7": .7} {
		l := of("tweedie-rate(1.5,0.5,3,30," + least + ")").(loss.RankOne)
		values := make([]float64, 2)
		l.Values(values, []float64{0, 0}, []float64{loss.Carry(loss.Real, -.5, at), loss.Carry(loss.Real, -.5, .98*at)})
		if math.IsNaN(values[0]) || !math.IsNaN(values[1]) {
			t.Errorf("least exposure %s: the losses at it and below it are %v", least, values)
		}
	}
}

// TestWhoTellsProducts: every loss with margins tells products of its Hessian and a vector, as do those that write them. A constant
// has as many margins as the loss.
func TestWhoTellsProducts(t *testing.T) {
	for name, want := range map[string]bool{"logistic": true, "softmax(3)": true, "poisson(1)": true, "weighted(logistic,1,2)": true, "units(logistic,3)": true,
		"network(2,tanh,logistic)": true, "network(2,relu,logistic)": false, "units(network(2,tanh,logistic),3)": true, "units(network(2,relu,logistic),3)": false} {
		l, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := loss.Products(l); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	for name, z := range map[string][]float64{"logistic": {1}, "softmax(3)": {1, 2, 3}, "ordered(3)": {.5, -.5, 0}, "network(2,tanh,logistic)": {1}} {
		l, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := loss.ConstantWeights(l, 2, .5, z); !ok {
			t.Errorf("%s: no constant of %d margins", name, len(z))
		}
		if _, ok := loss.ConstantWeights(l, 2, .5, append(z, 1, 1)); ok && name != "network(2,tanh,logistic)" {
			t.Errorf("%s: a constant of %d margins", name, len(z)+2)
		}
	}
}
