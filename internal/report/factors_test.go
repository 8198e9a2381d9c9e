package report

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/internal/inference"
)

// numbersOnly is the structure of n numbers and an intercept of 1/4, and the second moment of rows of which the numbers have
// the mean 0, the variance v and the covariances v*alike(i, j).
func numbersOnly(n int, v float64, alike func(i, j int) float64) (*structure, *mat.SymDense) {
	g := mat.NewSymDense(n+1, nil)
	for i := range n {
		for j := range i {
			g.SetSym(i, j, v*alike(i, j))
		}
		g.SetSym(i, i, v)
	}
	g.SetSym(n, n, 1./16)
	return &structure{levels: make([]bool, n+1), shared: 1. / 4}, g
}

// TestOwnShareOfNumbers: the share that numbers have for themselves follows from eigenvalues of which noise hides each. Rows
// of neighbours with the correlation r have eigenvalues down to (1-r)/(1+r) of the variance.
func TestOwnShareOfNumbers(t *testing.T) {
	const n, v, sigma = 30, .0026, .0002
	for _, c := range []struct {
		alike       func(i, j int) float64
		least, most float64
	}{
		{func(i, j int) float64 { return 0 }, .8, .8},
		{func(i, j int) float64 { return math.Pow(.4, float64(i-j)) }, .4, .6},
		{func(i, j int) float64 { return math.Pow(.8, float64(i-j)) }, .08, .2},
		{func(i, j int) float64 { return math.Pow(.95, float64(i-j)) }, .03, .05},
		{func(i, j int) float64 { return .6 }, .2, .4},
	} {
		_, g := numbersOnly(n, v, c.alike)
		covariance := noisy(g.SliceSym(0, n).(*mat.SymDense), sigma, rand.New(rand.NewPCG(1, 2)))
		variances := make([]float64, n)
		for i := range variances {
			variances[i] = v
		}
		if got := own(covariance, variances, sigma); got < c.least*.75-1e-9 || got > c.most*.75+1e-9 {
			t.Errorf("correlation %v of neighbours: a share of %v: must be three quarters of %v to %v", c.alike(1, 0), got, c.least, c.most)
		}
	}
}

// TestOwnShareUnderNoise: with noise, the share is smaller than the one of the draw. If noise hides all, the nine shares are
// as probable as each other, and the seventh is the first with at least .75 of the probability: .08.
func TestOwnShareUnderNoise(t *testing.T) {
	variances := []float64{.02, .03, .04, .02, .03, .04, .02, .03, .04, .02}
	for _, c := range []struct{ own, sigma, want float64 }{
		{.8, .01, .8}, {.3, .01, .3}, {.1, .01, .13}, {.03, .01, .08}, {.8, .03, .2}, {.3, .03, .13}, {.8, 10, .08}, {.03, 10, .08},
	} {
		coins := rand.New(rand.NewPCG(1, 2))
		covariance := noisy(drawnFactors(variances, c.own, coins), c.sigma, coins)
		if got := own(covariance, variances, c.sigma); !(math.Abs(got-.75*c.want) <= 1e-12) {
			t.Errorf("own share %v, sigma %v: %v, want three quarters of %v", c.own, c.sigma, got, c.want)
		}
	}
}

// TestFactoredMoments: without noise the moments are the release. A moment S solves S - d sigma^2/S = X for the release plus
// noise less d sigma^2 over a draw from the family.
func TestFactoredMoments(t *testing.T) {
	const n, v = 24, .0026
	x, g := numbersOnly(n, v, func(i, j int) float64 { return math.Pow(.8, float64(i-j)) })
	numbers := x.manyNumbers(g, 0, 0, false)
	for _, sigma := range []float64{1e-7, 3e-4, .1} {
		list, err := x.factored(g, g, numbers, sigma)
		if err != nil || len(list) != momentsOf(n+1) {
			t.Fatalf("%d moments, %v", len(list), err)
		}
		variances, ones, root := make([]float64, n), make([]float64, n+1), mat.NewSymDense(n+1, nil)
		for i := range n {
			variances[i], ones[i] = max(v, .3*sigma), 1
			root.SetSym(i, i, math.Sqrt(variances[i]))
		}
		ones[n] = 1
		root.SetSym(n, n, 1./4)
		share := own(g.SliceSym(0, n).(*mat.SymDense), variances, sigma)
		coins := rand.New(rand.NewPCG(5, 6))
		for m, s := range list[:2] {
			prior := inference.Between(root, drawnFactors(ones, share, coins))
			noise := noisy(g, sigma, coins)
			var inverse, before, left, right mat.Dense
			if inverse.Inverse(s) != nil || before.Inverse(prior) != nil {
				t.Fatal("no inverse")
			}
			inverse.Scale((n+1)*sigma*sigma, &inverse)
			left.Sub(s, &inverse)
			before.Scale((n+1)*sigma*sigma, &before)
			right.Sub(noise, &before)
			if !mat.EqualApprox(&left, &right, 1e-6*mat.Norm(&right, 2)) {
				t.Errorf("noise %v, moment %d: does not solve its equation", sigma, m)
			}
		}
		if sigma == 1e-7 && !mat.EqualApprox(list[0], g, 1e-4*v) {
			t.Error("a moment without noise is not the release")
		}
	}
}

// TestFactorsAreOfManyNumbers tests when moments are those of factors.
func TestFactorsAreOfManyNumbers(t *testing.T) {
	for _, c := range []struct {
		numbers, levels int
		ridge           float64 // over the mean variance
		plain, want     bool
		sigma           float64 // likewise
		thorough        bool
	}{
		{20, 0, 1.19, false, true, 0, false}, {20, 0, 1.21, false, false, 0, false}, {19, 0, 1, false, false, 0, false}, {10, 10, 1, false, true, 0, false},
		{9, 11, 1, false, false, 0, false}, {120, 0, 1, false, true, 0, false}, {121, 0, 1, false, false, 0, false}, {20, 0, 1, true, false, 0, false},
		{20, 0, 9, false, true, .39, true}, {20, 0, 9, false, false, .41, true}, {20, 0, 9, false, false, .39, false},
		{20, 0, 1, false, true, 9, true},
	} {
		const v = .002
		x, rows := numbersOnly(c.numbers+c.levels, v, func(i, j int) float64 { return 0 })
		for j := range c.levels {
			x.levels[c.numbers+j] = true
			rows.SetSym(c.numbers+j, c.numbers+j, 1)
		}
		x.plain = c.plain
		last := c.numbers + c.levels
		rows.SetSym(0, last, .01)
		rows.SetSym(0, 0, v+.01*.01*16)
		if got := x.manyNumbers(rows, c.ridge*v, c.sigma*v, c.thorough) != nil; got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if (*structure)(nil).manyNumbers(mat.NewSymDense(30, nil), 0, 0, true) != nil {
		t.Error("the structure is unknown")
	}
}

// TestAverageOfTheSteps: the curvature is worked out at the middle between the mean of the steps and the minimum.
func TestAverageOfTheSteps(t *testing.T) {
	a := arrivedAt(arrival{shares: []float64{.001, .5, .9, 1.2}, went: []float64{.1, 2, 3, -4}, noise: []float64{.1, .2, 0, 0},
		prior: []float64{1, 4, 2, 2}}).ways[0].seen[0]
	got := a.average()
	for i, want := range []float64{
		.5 * .001 * .1 / (.1 + 1e-6),
		(1 + .5/(2*math.Log(.5))) * .5 * 4 * 2 / (.25*4 + .2),
		(1 + .9/(2*math.Log(.1))) * 3 / .9,
		(1 + .99/(2*math.Log(.01))) * -4 / .99,
	} {
		if !(math.Abs(got.AtVec(i)-want) <= 1e-9) {
			t.Errorf("coordinate %d: %v: must be %v", i, got.AtVec(i), want)
		}
	}
}

// TestRoundsOfTheCurvature: a way is worked out three times, if each time the curvature changes by more than a hundredth
// of its norm, and once for more than 250 features.
func TestRoundsOfTheCurvature(t *testing.T) {
	at := func(level float64) *mat.SymDense { return mat.NewSymDense(1, []float64{level}) }
	for _, c := range []struct {
		rounds, features int
		next             float64
		want             bool
	}{
		{0, 251, .2, true}, {1, 250, .3, true}, {1, 251, .3, false}, {2, 3, .3, true}, {3, 3, .3, false},
		{1, 3, .20201, true}, {1, 3, .20199, false}, {2, 3, .19799, true}, {2, 3, .19801, false},
	} {
		if got := again(c.rounds, c.features, at(.2), at(c.next)); got != c.want {
			t.Errorf("after %d rounds with %d features, from .2 to %v: again %v", c.rounds, c.features, c.next, got)
		}
	}
	// The norm of a matrix of two margins is the root of its sum of squares: of .03 and .04 it is .05.
	two := func(more float64) *mat.SymDense { return mat.NewSymDense(2, []float64{.03 + more, 0, 0, .04}) }
	if again(1, 3, two(0), two(.00049)) || !again(1, 3, two(0), two(.00051)) {
		t.Error("a change of a hundredth of the norm .05 is .0005")
	}
}

// TestVariedAlongEachDirection: of rows of neighbours with a correlation of .8 the least eigenvalue becomes a fifth of the share
// that the numbers have for themselves, and without a smaller one nothing changes.
func TestVariedAlongEachDirection(t *testing.T) {
	const n, v, sigma = 24, .0026, 1e-5
	x, g := numbersOnly(n, v, func(i, j int) float64 { return math.Pow(.8, float64(i-j)) })
	numbers := x.manyNumbers(g, 0, 0, false)
	got, err := x.varied(g, g, numbers, sigma)
	if err != nil || !mat.EqualApprox(got, g, 1e-12) {
		t.Errorf("rows that vary: %v, changed by more than rounding", err)
	}
	flat := mat.NewSymDense(n+1, nil)
	flat.CopySym(g)
	flat.SetSym(0, 1, v) // the first two numbers are equal
	variances := make([]float64, n)
	for i := range variances {
		variances[i] = v
	}
	if got, err = x.varied(g, flat, numbers, sigma); err != nil {
		t.Fatal(err)
	}
	e, err := inference.Decompose(got)
	if want := .2 * v * own(g.SliceSym(0, n).(*mat.SymDense), variances, sigma); err != nil || math.Abs(e.Values[0]-want) > 1e-9*v {
		t.Errorf("%v, least eigenvalue %v: want %v", err, e.Values[0], want)
	}
}

// TestThoroughRuns: a step of size .5 repeated covers all but (1 - .005)^T of the way along a curvature of .01.
func TestThoroughRuns(t *testing.T) {
	for T, want := range map[int]bool{378: false, 379: true} {
		l := &trace{Noise: make([]float64, T), StepSizes: []float64{.5}}
		if got := l.thorough(); got != want {
			t.Errorf("%d steps, which leave %v: %v", T, math.Pow(.995, float64(T)), got)
		}
	}
}

// TestMomentsThatAreNotFinite: second moments with a number that is not finite have no eigenvalues, which is told. They are not
// taken for moments that are missing.
func TestMomentsThatAreNotFinite(t *testing.T) {
	const n, v, sigma = 24, .0026, 1e-5
	x, g := numbersOnly(n, v, func(i, j int) float64 { return math.Pow(.8, float64(i-j)) })
	numbers := x.manyNumbers(g, 0, 0, false)
	for _, odd := range []float64{math.NaN(), math.Inf(1)} {
		rows := mat.NewSymDense(n+1, nil)
		rows.CopySym(g)
		rows.SetSym(0, 0, odd)
		if got, err := x.varied(g, rows, numbers, sigma); !errors.Is(err, errNoEigenvalues) || got != nil {
			t.Errorf("%v: varied: %v, %v", odd, got, err)
		}
		if got, err := x.factored(g, rows, numbers, sigma); !errors.Is(err, errNoEigenvalues) || got != nil {
			t.Errorf("%v: factored: %v, %v", odd, got, err)
		}
		if got, err := decomposed(rows, nil); !errors.Is(err, errNoEigenvalues) || got != nil {
			t.Errorf("%v: decomposed: %v, %v", odd, got, err)
		}
	}
}
