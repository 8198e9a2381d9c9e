package stationarity_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// TestSeveralMargins compares objective, gradient and Hessian of the softmax loss of three classes with
// the formulas -log p_y, (p - e_y) x' and (diag(p) - p p') V x x', where p = softmax(W x).
func TestSeveralMargins(t *testing.T) {
	const k, d, n = 3, 4, 7
	l, err := loss.Softmax(k)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(4, 4))
	draw := func(n int) []float64 {
		v := make([]float64, n)
		for j := range v {
			v[j] = r.NormFloat64()
		}
		return v
	}
	w, v := draw(k*d), draw(k*d)
	var s stationarity.Sample
	objective, gradient, bent := 0., make([]float64, k*d), make([]float64, k*d)
	for i := range n {
		x, row := make([]float32, d), draw(d)
		for j := range x {
			x[j] = float32(row[j] / 4)
		}
		y := i % k
		s.Rows, s.Targets = append(s.Rows, x), append(s.Targets, float64(y))
		p, move, sum, mean := make([]float64, k), make([]float64, k), 0., 0.
		for c := range k {
			z := 0.
			for j := range x {
				z += w[c*d+j] * float64(x[j])
				move[c] += v[c*d+j] * float64(x[j])
			}
			p[c] = math.Exp(z)
			sum += p[c]
		}
		for c := range k {
			p[c] /= sum
			mean += p[c] * move[c]
		}
		objective -= math.Log(p[y]) / n
		for c := range k {
			slope := p[c]
			if c == y {
				slope--
			}
			for j := range x {
				gradient[c*d+j] += slope * float64(x[j]) / n
				bent[c*d+j] += p[c] * (move[c] - mean) * float64(x[j]) / n
			}
		}
	}
	value, err := stationarity.Objective(l, nil, s, w)
	if err != nil || !(math.Abs(value-objective) <= 1e-12) {
		t.Errorf("objective %v, %v: want %v", value, err, objective)
	}
	got, err := stationarity.Gradient(l, nil, s, w)
	if err != nil {
		t.Fatal(err)
	}
	hessian, err := stationarity.HessianVector(l, nil, s, w, v)
	if err != nil {
		t.Fatal(err)
	}
	for j := range got {
		if !(math.Abs(got[j]-gradient[j]) <= 1e-12) || !(math.Abs(hessian[j]-bent[j]) <= 1e-8*stationarity.Norm(v)) {
			t.Errorf("coordinate %d: gradient %v, Hessian %v: want %v, %v", j, got[j], hessian[j], gradient[j], bent[j])
		}
	}
}
