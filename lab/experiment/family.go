package experiment

import (
	"fmt"
	"math/rand/v2"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/convex"
	"github.com/stillpoint-dp/stillpoint/lab/rehearsal"
	"github.com/stillpoint-dp/stillpoint/lab/synthetic"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// Family is a generated problem: rows, a loss and a regularizer. In a run each distinct row stands
// for several records.
type Family struct {
	Name        string
	Sample      stationarity.Sample
	Loss        loss.Loss
	Regularizer loss.Regularizer
	// KL is the Kurdyka-Lojasiewicz (KL) condition that the objective is known to satisfy.
	KL optimize.KL
	// Minimum is the infimum of the objective on Sample. It is nil if the infimum is not known.
	Minimum *float64

	// population draws rows from the distribution of Sample.
	population population
	seed       uint64
	// smoothing is the smoothing of the loss for which gradient norms are measured. It is zero if gradients of
	// the loss itself are measured.
	smoothing loss.Smoothing
	// Set is the feasible set, or nil. With a set, gradient norms are those of the gradient mapping with the step 1/L1.
	Set convex.Set
	// radius is the radius of Goldstein's measure of stationarity, for losses without a closed-form
	// smoothing. It is 0 if the gradient itself is measured.
	radius float64
}

// population draws n rows with their targets.
type population = rehearsal.Population

// Dim is the number of weights.
func (f *Family) Dim() int { return loss.Parameters(f.Loss, f.features()) }

func (f *Family) features() int { return len(f.Sample.Rows[0]) }

// Problem returns the public facts about the family, for a number of records and a budget.
func (f *Family) Problem(records float64, b account.Budget) (optimize.Problem, error) {
	p, err := optimize.NewProblem(f.Loss, b, optimize.Stated(f.features(), records))
	p.Regularizer, p.KL, p.Set = f.Regularizer, f.KL, f.Set
	return p, err
}

// GradientNorm returns the gradient norm at w on all rows. It is the norm of the objective's gradient. For
// a loss whose derivative jumps, it is an upper bound on Goldstein's measure (see newKinked).
func (f *Family) GradientNorm(w []float64) (float64, error) {
	g, err := f.gradient(f.Sample, w)
	return stationarity.Norm(g), err
}

// Fresh draws n rows from the family's distribution, independent of the family's own rows. The same
// seed gives the same rows. It returns an error if the family has no distribution or n is below 2.
func (f *Family) Fresh(n int, seed uint64) (stationarity.Sample, error) {
	if f.population == nil {
		return stationarity.Sample{}, fmt.Errorf("experiment: %s: has no distribution to draw fresh rows from", f.Name)
	}
	if n < 2 {
		return stationarity.Sample{}, fmt.Errorf("experiment: %s: fresh rows = %d: must be >= 2", f.Name, n)
	}
	return f.population(rand.New(rand.NewPCG(f.seed, seed^0xf7e5)), n), nil
}

// Rows returns the family as rows on which a check runs plans.
func (f *Family) Rows() rehearsal.Rows {
	return rehearsal.Rows{Sample: f.Sample, Loss: f.Loss, Regularizer: f.Regularizer, Fresh: f.Fresh,
		GradientNorm: f.GradientNorm}
}

// Tanh is the family with the objective 1 - tanh(y<w,x>) + (.01/2)||w||^2 on the rows of rehearsal.GLM.
func Tanh(d, rows int, seed uint64) (*Family, error) {
	return newFamily(rehearsal.GLM, 0x91a2, d, rows, seed, "tanh", "tanh", "l2(0.01)")
}

// LogisticNonconvex is the family with the logistic loss + .01 sum w_j^2/(1+w_j^2) on the rows of
// rehearsal.GLM.
func LogisticNonconvex(d, rows int, seed uint64) (*Family, error) {
	return newFamily(rehearsal.GLM, 0x91a2, d, rows, seed, "logistic+nonconvex", "logistic", "nonconvex(0.01)")
}

// Logistic is the family with the logistic loss + (.01/2)||w||^2, which is strongly convex, on the
// rows of rehearsal.GLM.
func Logistic(d, rows int, seed uint64) (*Family, error) {
	return newFamily(rehearsal.GLM, 0x91a2, d, rows, seed, "logistic", "logistic", "l2(0.01)")
}

// InBall returns the maker of a family of the given maker in the ball of this radius around 0.
func InBall(of maker, radius float64) maker {
	return func(d, rows int, seed uint64) (*Family, error) {
		f, err := of(d, rows, seed)
		if err != nil {
			return nil, err
		}
		f.Name = fmt.Sprintf("ball-%s(%v)", f.Name, radius)
		if f.Set, err = convex.NewBall(nil, radius); err != nil {
			return nil, fmt.Errorf("experiment: %s: %w", f.Name, err)
		}
		return f, nil
	}
}

// SlowTail is the family of the loss slow-tail (package synthetic), whose gradient falls slowly along the
// first coordinate. Rows have norm 1 and come in pairs of opposite sign. The loss multiplies rows by .4.
func SlowTail(d, rows int, seed uint64) (*Family, error) {
	return newFamily(opposites, 0x51a1, d, rows, seed, "slow-tail", "slow-tail", "")
}

// opposites is the population of pairs of opposite unit vectors. A sample has an even number of rows, whose
// sum is zero.
func opposites(_ *rand.Rand, d int) population {
	return func(r *rand.Rand, n int) stationarity.Sample {
		s := rehearsal.NewSample(n)
		for range n / 2 {
			v := make([]float64, d)
			for j := range v {
				v[j] = r.NormFloat64()
			}
			norm := stationarity.Norm(v)
			rehearsal.Add(&s, v, norm, 1)
			rehearsal.Add(&s, v, -norm, 1)
		}
		return s
	}
}

// newFamily makes a family: it draws a population (a distribution of rows) from the seed, and then the
// family's rows from this population. l names the loss, and reg the regularizer; with reg "" there is none.
func newFamily(p func(r *rand.Rand, d int) population, stream uint64, d, rows int, seed uint64, name, l,
	reg string) (*Family, error) {
	if d < 1 {
		return nil, fmt.Errorf("experiment: %s: dimension = %d: must be >= 1", name, d)
	}
	if rows < 2 {
		return nil, fmt.Errorf("experiment: %s: rows = %d: must be >= 2", name, rows)
	}
	r := rand.New(rand.NewPCG(seed, stream))
	f := &Family{Name: name, population: p(r, d), seed: seed}
	var err error
	if f.Loss, err = synthetic.Parse(l); err != nil {
		return nil, fmt.Errorf("experiment: %s: %w", name, err)
	}
	if f.Sample = f.population(r, rows); len(f.Sample.Rows) != rows {
		return nil, fmt.Errorf("experiment: %s: rows = %d: must be even", name, rows)
	}
	if reg != "" {
		if f.Regularizer, err = loss.ParseRegularizer(reg); err != nil {
			return nil, fmt.Errorf("experiment: %s: %w", name, err)
		}
	}
	return f, nil
}
