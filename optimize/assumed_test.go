package optimize_test

import (
	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
)

// assumed is the quadratic that predictions speak of: the assumed eigenvalues,
// the whole gradient of a group of directions along its first, minimum at 0.
type assumed struct {
	loss        optimizetest.Quadratic
	eigenvalues []float64 // of the objective; those of the data term are lambda less
	start       []float64
}

func assumedQuadratic(p optimize.Problem, lambda float64) assumed {
	var a assumed
	eigenvalues, shares, gradients := p.Spectrum()
	for i, e := range eigenvalues {
		for k := range int(shares[i]*float64(p.Dim) + .5) {
			a.eigenvalues = append(a.eigenvalues, e)
			a.loss.Eigenvalues = append(a.loss.Eigenvalues, e-lambda)
			w := 0.
			if k == 0 {
				w = gradients[i] / e
			}
			a.start = append(a.start, w)
		}
	}
	return a
}

func (a assumed) config(b account.Budget, records int, seed uint64) optimizetest.Config {
	return optimizetest.Config{
		Rows: [][]float32{make([]float32, len(a.start))}, Targets: []float64{0}, Repeat: records,
		Loss: a.loss, Budget: b, Seed: seed,
	}
}

func (a assumed) gradient(w []float64) []float64 {
	g := make([]float64, len(w))
	for j, e := range a.eigenvalues {
		g[j] = e * w[j]
	}
	return g
}

// wide is a quadratic in d directions of eigenvalues between .2 and 1, whose
// clip norm nothing reaches, with the start at distance 1 along every axis.
func wide(d int, slowest float64) optimizetest.Problem {
	var l optimizetest.Quadratic
	p := optimizetest.Problem{Name: "wide", Rows: [][]float32{make([]float32, d)}, Targets: []float64{0}, Minimiser: make([]float64, d)}
	for j := range d {
		l.Eigenvalues = append(l.Eigenvalues, max(slowest, .2+.8*float64(j)/float64(d)))
		p.Public.Start = append(p.Public.Start, 1)
	}
	l.Lipschitz, l.Range = 4*float64(d), float64(d)
	p.Loss = l
	p.Public.Dim, p.Public.Constants = d, l.Constants()
	return p
}
