package model

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
)

// TestEvaluateStationarity tests the least eigenvalue against a Hessian computed by hand. With
// weights (2, 0, 0, 0) the row with a = 1 is (1/2, 0, 0, 1/2) at margin 1, and the row with b = 1
// is (0, 1/2, 0, 1/2) at margin 0, where tanh has no curvature. The first row has class no, so its
// second derivative is -2 tanh(1) (1 - tanh^2(1)). The Hessian is half of it (two rows) times x x',
// whose only nonzero eigenvalue is ||x||^2 = 1/2. l2 shifts all eigenvalues. Rows that are not
// scored have no effect; weights of classes and of records do. The test fails if skipped rows are
// summed, or the regularizer or weights are left out.
func TestEvaluateStationarity(t *testing.T) {
	path := writeFile(t, "a,b,c,split,label", "1,0,0,test,no", "0,1,0,test,yes", "1,0,0,test,maybe", "1,0,0,train,no",
		"1,0")
	bend := -2 * math.Tanh(1) * (1 - math.Tanh(1)*math.Tanh(1)) / 2 / 2
	for regularizer, more := range map[string]float64{"none": 0, "l2(0.25)": .25} {
		m := makeModel(t, classes, "tanh", regularizer, 2, 0, 0, 0)
		got, err := m.EvaluateStationarity(t.Context(), path, "split=test")
		if err != nil {
			t.Fatal(err)
		}
		plain := evaluate(t, m, path, "split=test")
		if got.N != 2 || got.Skipped != 2 || *got.GradientNorm != *plain.GradientNorm || plain.LeastEigenvalue != nil {
			t.Errorf("%+v, without %+v", got, plain)
		}
		// The regularizer's part of the Hessian is computed as a difference of gradients, accurate
		// to about 1e-10.
		if e := *got.LeastEigenvalue; math.Abs(e-bend-more) > 1e-9 || !(*got.EigenvalueResidual < 1e-8) {
			t.Errorf("%s: least eigenvalue %v, residual %v: want %v", regularizer, e, *got.EigenvalueResidual, bend+more)
		}
		if s := got.String(); !strings.HasPrefix(s, "NOT private") || !strings.Contains(s, "\nn                    2\n") ||
			!strings.Contains(s, "\nleast_eigenvalue    ") {
			t.Errorf("got\n%s", s)
		}
	}
	weighted := classes
	weighted.Weight = "w"
	m := makeModel(t, weighted, "weighted(tanh,2,3,row)", "none", 2, 0, 0, 0)
	got, err := m.EvaluateStationarity(t.Context(),
		writeFile(t, "a,b,c,split,label,w", "1,0,0,test,no,0.25", "0,1,0,test,yes,1"), "")
	if err != nil {
		t.Fatal(err)
	}
	if e := *got.LeastEigenvalue; math.Abs(e-bend/2) > 1e-9 {
		t.Errorf("with a weight of 2 times .25: least eigenvalue %v: want %v", e, bend/2)
	}
}

func TestEvaluateStationarityFaults(t *testing.T) {
	path := writeFile(t, "a,b,c,split,delay", "1,0,0,x,10")
	m := makeModel(t, delay, "absolute", "none", 2, 0, 0, 0)
	if _, err := m.EvaluateStationarity(t.Context(), path, ""); err == nil ||
		!strings.Contains(err.Error(), "loss = absolute: must have a Hessian") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := makeModel(t, delay, "huber(0.5)", "none", 2, 0, 0, 0).EvaluateStationarity(ctx, path, ""); !errors.Is(err,
		context.Canceled) {
		t.Error(err)
	}
	if _, err := new(Model).EvaluateStationarity(t.Context(), path, ""); !errors.Is(err, errZero) {
		t.Error(err)
	}
}
