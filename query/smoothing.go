package query

import "fmt"

// Smoothing says that a term is asked of the loss smoothed as a function of w, each
// record's by itself, instead of the loss as it is. It changes what is clipped, and
// neither clips nor charges. The zero Smoothing is none.
//
// Losses phi(<w,x>, y) whose slopes jump are smoothed in closed form (loss.Kinked).
type Smoothing struct {
	// Radius is that of the ball of parameters looked at, as By means it.
	Radius float64
	// By says how.
	By Smoother
}

// Smoother is a way of smoothing.
type Smoother uint8

const (
	// Ball is the mean over the ball around w (loss.OverBall).
	Ball Smoother = iota
	// LasryLions is the double envelope (loss.LasryLions).
	LasryLions
)

// Radii between these are far inside the range of float64, with whatever they are
// multiplied by.
const leastRadius, mostRadius = 1e-9, 1e9

// On reports whether there is smoothing.
func (s Smoothing) On() bool { return s.Radius != 0 }

// Smoothed returns the term about the smoothed loss.
func (t Term) Smoothed(s Smoothing) Term {
	t.smoothing = s
	return t
}

// Smoothing returns how the loss is smoothed.
func (t Term) Smoothing() Smoothing { return t.smoothing }

func (t Term) validateSmoothing(f Facts) error {
	switch s := t.smoothing; {
	case !s.On():
	case !f.Smooths:
		return fmt.Errorf("query: %v: smoothing radius = %v: must be 0: it is not asked of smoothed losses", t.kind, s.Radius)
	case !(s.Radius >= leastRadius && s.Radius <= mostRadius):
		return fmt.Errorf("query: %v: smoothing radius = %v: must be between %v and %v, or 0 for none", t.kind, s.Radius, leastRadius, mostRadius)
	case s.By > LasryLions:
		return fmt.Errorf("query: %v: smoothing = %d: must be one of Ball and LasryLions", t.kind, s.By)
	}
	return nil
}
