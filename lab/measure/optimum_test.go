package measure_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/internal/testloss"
	"github.com/stillpoint-dp/stillpoint/lab/measure"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// parse returns a loss and a regularizer by their names, and nil for no regularizer.
func parse(t *testing.T, l, r string) (loss.Loss, loss.Regularizer) {
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

// TestMinimise compares the minimum with the result of a million short steps of gradient descent, if these
// reach the minimum, for well- and ill-conditioned objectives. A search that only compares values cannot
// reach the required gradient norm, 1e-10 times the norm at w = 0.
func TestMinimise(t *testing.T) {
	for _, names := range [][2]string{{"logistic", "l2(0.01)"}, {"huber(0.3)", "l2(0.1)"}, {"logistic", "l2(1e-05)"},
		{"squared(1)", ""}, {"huber-mean", ""}} {
		l, reg := parse(t, names[0], names[1])
		s := sample(rand.New(rand.NewPCG(4, 4)), 60, 6)
		o, err := measure.Minimise(l, reg, s)
		if err != nil {
			t.Errorf("%v: %v", names, err)
			continue
		}
		start, err := stationarity.Gradient(l, reg, s, make([]float64, 6))
		if err != nil {
			t.Fatal(err)
		}
		g, err := stationarity.Gradient(l, reg, s, o.W)
		if err != nil || stationarity.Norm(g) > 1e-10*stationarity.Norm(start) || o.GradientNorm != stationarity.Norm(g) {
			t.Errorf("%v: gradient norm %v, said to be %v, %v", names, stationarity.Norm(g), o.GradientNorm, err)
		}
		w := make([]float64, 6)
		for range 5000 {
			g, _ := stationarity.Gradient(l, reg, s, w)
			for j := range w {
				w[j] -= g[j]
			}
		}
		risk, err := measure.ExcessRisk(l, reg, s, w, o)
		if err != nil || risk < -1e-15 || risk > 1e-3 {
			t.Errorf("%v: descent ends %v above the minimum, %v", names, risk, err)
		}
		zero, err := measure.ExcessRisk(l, reg, s, make([]float64, 6), o)
		at, _ := stationarity.Objective(l, reg, s, make([]float64, 6))
		if err != nil || zero != at-o.Value || !(zero > 1e-4) {
			t.Errorf("%v: zero is %v above the minimum, %v", names, zero, err)
		}
	}
}

// TestMinimiseLeastSquares compares the minimiser with the solution of the normal equations.
func TestMinimiseLeastSquares(t *testing.T) {
	l, _ := parse(t, "squared(4)", "") // no gradient is clipped
	const n, d = 40, 5
	s := sample(rand.New(rand.NewPCG(5, 5)), n, d)
	a, b := mat.NewDense(n, d, nil), mat.NewVecDense(n, nil)
	for i, x := range s.Rows {
		for j, v := range x {
			a.Set(i, j, float64(v))
		}
		b.SetVec(i, s.Targets[i])
	}
	var want mat.VecDense
	if err := want.SolveVec(a, b); err != nil {
		t.Fatal(err)
	}
	o, err := measure.Minimise(l, nil, s)
	if err != nil {
		t.Fatal(err)
	}
	for j, v := range o.W {
		if math.Abs(v-want.AtVec(j)) > 1e-8 {
			t.Errorf("coordinate %d: %v: want %v", j, v, want.AtVec(j))
		}
	}
}

func TestMinimiseRefuses(t *testing.T) {
	tanh, _ := parse(t, "tanh", "")
	_, nonconvex := parse(t, "logistic", "nonconvex(0.1)")
	separable := stationarity.Sample{Rows: [][]float32{{1}, {.5}}, Targets: []float64{1, 1}}
	for name, c := range map[string]struct {
		l    loss.Loss
		r    loss.Regularizer
		s    stationarity.Sample
		want string
	}{
		"loss":        {tanh, nil, separable, "objective must be convex"},
		"regularizer": {loss.Logistic(), nonconvex, separable, "objective must be convex"},
		"no rows":     {loss.Logistic(), nil, stationarity.Sample{}, "must have rows"},
	} {
		if o, err := measure.Minimise(c.l, c.r, c.s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v", name, o, err)
		}
	}
}
