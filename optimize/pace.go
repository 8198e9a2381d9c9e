package optimize

import "math"

// Pace shortens steps that overshoot. If a step passes the minimum by far along the steepest
// directions, the next gradient estimate points the opposite way. If the angle between two successive
// estimates exceeds 120 degrees, and noise does not explain the angle, Pace divides the size of all
// later steps by
//
//	1 - <g, last>/||last||^2.
//
// This number is eta times the secant estimate of the curvature along the last step: with the divided
// size the last step would have ended at a point of slope zero. The size never falls below least. Pace
// uses released vectors only.
type Pace struct {
	eta, least float64
	last       []float64
}

// NewPace returns a Pace whose first step size is eta. Set least to 1/L1 if noise may reverse
// estimates, as it often does in few dimensions: no curvature requires a shorter step.
func NewPace(eta, least float64) *Pace { return &Pace{eta: eta, least: least} }

// unexplained is the number of standard deviations by which an inner product of two estimates must
// differ from 0 to be more than noise.
const unexplained = 8

// Next returns the step size for the estimate g and keeps g for the next call. noise is the standard
// deviation of the noise in a coordinate of g, 0 if unknown.
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
