// Package rehearsal runs plans on generated rows in place of a table, before a budget is spent on the table.
//
// The package protects no records: rows are generated, sessions are simulated, random bits are seeded.
package rehearsal

import (
	"math"
	"math/rand/v2"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// Rows are generated rows with the loss and the regularizer of the objective on them.
type Rows struct {
	Sample      stationarity.Sample
	Loss        loss.Loss
	Regularizer loss.Regularizer
	// Fresh draws n other rows from the distribution of Sample. The same seed gives the same rows.
	Fresh func(n int, seed uint64) (stationarity.Sample, error)
	// GradientNorm computes the gradient norm at w on all rows. If it is nil, the norm is that of the
	// objective's gradient.
	GradientNorm func(w []float64) (float64, error)
}

func (r Rows) gradientNorm(w []float64) (float64, error) {
	if r.GradientNorm != nil {
		return r.GradientNorm(w)
	}
	g, err := stationarity.Gradient(r.Loss, r.Regularizer, r.Sample, w)
	return stationarity.Norm(g), err
}

// Open returns a simulated session over the rows, of which each stands for repeat records, for a run of the
// plan.
func Open(r Rows, repeat int, b account.Budget, plan optimize.Plan, seed uint64) (*simulate.Session, error) {
	declared := 0.
	if b.Relation() == account.AddOrRemove {
		declared = float64(len(r.Sample.Rows) * repeat)
	}
	session, err := simulate.Open(simulate.Config{
		Rows: r.Sample.Rows, Targets: r.Sample.Targets, Repeat: repeat, Declared: declared,
		Loss: r.Loss, Budget: b, Seed: seed, Workers: 1,
	})
	if err != nil {
		return nil, err
	}
	if schedule := plan.Needs().Schedule; schedule != nil {
		if err := session.Follow(schedule); err != nil {
			return nil, err
		}
	}
	return session, nil
}

// Population is a distribution of rows: it draws n rows with their targets.
type Population func(r *rand.Rand, n int) stationarity.Sample

// GLM is the population of rows z/||z|| with labels -1 and 1. z is normal with covariance I_d, then scaled
// by j^(-1/2) in coordinate j = 1..d and rotated at random. The label is the sign of the inner product of z
// and a random vector (the planted direction), flipped with probability .1.
func GLM(r *rand.Rand, d int) Population {
	q := Rotation(r, d)
	planted := make([]float64, d)
	for i := range d {
		u := r.NormFloat64()
		for j := range d {
			planted[j] += q[i][j] * u
		}
	}
	return func(r *rand.Rand, n int) stationarity.Sample {
		s := NewSample(n)
		for range n {
			x := make([]float64, d)
			for k := range d {
				u := r.NormFloat64() / math.Sqrt(float64(k+1))
				for j := range d {
					x[j] += q[k][j] * u
				}
			}
			var z float64
			for j := range d {
				z += x[j] * planted[j]
			}
			y := math.Copysign(1, z)
			if r.Float64() < .1 {
				y = -y
			}
			Add(&s, x, stationarity.Norm(x), y)
		}
		return s
	}
}

// NewSample returns a sample without rows, with room for n.
func NewSample(n int) stationarity.Sample {
	return stationarity.Sample{Rows: make([][]float32, 0, n), Targets: make([]float64, 0, n)}
}

// Add appends the row x/scale with the target y to the sample.
func Add(s *stationarity.Sample, x []float64, scale, y float64) {
	row := make([]float32, len(x))
	for j := range x {
		row[j] = float32(x[j] / scale)
	}
	s.Rows, s.Targets = append(s.Rows, row), append(s.Targets, y)
}

// Rotation returns a random orthogonal matrix, uniform up to signs, by the Gram-Schmidt process.
func Rotation(r *rand.Rand, d int) [][]float64 {
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
