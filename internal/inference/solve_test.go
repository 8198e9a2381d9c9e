package inference_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/internal/inference"
)

// sym returns the symmetric matrix with the given rows.
func sym(rows [][]float64) *mat.SymDense {
	m := mat.NewSymDense(len(rows), nil)
	for i := range rows {
		for j := range rows {
			m.SetSym(min(i, j), max(i, j), rows[i][j])
		}
	}
	return m
}

// noiseOf returns a symmetric matrix of independent normal variables, with standard deviation sigma on the
// diagonal and sigma/sqrt 2 off it.
func noiseOf(r *rand.Rand, k int, sigma float64) *mat.SymDense {
	m := mat.NewSymDense(k, nil)
	for i := range k {
		m.SetSym(i, i, sigma*r.NormFloat64())
		for j := range i {
			m.SetSym(j, i, sigma/math.Sqrt2*r.NormFloat64())
		}
	}
	return m
}

// solved solves a x = y by elimination. The tests compare the package's results with the results of this
// simple implementation.
func solved(a [][]float64, y []float64) []float64 {
	n := len(y)
	m := make([][]float64, n)
	for i := range m {
		m[i] = append(append([]float64(nil), a[i]...), y[i])
	}
	for c := range n {
		p := c
		for i := c; i < n; i++ {
			if math.Abs(m[i][c]) > math.Abs(m[p][c]) {
				p = i
			}
		}
		m[c], m[p] = m[p], m[c]
		for i := range n {
			if i == c {
				continue
			}
			f := m[i][c] / m[c][c]
			for j := c; j <= n; j++ {
				m[i][j] -= f * m[c][j]
			}
		}
	}
	x := make([]float64, n)
	for i := range x {
		x[i] = m[i][n] / m[i][i]
	}
	return x
}

func rowsOf(m *mat.SymDense) [][]float64 {
	k := m.SymmetricDim()
	out := make([][]float64, k)
	for i := range k {
		for j := range k {
			out[i] = append(out[i], m.At(i, j))
		}
	}
	return out
}

// TestWaldAgainstSlow tests that the estimate and the variance of a contrast by the method Wald
// follow the formula of the package documentation, computed entry by entry. The test fails if a
// term of the variance or a factor H^-1 is left out.
func TestWaldAgainstSlow(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		k := 1 + r.IntN(5)
		h, s := mat.NewSymDense(k, nil), mat.NewSymDense(k, nil)
		for range 3 * k {
			v := mat.NewVecDense(k, nil)
			for j := range k {
				v.SetVec(j, r.NormFloat64())
			}
			h.SymRankOne(h, 1/float64(k), v)
			s.SymRankOne(s, 2/float64(k), v)
		}
		of := inference.Released{Records: 100, Curvature: h, CurvatureSigma: .02, Middle: s, MiddleSigma: .1,
			GradientSigma: .3}
		for range k {
			of.At, of.Gradient = append(of.At, r.NormFloat64()), append(of.Gradient, r.NormFloat64())
		}
		e, err := inference.Solve(of, .9)
		if err != nil {
			t.Fatal(err)
		}
		if e.Method != inference.Wald {
			continue // the curvature is close to its noise
		}
		d := solved(rowsOf(h), of.Gradient)
		var length float64
		for j := range d {
			length += d[j] * d[j]
			if want := of.At[j] - d[j]; !(math.Abs(e.B[j]-want) <= 1e-9*(1+math.Abs(want))) {
				t.Fatalf("coordinate %d of the estimate is %v: want %v", j, e.B[j], want)
			}
		}
		for j := range k {
			c := make([]float64, k)
			c[j] = 1
			u := solved(rowsOf(h), c) // H^-1 c
			var want, sampling float64
			for a := range k {
				for b := range k {
					v := s.At(a, b) / of.Records
					sampling += u[a] * u[b] * v
					v += .02 * .02 / 2 * d[a] * d[b]
					if a == b {
						v += .3*.3 + .02*.02/2*length
					}
					want += u[a] * u[b] * v
				}
			}
			if got := e.Covariance.At(j, j); !(math.Abs(got-want) <= 1e-9*want) {
				t.Fatalf("variance %d is %v: want %v", j, got, want)
			}
			if got := e.Sampling.At(j, j); !(math.Abs(got-sampling) <= 1e-9*sampling) {
				t.Fatalf("sampling variance %d is %v: want %v", j, got, sampling)
			}
		}
	}
}

// TestVarianceIsTheSpread simulates the estimate. Over random draws of the sampling, of the
// gradient's noise and of the curvature's noise, the estimate's error must have the stated
// covariance, whichever of the three dominates. The mean of 4000 squared normal variables differs
// from its expectation by more than 16% with probability below 1e-10. The error is linear in the
// noise up to 4%, so the limit is 20%, and the test fails by chance with probability below 1e-6.
func TestVarianceIsTheSpread(t *testing.T) {
	const draws = 4000
	r := rand.New(rand.NewPCG(3, 9))
	h := sym([][]float64{{.2, .05, 0}, {.05, .15, .02}, {0, .02, .3}})
	s := sym([][]float64{{.1, .02, 0}, {.02, .3, .05}, {0, .05, .2}})
	step := []float64{.8, -1.2, .5}
	var chol mat.Cholesky
	if !chol.Factorize(s) {
		t.Fatal("no root")
	}
	var root mat.TriDense
	chol.LTo(&root)
	for _, c := range []struct {
		name                   string
		n, gradient, curvature float64
	}{{"sampling", 1e3, 1e-4, 1e-5}, {"gradient", 1e7, .01, 1e-5}, {"curvature", 1e7, 1e-4, 3e-3},
		{"all", 1e4, .005, 3e-3}} {
		sum := make([]float64, 3)
		var stated *mat.SymDense
		for range draws {
			z, shift := mat.NewVecDense(3, nil), mat.NewVecDense(3, nil)
			for j := range 3 {
				z.SetVec(j, r.NormFloat64()/math.Sqrt(c.n))
			}
			shift.MulVec(&root, z)
			g := mat.NewVecDense(3, nil)
			g.MulVec(h, mat.NewVecDense(3, step)) // the exact Newton step is -step, so the exact estimate is 0
			at := append([]float64(nil), step...)
			of := inference.Released{Records: c.n, At: at, GradientSigma: c.gradient, CurvatureSigma: c.curvature, Middle: s,
				MiddleSigma: 1e-9, Curvature: noiseOf(r, 3, c.curvature)}
			of.Curvature.AddSym(of.Curvature, h)
			for j := range 3 {
				of.Gradient = append(of.Gradient, g.AtVec(j)+shift.AtVec(j)+c.gradient*r.NormFloat64())
			}
			e, err := inference.Solve(of, .95)
			if err != nil || e.Method != inference.Wald {
				t.Fatal(err, e)
			}
			for j, v := range e.B {
				sum[j] += v * v / draws
			}
			stated = e.Covariance
		}
		for j := range 3 {
			if ratio := sum[j] / stated.At(j, j); !(math.Abs(ratio-1) < .2) {
				t.Errorf("%s: the squared error of coordinate %d is %.3f times the stated variance", c.name, j, ratio)
			}
		}
	}
}

// TestRegionIsTheShadow tests the intervals for a curvature that is close to its noise. An interval
// must be the projection of the Fieller region: the largest and smallest values of a coordinate
// among points that satisfy the region's inequality, found by a search over a fine grid. The test
// fails for a missing term of the region, and for a Wald interval.
func TestRegionIsTheShadow(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 6))
	tried := 0
	for range 200 {
		h := sym([][]float64{{.05 + .1*r.Float64(), .02}, {.02, .05 + .1*r.Float64()}})
		s := sym([][]float64{{.2, .03}, {.03, .1}})
		of := inference.Released{Records: 4000, At: []float64{.3, -.2},
			Gradient:      []float64{.02 * r.NormFloat64(), .02 * r.NormFloat64()},
			GradientSigma: .006, Curvature: h, CurvatureSigma: .02, Middle: s}
		e, err := inference.Solve(of, .95)
		if err != nil {
			t.Fatal(err)
		}
		if e.Method != inference.Region {
			continue
		}
		tried++
		v := rowsOf(s)
		for a := range v {
			for b := range v {
				if v[a][b] /= of.Records; a == b {
					v[a][b] += .006 * .006
				}
			}
		}
		chi, half := 1.959963984540054*1.959963984540054, (v[0][0]-v[1][1])/2
		kappa := .02 * .02 / ((v[0][0]+v[1][1])/2 - math.Hypot(half, v[0][1]))
		low, high := math.Inf(1), math.Inf(-1)
		width := 3 * math.Sqrt(e.Covariance.At(0, 0)+e.Covariance.At(1, 1))
		const points = 600
		for i := range points {
			for j := range points {
				d := []float64{e.Step[0] + width*(2*float64(i)/points-1), e.Step[1] + width*(2*float64(j)/points-1)}
				m := []float64{of.Gradient[0] + h.At(0, 0)*d[0] + h.At(0, 1)*d[1],
					of.Gradient[1] + h.At(1, 0)*d[0] + h.At(1, 1)*d[1]}
				x := solved(v, m)
				if m[0]*x[0]+m[1]*x[1] <= chi*(1+kappa*(d[0]*d[0]+d[1]*d[1])) {
					low, high = min(low, d[0]), max(high, d[0])
				}
			}
		}
		got := inference.Quantile(.95) * math.Sqrt(e.Covariance.At(0, 0))
		if !(math.Abs((high-low)/2-got) <= 3*width/points) || !(math.Abs((high+low)/2-e.Step[0]) <= 3*width/points) {
			t.Fatalf("the region's shadow is %v to %v: the interval is %v +- %v", low, high, e.Step[0], got)
		}
		if tried == 3 {
			return
		}
	}
	t.Fatalf("%d regions only", tried)
}

// TestCutoff tests when the Fieller region replaces Wald intervals: if the curvature's smallest
// eigenvalue is below twice the largest eigenvalue to expect of its noise (Edge). A curvature that
// is noise alone must identify nothing.
func TestCutoff(t *testing.T) {
	one := sym([][]float64{{1, 0}, {0, 1}})
	of := inference.Released{Records: 1e6, At: []float64{0, 0}, Gradient: []float64{1e-4, 0}, GradientSigma: 1e-3,
		Middle: one}
	const sigma = .1
	for _, c := range []struct {
		least float64
		want  inference.Method
	}{{2.05 * sigma * 2, inference.Wald}, {1.95 * sigma * 2, inference.Region}, {.01, inference.NotIdentified},
		{-.5, inference.NotIdentified}} {
		of.CurvatureSigma = sigma
		of.Curvature = sym([][]float64{{c.least, 0}, {0, 3}})
		e, err := inference.Solve(of, .95)
		if err != nil {
			t.Fatal(err)
		}
		if e.Method != c.want {
			t.Errorf("least eigenvalue %v, edge %v: %s, want %s", c.least, inference.Edge(sigma, 2), e.Method, c.want)
		}
		if e.Method == inference.NotIdentified && e.Covariance != nil {
			t.Error("a covariance of what is not identified")
		}
	}
}

// TestAhead tests the predicted Newton step: it must be the given share of the Newton step by the
// earlier curvature. It must be nil if the curvature's smallest eigenvalue is below twice the
// largest eigenvalue to expect of its noise (Edge).
func TestAhead(t *testing.T) {
	h := sym([][]float64{{2, 0}, {0, .5}})
	got, err := inference.Ahead([]float64{1, 1}, h, .1, .5)
	if err != nil || !(math.Abs(got[0]+.25) <= 1e-12) || !(math.Abs(got[1]+.5/.6) <= 1e-12) {
		t.Errorf("%v, %v: want -.25, -.5/.6: the floor is 3 edges", got, err)
	}
	if got, err := inference.Ahead([]float64{1, 1}, h, .13, .5); got != nil || err != nil {
		t.Errorf("%v, %v: of a curvature that noise hides", got, err)
	}
}

// TestNewtonStepIsFloored tests the Newton step along a direction that the noise hides: the step
// must be the gradient divided by three times the largest eigenvalue to expect of the noise (Edge), not by the
// curvature's small eigenvalue.
func TestNewtonStepIsFloored(t *testing.T) {
	step, err := inference.NewtonStep([]float64{.1, .2}, sym([][]float64{{1e-6, 0}, {0, 2}}), .25)
	if err != nil {
		t.Fatal(err)
	}
	if want := []float64{-.1 / 1.5, -.1}; !(math.Abs(step[0]-want[0]) <= 1e-12) || !(math.Abs(step[1]-want[1]) <= 1e-12) {
		t.Errorf("step %v: want %v", step, want)
	}
}

// TestRefuses: Solve must refuse invalid quantities and levels.
func TestRefuses(t *testing.T) {
	one := sym([][]float64{{1}})
	good := inference.Released{Records: 10, At: []float64{0}, Gradient: []float64{0}, GradientSigma: 1, Curvature: one,
		Middle: one}
	if _, err := inference.Solve(good, .95); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(r *inference.Released){
		"no records":   func(r *inference.Released) { r.Records = 0 },
		"no noise":     func(r *inference.Released) { r.GradientSigma = 0 },
		"two columns":  func(r *inference.Released) { r.Gradient = []float64{0, 0} },
		"no curvature": func(r *inference.Released) { r.Curvature = nil },
		"not a number": func(r *inference.Released) { r.Curvature = sym([][]float64{{math.NaN()}}) },
	} {
		bad := good
		change(&bad)
		if _, err := inference.Solve(bad, .95); err == nil {
			t.Errorf("%s: is taken", name)
		}
	}
	for _, level := range []float64{0, .4, 1, math.NaN()} {
		if _, err := inference.Solve(good, level); err == nil {
			t.Errorf("level %v: is taken", level)
		}
	}
}

// The example makes a Newton step with a released gradient, a released curvature and a released
// mean of the gradients' outer products (middle), and prints its 95% interval.
func ExampleSolve() {
	e, err := inference.Solve(inference.Released{
		Records: 10_000, At: []float64{.5},
		Gradient: []float64{.02}, GradientSigma: .003,
		Curvature: sym([][]float64{{.2}}), CurvatureSigma: .005,
		Middle: sym([][]float64{{.19}}), MiddleSigma: .01,
	}, .95)
	if err != nil {
		fmt.Println(err)
		return
	}
	half := inference.Quantile(.95) * math.Sqrt(e.Covariance.At(0, 0))
	fmt.Printf("%s: %.2f, from %.2f to %.2f\n", e.Method, e.B[0], e.B[0]-half, e.B[0]+half)
	// Output: wald: 0.40, from 0.35 to 0.45
}

// TestRemainderOfARareLevel: of a level of 2% of the rows, a Newton step of log loss from far away leaves a remainder
// in the level's coefficient that is known exactly, since the model has a margin of its own for either group of rows.
// The column's bound must hold it and be at most nine times as large; the bound from the mean over all rows must be
// below it. With the curvature at the middle of the step, the bound must hold the smaller remainder.
func TestRemainderOfARareLevel(t *testing.T) {
	const share, s, n = .02, .5, 1e9
	moment := mat.NewSymDense(2, []float64{share * s * s, share * s * s, share * s * s, s * s})
	shape, _, err := inference.Shorten(moment, []inference.Column{{Feature: 0, Level: true}, {Feature: 1, Kept: true}},
		inference.Bounds{MomentSigma: 1e-7, Unit: 1e-9, Usual: .5, Beta: 1e6})
	if err != nil {
		t.Fatal(err)
	}
	mean := func(z float64) float64 { return 1 / (1 + math.Exp(-z)) }
	truth, off := 1.5, -.5 // margins of the level's rows and of the others
	for _, from := range []float64{-.5, .4} {
		for _, halfway := range []float64{0, .8} { // share of the step that was foretold
			at := from + halfway/2*(truth-from)
			curve := mean(at) * (1 - mean(at))
			end := from - (mean(from)-mean(truth))/curve
			exact := math.Abs(end - truth) // of the coefficient: the margin of the others is right
			step := []float64{(end - from) / s, 0}
			var inverse mat.Dense
			if err := inverse.Inverse(shape.Metric); err != nil {
				t.Fatal(err)
			}
			in := func(w []float64) []float64 {
				v := mat.NewVecDense(2, nil)
				v.MulVec(&inverse, mat.NewVecDense(2, w))
				return v.RawVector().Data
			}
			e := &inference.Estimate{Method: inference.Wald, B: in([]float64{(end - off) / s, off / s}), Step: in(step),
				StepCovariance: mat.NewSymDense(2, nil), Sampling: mat.NewSymDense(2, nil)}
			var ahead []float64
			if halfway > 0 {
				ahead = in([]float64{halfway * (truth - from) / s, 0})
			}
			bend := func(a, b float64) float64 { return math.Tanh(max(math.Abs(a), math.Abs(b)) / 2) }
			of := s * e.Allowances(shape, s, bend, ahead)[0]
			if !(of >= exact && of < 9*exact) {
				t.Errorf("from %v, %v foretold: the bound %v: the remainder is %v", from, halfway, of, exact)
			}

			if halfway == 0 && s*e.Allowance(shape.Seen, math.Tanh(math.Abs(off)/2), nil) > exact {
				t.Errorf("from %v: the mean over all rows bounds %v, too: this test shows nothing", from, exact)
			}
		}
	}
}
