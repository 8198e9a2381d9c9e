package optimize

import "math"

// predict returns the gradient norm to expect: what is left of the descent in
// the assumed directions and the noise of the estimate, averaged over as many
// periods as the output spans.
func (b *SpiderBoostPlan) predict(s Size) float64 {
	p, eta := b.problem, b.outline.StepSize
	d := float64(p.Dim)
	sa := s.neighbours() * p.Constants.Lipschitz / s.Records
	slope := s.neighbours() * b.ball.slope(p) / s.Records
	signal := newSignal(p, eta)
	var variance, sum, tail float64
	for t := range b.steps {
		if t%b.period == 0 {
			variance = sa * sa / b.anchor
		} else {
			sd := min(slope*eta*math.Hypot(signal.norm(), math.Sqrt(d*variance)), 2*sa)
			variance += sd * sd / b.difference
		}
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

// predict returns the gradient norm to expect, from the same recursion for the
// variance that the loop runs.
func (s *STORMPlan) predict(size Size) float64 {
	p, eta := s.problem, s.outline.StepSize
	d := float64(p.Dim)
	sa := s.neighbours * p.Constants.Lipschitz / size.Records
	slope := s.neighbours * s.ball.slope(p) / size.Records
	signal := newSignal(p, eta)
	variance := sa * sa / s.first
	for range s.steps - 1 {
		sd := min(slope*eta*math.Hypot(signal.norm(), math.Sqrt(d*variance)), 2*sa)
		K := gain(variance, sa, sd, s.rest)
		variance = (1-K)*(1-K)*variance + math.Pow(K*sa+(1-K)*sd, 2)/s.rest
		signal.step()
	}
	return math.Hypot(math.Sqrt(d*variance), signal.norm())
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
