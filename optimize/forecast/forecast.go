package forecast

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Of follows the second moments of a run by its law along every assumed direction.
// Along an eigenvector of eigenvalue e, with a = eta e, the true gradient tau,
// the estimate's error err and the output's gradient out follow
//
//	err <- (1-K) err + fresh noise
//	out <- out + weight tau
//	tau <- (1-a) tau - a err
//
// and the start the same without noise. Where steps pass the minimum (a > 1) the
// start is taken not to change sign, which is on the safe side; beyond a = 2 the
// quadratic diverges, which losses that flatten do not, and a is taken for 2.
// Of an estimate that corrects one further back than the last, the error is
// followed by itself, and what it changes by from step to step is taken for fresh.
//
// Where each release has fresh records, the gradient followed is the
// distribution's, with which records were drawn among the noise, and the records'
// own is taken to be alike; steps that pass the minimum are shortened in such a
// run, and followed at the length that just reaches it.
//
// Where it is publicly known how fast the objective rises (Problem.KL), the excess
// risk is the most that goes with the gradient norm.
func Of(p optimize.Problem, l optimize.Law) optimize.Forecast {
	directions := Assumed(p)
	longest := math.Inf(1)
	if l.OnePass {
		for _, e := range directions {
			longest = min(longest, 1/e.Eigenvalue)
		}
	}
	weights, d := l.Weights(), float64(p.Dim())
	moments := make([]moment, len(directions))
	move := 0.
	steps := len(weights) - 1
	errors := make([]float64, steps) // of the estimates, in variance
	for t := range steps {
		back, last, before := 1, 0., 0.
		if l.Back != nil {
			back = l.Back(t)
		}
		if back <= t {
			last = errors[t-back]
		}
		if t > 0 {
			before = errors[t-1]
		}
		K, answer := l.Answer(t, l.Radius(move*float64(back)), last)
		fresh, eta := answer.Total(), min(l.Eta(t), longest)
		errors[t] = (1-K)*(1-K)*last + fresh
		if back > 1 {
			K, fresh = 0, errors[t]-before
		}
		var square float64
		for i := range moments {
			e, m := &directions[i], &moments[i]
			a := min(eta*e.Eigenvalue, 2)
			m.answer(K, fresh)
			square += e.Gradient*e.Gradient + e.Share*d*m.estimate()
			m.start += weights[t] * e.Gradient
			m.visit(weights[t])
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
		square := m.start*m.start + e.Share*d*m.out
		f.Gradient += square
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

// moment holds second moments along one direction: of the true gradient's
// random part tau, of the estimate's error, of the output's gradient, and
// between them; start is the output's gradient without noise.
type moment struct {
	tau, err, cross     float64
	out, outTau, outErr float64
	start               float64
}

func (m *moment) answer(K, variance float64) {
	m.err = (1-K)*(1-K)*m.err + variance
	m.cross *= 1 - K
	m.outErr *= 1 - K
}

// estimate is the second moment of tau + err; rounding may take it below zero
// where the two cancel.
func (m *moment) estimate() float64 { return max(m.tau+2*m.cross+m.err, 0) }

func (m *moment) visit(weight float64) {
	if weight == 0 {
		return
	}
	m.out += weight * (2*m.outTau + weight*m.tau)
	m.outTau += weight * m.tau
	m.outErr += weight * m.cross
}

func (m *moment) step(a float64) {
	m.tau = (1-a)*(1-a)*m.tau - 2*a*(1-a)*m.cross + a*a*m.err
	m.cross = (1-a)*m.cross - a*m.err
	m.outTau = (1-a)*m.outTau - a*m.outErr
}
