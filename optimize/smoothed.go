package optimize

import (
	"errors"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Smoothed returns the problem whose loss is smoothed by s: its constants belong to the smoothed loss, and
// every answer that a Run releases is about the smoothed loss. Smoothing by random directions is possible
// for any loss. The other smoothings are in closed form and are possible for a [loss.Kinked] only. For
// other losses they are an error.
func (p Problem) Smoothed(s query.Smoothing) (Problem, error) {
	if s.Sampled() {
		return p.sampled(s)
	}
	if p.Kinked == nil {
		return p,
			errors.New("optimize: smoothing: loss: must be one whose slope jumps, of a generalised linear model: others are " +
				"smooth as they are, or have no smoothing in closed form")
	}
	var by loss.Smoothing
	var err error
	switch s.By {
	case query.Ball:
		by, err = loss.OverBall(p.Shape.Features, s.Radius)
	case query.LasryLions:
		by, err = loss.LasryLions(s.Radius)
	default:
		err = fmt.Errorf("optimize: smoothing = %d: must be one of ball and lasry-lions", s.By)
	}
	if err != nil {
		return p, err
	}
	if p.Constants, err = p.Kinked.SmoothedConstants(by); err != nil {
		return p, err
	}
	p.Smoothing = s
	return p, p.Validate()
}

// sampled is Smoothed for smoothing by random directions. Let L0 be the Lipschitz constant of the loss, d
// the number of parameters and r the smoothing radius. The gradient of the smoothed loss has the Lipschitz
// constant query.Steepness(d) L0/r. The smoothed loss exceeds the loss by at most L0 r everywhere, and it
// is convex if the loss is. If the loss itself has a curvature bound that holds everywhere, this bound
// still holds. A record contributes an estimate of the gradient of its smoothed loss. Between two points
// this estimate may change by more than the gradient of the smoothed loss does. Clipping then limits the
// change of the estimate.
func (p Problem) sampled(s query.Smoothing) (Problem, error) {
	if !Positive(s.Radius) {
		return p, fmt.Errorf("optimize: smoothing radius = %v: must be finite and > 0", s.Radius)
	}
	c := &p.Constants
	steep := query.Steepness(p.Dim()) * c.Lipschitz / s.Radius
	own := c.Curvature
	if p.Jumps || c.Local != "" {
		own = loss.CurvatureInterval{Lo: math.Inf(-1), Hi: math.Inf(1)}
	}
	c.Curvature = loss.CurvatureInterval{Lo: max(own.Lo, -steep), Hi: min(own.Hi, steep)}
	c.HessianLipschitz = math.Inf(1)
	c.InitialGap += c.Lipschitz * s.Radius
	c.Local, c.Loose = "", "the smoothed loss: its curvature is bounded by its Lipschitz constant"
	p.Smoothing = s
	return p, p.Validate()
}
