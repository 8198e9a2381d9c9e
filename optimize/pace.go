package optimize

import "math"

// Pace shortens steps that overshoot. If a step goes far past the minimum along the steepest directions,
// the next gradient estimate g points the opposite way of the last one. If the angle between the two
// estimates exceeds 120 degrees, and noise does not explain the angle, Pace divides the size of this step
// and of all later steps by
//
//	1 - <g, last>/||last||^2.
//
// This number is the step size eta times the secant estimate of the curvature along the last step. With the
// divided size the last step would have ended at a point of slope zero. The step size never falls below the
// field least. Pace uses released vectors only.
type Pace struct {
	eta, least float64
	last       []float64
}

// NewPace returns a Pace whose first step size is eta and whose step size never falls below least. Noise
// may reverse the direction of estimates, most often in few dimensions. least should then be 1/L1, where L1
// is the smoothness, since no curvature up to L1 requires a shorter step.
func NewPace(eta, least float64) *Pace { return &Pace{eta: eta, least: least} }

// unexplained is a number of standard deviations of the noise in the inner product of two successive
// gradient estimates. A step counts as having overshot only if the inner product is more than this number
// of standard deviations below 0.
const unexplained = 8

// Next returns the size of the step along the gradient estimate g, and keeps g to compare it with the
// next estimate. noise is the standard deviation of the noise in a coordinate of g; 0 if unknown.
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
