package optimize

import (
	"errors"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Smoothed returns the problem with the loss smoothed: its constants are the smoothed
// loss's, and a Run asks about that. The loss must be a loss.Kinked.
func (p Problem) Smoothed(s query.Smoothing) (Problem, error) {
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
