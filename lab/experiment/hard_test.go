package experiment_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/lab/experiment"
	"github.com/stillpoint-dp/stillpoint/lab/measure"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// TestHuberMeanRows tests that rows are corners of a cube, of norm 1/4, that coordinate means are
// between .2 and .8 of a side and differ, and that the gradient at 0 is minus the mean. A mean of
// 20000 signs is within .05 of its expectation except for one coordinate in 10^10 (Hoeffding).
func TestHuberMeanRows(t *testing.T) {
	const d, n = 6, 20000
	f := family(t, experiment.HuberMean, d, n, 1)
	mean := make([]float64, d)
	for _, x := range f.Sample.Rows {
		if norm := stationarity.Norm(widen(x)); math.Abs(norm-.25) > 1e-6 {
			t.Fatalf("a row of norm %v", norm)
		}
		for j, v := range x {
			if math.Abs(math.Abs(float64(v))*4*math.Sqrt(d)-1) > 1e-6 {
				t.Fatalf("a coordinate %v", v)
			}
			mean[j] += float64(v) / n
		}
	}
	least, most := math.Inf(1), math.Inf(-1)
	for _, m := range mean {
		share := m * 4 * math.Sqrt(d)
		least, most = min(least, share), max(most, share)
	}
	if least < .15 || most > .85 || most-least < .1 {
		t.Errorf("coordinate means from %v to %v of a side", least, most)
	}
	if g, err := f.GradientNorm(make([]float64, d)); err != nil || math.Abs(g-stationarity.Norm(mean)) > 1e-9 {
		t.Errorf("gradient norm %v at 0, %v: want %v", g, err, stationarity.Norm(mean))
	}
	if g, err := f.GradientNorm(mean); err != nil || g > 1e-9 {
		t.Errorf("gradient norm %v at the mean, %v", g, err)
	}
}

// TestHuberBiasRows tests that each row is 1 or -1, and that their population mean is plus or minus
// 1/(4 sqrt n), the bias of the proof, with a sign drawn by the seed. For n = 100 the mean of a
// million fresh rows must be within .006 of the bias. Correct code fails with probability below
// 1e-7 (Hoeffding: 2 exp(-1e6 .006^2/2) = 3e-8).
func TestHuberBiasRows(t *testing.T) {
	signs := map[bool]bool{}
	for seed := range uint64(8) {
		f := family(t, experiment.HuberBias, 1, 100, seed)
		fresh, err := f.Fresh(1e6, 1)
		if err != nil {
			t.Fatal(err)
		}
		var mean float64
		for _, x := range fresh.Rows {
			if x[0] != 1 && x[0] != -1 {
				t.Fatalf("a row %v", x)
			}
			mean += float64(x[0]) / 1e6
		}
		if math.Abs(math.Abs(mean)-.025) > .006 {
			t.Errorf("bias %v: want .025 either way", mean)
		}
		signs[mean > 0] = true
	}
	if len(signs) != 2 {
		t.Error("the bias has one sign")
	}
}

// TestSaddleRows tests that rows have norm 1, and that the Hessian at 0 has eigenvalue -gap along one
// direction and positive eigenvalues along the others. A second moment of 20000 rows of norm at most 1 is
// within .03 of its expectation with high probability. The seed is fixed.
func TestSaddleRows(t *testing.T) {
	const d, n = 10, 20000
	for _, gap := range []float64{.05, .15} {
		f := family(t, experiment.Saddle(gap), d, n, 2)
		for _, x := range f.Sample.Rows {
			if norm := stationarity.Norm(widen(x)); math.Abs(norm-1) > 1e-6 {
				t.Fatalf("a row of norm %v", norm)
			}
		}
		zero := make([]float64, d)
		if g, err := f.GradientNorm(zero); err != nil || g != 0 {
			t.Errorf("gradient norm %v at 0, %v", g, err)
		}
		e, err := measure.LambdaMin(f.Loss, f.Regularizer, f.Sample, zero)
		if err != nil || math.Abs(e.Value+gap) > .005 {
			t.Errorf("least eigenvalue %v, %v: want %v", e.Value, err, -gap)
		}
		// The other eigenvalues of the second moment are .7/9.
		m := eigenvalues(moments(f.Sample.Rows), 2)
		if math.Abs(m[0]-.3) > .005 || math.Abs(m[1]-.7/9) > .01 {
			t.Errorf("moments %v", m)
		}
		if want := (.3 - gap); math.Abs(f.Regularizer.Smoothness()-want) > 1e-12 {
			t.Errorf("regularizer %v", f.Regularizer.Name())
		}
	}
}

// TestFreshRows tests that fresh rows have the family's distribution and are not the family's rows. The
// gradient at a point on fresh rows must agree with the gradient on the family's rows up to the errors of
// two means of 20000 vectors of norm at most 1. The tolerance .04 is eight standard errors of their
// difference.
func TestFreshRows(t *testing.T) {
	const d, n = 4, 20000
	w := []float64{.3, -.2, .5, .1}
	for _, name := range []string{"tanh", "logistic", "logistic+nonconvex", "slow-tail", "huber-mean", "saddle(0.15)",
		"low-rank(2)", "exp-tail", "quartic", "three-halves", "phase", "cosine"} {
		f, err := experiment.NewFamily(name, d, n, 3)
		if err != nil {
			t.Fatal(err)
		}
		if f.Name != name {
			t.Errorf("%s is named %s", name, f.Name)
		}
		fresh, err := f.Fresh(n, 1)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := f.Fresh(n, 1)
		other, _ := f.Fresh(n, 2)
		if !reflect.DeepEqual(fresh, again) || reflect.DeepEqual(fresh.Rows, other.Rows) ||
			reflect.DeepEqual(fresh.Rows, f.Sample.Rows) {
			t.Errorf("%s: fresh rows must be settled by their seed", name)
		}
		a, err := stationarity.Gradient(f.Loss, f.Regularizer, f.Sample, w)
		if err != nil {
			t.Fatal(err)
		}
		b, err := stationarity.Gradient(f.Loss, f.Regularizer, fresh, w)
		if err != nil {
			t.Fatal(err)
		}
		for j := range a {
			a[j] -= b[j]
		}
		if gap := stationarity.Norm(a); gap > .04 {
			t.Errorf("%s: gradients differ by %v", name, gap)
		}
	}
}

func TestFamiliesRefuse(t *testing.T) {
	for _, c := range []struct {
		name    string
		d, rows int
		want    string
	}{
		{"tahn", 3, 10,
			`family = "tahn": must be one of autoencoder(1), autoencoder(3), ball-logistic(RADIUS), ball-tanh(RADIUS), capped(RADIUS), capped-components(RADIUS), cosine, exp-tail, factorization(1), factorization(3), hinge-network(RADIUS), huber-bias, huber-mean, logistic, logistic+nonconvex, low-rank(RANK), matrix-sensing, median(RADIUS), phase, quartic, ramp(RADIUS), ramp-components(RADIUS), relu-network(RADIUS), saddle(GAP), slow-tail, softmax, softmax-network, svm(RADIUS), tanh, tanh-net, tanh-network, three-halves, three-halves-fine`},
		{"saddle(x)", 5, 10, "gap must be a number"},
		{"ball-tanh(x)", 5, 10, "radius must be a number"},
		{"ball-tanh(-1)", 5, 10, "radius"},
		{"saddle(0.3)", 5, 10, "gap = 0.3: must be > 0 and < 0.3"},
		{"saddle(0.1)", 3, 10, "dimension = 3: must be >= 4"},
		{"huber-bias", 2, 10, "dimension = 2: must be 1"},
		{"tanh", 0, 10, "dimension = 0: must be >= 1"},
		{"tanh", 3, 1, "rows = 1: must be >= 2"},
		{"slow-tail", 3, 11, "rows = 11: must be even"},
	} {
		if f, err := experiment.NewFamily(c.name, c.d, c.rows, 1); err == nil || f != nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	f := &experiment.Family{Name: "mine"}
	if _, err := f.Fresh(10, 1); err == nil {
		t.Error("a family without a distribution has fresh rows")
	}
	if _, err := family(t, experiment.Tanh, 3, 10, 1).Fresh(1, 1); err == nil {
		t.Error("one fresh row was drawn")
	}
}
