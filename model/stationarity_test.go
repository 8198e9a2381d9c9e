package model

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// TestEvaluateStationarity tests the least eigenvalue against a Hessian computed by hand. With weights (2, 0,
// 0, 0) the row with a = 1 is (1/2, 0, 0, 1/2) at margin 1, and the row with b = 1 is (0, 1/2, 0, 1/2) at
// margin 0, where tanh has no curvature. The first row has class no, so its second derivative is -2 tanh(1)
// (1 - tanh^2(1)). The Hessian is half of it (two rows) times x x', whose only nonzero eigenvalue is ||x||^2
// = 1/2. l2 shifts all eigenvalues. Rows that are not scored must have no effect, and weights of classes and
// of records must have one. The test fails if skipped rows are summed, or if the regularizer or the weights
// are left out.
func TestEvaluateStationarity(t *testing.T) {
	path := writeFile(t, "a,b,c,split,label", "1,0,0,test,no", "0,1,0,test,yes", "1,0,0,test,maybe", "1,0,0,train,no",
		"1,0")
	curvature := -2 * math.Tanh(1) * (1 - math.Tanh(1)*math.Tanh(1)) / 2 / 2
	for regularizer, more := range map[string]float64{"none": 0, "l2(0.25)": .25} {
		m := makeModel(t, classes, "tanh", regularizer, 2, 0, 0, 0)
		got, err := m.EvaluateStationarity(t.Context(), path, "split=test", "")
		if err != nil {
			t.Fatal(err)
		}
		plain := evaluate(t, m, path, "split=test")
		if got.N != 2 || got.Skipped != 2 || *got.GradientNorm != *plain.GradientNorm || plain.LeastEigenvalue != nil {
			t.Errorf("%+v, without %+v", got, plain)
		}
		// The regularizer's part of the Hessian is computed as a difference of gradients, accurate
		// to about 1e-10.
		if e := *got.LeastEigenvalue; !(math.Abs(e-curvature-more) <= 1e-9) || !(*got.EigenvalueResidual < 1e-8) {
			t.Errorf("%s: least eigenvalue %v, residual %v: want %v", regularizer, e, *got.EigenvalueResidual, curvature+more)
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
		writeFile(t, "a,b,c,split,label,w", "1,0,0,test,no,0.25", "0,1,0,test,yes,1"), "", "")
	if err != nil {
		t.Fatal(err)
	}
	if e := *got.LeastEigenvalue; !(math.Abs(e-curvature/2) <= 1e-9) {
		t.Errorf("with a weight of 2 times .25: least eigenvalue %v: want %v", e, curvature/2)
	}
}

// TestNoEigenvalueWithoutAHessian tests models whose loss has no Hessian because a slope jumps: the slope of
// the loss or of relu units, with and without weights of classes. EvaluateStationarity must give the reason
// in place of a number, with the other measures as Evaluate gives them. A network of tanh must have a number.
func TestNoEigenvalueWithoutAHessian(t *testing.T) {
	table := writeFile(t, "a,b,c,split,label", "1,0,0,test,no", "0,1,0,test,yes")
	delays := writeFile(t, "a,b,c,split,delay", "1,0,0,x,10")
	network := []float64{1, -2, 0, .5, 3, 0, 1, -1, 2, -1, .5}
	for _, c := range []struct {
		target  dataset.Target
		loss    string
		weights []float64
		path    string
		why     string
	}{
		{classes, "network(2,relu,logistic)", network, table, "the slope of relu jumps where a unit switches on"},
		{classes, "network(2,relu,weighted(logistic,2,3))", network, table, "the slope of relu jumps"},
		{classes, "network(2,tanh,logistic)", network, table, ""},
		{delay, "absolute", []float64{2, 0, 0, 0}, delays, "the slope of absolute jumps"},
	} {
		m := makeModel(t, c.target, c.loss, "none", c.weights...)
		got, err := m.EvaluateStationarity(t.Context(), c.path, "", "")
		if err != nil {
			t.Fatal(err)
		}
		plain := evaluate(t, m, c.path, "")
		if got.GradientNorm == nil || *got.GradientNorm != *plain.GradientNorm || *got.Objective != *plain.Objective {
			t.Errorf("%s: %+v, without %+v", c.loss, got, plain)
		}
		none := c.why != ""
		if none != (got.LeastEigenvalue == nil) || none != (got.EigenvalueResidual == nil) ||
			!strings.HasPrefix(got.NoEigenvalue, c.why) || none == (got.NoEigenvalue == "") {
			t.Errorf("%s: eigenvalue %v, reason %q: want %q", c.loss, got.LeastEigenvalue, got.NoEigenvalue, c.why)
		}
		if s := got.String(); strings.Contains(s, "\nleast_eigenvalue  none: the slope of ") != none {
			t.Errorf("%s: prints\n%s", c.loss, s)
		}
	}
}

func TestEvaluateStationarityFaults(t *testing.T) {
	path := writeFile(t, "a,b,c,split,delay", "1,0,0,x,10")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := makeModel(t, delay, "huber(0.5)", "none", 2, 0, 0, 0).EvaluateStationarity(ctx, path, "", ""); !errors.Is(err,
		context.Canceled) {
		t.Error(err)
	}
	if _, err := new(Model).EvaluateStationarity(t.Context(), path, "", ""); !errors.Is(err, errZero) {
		t.Error(err)
	}
}
