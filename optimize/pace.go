package optimize

import "math"

// Pace shortens steps that overshoot. Where the last step passed the minimum by
// far along the steepest directions the estimate turns round. When it turns by
// more than 120 degrees, and noise does not explain that, all later steps are divided
// by
//
//	1 - <g, last>/||last||^2,
//
// which is eta times the curvature that the secant shows along the last step,
// so that this step would have ended where it found no slope; but never below
// least. It looks at released vectors only.
type Pace struct {
	eta, least float64
	last       []float64
}

// NewPace starts with steps of eta. least is 1/L1 where noise may turn estimates
// round, as it often does in few dimensions: no curvature asks for less.
func NewPace(eta, least float64) *Pace { return &Pace{eta: eta, least: least} }

// unexplained is how many standard deviations an inner product of two estimates of
// noise alone must be away from 0 not to be taken for one.
const unexplained = 8

// Next returns the step size to use with the estimate g, which it keeps. noise is the
// standard deviation of a coordinate's noise in it, 0 if that is not known.
func (p *Pace) Next(g []float64, noise float64) float64 {
	var product float64
	for j, v := range p.last {
		product += v * g[j]
	}
	length := Norm(p.last)
	if product < -length*Norm(g)/2 && product < -unexplained*noise*noise*math.Sqrt(float64(len(g))) {
		p.eta = max(p.eta/(1-product/(length*length)), p.least)
	}
	p.last = g
	return p.eta
}
