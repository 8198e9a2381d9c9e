package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
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
	// Family is the family that takes the place of a richer one (see Config.simpler); nil if the family stays.
	Family *runrecord.Family `json:"family,omitempty"`
}

// baseRate returns the plan of the release of the base rate, and the problem with the budget that remains. The plan
// is nil if the configuration turns the release off or states where the fit starts, or if no model of the loss predicts
// the same for every row.
func (c *Config) baseRate(p optimize.Problem, l loss.Loss) (*optimize.BaseRate, optimize.Problem, error) {
	share := c.Train.Base
	if _, err := c.features(l); err != nil {
		return nil, p, err
	}
	b := c.rate(l)
	switch {
	case c.Model.Start.Given() && share > 0:
		return nil, p, errors.New("train.base: must be left out where model.start states where the fit begins")
	case !b.Possible(p.Relation) && share > 0:
		return nil, p, errors.New("train.base: is not possible: the model has no intercept, or its loss no best constant")
	case share == Off, c.Model.Start.Given(), !b.Possible(p.Relation):
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

// rate returns the base rate of the fit, without a charge.
func (c *Config) rate(l loss.Loss) optimize.BaseRate {
	features, _ := c.features(l)
	t := c.Schema.Target()
	b := optimize.BaseRate{Loss: withOdds(l, t), Features: features, Intercept: intercept(c.Model.Reduce, c.Schema)}
	if t.Grouped != "" {
		b.Interval = cmp.Or(vector.Dot(t.Hazards, t.Hazards), 1/float64(len(t.Cuts))) // of events at the hazards
	}
	return b
}

// withOdds returns the loss with the baseline odds of a time to an event, if it is one of logit hazards.
func withOdds(l loss.Loss, t dataset.Target) loss.Loss {
	return targetpair.WithOdds(l, targetpair.Times{Cuts: t.Cuts, Increments: t.Hazards, Grouped: t.Grouped})
}

// Start is a constant at which a fit begins, in place of a released base rate. It must be public knowledge that does
// not come from the table. At most one key may be given.
type Start struct {
	// Share is the share of the second of two classes.
	Share *float64 `yaml:"share"`
	// Shares are the shares of three or more classes, in the order of the schema.
	Shares []float64 `yaml:"shares"`
	// Rate is the mean count, or the count per unit of exposure.
	Rate *float64 `yaml:"rate"`
	// Value is the number that a constant predicts best, in the unit of the target.
	Value *float64 `yaml:"value"`
}

// Given reports whether a key is given.
func (s Start) Given() bool {
	return s.Share != nil || s.Shares != nil || s.Rate != nil || s.Value != nil
}

// stated returns the constant that the configuration states in model.start; nil if it states none.
func (c *Config) stated(l loss.Loss) (*Base, error) {
	s := c.Model.Start
	if !s.Given() {
		return nil, nil
	}
	b, of, target := c.rate(l), loss.Unweighted(l), c.Schema.Target()
	rule := func(what string) error {
		return fmt.Errorf("model.start: with loss %s it must have %s, and no other key", of.Name(), what)
	}
	keys := 0
	for _, given := range []bool{s.Share != nil, s.Shares != nil, s.Rate != nil, s.Value != nil} {
		if given {
			keys++
		}
	}
	var out Base
	ok := keys == 1
	switch {
	case loss.Counts(of):
		if ok = ok && s.Rate != nil && *s.Rate > 0 && !math.IsInf(*s.Rate, 0); !ok {
			return nil, rule("rate, a number above 0")
		}
		out, ok = b.AtRate(*s.Rate / target.Rate())
	case of.Target() == loss.Real:
		if ok = ok && s.Value != nil && *s.Value >= target.Low && *s.Value <= target.High; !ok {
			return nil, rule(fmt.Sprintf("value, a number in [%v, %v]", target.Low, target.High))
		}
		out, ok = b.AtValue(2*(*s.Value-target.Low)/(target.High-target.Low) - 1)
	case of.Target() == loss.Binary:
		if ok = ok && s.Share != nil; !ok {
			return nil, rule("share, the share of the second class")
		}
		out, ok = b.AtShares([]float64{1 - *s.Share, *s.Share})
	default:
		if ok = ok && s.Shares != nil; !ok {
			return nil, rule("shares, one for each class")
		}
		out, ok = b.AtShares(s.Shares)
	}
	if !ok {
		return nil, errors.New("model.start: shares must be above 0 and sum to 1, one for each class of a log loss, and rows " +
			"must have an intercept")
	}
	out.Public = true
	return &out, nil
}

// again plans the fit of the problem p once more, with the list of the plans that auto compared. The algorithm is that
// of a plan that was made before the start was known, unless auto now puts preconditioned first.
func (c *Config) again(ctx context.Context, p optimize.Problem, l loss.Loss, before optimize.Plan) (optimize.Plan,
	[]choose.Candidate, error) {
	plan, list, err := c.plan(ctx, p, l)
	if err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(list, func(k choose.Candidate) bool { return k.Summary.Algorithm == before.Summary().Algorithm })
	if i > 0 && list[0].Summary.Algorithm != "preconditioned" {
		plan = list[i].Plan
		list = slices.Insert(slices.Delete(slices.Clone(list), i, i+1), 0, list[i])
	}
	return plan, list, nil
}

// Begin returns the plan for a fit with the released base rate: it begins at the best constant.
func (p Planned) Begin(ctx context.Context, base Base) (Planned, error) {
	if p.begin == nil {
		return p, errors.New("train: base rate: must be planned")
	}
	return p.begin(ctx, p, base)
}

// begun releases the base rate, plans the fit that begins there, and writes both to the log. It returns the configuration
// of the fit, whose family may be simpler than before.
func (c *Config) begun(ctx context.Context, p *prepared, r *recorder, f *Fitted, h *Header) (*Config, error) {
	base, err := p.planned.Base.Ask(ctx, r, p.start)
	if err != nil {
		return c, err
	}
	planned, err := p.planned.Begin(ctx, base)
	if err != nil {
		return c, fmt.Errorf("plan from the base rate: %w", err)
	}
	begun := Begun{Base: base, Plan: planned.Summary}
	if planned.Family.Name != f.Family.Name {
		begun.Family, h.Family, h.Features = &planned.Family.Family, &planned.Family.Family, ""
	}
	straight := planned.Straightens(f.Schema)
	if straight {
		c, h.Schema = c.of(planned.Schema), planned.Schema
	}
	planned.Schema = h.Schema // its knots may follow from released ranks
	if planned.Ranks == nil {
		h.Ranks = nil
	}
	h.Plan, p.planned, p.plan, f.Planned, f.Base = planned.Summary, planned, planned.Plan, planned, &base
	if err := r.write(Line{Begun: &begun}); err != nil || !straight {
		return c, err
	}
	if err := r.session.Refine(h.Schema); err != nil {
		return c, err
	}
	return c, r.write(Line{Refined: h.Schema})
}

// with returns the problem p with the base rate of the fit, if it has one.
func (f *Fitted) with(p optimize.Problem) optimize.Problem {
	if f.Base != nil {
		p.Base = f.Base
	}
	return p
}
