package forecast

import (
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Of follows the second moments of a run by its law along every assumed direction.
// Along an eigenvector of eigenvalue e, with a = eta e, the true gradient tau,
// the estimate's error err and the output's gradient out follow
//
//	tau <- tau + momentum (tau - before)
//	err <- (1-K) err + fresh noise
//	out <- out + weight tau
//	tau <- (1-a) tau - a err
//
// and the start the same without noise. Where steps pass the minimum (a > 1) the
// start is taken not to change sign, which is on the safe side; beyond a = 2 the
// quadratic diverges, which losses that flatten do not, and a is taken for 2.
// Of an estimate that corrects one further back than the last, the error is
// followed by itself, and what it changes by from step to step is taken for fresh.
// In a metric all of this is followed there, and what comes out is taken back.
//
// Where each release has fresh records, the gradient followed is the
// distribution's, with which records were drawn among the noise, and the records'
// own is taken to be alike. Steps that pass the minimum along the steepest direction are
// shortened in such a run where estimates turn round (optimize.Pace); they are followed as
// shortened so, and at the length that just reaches it, as losses that flatten let them:
// the lower forecast is taken, since either was measured to be too high more often than
// not.
//
// Where it is publicly known how fast the objective rises (Problem.KL), the excess
// risk is the most that goes with the gradient norm.
func Of(p optimize.Problem, l optimize.Law) optimize.Forecast {
	return over(Assumed(p), p, l)
}

// over is Of on given directions.
func over(directions []Direction, p optimize.Problem, l optimize.Law) optimize.Forecast {
	if !l.OnePass {
		return follow(directions, p, l, math.Inf(1), nil)
	}
	longest := math.Inf(1)
	for _, e := range directions {
		longest = min(longest, 1/e.Eigenvalue)
	}
	just := follow(directions, p, l, longest, nil)
	if f := follow(directions, p, l, math.Inf(1), newShortened(p, l)); f.Gradient < just.Gradient {
		return f
	}
	return just
}

// follow is over for steps of at most the longest, or shortened on the way.
func follow(directions []Direction, p optimize.Problem, l optimize.Law, longest float64, shorter *shortened) optimize.Forecast {
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
	errors := make([]float64, steps) // of the estimates, in variance
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
				m.replace(last, [parts]float64{tau: 1, err: 1})
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

// AtStart is the forecast of not moving at all.
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

// What a moment follows along one direction: the random part of the true gradient
// where a question is asked, the same a step before, the estimate's error, the random
// part of the output's gradient, and that of the last estimate, where it is followed.
const (
	tau = iota
	before
	err
	out
	last
	parts
)

// moment holds the second moments of the parts and between them. start and before are
// the output's gradient and the gradient a step before, without noise; turned is the
// product of the gradients of this step and the last.
type moment struct {
	cov                   [parts][parts]float64
	start, before, turned float64
}

// shortened is optimize.Pace, which passes over fresh records follow, as it would act on
// estimates whose products are what they are on average.
type shortened struct{ factor, least, square float64 }

func newShortened(p optimize.Problem, l optimize.Law) *shortened {
	return &shortened{factor: 1, least: min(l.Eta(0), 1/p.Smoothness())}
}

// next is the step size in place of eta, after an estimate of the given mean square and
// mean product with the one before.
func (s *shortened) next(eta, square, product float64) float64 {
	if product < -math.Sqrt(s.square*square)/2 {
		s.factor /= 1 - product/s.square
	}
	s.square = square
	return max(eta*s.factor, s.least)
}

// replace makes part i the given combination of the parts.
func (m *moment) replace(i int, by [parts]float64) {
	var cross [parts]float64
	for j := range parts {
		for k, v := range by {
			cross[j] += v * m.cov[k][j]
		}
	}
	var own float64
	for k, v := range by {
		own += v * cross[k]
	}
	for j := range parts {
		m.cov[i][j], m.cov[j][i] = cross[j], cross[j]
	}
	m.cov[i][i] = own
}

// extrapolate goes on by beta times the last move.
func (m *moment) extrapolate(beta float64) {
	was := m.cov
	m.replace(tau, [parts]float64{tau: 1 + beta, before: -beta})
	// What was tau is before, whose moment with the new tau is that of
	// (1+beta) tau - beta before with the old tau.
	now := (1+beta)*was[tau][tau] - beta*was[before][tau]
	for j := range parts {
		m.cov[before][j], m.cov[j][before] = was[tau][j], was[j][tau]
	}
	m.cov[before][before] = was[tau][tau]
	m.cov[before][tau], m.cov[tau][before] = now, now
}

func (m *moment) answer(K, variance float64) {
	m.replace(err, [parts]float64{err: 1 - K})
	m.cov[err][err] += variance
}

// withLast is the moment of the estimate with that of the step before.
func (m *moment) withLast() float64 { return m.cov[tau][last] + m.cov[err][last] }

// estimate is the second moment of tau + err; rounding may take it below zero
// where the two cancel.
func (m *moment) estimate() float64 {
	return max(m.cov[tau][tau]+2*m.cov[tau][err]+m.cov[err][err], 0)
}

func (m *moment) visit(weight float64) {
	if weight != 0 {
		m.replace(out, [parts]float64{out: 1, tau: weight})
	}
}

func (m *moment) step(a float64) { m.replace(tau, [parts]float64{tau: 1 - a, err: -a}) }
