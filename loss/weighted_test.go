package loss_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/loss"
)

// weightedCases list a loss, its weights by class number (or none), and whether targets carry a
// weight.
var weightedCases = []struct {
	name, of string
	classes  []float64
	row      bool
}{
	{"weighted(logistic,1,5)", "logistic", []float64{1, 5}, false},
	{"weighted(huber(0.1),row)", "huber(0.1)", nil, true},
	{"weighted(hinge,3,0.5,row)", "hinge", []float64{3, .5}, true},
	{"weighted(softmax(3),1,2,0.25,row)", "softmax(3)", []float64{1, 2, .25}, true},
	{"weighted(pinball(0.9),row)", "pinball(0.9)", nil, true},
}

// TestWeightsMultiply tests that every result of a weighted loss is the result of the loss times the
// class weight and the row weight. Blocks are longer than the constant part, the number of records that are
// processed together. The test fails if a result is multiplied by the weight of a neighbouring record or of
// another class, or by a weight twice.
func TestWeightsMultiply(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 4))
	for _, c := range weightedCases {
		l, of := parse(t, c.name), parse(t, c.of)
		if l.Name() != c.name || loss.Unweighted(l).Name() != c.of || loss.RowWeighted(l) != c.row {
			t.Errorf("%s is named %s, of %s, weighted by row %v", c.name, l.Name(), loss.Unweighted(l).Name(),
				loss.RowWeighted(l))
		}
		const n = 700
		k := loss.Count(l)
		z, u, y, joined, weight, long := make([]float64, n*k), make([]float64, n*k), make([]float64, n), make([]float64, n),
			make([]float64, n), make([]float64, n)
		for i := range z {
			z[i], u[i] = 2*r.NormFloat64(), r.NormFloat64()
		}
		for i := range y {
			weight[i], long[i] = 1, .1+r.Float64()
			switch class := r.IntN(max(2, len(c.classes))); {
			case l.Target() == loss.Classes:
				y[i], weight[i] = float64(class), c.classes[class]
			case l.Target() == loss.Binary:
				y[i], weight[i] = float64(2*class-1), c.classes[class]
			default:
				y[i] = 2*r.Float64() - 1
			}
			if joined[i] = y[i]; c.row {
				// Shares and targets that Carry does not round.
				share := float64(r.IntN(65)) / 64
				y[i] = math.Round(y[i]*1024) / 1024
				joined[i], weight[i] = loss.Carry(l.Target(), y[i], share), weight[i]*share
			}
		}
		compare := func(what string, each int, got, want func(dst, y []float64)) {
			g, w := make([]float64, n*each), make([]float64, n*each)
			got(g, joined)
			want(w, y)
			for i := range g {
				if want := w[i] * weight[i/each]; g[i] != want {
					t.Fatalf("%s: %s: record %d of weight %v: %v: want %v", c.name, what, i/each, weight[i/each], g[i], want)
				}
			}
		}
		if m, ok := l.(loss.Margins); ok {
			plain := of.(loss.Margins)
			compare("value", 1, func(dst, y []float64) { m.Values(dst, z, y) },
				func(dst, y []float64) { plain.Values(dst, z, y) })
			compare("slope", k, func(dst, y []float64) { m.Slopes(dst, z, y) },
				func(dst, y []float64) { plain.Slopes(dst, z, y) })
			compare("curvature", k, func(dst, y []float64) { m.CurvaturesAlong(dst, z, u, y) },
				func(dst, y []float64) { plain.CurvaturesAlong(dst, z, u, y) })
			continue
		}
		m, plain := l.(loss.RankOne), of.(loss.RankOne)
		compare("value", 1, func(dst, y []float64) { m.Values(dst, z, y) },
			func(dst, y []float64) { plain.Values(dst, z, y) })
		compare("slope", 1, func(dst, y []float64) { m.Slopes(dst, z, y) },
			func(dst, y []float64) { plain.Slopes(dst, z, y) })
		compare("curvature", 1, func(dst, y []float64) { m.Curvatures(dst, z, y) },
			func(dst, y []float64) { plain.Curvatures(dst, z, y) })
		if m, ok := l.(loss.Kinked); ok {
			by, err := loss.OverBall(7, .3)
			if err != nil {
				t.Fatal(err)
			}
			compare("smoothed slope", 1, func(dst, y []float64) { m.SmoothedSlopes(dst, z, y, long, by) },
				func(dst, y []float64) { of.(loss.Kinked).SmoothedSlopes(dst, z, y, long, by) })
		}
	}
}

// TestWeightsScaleConstants tests that constants are multiplied by the largest weight, and that the
// curvature interval includes weight 0 if rows have weights.
func TestWeightsScaleConstants(t *testing.T) {
	for name, want := range map[string]loss.Constants{
		"weighted(logistic,1,5)": {Lipschitz: 5, Curvature: loss.CurvatureInterval{Lo: 0, Hi: 1.25},
			InitialGap: 5 * math.Ln2},
		"weighted(squared(2),row)": {Lipschitz: 2, Curvature: loss.CurvatureInterval{Lo: 0, Hi: 1},
			InitialGap: .5},
		"weighted(softmax(3),2,3,1)": {Lipschitz: 3 * math.Sqrt2,
			Curvature: loss.CurvatureInterval{Lo: 0, Hi: 1.5}, InitialGap: 3 * math.Log(3)},
		"poisson-rate(2,0.01)": {Lipschitz: 2, Curvature: loss.CurvatureInterval{Lo: 0, Hi: 3},
			InitialGap: .01 - 1 + math.Log(100)},
		"poisson-rate(2,0.5)": {Lipschitz: 2, Curvature: loss.CurvatureInterval{Lo: 0, Hi: 3},
			InitialGap: 1},
		"network(4,tanh,weighted(logistic,1,5),clip=2.5)": {Lipschitz: 2.5},
	} {
		got := parse(t, name).Constants()
		if !(math.Abs(got.Lipschitz-want.Lipschitz) <= 1e-14) ||
			want.InitialGap != 0 && (got.Curvature != want.Curvature || !(math.Abs(got.InitialGap-want.InitialGap) <= 1e-14)) {
			t.Errorf("%s: %+v: want %+v", name, got, want)
		}
	}
	squared := parse(t, "weighted(tanh,0.5,2)").Constants()
	if of := parse(t, "tanh").Constants(); squared.Curvature.Lo != 2*of.Curvature.Lo ||
		squared.HessianLipschitz != 2*of.HessianLipschitz {
		t.Errorf("tanh with the weights .5 and 2: %+v, without %+v", squared, of)
	}
	network, err := loss.NewWeighted(parse(t, "network(4,tanh,logistic,clip=0.5,seed=9)"),
		loss.Weights{Classes: []float64{1, 5}})
	if want := "network(4,tanh,weighted(logistic,1,5),clip=2.5,seed=9)"; err != nil || network.Name() != want {
		t.Errorf("a network with weights: %v, %v: want %s", network, err, want)
	}
	if network.Constants().Lipschitz != 2.5 || loss.Unweighted(network).Name() != "logistic" {
		t.Errorf("its gradients are clipped at %v, its outputs predict by %s", network.Constants().Lipschitz,
			loss.Unweighted(network).Name())
	}
}

// bent is a loss whose curvature is above 0 everywhere.
type bent struct{ loss.RankOne }

func (b bent) Constants() loss.Constants {
	c := b.RankOne.Constants()
	c.Curvature = loss.CurvatureInterval{Lo: .5, Hi: 1}
	return c
}

// TestWeightOfZeroIsInTheHull tests the curvature interval of a loss with curvature above 0: its
// lower end is 0 with row weights, its upper end is scaled by the largest class weight.
func TestWeightOfZeroIsInTheHull(t *testing.T) {
	for _, c := range []struct {
		weights loss.Weights
		want    loss.CurvatureInterval
	}{
		{loss.Weights{Row: true}, loss.CurvatureInterval{Lo: 0, Hi: 1}},
		{loss.Weights{Classes: []float64{4, 2}}, loss.CurvatureInterval{Lo: 1, Hi: 4}},
		{loss.Weights{Classes: []float64{4, 2}, Row: true}, loss.CurvatureInterval{Lo: 0, Hi: 4}},
	} {
		l, err := loss.NewWeighted(bent{loss.Logistic()}, c.weights)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Constants(); got.Curvature != c.want || got.Loose == "" {
			t.Errorf("%+v: curvature %v, loose %q: want %v", c.weights, got.Curvature, got.Loose, c.want)
		}
	}
}

// TestWeightRules tests the errors for invalid weights.
func TestWeightRules(t *testing.T) {
	for name, want := range map[string]string{
		"weighted(logistic)":                   "must be weighted(loss,weights)",
		"weighted(logistic,1,5":                "must be weighted(loss,weights)",
		"weighted(logistic,1)":                 "has 1 weights for two classes: must be one for each class",
		"weighted(logistic,1,2,3)":             "has 3 weights for two classes",
		"weighted(softmax(3),1,2)":             "has 2 weights for 3 classes",
		"weighted(huber(0.1),1,2)":             "has 2 weights for a number",
		"weighted(logistic,1,0)":               "weight of a class = 0: must be between",
		"weighted(logistic,1,x)":               `weight 2 = "x": must be a number, or row as the last`,
		"weighted(logistic,row,1)":             `weight 1 = "row": must be a number`,
		"weighted(slow-tail,row)":              `name = "slow-tail"`,
		"weighted(weighted(logistic,row),1,2)": "must have weights of classes or by row, once",
		"weighted(poisson-rate(1,0.5),row)":    "must have no weight by row beside it",
		"poisson-rate(1,1)":                    "least = 1: must be between 1e-06 and 1, and less than that",
		"poisson-rate(1,0)":                    "least = 0",
		"poisson-rate(0,0.5)":                  "clip = 0",
	} {
		if l, err := loss.Parse(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v: want %q", name, l, err, want)
		}
	}
	kinked := parse(t, "weighted(hinge,row)").(loss.Kinked)
	by, err := loss.LasryLions(.1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kinked.SmoothedConstants(by); err == nil {
		t.Error("the envelopes of a loss with weights have constants")
	}
}

// TestExposure tests that the loss of a count with exposure q differs from the Poisson loss at the
// margin z + ln q only by terms that do not depend on z, and that an exposure below the least gives
// NaN.
func TestExposure(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 5))
	rate, plain := parse(t, "poisson-rate(0.7,0.05)").(loss.RankOne), parse(t, "poisson(0.7)").(loss.RankOne)
	if loss.LeastExposure(rate) != .05 || loss.LeastExposure(plain) != 0 || !loss.Counts(rate) ||
		loss.LeastExposure(parse(t, "network(2,tanh,poisson-rate(1,0.5))")) != .5 {
		t.Error("it is not known which loss takes exposures")
	}
	one := func(f func(dst, z, y []float64), z, y float64) float64 {
		dst := []float64{math.NaN()}
		f(dst, []float64{z}, []float64{y})
		return dst[0]
	}
	for range 2000 {
		q := float64(1<<12+r.IntN(1<<16-1<<12+1)) / (1 << 16)
		y, z := math.Round((2*r.Float64()-1)*1024)/1024, 3*r.NormFloat64()
		joined, shifted := loss.Carry(loss.Real, y, q), z+math.Log(q)
		if got, want := one(rate.Values, z, joined),
			one(plain.Values, shifted, y)+(1+y)/2*math.Log(q); !(math.Abs(got-want) <= 1e-12*(1+math.Abs(want))) {
			t.Fatalf("value %v at z = %v, y = %v, q = %v: want %v", got, z, y, q, want)
		}
		for what, f := range map[string][2]func(dst, z,
			y []float64){"slope": {rate.Slopes, plain.Slopes}, "curvature": {rate.Curvatures, plain.Curvatures}} {
			if got, want := one(f[0], z, joined), one(f[1], shifted, y); !(math.Abs(got-want) <= 1e-12*(1+math.Abs(want))) &&
				!(math.Abs(math.Abs(one(plain.Slopes, shifted, y))-.7) <= 1e-9) {
				t.Fatalf("%s %v at z = %v, y = %v, q = %v: want %v", what, got, z, y, q, want)
			}
		}
	}
	if v := one(rate.Slopes, 0, loss.Carry(loss.Real, 0, .04)); v == v {
		t.Errorf("an exposure below the least has the slope %v", v)
	}
	if v := one(rate.Slopes, 0, loss.Carry(loss.Real, 0, .05)); v != v {
		t.Error("the least exposure is none")
	}
}

func parse(t *testing.T, name string) loss.Loss {
	t.Helper()
	l, err := loss.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
