package optimizetest

import (
	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
)

// Assumed is the quadratic that predictions assume. It has the assumed eigenvalues and its minimum
// at 0. In each group of directions, the whole gradient lies along the first direction.
type Assumed struct {
	Loss        Quadratic
	Eigenvalues []float64 // of the objective; the data term has these minus lambda
	Start       []float64
}

// AssumedQuadratic returns the quadratic that predictions assume of a problem with
// regularizer (lambda/2) ||w||^2.
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

// Config returns an oracle's configuration for the quadratic.
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

// Spectrum returns the spectrum that predictions assume, with one entry for each group of
// directions.
func Spectrum(p optimize.Problem) (eigenvalues, shares, gradients []float64) {
	for _, e := range forecast.Assumed(p) {
		eigenvalues, shares, gradients = append(eigenvalues, e.Eigenvalue), append(shares, e.Share), append(gradients, e.Gradient)
	}
	return eigenvalues, shares, gradients
}
