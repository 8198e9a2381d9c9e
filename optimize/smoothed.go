package optimize

import (
	"errors"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Smoothed returns the problem with the loss smoothed: its constants are the smoothed
// loss's, and a Run asks about that. In closed form the loss must be a loss.Kinked; by
// directions it may be any.
func (p Problem) Smoothed(s query.Smoothing) (Problem, error) {
	if s.Sampled() {
		return p.sampled(s)
	}
	if p.Kinked == nil {
		return p, errors.New("optimize: smoothing: loss: must be one whose slope jumps, of a generalised linear model: others are smooth as they are, or have no smoothing in closed form")
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

// sampled is Smoothed by directions. Any loss of Lipschitz constant L0 becomes one whose
// gradient moves by at most query.Steepness L0/r times the way, is nowhere more than L0 r
// above it and stays convex; its own bound of the curvature, if it holds everywhere, stays.
// What a record contributes is an estimate of that gradient, which may move by more: the
// clip says by how much.
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
