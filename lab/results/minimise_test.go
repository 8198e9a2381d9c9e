//go:build results

package results_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/loss"
)

// minimise returns a stationary point of the mean loss over the rows, found from zero without
// privacy.
func minimise(t *testing.T, r *rows, l loss.RankOne) []float64 {
	t.Helper()
	return minimiseTilted(t, r, l, 0, make([]float64, r.dim), 1e-9*l.Constants().Lipschitz)
}

// minimiseTilted returns a point at which the gradient of the mean loss + ridge |w|^2/2 + <tilt, w> has at
// most the length tolerance. It uses Newton's method for two classes, and iteratively reweighted least
// squares for regression, which never increases the loss. 1e-10 times the identity is added to the matrix
// of each step, because categories and the intercept are collinear; this does not change stationary points.
func minimiseTilted(t *testing.T, r *rows, l loss.RankOne, ridge float64, tilt []float64, tolerance float64) []float64 {
	t.Helper()
	var (
		w      = make([]float64, r.dim)
		slopes = make([]float64, r.n())
		weight = make([]float64, r.n())
	)
	for range 1000 {
		z := r.margins(w)
		l.Slopes(slopes, z, r.y)
		l.Curvatures(weight, z, r.y)
		if l.Target() == loss.Real {
			for i, s := range slopes {
				if e := z[i] - r.y[i]; e != 0 {
					weight[i] = s / e
				}
			}
		}
		gradient := r.mean(slopes)
		for j := range gradient {
			gradient[j] += ridge*w[j] + tilt[j]
		}
		if math.Sqrt(dot(gradient, gradient)) <= tolerance {
			return w
		}
		matrix := r.weighted(weight)
		for j := range r.dim {
			matrix.SetSym(j, j, matrix.At(j, j)+ridge+1e-10)
		}
		var factor mat.Cholesky
		if !factor.Factorize(matrix) {
			t.Fatalf("%s: the matrix is not positive definite", l.Name())
		}
		var step mat.VecDense
		if err := factor.SolveVecTo(&step, mat.NewVecDense(r.dim, gradient)); err != nil {
			if _, bad := err.(mat.Condition); !bad {
				t.Fatal(err)
			}
		}
		for j := range w {
			w[j] -= step.AtVec(j)
			if math.IsNaN(w[j]) {
				t.Fatalf("%s: diverged", l.Name())
			}
		}
	}
	t.Fatalf("%s: did not converge", l.Name())
	return nil
}

// descend returns the point that gradient descent without noise reaches from zero in the given number of
// steps with a fit's default step size 4/L1.
func descend(r *rows, l loss.RankOne, steps int) []float64 {
	w, slopes := make([]float64, r.dim), make([]float64, r.n())
	eta := 4 / l.Constants().Curvature.Hi
	for range steps {
		l.Slopes(slopes, r.margins(w), r.y)
		gradient := make([]float64, r.dim)
		for i, s := range slopes {
			at, x := r.row(i)
			for k, j := range at {
				gradient[j] += s * x[k]
			}
		}
		for j := range w {
			w[j] -= eta / float64(r.n()) * gradient[j]
		}
	}
	return w
}
