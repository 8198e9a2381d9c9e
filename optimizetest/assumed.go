package optimizetest

import (
	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
)

// Assumed is the quadratic that forecasts assume (see [forecast.Assumed]), with its minimum at 0. In each
// group of directions with equal eigenvalues, only the first direction has a nonzero gradient at the start.
type Assumed struct {
	Loss        Quadratic
	Eigenvalues []float64 // of the objective's Hessian; those of the loss are smaller by lambda
	Start       []float64
}

// AssumedQuadratic returns the quadratic that forecasts assume for the problem p. The objective is the sum
// of its field Loss and the regularizer (lambda/2) ||w||^2.
func AssumedQuadratic(p optimize.Problem, lambda float64) Assumed {
	var a Assumed
	for _, d := range forecast.Assumed(p) {
		e := d.Eigenvalue
		for k := range int(d.Share*float64(p.Dim()) + .5) {
			a.Eigenvalues = append(a.Eigenvalues, e)
			a.Loss.Eigenvalues = append(a.Loss.Eigenvalues, e-lambda)
			w := 0.
			if k == 0 {
				w = d.Gradient / e
			}
			a.Start = append(a.Start, w)
		}
	}
	return a
}

// Config returns the configuration of an oracle that answers about the quadratic, with the given
// budget and number of records.
func (a Assumed) Config(b account.Budget, records int, seed uint64) Config {
	return Config{
		Rows: [][]float32{make([]float32, len(a.Start))}, Targets: []float64{0}, Repeat: records,
		Loss: a.Loss, Budget: b, Seed: seed,
	}
}

// Gradient returns the objective's gradient at w.
func (a Assumed) Gradient(w []float64) []float64 {
	g := make([]float64, len(w))
	for j, e := range a.Eigenvalues {
		g[j] = e * w[j]
	}
	return g
}

// Spectrum returns the spectrum that forecasts assume for the problem: for each group of directions,
// the eigenvalue, the share of the dimensions and the length of the gradient at the start.
func Spectrum(p optimize.Problem) (eigenvalues, shares, gradients []float64) {
	for _, e := range forecast.Assumed(p) {
		eigenvalues, shares, gradients = append(eigenvalues, e.Eigenvalue), append(shares, e.Share),
			append(gradients, e.Gradient)
	}
	return eigenvalues, shares, gradients
}
