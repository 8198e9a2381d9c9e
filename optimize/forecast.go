package optimize

import "math"

// Forecast is what a plan may be expected to reach, root mean squares over its
// coins, on the quadratic that predictions assume (see Problem's assumed
// spectrum). Nothing but choices between plans rests on it.
type Forecast struct {
	// Gradient is the norm of the gradient of the mean loss over the records.
	Gradient float64 `json:"gradient_norm"`
	// Population is that of the expected loss over the distribution the records
	// were drawn from: records' gradients are taken to scatter by L0.
	Population float64 `json:"population_gradient_norm"`
	// Excess is the mean loss less its minimum.
	Excess float64 `json:"excess_risk"`
}

// law says of step t, counted from 0, how an estimate is made: with gain K its
// error is (1-K) times the error before plus fresh noise of the given variance a
// coordinate. move is the length to expect of the step before.
type law func(t int, move float64) (K, variance float64)

// forecast follows the second moments of a run along every assumed direction.
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
// weights has one entry a step and one for the last iterate.
func (p Problem) forecast(eta float64, records float64, weights []float64, l law) Forecast {
	directions := p.assumed()
	d := float64(p.Dim)
	moments := make([]moment, len(directions))
	move := 0.
	steps := len(weights) - 1
	for t := range steps {
		K, variance := l(t, move)
		var square float64
		for i := range moments {
			e, m := &directions[i], &moments[i]
			a := min(eta*e.eigenvalue, 2)
			m.answer(K, variance)
			square += e.gradient*e.gradient + e.share*d*m.estimate()
			m.start += weights[t] * e.gradient
			m.visit(weights[t])
			m.step(a)
			e.gradient *= math.Abs(1 - a)
		}
		move = eta * math.Sqrt(square)
	}
	var f Forecast
	for i, e := range directions {
		m := &moments[i]
		m.start += weights[steps] * e.gradient
		m.visit(weights[steps])
		square := m.start*m.start + e.share*d*m.out
		f.Gradient += square
		f.Excess += square / (2 * e.eigenvalue)
	}
	l0 := p.Constants.Lipschitz
	f.Population = math.Sqrt(f.Gradient + l0*l0/records)
	f.Gradient = math.Sqrt(f.Gradient)
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
