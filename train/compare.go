package train

import (
	"context"
	"math"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Compared is the released comparison of a model with the best constant.
type Compared = optimize.Compared

// comparison returns the comparison that a fit will make of its result with the best constant, and the
// problem with the rest of the budget for the plan. It returns a nil comparison and the whole budget if
// the comparison is turned off, or if its share is the default and the noise would hide any difference.
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

// without returns the problem with its budget reduced by a charge.
func (c *Config) without(p optimize.Problem, charge float64) optimize.Problem {
	p.Mu *= math.Sqrt(1 - charge/(p.Mu*p.Mu))
	return p
}

// compare releases the comparison of the result with the best constant, from the share of the budget
// reserved for it.
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
