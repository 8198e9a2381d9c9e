package secondorder

import (
	"context"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// pass is the state of a run of Spider.
type pass struct {
	*optimize.Run
	rules
	walk
	problem optimize.Problem
	// unused is the number of records that are in no cohort yet, records the number of all.
	unused, records float64
	held            query.Cohort

	sum *optimize.PrefixSum
	// estimate is nabla_t, sigma the standard deviation of its noise, and before the point of the
	// last item.
	estimate []float64
	sigma    float64
	before   []float64
	// hessian lists the parts whose products sum to the product with H.
	hessian []part
	coins   *optimize.Coins
	anchors []anchor
	average average
	path    float64
}

// part is a cohort that contributes to H: with its Hessian at one point, or with the change of its
// Hessian between two points.
type part struct {
	cohort   query.Cohort
	at, prev []float64
}

// anchor records an escape: its starting point, its direction, and whether it went as far as xi.
type anchor struct {
	w       []float64
	along   []float64
	reached bool
}

// Run carries the plan out.
func (s *spiderPlan) Run(ctx context.Context, o optimize.Oracle, observe func(optimize.Step)) (optimize.Result, error) {
	r := &pass{Run: s.Begin(ctx, o, observe), rules: s.rules, walk: s.rules.walk, problem: s.Problem()}
	// The noise added to products (zeta) is public and independent of the records.
	r.coins = r.problem.PublicCoins(0x5adde, uint64(len(r.W)))
	r.records = o.All().Size()
	r.unused = r.records
	fail := func(err error) (optimize.Result, error) {
		return r.ResultAt(slices.Clone(r.W), false), r.Failed(err)
	}
	if r.rules.held > 0 {
		var err error
		if r.held, err = r.draw(r.rules.held); err != nil {
			return fail(err)
		}
	}
	if err := r.descend(); err != nil {
		return fail(err)
	}
	result := r.ResultAt(r.average.or(r.W), true)
	if r.rules.held == 0 || len(r.anchors) == 0 {
		return result, nil
	}
	if err := r.choose(ctx, o, &result); err != nil {
		return fail(err)
	}
	return result, nil
}

// descend is Algorithm 3, line by line.
func (r *pass) descend() error {
	for { // line 3
		if r.due() { // line 5
			if r.unused < r.root {
				return nil
			}
			if err := r.begin(); err != nil { // lines 6 and 7
				return err
			}
		} else {
			ok, err := r.extend() // lines 9 and 10
			if !ok || err != nil {
				return err
			}
		}
		g := r.Regularized(r.estimate)
		norm := optimize.Norm(g)
		if r.saddle(norm, r.threshold()) { // line 13
			if err := r.escape(); err != nil { // lines 14 to 17
				return err
			}
			continue
		}
		if 2*r.unused <= r.records {
			r.average.add(r.W)
		}
		r.descended(r.problem.Smoothness() * r.step(g, norm, r.sigma)) // lines 19 and 21
	}
}

// begin opens a prefix sum with a fresh gradient estimate and a fresh Hessian (Algorithm 4, oracles
// 1 and 3).
func (r *pass) begin() (err error) {
	if r.sum, err = r.OpenPrefix(r.prefix(r.problem)); err != nil {
		return err
	}
	cohort, err := r.draw(r.root)
	if err != nil {
		return err
	}
	r.fresh()
	r.hessian = []part{{cohort: cohort, at: slices.Clone(r.W)}}
	return r.add(query.GradientAt(cohort, r.W, r.problem.Constants.Lipschitz))
}

// extend adds the gradient difference since the last item (oracles 2 and 4). It returns ok = false
// if too few records are left for its cohort.
func (r *pass) extend() (ok bool, err error) {
	lo, hi := r.problem.Curvature()
	change := query.DifferenceByCurvature(query.Cohort{}, r.W, r.before, lo, hi)
	size := r.batch(r.problem, change.Ball().Radius, change.Distance())
	if size > r.unused {
		return false, nil
	}
	cohort, err := r.draw(size)
	if err != nil {
		return false, err
	}
	r.extended()
	if r.theorem != nil {
		r.hessian = append(r.hessian, part{cohort, slices.Clone(r.W), r.before})
	}
	return true, r.add(change.Over(cohort))
}

// add adds an item to the prefix sum and takes its answer as the estimate.
func (r *pass) add(t query.Term) error {
	a, err := r.sum.Add(t)
	r.estimate, r.sigma, r.before = a.Mean, a.Sigma, slices.Clone(r.W)
	return err
}

func (r *pass) draw(size float64) (query.Cohort, error) {
	c, err := r.Draw(size)
	r.unused -= c.Size()
	return c, err
}

// threshold returns the norm up to which an estimate counts as small: 1.5 times its likely error,
// or the theorem's alpha.
func (r *pass) threshold() float64 {
	if r.theorem != nil {
		return r.theorem.alpha
	}
	return 1.5 * r.scatter(r.problem, r.sigma, r.drift)
}

// step moves the iterate along a gradient estimate whose noise has standard deviation sigma. It
// returns the distance moved.
func (r *pass) step(g []float64, norm, sigma float64) (moved float64) {
	w := slices.Clone(r.W)
	optimize.Descend(w, g, r.eta)
	r.problem.Project(w)
	moved = optimize.Apart(w, r.W)
	r.path += moved
	r.Reach(w, norm, sigma, r.eta)
	r.Bound(r.path / float64(r.Taken()))
	return moved
}

// escape is Algorithm 2, started at the iterate x_0. It descends along g + H (x - x_0) in place of
// the gradient.
func (r *pass) escape() error {
	a := anchor{w: slices.Clone(r.W)}
	r.anchored()
	for distance := 0.; ; { // line 4
		g := slices.Clone(r.estimate)
		variance := r.sigma * r.sigma
		if distance > 0 {
			square, err := r.product(g, a.w) // line 5
			if err != nil {
				return err
			}
			variance += square
		}
		full := r.Regularized(g)
		r.step(full, optimize.Norm(full), math.Sqrt(variance)) // line 6
		distance = optimize.Apart(r.W, a.w)
		if !r.escaped(distance, r.problem.Smoothness()) { // lines 7 to 9, and 21 to 24
			a.reached = distance >= r.xi
			break
		}
	}
	if a.along = optimize.Towards(a.w, r.W); a.along != nil {
		r.anchors = append(r.anchors, a)
	}
	if a.reached {
		r.average = average{} // points before the escape belong to another valley
	}
	return nil
}

// product adds H (x - x_0) to g. It returns the variance of the product's noise per coordinate.
func (r *pass) product(g, from []float64) (variance float64, err error) {
	v := slices.Clone(r.W)
	optimize.Descend(v, from, 1)
	lo, hi := r.problem.Curvature()
	for _, h := range r.hessian {
		var term query.Term
		switch {
		case r.theorem == nil:
			term = query.ProductAt(h.cohort, from, v, lo, hi)
		case h.prev == nil:
			term = query.ProductAt(h.cohort, h.at, v, lo, hi)
		default:
			term = query.ProductChangeAt(h.cohort, h.at, h.prev, v, lo, hi, r.problem.Constants.HessianLipschitz)
		}
		a, err := r.Ask(r.rules.product, term)
		if err != nil {
			return 0, err
		}
		optimize.Descend(g, a.Mean, -1)
		variance += a.Sigma * a.Sigma
	}
	if r.theorem == nil {
		return variance, nil
	}
	// zeta raises the noise to alpha/sqrt(d) per coordinate.
	if want := r.theorem.alpha * r.theorem.alpha / float64(len(g)); want > variance {
		more := math.Sqrt(want - variance)
		for j := range g {
			g[j] += more * r.coins.NormFloat64()
		}
		variance = want
	}
	return variance, nil
}

// mostAlong is the largest number of directions along which the curvature is released, and
// mostAnchors limits the number of candidates, the latest anchors first.
const mostAlong, mostAnchors = 4, 8

// choose replaces the result by one of these candidates: the average, the last point, and the
// anchors whose escape stayed near. An escape that went as far as xi shows, without a further
// release, that its anchor is a saddle, so that this anchor is no candidate.
func (r *pass) choose(ctx context.Context, o optimize.Oracle, result *optimize.Result) error {
	var along [][]float64
	for _, a := range slices.Backward(r.anchors) {
		// Directions of escapes that went far come first: they are known to lead away from a
		// saddle.
		if a.reached {
			along = append(along, a.along)
		}
	}
	for _, a := range slices.Backward(r.anchors) {
		if !a.reached {
			along = append(along, a.along)
		}
	}
	along = along[:min(len(along), mostAlong)]
	list, names := []optimize.Candidate{{W: result.W, Along: along}}, []string{"the average"}
	add := func(w []float64, name string) {
		if !slices.ContainsFunc(list, func(c optimize.Candidate) bool { return slices.Equal(c.W, w) }) {
			list, names = append(list, optimize.Candidate{W: w, Along: along}), append(names, name)
		}
	}
	add(slices.Clone(r.W), "the last point")
	for _, a := range slices.Backward(r.anchors) {
		if !a.reached && len(list) < mostAnchors {
			add(a.w, "an anchor that no escape led away from")
		}
	}
	optimize.TowardsEachOther(list, 0)
	k, known, err := optimize.ChooseCurved(ctx, o, r.problem, r.held, r.problem.Mu, r.gap, list)
	if err != nil {
		result.Complete = false
		return err
	}
	result.W, result.Curvature = list[k].W, known[k].OrNil()
	result.Output = names[k] + ", " + r.output()
	return nil
}

// average accumulates a mean of points.
type average struct {
	sum   []float64
	count float64
}

func (a *average) add(w []float64) {
	if a.sum == nil {
		a.sum = make([]float64, len(w))
	}
	optimize.Descend(a.sum, w, -1)
	a.count++
}

// or returns the mean, or w if no point was added.
func (a *average) or(w []float64) []float64 {
	out := slices.Clone(w)
	for j, v := range a.sum {
		out[j] = v / a.count
	}
	return out
}
