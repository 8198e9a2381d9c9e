// Package experiment measures optimizers on generated problems whose every
// constant is known.
package experiment

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// Family is a generated problem: some distinct rows, each of which stands for
// as many records as a run needs.
type Family struct {
	Name        string
	Sample      stationarity.Sample
	Loss        loss.Loss
	Regularizer loss.Regularizer
}

// Problem returns what is public about the family.
func (f *Family) Problem() optimize.Problem {
	_, rankOne := f.Loss.(loss.RankOne)
	return optimize.Problem{
		Dim: len(f.Sample.Rows[0]), Constants: f.Loss.Constants(), RankOne: rankOne, Regularizer: f.Regularizer,
	}
}

// GradientNorm returns that of the mean loss over all rows at w.
func (f *Family) GradientNorm(w []float64) (float64, error) {
	g, err := stationarity.Gradient(f.Loss, f.Regularizer, f.Sample, w)
	return stationarity.Norm(g), err
}

// glmRows are z ~ N(0, I_d) scaled by j^(-1/2) in coordinate j, rotated at
// random, on the unit sphere, with signs of a planted direction flipped with
// probability .1.
func glmRows(d, rows int, seed uint64) stationarity.Sample {
	r := rand.New(rand.NewPCG(seed, 0x91a2))
	q := rotation(r, d)
	planted := make([]float64, d)
	for i := range d {
		u := r.NormFloat64()
		for j := range d {
			planted[j] += q[i][j] * u
		}
	}
	s := stationarity.Sample{Rows: make([][]float32, rows), Targets: make([]float64, rows)}
	for i := range rows {
		x := make([]float64, d)
		for k := range d {
			u := r.NormFloat64() / math.Sqrt(float64(k+1))
			for j := range d {
				x[j] += q[k][j] * u
			}
		}
		norm := stationarity.Norm(x)
		s.Rows[i] = make([]float32, d)
		var z float64
		for j := range d {
			s.Rows[i][j] = float32(x[j] / norm)
			z += x[j] * planted[j]
		}
		s.Targets[i] = math.Copysign(1, z)
		if r.Float64() < .1 {
			s.Targets[i] = -s.Targets[i]
		}
	}
	return s
}

// rotation returns an orthogonal matrix, uniform up to signs, by Gram-Schmidt.
func rotation(r *rand.Rand, d int) [][]float64 {
	q := make([][]float64, d)
	for i := range q {
		v := make([]float64, d)
		for j := range v {
			v[j] = r.NormFloat64()
		}
		for range 2 { // twice is enough for orthogonality to rounding
			for _, u := range q[:i] {
				var dot float64
				for j := range v {
					dot += u[j] * v[j]
				}
				for j := range v {
					v[j] -= dot * u[j]
				}
			}
		}
		norm := stationarity.Norm(v)
		for j := range v {
			v[j] /= norm
		}
		q[i] = v
	}
	return q
}

// Tanh is 1 - tanh(y<w,x>) + (.01/2)||w||^2 on GLM rows.
func Tanh(d, rows int, seed uint64) (*Family, error) {
	return newFamily("tanh", glmRows(d, rows, seed), "tanh", "l2(0.01)")
}

// LogisticNonconvex is the logistic loss + .01 sum w_j^2/(1+w_j^2) on GLM rows.
func LogisticNonconvex(d, rows int, seed uint64) (*Family, error) {
	return newFamily("logistic+nonconvex", glmRows(d, rows, seed), "logistic", "nonconvex(0.01)")
}

// SlowTail is F(w) + <a_i, w> with F slowly decaying along its first coordinate
// and a_i of norm .4 in pairs of opposite sign. The loss scales a row by .4.
func SlowTail(d, rows int, seed uint64) (*Family, error) {
	r := rand.New(rand.NewPCG(seed, 0x51a1))
	s := stationarity.Sample{}
	for range rows / 2 {
		v := make([]float64, d)
		for j := range v {
			v[j] = r.NormFloat64()
		}
		norm := stationarity.Norm(v)
		a, b := make([]float32, d), make([]float32, d)
		for j := range v {
			a[j] = float32(v[j] / norm)
			b[j] = -a[j]
		}
		s.Rows = append(s.Rows, a, b)
		s.Targets = append(s.Targets, 1, 1)
	}
	return newFamily("slow-tail", s, "slow-tail", "")
}

func newFamily(name string, s stationarity.Sample, l, r string) (*Family, error) {
	f := &Family{Name: name, Sample: s}
	var err error
	if f.Loss, err = loss.Parse(l); err != nil {
		return nil, fmt.Errorf("experiment: %s: %w", name, err)
	}
	if r != "" {
		if f.Regularizer, err = loss.ParseRegularizer(r); err != nil {
			return nil, fmt.Errorf("experiment: %s: %w", name, err)
		}
	}
	return f, nil
}
