package optimize

import "math"

// predict is exact for a quadratic with the problem's assumed spectrum where
// steps do not pass the minimum, and too high where they do.
func (g *GDPlan) predict(s Size) Forecast {
	perCharge := math.Pow(g.outline.Floor*s.Mu, 2) / float64(g.problem.Dim)
	return g.problem.forecast(g.outline.StepSize, s.Records, g.choice.weights(g.charges), func(t int, _ float64) (K, variance float64) {
		return 1, perCharge / g.charges[t]
	})
}

// predict follows anchors (K = 1) and differences (K = 0), whose noise goes by
// the length to expect of the step before.
func (b *SpiderBoostPlan) predict(s Size) Forecast {
	p := b.problem
	sa := s.neighbours() * p.Constants.Lipschitz / s.Records
	slope := s.neighbours() * b.ball.slope(p) / s.Records
	charges := make([]float64, b.steps)
	for t := range charges {
		charges[t] = b.charge(t)
	}
	return p.forecast(b.outline.StepSize, s.Records, b.choice.weights(charges), func(t int, move float64) (K, variance float64) {
		if t%b.period == 0 {
			return 1, sa * sa / b.anchor
		}
		sd := min(slope*move, 2*sa)
		return 0, sd * sd / b.difference
	})
}

// predict follows the gain that the run will take.
func (s *STORMPlan) predict(size Size) Forecast {
	p := s.problem
	sa := s.neighbours * p.Constants.Lipschitz / size.Records
	slope := s.neighbours * s.ball.slope(p) / size.Records
	charges := make([]float64, s.steps)
	for t := range charges {
		charges[t] = s.rest
	}
	charges[0] = s.first
	var variance float64 // P
	return p.forecast(s.outline.StepSize, size.Records, s.choice.weights(charges), func(t int, move float64) (K, fresh float64) {
		if t == 0 {
			variance = sa * sa / s.first
			return 1, variance
		}
		sd := min(slope*move, 2*sa)
		K = gain(variance, sa, sd, s.rest)
		fresh = math.Pow(K*sa+(1-K)*sd, 2) / s.rest
		variance = (1-K)*(1-K)*variance + fresh
		return K, fresh
	})
}
