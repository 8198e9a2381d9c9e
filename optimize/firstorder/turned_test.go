package firstorder

import (
	"math"
	"testing"
)

// TestTurnedByHand: with M the released second moment plus the ridge, the coordinates of P^-1 w along the eigenvectors have
// the square w'Mw, those of a released gradient P g have the square (Pg)'(Pg), and transformed back g has (Pg)'M(Pg). A
// negative eigenvalue counts as 0. Noise of deviation 1 has the trace of M.
func TestTurnedByHand(t *testing.T) {
	const ridge = .15
	for _, c := range []struct{ matrix, positive []float64 }{
		{[]float64{2, .3, .3, .7}, []float64{2, .3, .3, .7}},
		{[]float64{1, 2, 2, 1}, []float64{1.5, 1.5, 1.5, 1.5}}, // the eigenvalues 3 and -1
	} {
		s, err := newSpectrum(c.matrix, 2)
		if err != nil {
			t.Fatal(err)
		}
		v := []float64{1.4, -.6}
		form, length := 0., 0.
		for i := range 2 {
			for j := range 2 {
				m := c.positive[i*2+j]
				if i == j {
					m += ridge
				}
				form += m * v[i] * v[j]
			}
			length += v[i] * v[i]
		}
		square := func(list []float64) (sum float64) {
			for _, v := range list {
				sum += v * v
			}
			return sum
		}
		if got := square(s.turned(v, ridge)); !(math.Abs(got/form-1) <= 1e-9) {
			t.Errorf("weights turned have the square %v: must have %v", got, form)
		}
		if got := square(s.along(v)); !(math.Abs(got/length-1) <= 1e-9) {
			t.Errorf("a vector along eigenvectors has the square %v: must have %v", got, length)
		}
		got, noise := s.outside(v, ridge)
		if trace := c.positive[0] + c.positive[3] + 2*ridge; !(math.Abs(got/form-1) <= 1e-9) || !(math.Abs(noise/trace-1) <= 1e-9) {
			t.Errorf("outside: %v and %v: must be %v and %v", got, noise, form, trace)
		}
	}
}
