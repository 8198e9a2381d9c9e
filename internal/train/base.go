package train

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/choose"
)

// Base is the released base rate of a fit, the best constant at which it begins (see optimize.BaseRate).
type Base = optimize.Base

// Begun is what is known when the base rate was released: the base rate, and the plan that follows from it. Steps
// and charges of this plan may depend on the base rate, and take the place of those planned before.
type Begun struct {
	Base Base             `json:"base"`
	Plan optimize.Summary `json:"plan"`
}

// baseRate returns the plan of the release of the base rate, and the problem with the budget that remains. The plan
// is nil if the configuration turns the release off or states where the fit starts, or if no model of the loss predicts
// the same for every row.
func (c *Config) baseRate(p optimize.Problem, l loss.Loss) (*optimize.BaseRate, optimize.Problem, error) {
	share := c.Train.Base
	features, err := c.features(l)
	if err != nil {
		return nil, p, err
	}
	b := optimize.BaseRate{Loss: l, Features: features, Intercept: intercept(c.Model.Reduce, c.Schema)}
	switch {
	case share == Off:
		return nil, p, nil
	case !b.Possible(p.Relation):
		if share > 0 {
			return nil, p, errors.New("train.base: is not possible: the model has no intercept, or its loss no best constant")
		}
		return nil, p, nil
	case share == 0:
		share = optimize.BaseShare
	}
	b.Charge = share * p.Budget.Charge()
	if left := 1 - b.Charge/(p.Mu*p.Mu); !(left > 0) {
		if c.Train.Base > 0 {
			return nil, p, errors.New("train.base: with the shares of the other releases it leaves no budget to train")
		}
		return nil, p, nil
	}
	return &b, c.without(p, b.Charge), nil
}

// again plans the fit of the problem p once more, by the algorithm of a plan that was made for it before its start
// was known.
func (c *Config) again(ctx context.Context, p optimize.Problem, l loss.Loss, before optimize.Plan) (optimize.Plan, error) {
	plan, list, err := c.plan(ctx, p, l)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(k choose.Candidate) bool { return k.Summary.Algorithm == before.Summary().Algorithm })
	if i >= 0 {
		plan = list[i].Plan
	}
	return plan, nil
}

// Begin returns the plan for a fit with the released base rate: it begins at the best constant.
func (p Planned) Begin(ctx context.Context, base Base) (Planned, error) {
	if p.begin == nil {
		return p, errors.New("train: base rate: must be planned")
	}
	return p.begin(ctx, p, base)
}

// begun releases the base rate, plans the fit that begins there, and writes both to the log.
func (p *prepared) begun(ctx context.Context, r *recorder, f *Fitted, h *Head) error {
	base, err := p.planned.Base.Ask(ctx, r, p.start)
	if err != nil {
		return err
	}
	planned, err := p.planned.Begin(ctx, base)
	if err != nil {
		return fmt.Errorf("plan from the base rate: %w", err)
	}
	planned.Schema = f.Schema // its knots may follow from released ranks
	p.planned, p.plan, f.Planned = planned, planned.Plan, planned
	f.Base, h.Plan = &base, planned.Summary
	return r.begun(Begun{base, planned.Summary})
}

// with returns the problem p with the base rate of the fit, if it has one.
func (f *Fitted) with(p optimize.Problem) optimize.Problem {
	if f.Base != nil {
		p.Base = f.Base
	}
	return p
}
