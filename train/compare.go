package train

import (
	"context"
	"math"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Compared is how a model compares with the best constant, as it was released.
type Compared = optimize.Compared

// comparison is how the result of a fit is compared with the best constant, and the problem
// with what is left of the budget for its plan. There is none, and all of the budget is
// left, where it is turned off or, by default, where it could tell nothing.
func (c *Config) comparison(p optimize.Problem, l loss.Loss) (*optimize.Compare, optimize.Problem, error) {
	share := c.Train.Compare
	switch {
	case share == Off:
		return nil, p, nil
	case share == 0:
		share = DefaultCompare
	}
	features, err := c.features(l)
	if err != nil {
		return nil, p, err
	}
	compare := &optimize.Compare{Charge: share * p.Budget.Charge(), Loss: l, Features: features}
	if c.Model.Reduce == "" { // shortened rows have no intercept of their own
		compare.Intercept = 1 / c.Schema.Scale()
	}
	if c.Train.Compare == 0 && !compare.Resolves(p) {
		return nil, p, nil
	}
	return compare, c.without(p, compare.Charge), nil
}

// without is a problem less a charge that its plan has to do without.
func (c *Config) without(p optimize.Problem, charge float64) optimize.Problem {
	p.Mu *= math.Sqrt(1 - charge/(p.Mu*p.Mu))
	return p
}

// compare releases how the result compares with the best constant, from the share kept
// for it.
func (c *Config) compare(ctx context.Context, r *recorder, f *Fitted, w []float64) error {
	p, _, err := c.Problem(f.Budget, f.Records)
	if err != nil {
		return err
	}
	compared, err := f.Compare.Ask(ctx, r, p, w)
	if err != nil {
		return err
	}
	f.Compared = &compared
	return r.compared(compared)
}
