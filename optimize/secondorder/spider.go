package secondorder

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Spider is the stochastic Spider with escapes from saddle points (Liu and Talwar 2025, Algorithm 3, which
// uses Algorithms 1, 2 and 4). It makes one pass: each record is in one item of one prefix sum (see
// [query.Prefix]). Later releases use a record only in Hessian-vector products over the record's cohort.
//
//	descend  release a fresh estimate of the gradient from a cohort of b records;
//	         extend it by gradient differences over cohorts of b_t records, b_t in
//	         proportion to the step's length; fresh estimate and differences are the
//	         items of one prefix sum; begin a new one after a path of kappa/L1, after
//	         tau escapes or after all items
//	escape   where the estimate is small: up to Gamma steps along g + H (x - anchor),
//	         where g is the estimate at the anchor (the escape's first point) and
//	         H (x - anchor) a noisy product over the cohort of the fresh estimate;
//	         stop at a distance of Xi from the anchor
//
// Guarantee: mu-GDP whatever the constants. A record in an item is charged once for all sums released of its prefix
// sum, and again for each Hessian-vector product over its cohort. The largest number of products is fixed before the
// run. With the setting Theorem, Theorem 3.17 of the paper holds up to the logarithms and constants that it leaves
// open: some iterate has a gradient norm of at most alpha = O(n^(-1/3) + (sqrt(d)/(n epsilon))^(1/2)) and no eigenvalue
// of the Hessian below -sqrt(rho alpha), where rho is the Hessian's Lipschitz constant.
//
// Deviations from the paper:
//   - All items have the sensitivity of the fresh estimate, which is declared beforehand, and b_t is large
//     enough for this sensitivity. b_t is proportional to the distance moved, since the norm of the next
//     estimate is not known when the cohort is drawn.
//   - The fresh estimate is the first item of its prefix sum and has noise of its own.
//   - A prefix sum ends at the latest after a number of items that is declared beforehand.
//   - For Gamma steps after an escape no other escape begins. In these steps the run moves away from a
//     point that turned out not to be a saddle.
//   - Without Theorem, prefix sums use the square-root Toeplitz factorization and not the tree.
//     Hessian-vector products are with the Hessian at the anchor, use only the fresh estimate's cohort, and
//     get no noise zeta. Steps have size h/L1. With the default StepScale, steps that overshoot are
//     shortened (see [optimize.Pace]), and steps of an escape are smaller, since the noise of a product
//     grows with the distance from the anchor.
//   - Without Theorem, noise sets limits. A small effective size N has fewer prefix sums, which are shorter paths
//     (see the fields Rounds and [farthest]), no step leads farther than the path of its prefix sum, and there are
//     no escapes where an estimate's noise is longer than the gradient Gap Xi at the end of an escape.
//   - A run ends when fewer records are left than the cohort of the next item needs.
//   - The run returns one point (see the field WithoutSelection). The paper proves only that some iterate
//     is good.
//
// If the objective is convex, every stationary point is a second-order stationary point. A run then
// makes no products and no escapes, and holds out no records.
//
// The zero Spider selects every setting by the practical rule in the field's comment.
type Spider struct {
	// Gap defines a saddle: a point where the Hessian has an eigenvalue below -Gap. Zero means a tenth of the
	// smoothness L1. With the setting Theorem, Gap must be zero, since the theorem sets it.
	Gap float64 `yaml:"gap"`
	// StepScale is h in eta = h/L1. Zero means 16 for rank-one losses, networks and records of several rows, and 4 for
	// other losses. With zero, steps that overshoot are shortened, but not below 1/L1, no step is longer than the rest
	// of the path of its prefix sum or a quarter of that path, and step sizes in an escape from a saddle are a quarter
	// of h/L1, or h/L1 for networks. With the setting Theorem, StepScale must be zero, and h is 1.
	StepScale float64 `yaml:"step_scale"`
	// Rounds is K. The cohort of a fresh gradient estimate has n/(3 K) records, where n counts the records that are
	// not held out. Zero means N/60, at least 1 and at most 6, where N is the effective size. With the setting Theorem
	// it must be zero.
	Rounds int `yaml:"rounds"`
	// Items is the largest number of items of a prefix sum. The items are one fresh gradient estimate and
	// gradient differences. Zero means a number from 64 to 128 that depends on Gap, StepScale and Rounds. With
	// the setting Theorem it must be zero.
	Items int `yaml:"items"`
	// WithoutProducts leaves out escapes from saddles. The run then releases prefix sums only, and no Hessian-vector
	// products.
	WithoutProducts bool `yaml:"without_products"`
	// WithoutSelection makes the result an average, over the iterates at which the last third of the records was used.
	// Iterates before the last escape that reached the distance Xi are left out. If WithoutSelection is false and the
	// run makes escapes, a tenth of the records is held out to choose the result among this average, the last point,
	// and the anchors (starting points) of escapes that ended before the distance Xi. On the held-out records the run
	// releases each candidate's curvature along the directions of up to 4 escapes. It leaves out candidates with a
	// curvature below -Gap/2. From the remaining candidates the exponential mechanism draws one with a small gradient.
	WithoutSelection bool `yaml:"without_selection"`
	// Theorem replaces the practical rule by Theorem 3.17 of Liu and Talwar (2025), with the theorem's
	// constants set to 1. The theorem then sets the cohort sizes, thresholds and noise, and also Gap,
	// StepScale, Rounds and Items.
	Theorem bool `yaml:"theorem"`
}

// spiderPlan is the plan of a [Spider] for one problem. All settings have values.
type spiderPlan struct {
	optimize.Settled
	settings
}

// Plan implements [optimize.Algorithm]. It returns an error if there are too few records, or escapes need
// Hessian-vector products that the loss does not provide.
func (c Spider) Plan(_ context.Context, p optimize.Problem) (optimize.Plan, error) {
	const name = "second-order"
	if err := p.Validate(); err != nil {
		return nil, err
	}
	escapes := !p.Convex() && !c.WithoutProducts
	if escapes && !p.Products {
		return nil, fmt.Errorf("optimize: %s: the loss does not tell products of its Hessian (a method "+
			"HessianVector; of networks, those with tanh have it): without_products must be true", name)
	}
	r, err := c.settle(p, escapes)
	if err != nil {
		return nil, err
	}
	plan := &spiderPlan{settings: r}
	T := r.steps()
	made, err := forecast.Finish(plan, &plan.Settled, optimize.Draft{
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
		Workload:   r.workload(p),
		UpdateRule: optimize.UpdateRule{OnePass: true, Importance: slices.Repeat([]float64{1}, T),
			Answer: func(t int, _, last float64) (K float64, fresh optimize.Variance) {
				if t%r.walk.items > 0 {
					return 0, fresh
				}
				return 1, r.variance(p)
			}},
		Output: optimize.TailAverage,
	})
	if err == nil && r.theorem != nil {
		share := 1 - r.held/p.Records
		plan.Promises("Theorem 3.17 (Liu and Talwar 2025)", optimize.OfGradient, p.MostStart(),
			func(p optimize.Problem) float64 { return smallest(p, share*p.Records) })
	}
	return made, err
}

// settings contains the values of all settings that a run follows.
type settings struct {
	walk walk
	// gap defines a saddle: a point where the Hessian has an eigenvalue below -gap. eta is the step size
	// outside escapes, and short the step size in an escape.
	gap, eta, short float64
	// guarded says that steps which overshoot are shortened.
	guarded bool
	// root is the number b of records in the cohort of a fresh gradient estimate. rounds is the
	// largest number of prefix sums.
	root   float64
	rounds int
	// item is the charge of one item of a prefix sum, and product the charge of one Hessian-vector
	// product. Both are parts of the budget mu^2.
	item, product float64
	factorization query.Factorization
	// held is the number of records held out for the choice of the result; 0 means that no choice is
	// made.
	held float64
	// theorem contains the parameters of Theorem 3.17; nil means the practical rule.
	theorem *theorem
	convex  bool
	// hidden means that there are no escapes because noise would hide the curvature that they need.
	hidden bool
}

const (
	// pathShare is the number of records that all gradient differences of a prefix sum use together, relative
	// to the number of records of its fresh estimate. With the value 2 and 6 rounds, the paths of all prefix
	// sums together are 12 L0/L1 long. If the loss is flatter than its curvature bound L1, a minimum may be
	// farther from the start than this.
	pathShare = 2
	// longer is the default step size of the descent divided by the default step size of an escape. On
	// networks both are equal, since the bound on a network's curvature holds only at the start.
	longer = 4
	// productShare is the share of the budget that pays for Hessian-vector products.
	productShare = .1
	// mostEscapes is tau, the largest number of escapes during a prefix sum. longestEscape is the upper
	// limit of Gamma, in steps.
	mostEscapes, longestEscape = 2, 60
	// heldOut is the share of the records that are held out for the choice of the result.
	heldOut = .1
)

// settle returns the values of all settings by the practical rule, or by Theorem 3.17 of Liu and
// Talwar 2025 if c.Theorem is set. escapes says whether the run makes escapes from saddles. settle
// returns an error if a setting is out of range or there are too few records.
func (c Spider) settle(p optimize.Problem, escapes bool) (settings, error) {
	const name = "second-order"
	r := settings{factorization: query.Toeplitz, convex: p.Convex()}
	records := p.Records
	if escapes && !c.WithoutSelection {
		r.held = p.Held(heldOut)
		records -= r.held
	}
	if !(records > 0) {
		return r, fmt.Errorf("optimize: %s: records = %v: must be more than the %v held out for the choice", name, p.Records,
			r.held)
	}
	if c.Theorem {
		for key, set := range map[string]bool{"gap": c.Gap != 0, "step scale": c.StepScale != 0, "rounds": c.Rounds != 0,
			"items": c.Items != 0} {
			if set {
				return r, fmt.Errorf("optimize: %s: %s: must not be set beside theorem, which settles it", name, key)
			}
		}
		return r, r.byTheorem(p, records, escapes)
	}
	M, G, given := p.Smoothness(), p.Constants.Lipschitz, c
	rule := p.StepScale()
	if !p.Layered {
		rule *= longer
	}
	r.guarded = c.StepScale == 0
	err := optimize.Fill(name, optimize.Setting{Name: "gap", Value: &c.Gap, Rule: M / 10, Or: orRule},
		optimize.Setting{Name: "step scale", Value: &c.StepScale, Rule: rule, Or: orRule})
	if err != nil {
		return r, err
	}
	c.Rounds = cmp.Or(c.Rounds, int(min(max(math.Round(p.Effective()/60), 1), 6)))
	r.gap, r.eta = c.Gap, p.StepSize(c.StepScale)
	r.short = r.eta
	if r.guarded {
		r.short = min(r.eta, p.StepSize(p.StepScale()))
	}
	H := r.eta // step size h/L1 of the descent
	if c.Items == 0 {
		// With this rule, 3 K prefix sums, the largest possible number for K rounds, have together about 32/(H
		// gap) items, one for each step. This is twice the number 16/(H gap) of steps in which noise alone moves
		// the iterate away from a saddle.
		c.Items = int(min(max(math.Ceil(32/(H*c.Gap)/(float64(c.Rounds)*(1+pathShare))), 64), 128))
	}
	if c.Rounds < 1 || c.Rounds > optimize.RuleSteps || c.Items < 1 || c.Items > mostItems {
		return r, fmt.Errorf("optimize: %s: rounds = %d, items = %d: must be between 1 and %d, and 1 and %d", name, c.Rounds,
			c.Items, optimize.RuleSteps, mostItems)
	}
	r.root = whole(p, records/(float64(c.Rounds)*(1+pathShare)))
	if !(r.root <= records) {
		return r, fmt.Errorf("optimize: %s: rounds = %d: must leave each of them a record of %v", name, c.Rounds, records)
	}
	r.rounds = int(records / r.root)
	r.walk = walk{kappa: min(pathShare*G, farthest(p, r.rounds)), items: c.Items, xi: G / M,
		gamma: int(min(math.Ceil(8/(r.short*c.Gap)), longestEscape))}
	r.item = p.Charge()
	if escapes && math.Sqrt(float64(p.Dim())*r.variance(p).Noise) > r.gap*r.walk.xi {
		given.WithoutProducts = true
		r, err := given.settle(p, false)
		r.hidden = true
		return r, err
	}
	if escapes {
		r.walk.tau = mostEscapes
		r.share(productShare * p.Charge())
	}
	return r, nil
}

// farthest returns the largest path of a prefix sum, times the smoothness L1, for the given number of prefix sums.
// The noise of a prefix sum's estimates has nearly one direction, so that noise alone moves the iterate along the
// whole path, and in an independent direction in each prefix sum. The objective can have moved by at most F0 within
// G0/L1, where G0 = sqrt(2 L1 F0) bounds the gradient at the start. Three times this distance, from all prefix sums
// together, was measured to end above the start for no kind of loss from N = 30 up. From N = 500 up estimates tell
// the direction, and paths are longer in proportion to N.
func farthest(p optimize.Problem, rounds int) float64 {
	return 3 * p.InitialGradient() / math.Sqrt(float64(rounds)) * max(1, p.Effective()/500)
}

// share reserves the given charge for Hessian-vector products: it subtracts this charge from the charge of
// an item, and divides it equally among the products over one cohort. Their largest possible number is
// gamma steps of each of tau escapes.
func (r *settings) share(products float64) {
	r.item -= products
	r.product = products / float64(r.walk.gamma*r.walk.tau) * (1 - 0x1p-30)
}

// whole returns a cohort size that the oracle can draw. Under replace-one it is size rounded up to a
// whole number, and at least 1. Under add-or-remove any size can be drawn.
func whole(p optimize.Problem, size float64) float64 {
	if p.Relation == account.AddOrRemove {
		return size
	}
	return max(math.Ceil(size), 1)
}

// batch returns b_t, the number of records for a gradient difference whose contributions are clipped to the given
// radius. With b_t records the sensitivity of the mean difference is at most the sensitivity of a fresh estimate. With
// the settings of Theorem 3.17 (Liu and Talwar 2025), batch returns at least the theorem's b_t for the distance moved.
func (r *settings) batch(p optimize.Problem, radius, distance float64) float64 {
	size := r.root * radius / p.Constants.Lipschitz
	if r.theorem != nil {
		size = max(size, r.theorem.batch(distance))
	}
	return whole(p, max(size, 1))
}

// prefix returns the declaration of a prefix sum: the number of its items, and the charge and the
// sensitivity of an item.
func (r *settings) prefix(p optimize.Problem) query.Prefix {
	return query.Prefix{
		Factorization: r.factorization, Items: r.walk.items, Charge: r.item,
		Sensitivity: p.Neighbours() * p.Constants.Lipschitz / r.root * (1 + 0x1p-40),
	}
}

// variance returns the error variance of a gradient estimate per coordinate, as expected for an item
// in the middle of its prefix sum: the part from noise and the part from the sampling of records.
func (r *settings) variance(p optimize.Problem) optimize.Variance {
	sigma := r.prefix(p).Sigma((r.walk.items + 1) / 2)
	G := p.Constants.Lipschitz
	return optimize.Variance{Noise: sigma * sigma, Sampling: G * G * (1 + pathShare/2) / r.root / float64(p.Dim())}
}

// scatter returns the root mean square norm of a gradient estimate's error that the settings assume. The error
// comes from noise with standard deviation sigma per coordinate and from the random choice of records.
// drift is the length of the path since the fresh estimate, times the smoothness L1.
func (r *settings) scatter(p optimize.Problem, sigma, drift float64) float64 {
	G := p.Constants.Lipschitz
	return math.Sqrt(float64(p.Dim())*sigma*sigma + G*(G+drift)/r.root)
}

// steps returns the largest number of steps that a run can make.
func (r *settings) steps() int {
	return min(r.rounds*(r.walk.items+r.walk.tau*r.walk.gamma), optimize.MostSteps)
}

// workload returns the queries that a run may make. Its prefix sums use every record at most once: the first takes at
// least the records of a fresh estimate, and differences take the rest if no other sum follows. The products of an
// escape are about the records of the last fresh estimate. A choice compares the first points of all escapes, the
// last point and an average.
func (r *settings) workload(p optimize.Problem) optimize.Workload {
	sums, escapes := float64(r.rounds), float64(r.rounds*r.walk.tau)
	root, held := r.root/p.Records, r.held/p.Records
	items := max(sums*float64(r.walk.items-1), 1)
	w := optimize.Workload{}.Count(query.Gradient, sums, root).Count(query.Difference, items, max(1-held-root, 0)/items).
		Count(query.Product, escapes*float64(r.walk.gamma), root)
	if r.held > 0 {
		w = w.Count(query.CurvatureAlong, escapes+2, held).Count(query.Norm, escapes+2, held)
	}
	return w
}

func (r *settings) words(p optimize.Problem) string {
	s := fmt.Sprintf("%.3g of mu^2 to each item of up to %d prefix sums (%v) of up to %d items, their first of %.6g "+
		"records",
		r.item/(p.Mu*p.Mu), r.rounds, r.factorization, r.walk.items, r.root)
	switch {
	case r.walk.tau > 0:
		s += fmt.Sprintf("; %.3g to each of up to %d products on these, for up to %d escapes of up to %d steps from "+
			"eigenvalues below %.3g",
			r.product/(p.Mu*p.Mu), r.walk.tau*r.walk.gamma, r.walk.tau, r.walk.gamma, -r.gap)
		if r.theorem != nil {
			s += ": a saddle with none so low may be the result, the start too"
		}
	case r.convex:
		s += "; no escapes, since every stationary point of a convex objective is one of second order"
	case r.hidden:
		s += fmt.Sprintf("; no escapes, since noise hides curvature of %.3g", -r.gap)
	default:
		s += "; no escapes"
	}
	if r.held > 0 {
		s += fmt.Sprintf("; all of it to a choice on %.6g records held out, half to curvatures and half to gradient norms",
			r.held)
	}
	return s
}

func (r *settings) output() string {
	if r.held > 0 {
		return "selected by curvature and gradient among anchors, the last point and an average"
	}
	return "average of the last third's points since the last escape"
}

// theorem has the parameters of Theorem 3.17 of Liu and Talwar 2025, with the theorem's unstated
// constants set to 1. G is the Lipschitz constant of the loss, M the smoothness, rho the Lipschitz
// constant of the Hessian and B a bound on F(w_0) - min F. root = sqrt(d) neighbours/mu stands for
// the paper's sqrt(d)/epsilon; here neighbours is 2 for replace-one and 1 for add-or-remove. With a
// cohort of root records, the noise in the cohort's mean gradient has about the norm G.
//
// The paper's formulas mix units in some places. Here they are corrected as the proofs need: the
// cohort sizes b (fresh estimate) and b_t (difference) have terms for Hessian-vector products at the
// distance Xi, b_t grows with the distance moved, and tau is a number of escapes.
type theorem struct {
	alpha, G, M, rho, B, root float64
	// kappa, xi, gamma and tau are defined in [walk].
	kappa, xi, gamma, tau float64
}

// at returns the parameters of Theorem 3.17 (Liu and Talwar 2025) for the problem p and the accuracy
// alpha.
func at(p optimize.Problem, alpha float64) theorem {
	c := theorem{
		alpha: alpha, G: p.Constants.Lipschitz, M: p.Smoothness(), rho: p.Constants.HessianLipschitz,
		B:    p.Constants.InitialGap,
		root: math.Sqrt(float64(p.Dim())) * p.Neighbours() / p.Mu,
	}
	c.xi = math.Sqrt(alpha / c.rho)
	c.gamma = math.Ceil(c.M / math.Sqrt(c.rho*alpha) * math.Log(math.E+float64(p.Dim())*p.Records))
	c.kappa = max(alpha*c.root, math.Cbrt(c.B*c.G*c.M))
	c.tau = math.Floor(max(1, c.kappa*math.Sqrt(c.rho/alpha)/c.M))
	return c
}

// fresh returns b, the number of records for a fresh gradient estimate (Liu and Talwar 2025, Lemma
// 3.14).
func (c theorem) fresh() float64 {
	return c.G*c.root/c.alpha + c.G*c.G/(c.alpha*c.alpha) + c.M*c.xi*math.Sqrt(c.gamma*c.tau)*c.root/c.alpha +
		c.M*c.M/(c.rho*c.alpha)
}

// batch returns b_t, the smallest number of records with which the difference of gradients over a step of length
// distance is accurate enough (Liu and Talwar 2025, Lemma 3.14). The result is at least 1.
func (c theorem) batch(distance float64) float64 {
	move := c.M * distance
	return max(move*c.root/c.alpha, c.kappa*move/(c.alpha*c.alpha), c.rho*c.kappa*distance/(c.M*c.alpha),
		c.rho*distance*c.xi*math.Sqrt(c.gamma*c.tau)*c.root/c.alpha, 1)
}

// need returns a number of records that is enough for a run with the parameters of c (Liu and Talwar 2025,
// Lemma 3.15).
func (c theorem) need() float64 {
	square := c.alpha * c.alpha
	return c.fresh()*max(1, c.B*c.M/(c.kappa*c.alpha)) +
		c.B*c.M*(c.root/square+c.kappa/(square*c.alpha)+c.rho*c.kappa/(c.M*c.M*square)+1/square)
}

// smallest returns the smallest accuracy alpha, up to 1e6 times the Lipschitz constant, that the given number of
// records allows, found by bisection; infinity if there is none.
func smallest(p optimize.Problem, records float64) float64 {
	lo, hi := 1e-12*p.Constants.Lipschitz, 1e6*p.Constants.Lipschitz
	if at(p, hi).need() > records {
		return math.Inf(1)
	}
	return vector.HalveRatio(lo, hi, 200, func(alpha float64) bool { return !(at(p, alpha).need() > records) })
}

// mostItems is the largest number of items of a prefix sum. It limits the size of a plan's Law.
const mostItems = 1 << 12

// byTheorem sets the parameters of Theorem 3.17 (Liu and Talwar 2025) for the smallest accuracy alpha
// that the given number of records allows, found by bisection. It returns an error if no alpha up to
// 1e6 times the Lipschitz constant is possible, or if the Hessian's Lipschitz constant is unknown.
func (r *settings) byTheorem(p optimize.Problem, records float64, escapes bool) error {
	const name = "second-order"
	if !optimize.Positive(p.Constants.HessianLipschitz) {
		return fmt.Errorf("optimize: %s: Lipschitz constant of the Hessian = %v: must be finite and > 0 for theorem", name,
			p.Constants.HessianLipschitz)
	}
	alpha := smallest(p, records)
	if math.IsInf(alpha, 1) {
		return fmt.Errorf("optimize: %s: %v records: are not enough for theorem at any accuracy", name, records)
	}
	c := at(p, alpha)
	r.theorem, r.factorization = &c, query.Tree
	r.gap, r.eta, r.short = math.Sqrt(c.rho*c.alpha), p.StepSize(1), p.StepSize(1)
	r.root = whole(p, c.fresh())
	r.rounds = max(int(records/r.root), 1)
	// The number of items has three upper limits: the number of records, since each item needs a record, the
	// paper's number of steps, and mostItems. It is at least 1, also if fewer than one record is expected, as
	// is possible under add-or-remove.
	items := max(min(records, math.Ceil(c.B*c.M/(c.alpha*c.alpha)), mostItems), 1)
	r.walk = walk{kappa: c.kappa, items: int(items), xi: c.xi, gamma: int(min(c.gamma, mostItems))}
	r.item = p.Charge()
	if escapes {
		r.walk.tau = int(min(c.tau, 16))
		r.share(p.Charge() / 2)
	}
	return nil
}
