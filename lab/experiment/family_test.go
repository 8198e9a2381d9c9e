package experiment_test

import (
	"github.com/stillpoint-dp/stillpoint/account"
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/lab/experiment"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

func family(t testing.TB, make func(d, rows int, seed uint64) (*experiment.Family, error), d, rows int,
	seed uint64) *experiment.Family {
	t.Helper()
	f, err := make(d, rows, seed)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func widen(x []float32) []float64 {
	v := make([]float64, len(x))
	for j := range x {
		v[j] = float64(x[j])
	}
	return v
}

// moments returns the matrix of second moments of the rows.
func moments(rows [][]float32) [][]float64 {
	m := make([][]float64, len(rows[0]))
	for j := range m {
		m[j] = make([]float64, len(m))
		for _, x := range rows {
			for k := range m {
				m[j][k] += float64(x[j]) * float64(x[k]) / float64(len(rows))
			}
		}
	}
	return m
}

// eigenvalues returns the eigenvalues of a symmetric matrix, the largest first, by power iteration
// with deflation.
func eigenvalues(m [][]float64, count int) []float64 {
	var list []float64
	for range count {
		v := make([]float64, len(m))
		for j := range v {
			v[j] = 1 / float64(j+1)
		}
		var e float64
		for range 3000 {
			next := make([]float64, len(m))
			for j := range m {
				for k := range m {
					next[j] += m[j][k] * v[k]
				}
			}
			e = stationarity.Norm(next)
			for j := range v {
				v[j] = next[j] / e
			}
		}
		list = append(list, e)
		for j := range m {
			for k := range m {
				m[j][k] -= e * v[j] * v[k]
			}
		}
	}
	return list
}

// TestGLMRows tests that rows are unit vectors and that their second moments have the documented
// eigenvalues. Before normalisation the eigenvalues are 1/j. Normalisation makes them slightly more equal.
// The tolerances allow for this, and for the sampling error: with 20000 rows an eigenvalue is within 5%.
// The eigenvectors must not be the coordinate axes.
func TestGLMRows(t *testing.T) {
	const d, n = 8, 20000
	f := family(t, experiment.Tanh, d, n, 5)
	for i, x := range f.Sample.Rows {
		if norm := stationarity.Norm(widen(x)); math.Abs(norm-1) > 1e-6 {
			t.Fatalf("row %d has norm %v", i, norm)
		}
		if y := f.Sample.Targets[i]; y != 1 && y != -1 {
			t.Fatalf("target %d is %v", i, y)
		}
	}
	m := moments(f.Sample.Rows)
	var off float64
	for j := range m {
		for k := range m {
			if j != k {
				off = max(off, math.Abs(m[j][k]))
			}
		}
	}
	if off < .02 {
		t.Errorf("covariances are at most %v: the rows are not rotated", off)
	}
	e := eigenvalues(m, d)
	var sum float64
	for _, v := range e {
		sum += v
	}
	if math.Abs(sum-1) > 1e-3 {
		t.Errorf("eigenvalues %v sum to %v: want 1", e, sum)
	}
	for j := range e {
		if ratio := e[0] / e[j]; ratio < .6*float64(j+1) || ratio > 1.1*float64(j+1) {
			t.Errorf("eigenvalue %d is 1/%.2f of the first: want about 1/%d", j+1, ratio, j+1)
		}
	}
}

// TestLabels tests that labels are signs along a planted direction, a tenth of them flipped. A
// regression on the rows estimates the direction well enough to count flips: with 20000 rows it
// gets less than 2% of signs wrong. The fraction of flips is within .012 of .1 except with
// probability one in a million, by Bernstein's bound. (Hoeffding's bound sqrt(ln(2e6)/40000) = .019
// does not use the variance.) The test accepts fractions from .088 to .132, because wrong signs add
// at most .02. Half of the labels, within .02, must be positive.
func TestLabels(t *testing.T) {
	const d, n = 4, 20000
	for _, f := range []*experiment.Family{family(t, experiment.Tanh, d, n, 6),
		family(t, experiment.LogisticNonconvex, d, n, 6)} {
		l, steps := loss.Logistic(), 400
		if testing.Short() {
			steps = 100
		}
		w := make([]float64, d)
		for range steps {
			g, err := stationarity.Gradient(l, nil, f.Sample, w)
			if err != nil {
				t.Fatal(err)
			}
			for j := range w {
				w[j] -= 4 * g[j]
			}
		}
		flipped, positive := 0., 0.
		for i, x := range f.Sample.Rows {
			var z float64
			for j, v := range x {
				z += w[j] * float64(v)
			}
			if z*f.Sample.Targets[i] < 0 {
				flipped++
			}
			if f.Sample.Targets[i] > 0 {
				positive++
			}
		}
		if share := flipped / n; share < .088 || share > .132 {
			t.Errorf("%s: %v of the labels are flipped: want .1", f.Name, share)
		}
		if share := positive / n; math.Abs(share-.5) > .02 {
			t.Errorf("%s: %v of the labels are positive: want a half", f.Name, share)
		}
	}
}

// TestSlowTailRows tests that rows are unit vectors in pairs of opposite sign, whose sum is exactly
// zero, and that the loss scales them by .4.
func TestSlowTailRows(t *testing.T) {
	const d = 7
	f := family(t, experiment.SlowTail, d, 40, 3)
	if len(f.Sample.Rows) != 40 || len(f.Sample.Targets) != 40 {
		t.Fatalf("%d rows", len(f.Sample.Rows))
	}
	sum := make([]float64, d)
	for i, x := range f.Sample.Rows {
		if norm := stationarity.Norm(widen(x)); math.Abs(norm-1) > 1e-6 {
			t.Errorf("row %d has norm %v", i, norm)
		}
		for j, v := range x {
			sum[j] += float64(v)
		}
	}
	if stationarity.Norm(sum) != 0 {
		t.Errorf("rows sum to %v", sum)
	}
	// The mean loss is F alone, whose gradient at w = (v, 0, ...) is g'(v) e_1.
	w := make([]float64, d)
	w[0] = 3
	c := math.Sqrt(3) / 2
	want := math.Pow(1+3/c, -1.5) / (2 * c)
	if norm, err := f.GradientNorm(w); err != nil || math.Abs(norm-want) > 1e-9 {
		t.Errorf("gradient norm %v, %v: want %v", norm, err, want)
	}
}

// TestFamiliesRepeat tests that the same seed gives the same family, and another seed gives another family.
func TestFamiliesRepeat(t *testing.T) {
	for _, make := range []func(d, rows int, seed uint64) (*experiment.Family,
		error){experiment.Tanh, experiment.LogisticNonconvex, experiment.SlowTail} {
		a, b, c := family(t, make, 5, 6, 1), family(t, make, 5, 6, 1), family(t, make, 5, 6, 2)
		if a.Sample.Rows[3][2] != b.Sample.Rows[3][2] || a.Sample.Rows[3][2] == c.Sample.Rows[3][2] {
			t.Errorf("%s: %v, %v, %v", a.Name, a.Sample.Rows[3], b.Sample.Rows[3], c.Sample.Rows[3])
		}
	}
}

// TestProblems compares the constants of each family's problem with the family's own statement.
func TestProblems(t *testing.T) {
	for name, c := range map[string]struct {
		f           *experiment.Family
		rankOne     bool
		l0, l1, f0  float64
		regularizer float64 // the regularizer's smoothness
	}{
		"tanh":               {family(t, experiment.Tanh, 4, 6, 1), true, 1, 4 / (3 * math.Sqrt(3)), 1, .01},
		"logistic+nonconvex": {family(t, experiment.LogisticNonconvex, 4, 6, 1), true, 1, .25, math.Ln2, .02},
		"slow-tail":          {family(t, experiment.SlowTail, 4, 6, 1), false, 1, 1, 1, 0},
	} {
		p, err := c.f.Problem(100, lowBudget(t))
		if err != nil {
			t.Error(err)
		}
		if c.f.Name != name || p.Dim() != 4 || p.RankOne != c.rankOne || p.Constants.Lipschitz != c.l0 ||
			math.Abs(p.DataSmoothness()-c.l1) > 1e-15 || p.Constants.InitialGap != c.f0 ||
			math.Abs(p.Smoothness()-c.l1-c.regularizer) > 1e-15 {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

func lowBudget(t *testing.T) account.Budget {
	t.Helper()
	b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
