package stationarity_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/testloss"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

func parse(t testing.TB, l, r string) (loss.Loss, loss.Regularizer) {
	t.Helper()
	a, err := testloss.Parse(l)
	if err != nil {
		t.Fatal(err)
	}
	if r == "" {
		return a, nil
	}
	b, err := loss.ParseRegularizer(r)
	if err != nil {
		t.Fatal(err)
	}
	return a, b
}

// sample returns n random rows of d features. The rows are so short that no loss clips its gradients.
func sample(r *rand.Rand, n, d int) stationarity.Sample {
	var s stationarity.Sample
	for range n {
		x := make([]float32, d)
		for j := range x {
			x[j] = float32(r.Float64() - .5)
		}
		s.Rows, s.Targets = append(s.Rows, x), append(s.Targets, float64(2*r.IntN(2)-1))
	}
	return s
}

// TestGradientIsTheObjectives compares Gradient with central differences of the objective. The error of a
// central difference with step h is h^2/6 times a third derivative (below 10 here) plus 1e-16/h for
// rounding. At h = 1e-5 it is about 1e-9, and the tolerance is 1e-7. The test fails if a row, a target or
// the regularizer is left out, or if the sum is not divided by n.
func TestGradientIsTheObjectives(t *testing.T) {
	const h = 1e-5
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range [][2]string{
		{"logistic", ""}, {"logistic", "nonconvex(0.3)"}, {"tanh", "l2(0.1)"}, {"sigmoid", ""}, {"welsch(0.5)", "l2(1)"},
		{"slow-tail", ""}, {"slow-tail", "l2(0.5)"},
	} {
		l, reg := parse(t, c[0], c[1])
		s := sample(r, 17, 5)
		w := make([]float64, 5)
		for j := range w {
			w[j] = .3 * r.NormFloat64()
		}
		g, err := stationarity.Gradient(l, reg, s, w)
		if err != nil {
			t.Fatal(err)
		}
		at := func(j int, step float64) float64 {
			v := append([]float64(nil), w...)
			v[j] += step
			f, err := stationarity.Objective(l, reg, s, v)
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		for j := range w {
			if want := (at(j, h) - at(j, -h)) / (2 * h); !(math.Abs(g[j]-want) <= 1e-7) {
				t.Errorf("%v: coordinate %d: %v: want %v", c, j, g[j], want)
			}
		}
	}
}

// nameless is a loss that is neither rank-one nor general.
type nameless struct{ loss.Loss }

func (nameless) Name() string { return "nameless" }

func TestNeitherKind(t *testing.T) {
	s := stationarity.Sample{Rows: [][]float32{{1}}, Targets: []float64{1}}
	_, g := stationarity.Gradient(nameless{}, nil, s, []float64{0})
	_, f := stationarity.Objective(nameless{}, nil, s, []float64{0})
	for _, err := range []error{g, f} {
		if err == nil || !strings.Contains(err.Error(), "loss = nameless: must be a rank-one or a general loss") {
			t.Errorf("error %v", err)
		}
	}
}

func TestNorm(t *testing.T) {
	for _, c := range []struct {
		v    []float64
		want float64
	}{
		{nil, 0}, {[]float64{-3, 4}, 5}, {[]float64{3e200, 4e200}, 5e200}, {[]float64{3e-200, 4e-200}, 5e-200},
	} {
		if got := stationarity.Norm(c.v); !(math.Abs(got-c.want) <= 1e-15*c.want) {
			t.Errorf("%v: %v: want %v", c.v, got, c.want)
		}
	}
}

func ExampleGradient() {
	s := stationarity.Sample{Rows: [][]float32{{1, 0}, {0, .5}}, Targets: []float64{1, -1}}
	g, err := stationarity.Gradient(loss.Logistic(), nil, s, []float64{0, 0})
	fmt.Println(g, err)
	// Output:
	// [-0.25 0.125] <nil>
}
