package forecast

import (
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Of returns the forecast of a run with the law l on the problem p. It computes, step by step, the second
// moments of gradient and error along every assumed direction (see [Assumed]). Along an eigenvector of
// eigenvalue e, with a = eta e for the step size eta, let tau be the true gradient, err the error of the
// gradient estimate and out the gradient at the output. Each step changes tau, err and out by
//
//	tau <- tau + momentum (tau - before)
//	err <- (1-K) err + fresh noise
//	out <- out + weight tau
//	tau <- (1-a) tau - a err
//
// where before is the gradient at the previous point and K the weight of the new gradient. The part of the
// gradient that comes from the starting point follows the same recursion without noise.
//
// Simplifications:
//   - If a step passes the minimum (a > 1), the part of the gradient that comes from the start is assumed
//     to keep its sign, which makes the forecast larger. For a > 2 a run on the quadratic diverges, but a
//     run on a loss with bounded slopes does not. a is then replaced by 2.
//   - If an estimate corrects an estimate earlier than the previous step's ([optimize.UpdateRule].Back), its error
//     is computed separately, and the change of the error from step to step counts as fresh noise.
//   - With a preconditioner, moments are computed in the preconditioned coordinates, and the result
//     is converted back.
//   - If each release uses records that no other release uses, the forecast gradient is the gradient of the
//     distribution, and the sampling of records counts as noise. The gradient on the records is assumed to
//     have the same norm.
//   - In a run whose releases use different records, steps that pass the minimum along the steepest
//     direction are shortened when estimates reverse (see [optimize.Pace]). Of computes two forecasts and
//     returns the lower: one with steps shortened in this way, and one with steps that just reach the
//     minimum, as on losses with bounded slopes. Each of the two forecasts was measured to be too high more
//     often than not.
//
// If the problem has a KL condition (Problem.KL), the excess risk is the largest that the condition
// allows at the predicted gradient norm.
func Of(p optimize.Problem, l optimize.UpdateRule) optimize.Forecast { return over(Assumed(p), p, l) }

// Finish settles a draft in s, the part of the plan that all algorithms share, and sets the forecast by the draft's
// update rule. It returns the plan, or nil with an error.
func Finish(plan optimize.Plan, s *optimize.Settled, d optimize.Draft) (optimize.Plan, error) {
	var err error
	if *s, err = optimize.Settle(d); err != nil {
		return nil, err
	}
	s.Expect(Of(d.Problem, s.UpdateRule()))
	return plan, nil
}

// Plan returns the plan of a draft with Step or Begin, with the forecast by the draft's update rule.
func Plan(d optimize.Draft) (optimize.Plan, error) {
	s := new(optimize.Settled)
	return Finish(s, s, d)
}

// over returns the forecast that [Of] would return with the given directions in place of the assumed
// directions.
func over(directions []Direction, p optimize.Problem, l optimize.UpdateRule) optimize.Forecast {
	if !l.OnePass {
		return follow(directions, p, l, math.Inf(1), nil)
	}
	longest := 1 / vector.Most(directions, func(e Direction) float64 { return e.Eigenvalue })
	just := follow(directions, p, l, longest, nil)
	if f := follow(directions, p, l, math.Inf(1), newShortened(p, l)); f.Gradient < just.Gradient {
		return f
	}
	return just
}

// follow computes the forecast for a run with the law l on a quadratic with the given directions. Step
// sizes are at most longest. If shorter is not nil, shorter reduces the step sizes further.
func follow(directions []Direction, p optimize.Problem, l optimize.UpdateRule, longest float64,
	shorter *shortened) optimize.Forecast {
	directions = slices.Clone(directions)
	metric := make([]float64, len(directions))
	for i := range directions {
		metric[i] = 1
		if l.Metric != nil {
			e := &directions[i]
			metric[i] = l.Metric(e.Eigenvalue)
			e.Eigenvalue *= metric[i]
			e.Gradient *= math.Sqrt(metric[i])
		}
	}
	weights, d := l.Weights(), float64(p.Dim())
	moments := make([]moment, len(directions))
	move := 0.
	steps := len(weights) - 1
	errors := make([]float64, steps) // variance of each estimate's error
	for t := range steps {
		back, kept, before := 1, 0., 0.
		if l.Back != nil {
			back = l.Back(t)
		}
		if back <= t {
			kept = errors[t-back]
		}
		if t > 0 {
			before = errors[t-1]
		}
		K, answer := l.Answer(t, l.Radius(move*float64(back)), kept)
		fresh, eta := answer.Total(), min(l.Eta(t), longest)
		errors[t] = (1-K)*(1-K)*kept + fresh
		if back > 1 {
			K, fresh = 0, errors[t]-before
		}
		var square, product float64
		for i := range moments {
			e, m := &directions[i], &moments[i]
			if l.Momentum != nil {
				beta := l.Momentum(t)
				m.extrapolate(beta)
				e.Gradient, m.before = e.Gradient+beta*(e.Gradient-m.before), e.Gradient
			}
			m.answer(K, fresh)
			square += e.Gradient*e.Gradient + e.Share*d*m.estimate()
			m.start += weights[t] * e.Gradient
			m.visit(weights[t])
			if shorter != nil {
				product += m.turned + e.Share*d*m.withLast()
			}
		}
		if shorter != nil {
			eta = shorter.next(eta, square, product)
		}
		for i := range moments {
			e, m := &directions[i], &moments[i]
			a := min(eta*e.Eigenvalue, 2)
			if shorter != nil {
				m.turned = e.Gradient * e.Gradient * (1 - eta*e.Eigenvalue)
				m.replace(last, 0, tau, 1)
				m.replace(last, 1, err, 1)
			}
			m.step(a)
			e.Gradient *= math.Abs(1 - a)
		}
		move = eta * math.Sqrt(square)
	}
	var f optimize.Forecast
	for i, e := range directions {
		m := &moments[i]
		m.start += weights[steps] * e.Gradient
		m.visit(weights[steps])
		square := m.start*m.start + e.Share*d*m.cov[out][out]
		f.Gradient += square / metric[i]
		f.Excess += square / (2 * e.Eigenvalue)
	}
	l0 := p.Constants.Lipschitz
	f.Population = math.Sqrt(f.Gradient + l0*l0/p.Records)
	f.Gradient = math.Sqrt(f.Gradient)
	if l.OnePass {
		f.Population = f.Gradient
	}
	if p.KL.Known() {
		f.Excess = p.KL.Excess(f.Gradient)
	}
	return f
}

// AtStart returns the forecast of a plan whose result is the starting point.
func AtStart(p optimize.Problem) optimize.Forecast {
	var f optimize.Forecast
	for _, e := range Assumed(p) {
		f.Gradient += e.Gradient * e.Gradient
		f.Excess += e.Gradient * e.Gradient / (2 * e.Eigenvalue)
	}
	f.Gradient = math.Sqrt(f.Gradient)
	f.Population = f.Gradient
	return f
}

// Indices of the random numbers along one direction whose second moments a forecast computes. tau and
// before are the random parts of the true gradient at the current and the previous point. err is the error
// of the gradient estimate, and out is the random part of the gradient at the output. last is the random
// part of the previous gradient estimate, and is used only if steps are shortened.
const (
	tau = iota
	before
	err
	out
	last
	parts
)

// moment has the second moments along one direction. cov has the expected products of the random numbers tau, before,
// err, out and last above. The other fields are about a run without noise: start is its gradient at the output, before
// its gradient at the previous point, and turned the product of its gradients at this step and at the previous step.
type moment struct {
	cov                   [parts][parts]float64
	start, before, turned float64
}

// shortened shortens steps in a forecast as [optimize.Pace] does in a run. Pace decides by the inner
// product of a gradient estimate and the previous estimate, and shortened decides by the expectation of
// this product. It is used for single passes over the records. factor is the factor on step sizes so far,
// least the smallest step size, and square the mean square of the previous estimate.
type shortened struct{ factor, least, square float64 }

func newShortened(p optimize.Problem, l optimize.UpdateRule) *shortened {
	return &shortened{factor: 1, least: min(l.Eta(0), 1/p.Smoothness())}
}

// next returns the size of a step whose size without shortening is eta. square is the mean square of the
// gradient estimate, and product is its mean product with the previous estimate. If product is below -1/2
// times the product of the root mean squares of the two estimates, this step and all later steps are
// shortened. The returned size is at least the field least.
func (s *shortened) next(eta, square, product float64) float64 {
	if product < -math.Sqrt(s.square*square)/2 {
		s.factor /= 1 - product/s.square
	}
	s.square = square
	return max(eta*s.factor, s.least)
}

// replace sets random number i of the moment to a times itself plus b times random number k.
func (m *moment) replace(i int, a float64, k int, b float64) {
	var cross [parts]float64
	for j := range parts {
		cross[j] = a*m.cov[i][j] + b*m.cov[k][j]
	}
	own := a*cross[i] + b*cross[k]
	for j := range parts {
		m.cov[i][j], m.cov[j][i] = cross[j], cross[j]
	}
	m.cov[i][i] = own
}

// extrapolate makes the move of momentum: it adds to tau beta times the change from before to tau.
func (m *moment) extrapolate(beta float64) {
	was := m.cov
	m.replace(tau, 1+beta, before, -beta)
	// before becomes the old tau. Its mean product with the new tau is the mean product of (1+beta) tau
	// - beta before and the old tau.
	now := (1+beta)*was[tau][tau] - beta*was[before][tau]
	for j := range parts {
		m.cov[before][j], m.cov[j][before] = was[tau][j], was[j][tau]
	}
	m.cov[before][before] = was[tau][tau]
	m.cov[before][tau], m.cov[tau][before] = now, now
}

func (m *moment) answer(K, variance float64) {
	m.replace(err, 1-K, tau, 0)
	m.cov[err][err] += variance
}

// withLast returns the mean product of the gradient estimate and the previous estimate.
func (m *moment) withLast() float64 { return m.cov[tau][last] + m.cov[err][last] }

// estimate returns the mean square of the gradient estimate tau + err. Rounding may make the computed
// sum negative if the two cancel; the result is then 0.
func (m *moment) estimate() float64 { return max(m.cov[tau][tau]+2*m.cov[tau][err]+m.cov[err][err], 0) }

func (m *moment) visit(weight float64) {
	if weight != 0 {
		m.replace(out, 1, tau, weight)
	}
}

func (m *moment) step(a float64) { m.replace(tau, 1-a, err, -a) }

// Direction is an eigenvector of an assumed Hessian, or a group of eigenvectors with about the same
// eigenvalue.
type Direction struct {
	Eigenvalue float64
	// Share is the group's share of the dimensions.
	Share float64
	// Gradient is the norm of the part of the initial gradient that lies along the group.
	Gradient float64
}

// Assumed returns the Hessian's spectrum and the gradient at the start that forecasts assume.
//
// A loss whose gradients have low rank has, with rows of norm at most 1, a Hessian of trace at most L1, the smoothness.
// (With several margins the same is assumed, although softmax may have twice this trace.) Forecasts assume half of this
// trace, with eigenvalues proportional to 1/j, j = 1..d, like the covariances of real tables. Along an eigenvector, the
// distance of the start from the minimum is proportional to the fourth root of the eigenvalue. This is a compromise
// between a distance that does not depend on the eigenvalue and a distance proportional to the eigenvalue's square
// root, which is the standard deviation of the rows. For other losses only the bound L1 is known. Every eigenvalue is
// assumed to be L1, if the gradient at the start is then certainly at most L0 (2 L1 F0 <= L0^2). If it is not,
// eigenvalues are assumed to be L1/j, j = 1..d.
//
// In all cases the initial gap F(w_0) - F* is assumed to be half its bound F0, with one exception: the
// gradient at the start is limited to L0, its largest possible length. The limit matters for losses that
// are steep far from the minimum and flat near it. With a strongly convex regularizer there is no limit,
// since L0 does not bound the regularizer's gradient.
//
// Only forecasts depend on these assumptions.
func Assumed(p optimize.Problem) []Direction {
	f0 := p.Constants.InitialGap / 2
	l0, top := p.Constants.Lipschitz, p.DataSmoothness()
	if !p.LowRank() && 2*top*p.Constants.InitialGap <= l0*l0 {
		l := p.Smoothness()
		return []Direction{{l, 1, math.Sqrt(2 * l * f0)}}
	}
	if p.LowRank() {
		var harmonic float64
		for j := 1; j <= p.Dim(); j++ {
			harmonic += 1 / float64(j)
		}
		top /= 2 * harmonic
	}
	// The curvature that a regularizer has at every point, if positive, is added to every eigenvalue.
	regularizer := max(p.Penalty().Convexity(), 0)
	var list []Direction
	// The assumed initial gap F0/2 is the sum over directions of eigenvalue * distance^2/2, with
	// distance^2 = a * sqrt(eigenvalue). This determines the factor a.
	var squares float64
	for j := 1; j <= p.Dim(); {
		next := max(j+1, min(int(1.1*float64(j)), p.Dim()+1)) // eigenvalues within 10% are one group
		middle := math.Sqrt(float64(j) * float64(next-1))
		l := top/middle + regularizer
		list = append(list, Direction{Eigenvalue: l, Share: float64(next-j) / float64(p.Dim())})
		squares += l * math.Sqrt(l) * float64(next-j)
		j = next
	}
	a := 2 * f0 / squares
	for i := range list {
		e := &list[i]
		e.Gradient = e.Eigenvalue * math.Sqrt(a*math.Sqrt(e.Eigenvalue)*e.Share*float64(p.Dim()))
	}
	if length := norm(list); regularizer == 0 && length > l0 {
		for i := range list {
			list[i].Gradient *= l0 / length
		}
	}
	return list
}

// Released returns the gradient norm that noise leaves in the output of a run with the law l, after the
// second moment of the rows, mean x x', has been released. values are the released eigenvalues. edge is the
// largest eigenvalue of the noise. Released eigenvalues below edge cannot be distinguished from noise, and
// each of them is replaced by their mean, at least leastSeen times edge.
//
// Released assumes that the Hessian is half of the largest Hessian that such rows allow. With K > 2 margins
// it assumes 1/K of the largest Hessian, because the margins share the curvature.
func Released(p optimize.Problem, values []float64, edge float64, l optimize.UpdateRule) float64 {
	return over(releasedDirections(p, values, edge), p, l).Gradient
}

// ReleasedExcess returns the excess risk that noise leaves in the output, for the same arguments as
// Released.
func ReleasedExcess(p optimize.Problem, values []float64, edge float64, l optimize.UpdateRule) float64 {
	return over(releasedDirections(p, values, edge), p, l).Excess
}

// AssumedExcess returns the excess risk that noise leaves in the output of a run with the law l, on
// the directions that forecasts assume (see [Assumed]).
func AssumedExcess(p optimize.Problem, l optimize.UpdateRule) float64 {
	list := Assumed(p)
	for i := range list {
		list[i].Gradient = 0
	}
	return over(list, p, l).Excess
}

func releasedDirections(p optimize.Problem, values []float64, edge float64) []Direction {
	var hidden, left float64
	for _, v := range values {
		if v < edge {
			hidden++
			left += v
		}
	}
	curvature := p.DataSmoothness() / float64(max(p.Shape.Margins, 2))
	regularizer := max(p.Penalty().Convexity(), 0)
	// Directions below the edge have one eigenvalue, and are one group.
	var list []Direction
	group := func(eigenvalue, directions float64) {
		list = append(list, Direction{Eigenvalue: curvature*eigenvalue + regularizer, Share: directions / float64(len(values))})
	}
	for _, v := range values {
		if !(v < edge) {
			group(v, 1)
		}
	}
	if hidden > 0 {
		group(max(left/hidden, leastSeen*edge), hidden)
	}
	return list
}

// leastSeen times the largest eigenvalue of the noise (edge) is the smallest second moment that is assumed
// along directions whose released eigenvalues are below the edge. Usually the mean of these eigenvalues is
// assumed. The limit is needed because noise may make this mean tiny or negative.
const leastSeen = .01

// norm returns the length of the gradient at the start, over all directions.
func norm(list []Direction) float64 {
	sum := vector.Sum(list, func(e Direction) float64 { return e.Gradient * e.Gradient })
	return math.Sqrt(sum)
}

// StartGradient returns the length of the gradient that forecasts assume at the start.
func StartGradient(p optimize.Problem) float64 { return norm(Assumed(p)) }
