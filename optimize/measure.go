package optimize

import (
	"context"
	"math"

	"github.com/stillpoint-dp/stillpoint/query"
)

// Measure releases two numbers about a released point: the mean loss and the norm of the mean gradient. The
// noise in a single number is far smaller than the noise in a vector of d coordinates, so a few percent of
// a budget are enough for precise numbers.
type Measure struct {
	// Charge is the total charge of the two releases, a part of the budget mu^2.
	Charge float64
}

// Workload says which queries Ask makes.
func (Measure) Workload() Workload {
	return Workload{}.Count(query.Value, 1, 1).Count(query.Norm, 1, 1)
}

// Ask releases the mean loss and the norm of the mean gradient at w, over all records. The regularizer is
// included in both numbers, without noise.
func (m Measure) Ask(ctx context.Context, o Oracle, p Problem, w []float64) (Measured, error) {
	if err := p.ValidateKinked(); err != nil {
		return Measured{}, err
	}
	f0 := p.Constants.InitialGap
	shift := make([]float64, p.Dim())
	p.AddRegularizer(shift, w)
	charge := m.Charge / 2 * usable
	value, err := ask(ctx, o, charge, query.ValueAt(o.All(), w, f0, f0))
	if err != nil {
		return Measured{}, stepError("measure", 0, err)
	}
	gradient, err := ask(ctx, o, charge, query.NormAt(o.All(), w, p.Constants.Lipschitz, shift))
	if err != nil {
		return Measured{}, stepError("measure", 1, err)
	}
	out := Measured{
		Loss: value.Mean[0], LossSigma: value.Sigma, LossClip: 2 * f0,
		GradientNorm: math.Max(gradient.Mean[0], 0), GradientSigma: gradient.Sigma,
	}
	if p.Regularizer != nil {
		out.Loss += p.Regularizer.Value(w)
	}
	return out, nil
}

func ask(ctx context.Context, o Oracle, charge float64, terms ...query.Term) (query.Release, error) {
	q, err := query.New(charge, terms...)
	if err != nil {
		return query.Release{}, err
	}
	return o.Ask(ctx, q)
}
