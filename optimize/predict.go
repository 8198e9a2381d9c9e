package optimize

import "math"

// predict returns the gradient norm to expect. It is exact for a quadratic with
// the problem's assumed spectrum where steps do not pass the minimum, and too
// high where they do: along an eigenvector the answer to question s enters the
// output with a coefficient that follows from steps and weights, and so does the
// distance of the start.
func (g *GDPlan) predict(s Size) float64 {
	eta := g.outline.StepSize
	weight := g.choice.weights(g.charges)
	var noise, start float64
	for _, e := range g.problem.assumed() {
		keep := math.Abs(1 - eta*e.eigenvalue)
		// pull is the sum over t > s of weight_t keep^(t-1-s).
		pull, variance := weight[len(g.charges)], 0.
		for t := len(g.charges) - 1; t >= 0; t-- {
			c := e.eigenvalue * eta * pull
			variance += c * c / g.charges[t]
			pull = weight[t] + keep*pull
		}
		noise += e.share * variance
		start += math.Pow(e.gradient*pull, 2)
	}
	noise *= math.Pow(g.outline.Floor*s.Mu, 2)
	return math.Sqrt(noise + start)
}

// predict returns the gradient norm to expect: what is left of the descent in
// the assumed directions and the noise of the estimate, averaged over as many
// periods as the output spans.
func (b *SpiderBoostPlan) predict(s Size) float64 {
	p, eta := b.problem, b.outline.StepSize
	d := float64(p.Dim)
	sa := s.neighbours() * p.Constants.Lipschitz / s.Records
	slope := s.neighbours() * b.ball.slope(p) / s.Records
	signal := newSignal(p, eta)
	var variance, sum, tail, move float64 // move is the length of the step before
	for t := range b.steps {
		if t%b.period == 0 {
			variance = sa * sa / b.anchor
		} else {
			sd := min(slope*move, 2*sa)
			variance += sd * sd / b.difference
		}
		move = eta * math.Hypot(signal.norm(), math.Sqrt(d*variance))
		if b.choice.averages(t) {
			sum += variance
			tail++
		}
		signal.step()
	}
	noise := sum / tail
	if b.choice.rule == TailAverage {
		noise /= max(tail/float64(b.period), 1)
	}
	return math.Hypot(math.Sqrt(d*noise), signal.norm())
}

// predict returns the gradient norm to expect of the last iterate. Along an
// eigenvector of eigenvalue e, with a = eta e, the true gradient tau and the
// estimate's error err follow
//
//	tau <- (1-a) tau - a err,   err <- (1-K) err + fresh noise
//
// so their second moments are known; the length of a step, which sets the next
// difference's sensitivity, is eta times that of tau + err.
func (s *STORMPlan) predict(size Size) float64 {
	p, eta := s.problem, s.outline.StepSize
	d := float64(p.Dim)
	sa := s.neighbours * p.Constants.Lipschitz / size.Records
	slope := s.neighbours * s.ball.slope(p) / size.Records
	signal := newSignal(p, eta)
	variance := sa * sa / s.first
	moments := make([]moment, len(signal.directions))
	for i := range moments {
		moments[i].err = variance
	}
	for range s.steps {
		var noise float64
		for i, m := range moments {
			noise += signal.directions[i].share * d * m.estimate()
		}
		sd := min(slope*eta*math.Hypot(signal.norm(), math.Sqrt(noise)), 2*sa)
		signal.step()
		K := gain(variance, sa, sd, s.rest)
		fresh := math.Pow(K*sa+(1-K)*sd, 2) / s.rest
		variance = (1-K)*(1-K)*variance + fresh
		for i := range moments {
			moments[i].step(eta*signal.directions[i].eigenvalue, K, fresh)
		}
	}
	var noise float64
	for i, m := range moments {
		noise += signal.directions[i].share * d * m.tau
	}
	return math.Hypot(math.Sqrt(noise), signal.norm())
}

// moment holds second moments along one direction: of the true gradient's
// random part, of the error, and between them.
type moment struct{ tau, cross, err float64 }

func (m moment) estimate() float64 { return m.tau + 2*m.cross + m.err }

func (m *moment) step(a, K, fresh float64) {
	*m = moment{
		tau:   (1-a)*(1-a)*m.tau - 2*a*(1-a)*m.cross + a*a*m.err,
		cross: (1 - K) * ((1-a)*m.cross - a*m.err),
		err:   (1-K)*(1-K)*m.err + fresh,
	}
}

// signal is the true gradient along the assumed directions as steps shrink it.
type signal struct {
	directions []direction
	eta        float64
}

func newSignal(p Problem, eta float64) *signal { return &signal{p.assumed(), eta} }

func (s *signal) step() {
	for i := range s.directions {
		d := &s.directions[i]
		d.gradient *= math.Abs(1 - s.eta*d.eigenvalue)
	}
}

func (s *signal) norm() float64 {
	var sum float64
	for _, d := range s.directions {
		sum += d.gradient * d.gradient
	}
	return math.Sqrt(sum)
}
