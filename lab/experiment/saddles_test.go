package experiment_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/lab/experiment"
	"github.com/stillpoint-dp/stillpoint/lab/measure"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// lookAt returns the gradient's norm and the smallest eigenvalue of the Hessian at a point.
func lookAt(t *testing.T, f *experiment.Family, w []float64) (norm, least float64) {
	t.Helper()
	norm, err := f.GradientNorm(w)
	if err != nil {
		t.Fatal(err)
	}
	e, err := measure.LambdaMin(f.Loss, f.Regularizer, f.Sample, w)
	if err != nil {
		t.Fatal(err)
	}
	return norm, e.Value
}

// TestTanhNetHasItsSaddle tests the point where every unit fits only the frequencies of the classes. The
// gradient must be zero up to the rounding of rows. If units of equal sign separate in the direction
// between the classes, the curvature must be the documented one, on the rows' own second moments. Descent
// from 0 without noise must end at the point; with a perturbation towards separated units, descent must
// leave the point.
func TestTanhNetHasItsSaddle(t *testing.T) {
	const d, rows = 5, 1000
	f := family(t, experiment.TanhNet, d, rows, 1)
	k := loss.Parameters(f.Loss, d) / d
	u := math.Log(.7/.3) / 2
	// The intercept's direction is the mean of the rows.
	intercept := make([]float64, d)
	for _, x := range f.Sample.Rows {
		for j, v := range x {
			intercept[j] += float64(v) / rows
		}
	}
	along := stationarity.Norm(intercept)
	if math.Abs(along-math.Sqrt(.3)) > 1e-5 {
		t.Fatalf("the rows' mean has norm %v: want sqrt(.3)", along)
	}
	saddle := make([]float64, k*d)
	for i := range saddle {
		saddle[i] = math.Atanh(u) / (along * along) * intercept[i%d]
		if i/d%2 == 1 {
			saddle[i] *= -1
		}
	}
	norm, least := lookAt(t, f, saddle)
	want := -.7 * .3 * u * (1 - u*u) * .5
	if norm > 1e-6 || math.Abs(least-want) > .1*math.Abs(want) {
		t.Errorf("gradient %v, least eigenvalue %v: want 0 and about %v", norm, least, want)
	}
	w := make([]float64, k*d)
	for range 400 { // rounding needs a thousand steps to separate the units
		g, err := stationarity.Gradient(f.Loss, nil, f.Sample, w)
		if err != nil {
			t.Fatal(err)
		}
		for j := range w {
			w[j] -= g[j]
		}
	}
	for j := range w {
		if math.Abs(w[j]-saddle[j]) > 1e-3 {
			t.Fatalf("descent from 0 ends at %v: want the saddle, %v", w, saddle)
		}
	}
	at, err := stationarity.Objective(f.Loss, nil, f.Sample, saddle)
	if err != nil {
		t.Fatal(err)
	}
	e, err := measure.LambdaMin(f.Loss, nil, f.Sample, saddle)
	if err != nil {
		t.Fatal(err)
	}
	for j := range w {
		w[j] += .3 * e.Vector[j]
	}
	if after, err := stationarity.Objective(f.Loss, nil, f.Sample, w); err != nil || !(after < at) {
		t.Errorf("the objective is %v at the saddle and %v along the least eigenvector, %v", at, after, err)
	}
}

// TestMatrixSensingHasItsPoints tests the documented stationary points. 0 must be a saddle, and so must a
// point near the square root of the part with the larger eigenvalue. A square root of the whole matrix must
// be a minimum of value 0, with zero curvature along rotations. The planted matrix is computed from the
// Hessian at 0, which is -S for both columns; S is the mean of target times matrix, M/d in the population.
// With 4000 rows S is within 4 standard deviations of M/d, where a standard deviation is at most sqrt(E
// y^2/4000) = 3e-3.
func TestMatrixSensingHasItsPoints(t *testing.T) {
	if testing.Short() {
		t.Skip("4000 steps over 4000 rows")
	}
	const p, rows = 3, 4000
	f := family(t, experiment.MatrixSensing, p*p, rows, 1)
	if f.Dim() != 2*p || f.Minimum == nil || *f.Minimum != 0 {
		t.Fatalf("%d weights, minimum %v", f.Dim(), f.Minimum)
	}
	norm, least := lookAt(t, f, make([]float64, 2*p))
	if want := -.6 / (p * p); norm != 0 || math.Abs(least-want) > .012 {
		t.Errorf("at 0: gradient %v, least eigenvalue %v: want 0 and about %v", norm, least, want)
	}
	first, second := column(t, f, nil), []float64(nil)
	second = column(t, f, first)
	both, larger := make([]float64, 2*p), make([]float64, 2*p)
	for i := range p {
		larger[2*i] = math.Sqrt(.6) * first[i]
		both[2*i], both[2*i+1] = larger[2*i], math.Sqrt(.4)*second[i]
	}
	// The point is computed from directions that 4000 rows estimate with an error of some percent. Descent
	// from this point therefore follows.
	for range 4000 {
		g, err := stationarity.Gradient(f.Loss, nil, f.Sample, both)
		if err != nil {
			t.Fatal(err)
		}
		for j := range both {
			both[j] -= 2 * g[j]
		}
	}
	norm, least = lookAt(t, f, both)
	value, err := stationarity.Objective(f.Loss, nil, f.Sample, both)
	if err != nil || norm > 1e-6 || value > 1e-9 || math.Abs(least) > 1e-6 {
		t.Errorf("at the planted matrix: value %v, gradient %v, least eigenvalue %v, %v: want 0", value, norm, least, err)
	}
	if _, least = lookAt(t, f, larger); math.Abs(least+.4/(p*p)) > .012 {
		t.Errorf("at the larger part alone: least eigenvalue %v: want about %v", least, -.4/(p*p))
	}
}

// column returns an eigenvector of the planted matrix: the first one if across is nil, and otherwise the
// one orthogonal to across.
func column(t *testing.T, f *experiment.Family, across []float64) []float64 {
	t.Helper()
	p := f.Dim() / 2
	v := make([]float64, p)
	for i := range v {
		v[i] = 1 / float64(i+1)
	}
	for range 200 {
		wide := make([]float64, 2*p)
		for i := range v {
			wide[2*i] = v[i]
		}
		h, err := stationarity.HessianVector(f.Loss, nil, f.Sample, make([]float64, 2*p), wide)
		if err != nil {
			t.Fatal(err)
		}
		var dot float64
		for i := range across {
			dot -= h[2*i] * across[i]
		}
		for i := range v {
			v[i] = -h[2*i]
			if across != nil {
				v[i] -= dot * across[i]
			}
		}
		norm := stationarity.Norm(v)
		for i := range v {
			v[i] /= norm
		}
	}
	return v
}

func TestSaddleFamiliesRefuse(t *testing.T) {
	for name, c := range map[string]struct {
		d, rows int
		want    string
	}{
		"tanh-net":       {2, 40, "dimension = 2: must be >= 3"},
		"matrix-sensing": {8, 40, "dimension = 8: must be a square"},
	} {
		if _, err := experiment.NewFamily(name, c.d, c.rows, 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v: want %q", name, err, c.want)
		}
	}
	if _, err := experiment.NewFamily("tanh-net", 5, 30, 1); err == nil ||
		!strings.Contains(err.Error(), "rows = 30: must be a multiple of 20") {
		t.Error(err)
	}
}
