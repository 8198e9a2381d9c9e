package loss_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/loss"
)

func network(t testing.TB, name string) loss.Composed {
	t.Helper()
	l, err := loss.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return l.(loss.Composed)
}

// perceptron computes the outputs of a network by its definition, with package math and matrices as
// lists of rows.
func perceptron(hidden []int, outputs int, activation func(float64) float64, w []float64, x []float64) []float64 {
	matrix := func(rows int, in []float64) []float64 {
		out := make([]float64, rows)
		for k := range out {
			for i, v := range in {
				out[k] += w[k*len(in)+i] * v
			}
		}
		w = w[rows*len(in):]
		return out
	}
	for _, m := range hidden {
		u := matrix(m, x)
		x = make([]float64, m+1)
		for j, v := range u {
			x[j] = activation(v) / math.Sqrt(float64(m)+1)
		}
		x[m] = 1 / math.Sqrt(float64(m)+1)
	}
	return matrix(outputs, x)
}

// TestNetworkIsAPerceptron tests outputs against the definition and gradients against differences
// of values, at parameters similar to those in training.
func TestNetworkIsAPerceptron(t *testing.T) {
	relu := func(u float64) float64 { return max(u, 0) }
	random := rand.New(rand.NewPCG(3, 4))
	for name, c := range map[string]struct {
		hidden     []int
		outputs    int
		activation func(float64) float64
	}{
		"network(5,tanh,logistic)":           {[]int{5}, 1, math.Tanh},
		"network(4-3,tanh,softmax(3))":       {[]int{4, 3}, 3, math.Tanh},
		"network(6,relu,huber(0.2),clip=9)":  {[]int{6}, 1, relu},
		"network(3-4,relu,tanh,clip=0.0625)": {[]int{3, 4}, 1, relu},
	} {
		l := network(t, name)
		clipped := 0
		for range 200 {
			x, wide := make([]float32, 4), make([]float64, 4)
			for i := range x {
				x[i] = float32(random.NormFloat64() / 4)
				wide[i] = float64(x[i])
			}
			w := l.Start(len(x))
			for j := range w {
				w[j] += random.NormFloat64()
			}
			y := []float64{-1, 1}[random.IntN(2)]
			if l.Target() == loss.Classes {
				y = float64(random.IntN(3))
			}
			want := perceptron(c.hidden, c.outputs, c.activation, w, wide)
			for k, z := range l.MarginsAt(w, x) {
				if !(math.Abs(z-want[k]) <= 1e-12*(1+math.Abs(want[k]))) {
					t.Fatalf("%s: output %d is %v, by the definition %v", name, k, z, want[k])
				}
			}
			if differs(t, l, w, x, y) {
				clipped++
			}
		}
		if strings.Contains(name, "clip=0.0625") != (clipped > 100) {
			t.Errorf("%s: %d of 200 gradients were clipped", name, clipped)
		}
	}
}

// differs compares a gradient with central differences, and reports whether it was clipped.
func differs(t *testing.T, l loss.Composed, w []float64, x []float32, y float64) (clipped bool) {
	t.Helper()
	const h = 1e-6
	got, want := make([]float64, len(w)), make([]float64, len(w))
	l.Gradient(got, w, x, y)
	square := 0.0
	for j, at := range w {
		w[j] = at + h
		want[j] = l.Value(w, x, y)
		w[j] = at - h
		want[j] = (want[j] - l.Value(w, x, y)) / (2 * h)
		w[j] = at
		square += want[j] * want[j]
	}
	clip := l.Constants().Lipschitz
	scale := min(1, clip/math.Sqrt(square))
	for j := range w {
		if !(math.Abs(got[j]-scale*want[j]) <= 1e-6) {
			t.Fatalf("%s: gradient in coordinate %d of %d is %v, by differences %v", l.Name(), j, len(w), got[j], scale*want[j])
		}
	}
	return scale < 1
}

// TestNetworkCurvatureIsBounded tests the declared curvature against second differences along the
// worst of many directions, at starting points.
func TestNetworkCurvatureIsBounded(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for name, inside := range map[string]int{
		"network(1,tanh,logistic,clip=99)": 2, "network(6,tanh,logistic,clip=99)": 12,
		"network(3,tanh,softmax(3),clip=99)": 6, "network(4-2,tanh,welsch(0.7),clip=99)": 18,
	} {
		l := network(t, name)
		bound := l.Constants().Curvature
		highest := 0.0
		for range 3000 {
			x := []float32{0, 0}
			angle := random.Float64() * 2 * math.Pi
			x[0], x[1] = float32(.999*math.Cos(angle)), float32(.999*math.Sin(angle))
			w := l.Start(2)
			for j := range inside { // entries of all sizes
				w[j] *= 2 * random.Float64()
			}
			y := []float64{0, 1}[random.IntN(2)]
			c := rayleigh(l, w, x, y, random)
			if c > bound.Hi || c < bound.Lo {
				t.Fatalf("%s: curvature %v outside [%v, %v]", name, c, bound.Lo, bound.Hi)
			}
			highest = max(highest, c/bound.Hi)
		}
		if highest < .2 {
			t.Errorf("%s: no curvature found above %v of the bound: the search is broken", name, highest)
		}
	}
}

// rayleigh finds a direction of large curvature by a few power iterations on differences of
// gradients.
func rayleigh(l loss.Composed, w []float64, x []float32, y float64, random *rand.Rand) (c float64) {
	const h = 1e-5
	v := make([]float64, len(w))
	for j := range v {
		v[j] = random.NormFloat64()
	}
	up, low, at := make([]float64, len(w)), make([]float64, len(w)), make([]float64, len(w))
	for range 6 {
		size := 0.0
		for _, a := range v {
			size += a * a
		}
		for j := range v {
			v[j] /= math.Sqrt(size)
			at[j] = w[j] + h*v[j]
		}
		l.Gradient(up, at, x, y)
		for j := range v {
			at[j] = w[j] - h*v[j]
		}
		l.Gradient(low, at, x, y)
		c = 0
		for j := range v {
			s := (up[j] - low[j]) / (2 * h)
			c += s * v[j]
			v[j] = s
		}
	}
	return c
}

// TestNetworkStart tests that the starting point depends on the seed only, that all outputs are
// zero, that the other weights are normal with the documented deviation, and that units differ.
func TestNetworkStart(t *testing.T) {
	const features = 50
	l := network(t, "network(40-30,tanh,softmax(4))")
	w := l.Start(features)
	if len(w) != l.Parameters(features) || len(w) != 40*50+30*41+4*31 {
		t.Fatalf("%d parameters, declared %d", len(w), l.Parameters(features))
	}
	inside := w[:40*50+30*41]
	mean, square := 0.0, 0.0
	for _, v := range inside {
		mean += v / float64(len(inside))
		square += v * v / float64(len(inside))
	}
	// Standard errors of the mean and of the variance are .035 and .1.
	if !(math.Abs(mean) <= .2) || !(math.Abs(square-4) <= .6) {
		t.Errorf("mean %v and mean square %v of the hidden layers' weights: must be about 0 and 4", mean, square)
	}
	for _, z := range l.MarginsAt(w, make([]float32, features)) {
		if z != 0 {
			t.Errorf("output %v at the start", z)
		}
	}
	again, other := network(t, l.Name()).Start(features),
		network(t, "network(40-30,tanh,softmax(4),seed=2)").Start(features)
	for j := range inside {
		if w[j] != again[j] || w[j] == other[j] {
			t.Fatalf("weight %d: %v, again %v, of another seed %v", j, w[j], again[j], other[j])
		}
	}
}

func TestNetworkNames(t *testing.T) {
	for name, want := range map[string]string{
		"network(16,tanh,logistic)":                          "",
		"network(32-16,tanh,softmax(3))":                     "",
		"network(8,relu,squared(1),clip=0.5,seed=7)":         "",
		"network(16, tanh, logistic, clip=1, seed=1)":        "network(16,tanh,logistic)",
		"network(16,tanh)":                                   "network(hidden,activation,output)",
		"network(16,tanh,logistic":                           "network(hidden,activation,output)",
		"network(x,tanh,logistic)":                           `hidden = "x"`,
		"network(0,tanh,logistic)":                           "between 1 and 4096 units",
		"network(1-2-3,tanh,logistic)":                       "one or two layers",
		"network(16,cosh,logistic)":                          "must be tanh or relu",
		"network(16,tanh,nothing)":                           `"nothing"`,
		"network(16,tanh,network(2,tanh,logistic))":          "output",
		"network(16,tanh,logistic,clip=0)":                   "",
		"network(16,tanh,logistic,clip=-1)":                  "clip = -1",
		"network(16,tanh,logistic,clip=a)":                   `clip = "a"`,
		"network(16,tanh,logistic,rate=1)":                   "clip=C or seed=S",
		"network(16,tanh,logistic,seed=9999999999999999999)": "seed",
	} {
		l, err := loss.Parse(name)
		switch {
		case strings.HasPrefix(want, "network(16,tanh,l"):
			if err != nil || l.Name() != want {
				t.Errorf("%s: %v, %v: must be %s", name, l, err, want)
			}
		case want == "":
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case err == nil || !strings.Contains(err.Error(), want):
			t.Errorf("%s: error %v: must say %s", name, err, want)
		}
	}
}
