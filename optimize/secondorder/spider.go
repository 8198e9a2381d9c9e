package secondorder

import (
	"context"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Spider configures the stochastic Spider with escapes from saddle points (Liu and Talwar 2025,
// Algorithm 3 with Algorithms 1, 2 and 4 inside). It makes one pass: each record is in one item of
// one prefix sum.
//
//	descend  a fresh estimate of the gradient from a cohort of b, extended by
//	         differences over cohorts of b_t in proportion to the step, all of them
//	         items of one prefix sum; fresh again after a path of kappa/L1, tau escapes
//	         or all items
//	escape   where the estimate is small: up to Gamma steps along g + H (x - anchor),
//	         H (x - anchor) by noisy products over the cohort of the fresh estimate,
//	         up to a distance of Xi
//
// Guarantee: mu-GDP whatever the constants. A record is in one item, charged once for all answers
// of its prefix sum, and in the products of its cohort, whose largest number is fixed before the
// run. Theorem 3.17 holds for Theorem's settings, up to the logarithms and constants that the
// theorem leaves open: some iterate has a gradient norm of at most alpha = O(n^(-1/3) + (sqrt(d)/(n
// epsilon))^(1/2)) and no eigenvalue below -sqrt(rho alpha).
//
// Deviations from the paper:
//   - All items have the sensitivity of the fresh estimate, declared beforehand, and b_t is large
//     enough for it. b_t follows the distance moved, since the norm of the next estimate is not
//     known yet.
//   - The fresh estimate is the first item and has its own noise.
//   - A prefix sum ends after a declared number of items.
//   - After an escape no other escape begins for Gamma steps. A point that turned out not to be a
//     saddle is left first.
//   - Without Theorem, prefix sums use the square-root matrix, not the tree. Products use the fresh
//     estimate's cohort at the anchor, without the cohorts of differences, and get no extra noise.
//     Steps are h/L1.
//   - The run returns one chosen point (see WithoutSelection). The paper proves only that some
//     iterate is good.
//
// If the objective is convex, every stationary point is a second-order stationary point. Then there
// are no products, no escapes and no held-out records.
//
// The zero Spider is the practical rule.
type Spider struct {
	// Gap sets which eigenvalues of the Hessian make a point a saddle: those below -Gap. Zero means
	// a tenth of the smoothness L1. With Theorem it must be zero: the theorem sets it.
	Gap float64 `yaml:"gap"`
	// StepScale is h in eta = h/L1. Zero means 4 for rank-one losses, else 1. With Theorem it must
	// be zero and h is 1.
	StepScale float64 `yaml:"step_scale"`
	// Rounds is K: the cohort of a fresh estimate has n/(1.5 K) records. Zero means 8. With Theorem
	// it must be zero.
	Rounds int `yaml:"rounds"`
	// Items is the number of items of a prefix sum. Zero means between 64 and 128, depending on
	// Gap. With Theorem it must be zero.
	Items int `yaml:"items"`
	// WithoutProducts turns escapes off. The run then consists of prefix sums only.
	WithoutProducts bool `yaml:"without_products"`
	// WithoutSelection returns an average: of the points at which estimates were released in the
	// second half of the records, since the last escape that went as far as Xi. Without it, a tenth
	// of the records is held out to choose the result among that average, the last point, and the
	// anchors whose escape stayed near. On the held-out records the run releases each candidate's
	// curvature along the directions of all escapes, and leaves out candidates with a curvature
	// below -Gap/2. From the others the exponential mechanism draws one with a small gradient.
	WithoutSelection bool `yaml:"without_selection"`
	// Theorem takes batches, thresholds and noise from Theorem 3.17, with the theorem's constants
	// set to 1, in place of the practical rule. It also sets Gap, StepScale, Rounds and Items.
	Theorem bool `yaml:"theorem"`
}

// spiderPlan is a Spider with every setting resolved for a problem.
type spiderPlan struct {
	optimize.Settled
	rules
}

// Plan resolves the settings of Spider for a problem. It fails if the problem is not valid, a
// setting is out of range, there are too few records, or escapes need Hessian-vector products
// that the loss does not provide.
func (c Spider) Plan(_ context.Context, p optimize.Problem) (optimize.Plan, error) {
	const name = "second-order"
	if err := p.Validate(); err != nil {
		return nil, err
	}
	escapes := !p.Convex() && !c.WithoutProducts
	if escapes && !p.Products {
		return nil, fmt.Errorf("optimize: %s: the loss does not tell products of its Hessian (a method HessianVector): without_products must be true", name)
	}
	r, err := c.settle(p, escapes)
	if err != nil {
		return nil, err
	}
	plan := &spiderPlan{rules: r}
	T := r.steps()
	importance := make([]float64, T)
	for t := range importance {
		importance[t] = 1
	}
	plan.Settled, err = optimize.Settle(optimize.Draft{
		Problem: p,
		Summary: optimize.Summary{
			Algorithm: name,
			Citation:  "stochastic Spider with escapes from saddle points (Liu and Talwar 2025, Algorithm 3)",
			Steps:     T,
			StepSize:  r.eta,
			Charges:   r.words(p),
			Output:    r.output(),
			Passes:    1,
		},
		Needs:      optimize.Needs{Cohorts: true, PrefixSums: true, Selection: r.held > 0, Seed: true},
		Properties: optimize.Properties{OnePass: true, Averaged: r.held == 0, Escapes: r.walk.tau > 0},
		Law: optimize.Law{OnePass: true, Importance: importance, Answer: func(t int, _, last float64) (K float64, fresh optimize.Variance) {
			if t%r.walk.items > 0 {
				return 0, fresh
			}
			return 1, r.variance(p)
		}},
		Output: optimize.TailAverage,
	})
	if err != nil {
		return nil, err
	}
	plan.Expect(forecast.Of(p, plan.Law()))
	return plan, nil
}

// rules holds the settings that a run follows.
type rules struct {
	walk walk
	// gap is the size of a negative eigenvalue that makes a saddle, eta the step size.
	gap, eta float64
	// root is b, rounds the largest number of prefix sums.
	root   float64
	rounds int
	// item is the charge of an item and product the largest charge of a product, in units of mu^2.
	item, product float64
	factorization query.Factorization
	// held is the number of records held out for the choice; 0 for no choice.
	held float64
	// theorem holds the parameters of Theorem 3.17; nil for the practical rule.
	theorem *theorem
	convex  bool
}

const (
	// pathShare is c: the differences of a prefix sum use c times as many records as its fresh
	// estimate.
	pathShare = .5
	// productShare is the share of the budget for products.
	productShare = .1
	// mostEscapes is tau; longestEscape is the upper limit of Gamma.
	mostEscapes, longestEscape = 2, 60
	// heldOut is the share of the records held out for the choice.
	heldOut = .1
)

// settle returns the practical rule's values, or the theorem's. It returns an error if a setting is
// out of range or there are too few records.
func (c Spider) settle(p optimize.Problem, escapes bool) (rules, error) {
	const name = "second-order"
	r := rules{factorization: query.Toeplitz, convex: p.Convex()}
	records := p.Records
	if escapes && !c.WithoutSelection {
		r.held = heldOut * p.Records
		if p.Relation == account.ReplaceOne {
			r.held = max(math.Round(r.held), 1)
		}
		records -= r.held
	}
	if !(records > 0) {
		return r, fmt.Errorf("optimize: %s: records = %v: must be more than the %v held out for the choice", name, p.Records, r.held)
	}
	if c.Theorem {
		for key, set := range map[string]bool{"gap": c.Gap != 0, "step scale": c.StepScale != 0, "rounds": c.Rounds != 0, "items": c.Items != 0} {
			if set {
				return r, fmt.Errorf("optimize: %s: %s: must not be set beside theorem, which settles it", name, key)
			}
		}
		return r, r.byTheorem(p, records, escapes)
	}
	M, G := p.Smoothness(), p.Constants.Lipschitz
	for _, v := range []struct {
		key   string
		value *float64
		rule  float64
	}{{"gap", &c.Gap, M / 10}, {"step scale", &c.StepScale, p.StepScale()}} {
		if *v.value == 0 {
			*v.value = v.rule
		}
		if !optimize.Positive(*v.value) {
			return r, fmt.Errorf("optimize: %s: %s = %v: must be finite and > 0, or 0 for the rule", name, v.key, *v.value)
		}
	}
	if c.Rounds == 0 {
		c.Rounds = 8
	}
	r.gap, r.eta = c.Gap, p.StepSize(c.StepScale)
	H := r.eta // gradient steps of h/L1
	if c.Items == 0 {
		// All prefix sums together then have twice the steps in which noise opens a gap.
		c.Items = int(min(max(math.Ceil(32/(H*c.Gap)/(float64(c.Rounds)*(1+pathShare))), 64), 128))
	}
	if c.Rounds < 1 || c.Rounds > optimize.RuleSteps || c.Items < 1 || c.Items > mostItems {
		return r, fmt.Errorf("optimize: %s: rounds = %d, items = %d: must be between 1 and %d, and 1 and %d", name, c.Rounds, c.Items, optimize.RuleSteps, mostItems)
	}
	r.root = whole(p, records/(float64(c.Rounds)*(1+pathShare)))
	if !(r.root <= records) {
		return r, fmt.Errorf("optimize: %s: rounds = %d: must leave each of them a record of %v", name, c.Rounds, records)
	}
	r.rounds = int(records / r.root)
	r.walk = walk{kappa: pathShare * G, items: c.Items, xi: G / M, gamma: int(min(math.Ceil(8/(H*c.Gap)), longestEscape))}
	r.item = p.Charge()
	if escapes {
		r.walk.tau = mostEscapes
		r.share(productShare * p.Charge())
	}
	return r, nil
}

// share moves a part of the charge from items to products.
func (r *rules) share(products float64) {
	r.item -= products
	r.product = products / float64(r.walk.gamma*r.walk.tau) * (1 - 0x1p-30)
}

// whole returns a cohort size that can be drawn: under replace-one size rounded up to a whole
// number, and at least 1.
func whole(p optimize.Problem, size float64) float64 {
	if p.Relation == account.AddOrRemove {
		return size
	}
	return max(math.Ceil(size), 1)
}

// batch returns b_t, the number of records for differences within a radius. It is large enough to
// keep the item within the sensitivity of a fresh estimate, and at least the theorem's b_t.
func (r *rules) batch(p optimize.Problem, radius, distance float64) float64 {
	size := r.root * radius / p.Constants.Lipschitz
	if r.theorem != nil {
		size = max(size, r.theorem.batch(distance))
	}
	return whole(p, max(size, 1))
}

// prefix returns the declaration of a prefix sum.
func (r *rules) prefix(p optimize.Problem) query.Prefix {
	return query.Prefix{
		Factorization: r.factorization, Items: r.walk.items, Charge: r.item,
		Sensitivity: p.Neighbours() * p.Constants.Lipschitz / r.root * (1 + 0x1p-40),
	}
}

// variance returns the variance of an estimate per coordinate, halfway through its prefix sum.
func (r *rules) variance(p optimize.Problem) optimize.Variance {
	sigma := r.prefix(p).Sigma((r.walk.items + 1) / 2)
	G := p.Constants.Lipschitz
	return optimize.Variance{Noise: sigma * sigma, Sampling: G * G * (1 + pathShare/2) / r.root / float64(p.Dim())}
}

// scatter returns the root mean square error that is assumed of an estimate: from its noise, and
// from the choice of the records in its cohorts.
func (r *rules) scatter(p optimize.Problem, sigma, drift float64) float64 {
	G := p.Constants.Lipschitz
	return math.Sqrt(float64(p.Dim())*sigma*sigma + G*(G+drift)/r.root)
}

// steps returns the largest number of steps of a run.
func (r *rules) steps() int {
	return min(r.rounds*(r.walk.items+r.walk.tau*r.walk.gamma), optimize.MostSteps)
}

func (r *rules) words(p optimize.Problem) string {
	s := fmt.Sprintf("%.3g of mu^2 to each item of up to %d prefix sums (%v) of up to %d items, their first of %.6g records",
		r.item/(p.Mu*p.Mu), r.rounds, r.factorization, r.walk.items, r.root)
	switch {
	case r.walk.tau > 0:
		s += fmt.Sprintf("; %.3g to each of up to %d products on these, for up to %d escapes of up to %d steps from eigenvalues below %.3g",
			r.product/(p.Mu*p.Mu), r.walk.tau*r.walk.gamma, r.walk.tau, r.walk.gamma, -r.gap)
	case r.convex:
		s += "; no escapes, since every stationary point of a convex objective is one of second order"
	default:
		s += "; no escapes"
	}
	if r.held > 0 {
		s += fmt.Sprintf("; all of it to a choice on %.6g records held out, half to curvatures and half to gradient norms", r.held)
	}
	return s
}

func (r *rules) output() string {
	if r.held > 0 {
		return "selected by curvature and gradient among anchors, the last point and an average"
	}
	return "average of the second half's points since the last escape"
}
