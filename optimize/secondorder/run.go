package secondorder

import (
	"context"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// pass is the state of one run of [Spider].
type pass struct {
	*optimize.Run
	settings
	walk
	problem optimize.Problem
	// unused is the number of records that no cohort contains yet. records is the number of all
	// records.
	unused, records float64
	held            query.Cohort

	sum *optimize.PrefixSum
	// estimate is the noisy estimate of the gradient (the paper's nabla_t). sigma is the standard deviation of
	// its noise per coordinate. before is the iterate at which an item was last added to the prefix sum.
	estimate []float64
	sigma    float64
	before   []float64
	// hessian lists the parts whose sum is H, the estimate of the Hessian: the product H v is the sum
	// of the parts' products with v.
	hessian []part
	coins   *optimize.Coins
	anchors []anchor
	average vector.Mean
	path    float64
	// pace gives the step sizes of the descent.
	pace *optimize.Pace
}

// part is one term of the Hessian estimate H, computed from one cohort. If the field prev is nil, the term
// is the cohort's mean Hessian at the point in the field at. Otherwise the term is the change of the
// cohort's mean Hessian from prev to at.
type part struct {
	cohort   query.Cohort
	at, prev []float64
}

// anchor records one escape from a possible saddle: the point w where the escape started, the unit vector along from w
// to the escape's last point, and whether the escape went as far from w as its limit, the distance xi.
type anchor struct {
	w       []float64
	along   []float64
	reached bool
}

// Run runs the algorithm with queries to o and returns one point. If a query fails, the result is the last
// iterate, marked as not complete, and Run returns an error.
func (s *spiderPlan) Run(ctx context.Context, o optimize.Oracle, observe func(optimize.Step)) (optimize.Result, error) {
	r := &pass{Run: s.Begin(ctx, o, observe), settings: s.settings, walk: s.settings.walk, problem: s.Problem()}
	// zeta, the noise added to Hessian-vector products, comes from public random bits and does not
	// depend on the records.
	r.coins = r.problem.PublicCoins(0x5adde, uint64(len(r.W)))
	r.pace = optimize.NewPace(r.eta, min(r.eta, 1/r.problem.Smoothness()))
	r.records = o.All().Size()
	r.unused = r.records
	fail := func(err error) (optimize.Result, error) {
		return r.ResultAt(slices.Clone(r.W), false), r.Failed(err)
	}
	if r.settings.held > 0 {
		var err error
		if r.held, err = r.draw(r.settings.held); err != nil {
			return fail(err)
		}
	}
	if err := r.descend(); err != nil {
		return fail(err)
	}
	result := r.ResultAt(r.average.Or(r.W), true)
	if r.settings.held == 0 || len(r.anchors) == 0 {
		return result, nil
	}
	if err := r.choose(ctx, o, &result); err != nil {
		return fail(err)
	}
	return result, nil
}

// averaged is the number k of this rule: a run's average is over the iterates of steps that begin when at
// most 1/k of the records are unused.
const averaged = 3

// descend runs the outer loop of Liu and Talwar 2025, Algorithm 3, until too few records are left. Line
// numbers in the comments refer to Algorithm 3.
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
		if averaged*r.unused <= r.records {
			r.average.Add(1, r.W)
		}
		eta := r.eta
		if r.guarded {
			eta = r.pace.Next(g, r.sigma)
			if most := r.rest() / r.problem.Smoothness(); eta*norm > most {
				eta = most / norm
			}
		}
		r.descended(r.problem.Smoothness() * r.step(g, eta, norm, r.sigma)) // lines 19 and 21
	}
}

// begin opens a new prefix sum. It draws a cohort of r.root records and releases the cohort's mean gradient
// as the first item. The cohort's Hessian at the current iterate becomes the whole Hessian estimate H (Liu
// and Talwar 2025, Algorithm 4, oracles 1 and 3).
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

// extend draws a new cohort and releases, as the next item of the prefix sum, the cohort's mean gradient
// difference between the current iterate and the iterate of the last item (Liu and Talwar 2025, Algorithm
// 4, oracles 2 and 4). It returns ok = false, without a query, if too few records are left for the cohort.
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

// add releases the term t as the next item of the prefix sum. The noisy sum of all items becomes the
// gradient estimate.
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

// threshold returns the norm up to which a gradient estimate counts as small, so that an escape may begin.
// With the settings of Theorem 3.17 (Liu and Talwar 2025) it is the theorem's accuracy alpha. Otherwise it
// is 1.5 times the root mean square error of the estimate (see [settings.scatter]).
func (r *pass) threshold() float64 {
	if r.theorem != nil {
		return r.theorem.alpha
	}
	return 1.5 * r.scatter(r.problem, r.sigma, r.drift)
}

// step moves the iterate by a step of size eta along the gradient estimate g, whose norm is norm and
// whose noise has standard deviation sigma. It returns the distance moved.
func (r *pass) step(g []float64, eta, norm, sigma float64) (moved float64) {
	w := slices.Clone(r.W)
	optimize.Descend(w, g, eta)
	r.problem.Project(w)
	moved = optimize.Apart(w, r.W)
	r.path += moved
	r.Reach(w, norm, sigma, eta)
	r.Bound(r.path / float64(r.Taken()))
	return moved
}

// escape tries to leave a saddle by Algorithm 2 of Liu and Talwar 2025, from the current iterate x_0. At
// the iterate x it descends along g + H (x - x_0) and not along a new gradient estimate. Here g is the
// gradient estimate at x_0, and H is the Hessian estimate.
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
		r.step(full, r.short, optimize.Norm(full), math.Sqrt(variance)) // line 6
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
		r.average = vector.Mean{} // points before this escape are near a saddle and are left out of the average
	}
	return nil
}

// product adds the noisy product H (x - x_0) to g, where x is the iterate and x_0 is the parameter from. It
// releases one product for each part of H. It returns the noise variance of the sum per coordinate.
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
		a, err := r.Ask(r.settings.product, term)
		if err != nil {
			return 0, err
		}
		optimize.Descend(g, a.Mean, -1)
		variance += a.Sigma * a.Sigma
	}
	if r.theorem == nil {
		return variance, nil
	}
	// With Theorem 3.17's settings, the public noise zeta is added so that the product's noise has a standard
	// deviation of at least alpha/sqrt(d) per coordinate.
	if want := r.theorem.alpha * r.theorem.alpha / float64(len(g)); want > variance {
		more := math.Sqrt(want - variance)
		for j := range g {
			g[j] += more * r.coins.NormFloat64()
		}
		variance = want
	}
	return variance, nil
}

// mostAlong is the largest number of escape directions along which the curvature of a candidate for the
// result is released. mostAnchors limits the number of candidates: choose adds starting points of escapes,
// those of later escapes first, while there are fewer than mostAnchors candidates.
const mostAlong, mostAnchors = 4, 8

// choose replaces the result by one of these candidates: the average, the last iterate, or the starting point (anchor)
// of an escape that ended before the distance xi. If an escape reached the distance xi, its anchor counts as a saddle
// and is no candidate. This decision needs no further release. The starting point of the run is no candidate either. If
// it is a saddle, its gradient may be exactly zero, and noise in a released curvature may hide its negative eigenvalue.
func (r *pass) choose(ctx context.Context, o optimize.Oracle, result *optimize.Result) error {
	var along [][]float64
	for _, a := range slices.Backward(r.anchors) {
		// The directions of escapes that reached the distance xi come first, since they lead away from a saddle.
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
	start := r.problem.StartPoint()
	for _, a := range slices.Backward(r.anchors) {
		if !a.reached && len(list) < mostAnchors && !slices.Equal(a.w, start) {
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

// walk is the control flow of Algorithms 2 and 3 of Liu and Talwar 2025. It decides when a fresh gradient estimate is
// due, when an escape from a saddle begins, and when the escape ends. A walk contains no points and makes no queries.
// Its inputs are public or released numbers. Line numbers in the comments are the paper's.
type walk struct {
	// A prefix sum ends when drift reaches kappa. Both are in units of a gradient norm. items is the largest
	// number of items of a prefix sum. tau is the largest number of escapes from saddles during a prefix sum;
	// 0 means that there are none.
	kappa      float64
	items, tau int
	// gamma is the largest number of steps of an escape. xi is the distance from the escape's starting
	// point at which the escape ends.
	gamma int
	xi    float64

	// drift is the length of the path since the last fresh estimate, times the smoothness L1.
	drift       float64
	taken       int // number of items of the current prefix sum, including the fresh estimate
	escapes     int
	frozen      int // number of steps outside escapes until another escape may begin
	left        int // number of steps left in the current escape
	begun, stop bool
}

// due reports whether the next gradient estimate must be a fresh one (Liu and Talwar 2025, Algorithm
// 3, lines 2 and 5). It must at the start, after a step of length 0, when the drift has reached
// kappa, after tau escapes, and when the prefix sum has all its declared items.
func (w *walk) due() bool {
	return !w.begun || w.stop || w.drift >= w.kappa || w.tau > 0 && w.escapes >= w.tau || w.taken == w.items
}

// fresh resets the state at the beginning of a prefix sum, whose first item is a fresh gradient
// estimate (Liu and Talwar 2025, Algorithm 3, line 7).
func (w *walk) fresh() { w.drift, w.escapes, w.taken, w.begun, w.stop = 0, 0, 1, true, false }

// extended counts one more item of the current prefix sum. The caller has just added a gradient
// difference to the sum (Liu and Talwar 2025, Algorithm 3, line 9).
func (w *walk) extended() { w.taken++ }

// saddle reports whether an escape from a saddle begins at a gradient estimate with the given norm (Liu and Talwar
// 2025, Algorithm 3, line 13). Three conditions must hold: the norm is at most the threshold, the run has made at least
// gamma steps since the last escape, and the prefix sum has had fewer than tau escapes.
func (w *walk) saddle(norm, threshold float64) bool {
	return w.tau > 0 && norm <= threshold && w.frozen <= 0 && w.escapes < w.tau
}

// anchored records that an escape from a saddle begins (Liu and Talwar 2025, Algorithm 3, line 14).
func (w *walk) anchored() {
	w.escapes++
	w.left = w.gamma
}

// descended records a step outside an escape (Liu and Talwar 2025, Algorithm 3, line 21). moved is
// the step's length times the smoothness. If moved is 0, the next gradient difference would be 0
// without any query, so a fresh estimate is due.
func (w *walk) descended(moved float64) {
	w.drift += moved
	w.frozen--
	w.stop = moved == 0
}

// rest returns the largest length of the next step outside escapes, times the smoothness: what the path of the
// prefix sum has left, but at least a quarter of the path, and so much more that the drift passes kappa whatever the
// rounding of sums. Steps of the default size are limited by it.
func (w *walk) rest() float64 { return max(w.kappa-w.drift, w.kappa/4) * (1 + 0x1p-20) }

// escaped records a step of an escape and reports whether the escape goes on (Liu and Talwar 2025, Algorithm 2, lines 7
// to 9, and Algorithm 3, lines 21 to 24). distance is the distance from the escape's starting point to the iterate.
// After the escape, the next item of the prefix sum is the gradient difference between the escape's starting point and
// its last point. The drift therefore grows by the smoothness times distance.
func (w *walk) escaped(distance, smoothness float64) (on bool) {
	w.left--
	if distance < w.xi && w.left > 0 {
		return true
	}
	w.frozen = w.gamma
	w.drift += smoothness * distance
	w.stop = distance == 0
	return false
}
