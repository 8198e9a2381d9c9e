package query

import "fmt"

// Smoothing says that a term is asked of the loss smoothed as a function of w, each
// record's by itself, instead of the loss as it is. It changes what is clipped, and
// neither clips nor charges. The zero Smoothing is none.
//
// Losses phi(<w,x>, y) whose slopes jump are smoothed in closed form (loss.Kinked). Of any
// loss the gradient of the smoothed one is estimated from points around w, each record's
// in public directions of its own (Directions).
type Smoothing struct {
	// Radius is that of the ball of parameters looked at, as By means it.
	Radius float64
	// By says how.
	By Smoother
	// Directions is how many a record takes, and Seed what they are drawn by, with
	// Gradients and Values; zero otherwise.
	Directions int
	Seed       uint64
}

// Smoother is a way of smoothing.
type Smoother uint8

const (
	// Ball is the mean over the ball around w (loss.OverBall).
	Ball Smoother = iota
	// LasryLions is the double envelope (loss.LasryLions).
	LasryLions
	// Gradients estimates that of Ball by the mean of gradients at w + Radius u, u being
	// uniform in the unit ball: first order. Its norm is that of gradients.
	Gradients
	// Values estimates it by the mean of
	//
	//	(d/(2 Radius)) (f(w + Radius u) - f(w - Radius u)) u
	//
	// with u uniform on the unit sphere, and needs no gradient: zero order. Its norm may
	// be d times that of gradients and is near them with about d directions.
	Values
)

// Radii between these are far inside the range of float64, with whatever they are
// multiplied by.
const leastRadius, mostRadius = 1e-9, 1e9

// On reports whether there is smoothing.
func (s Smoothing) On() bool { return s.Radius != 0 }

// Sampled reports whether directions are drawn.
func (s Smoothing) Sampled() bool { return s.On() && (s.By == Gradients || s.By == Values) }

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
	case s.By > Values:
		return fmt.Errorf("query: %v: smoothing = %d: must be one of Ball, LasryLions, Gradients and Values", t.kind, s.By)
	case s.Sampled() && f.Metric:
		return fmt.Errorf("query: %v: smoothing = %d: must be Ball or LasryLions: what is measured in a metric is a multiple of the row", t.kind, s.By)
	case s.Sampled() && !(s.Directions >= 1 && s.Directions <= Pool(len(t.w))):
		return fmt.Errorf("query: %v: smoothing: directions = %d: must be between 1 and %d", t.kind, s.Directions, Pool(len(t.w)))
	case !s.Sampled() && (s.Directions != 0 || s.Seed != 0):
		return fmt.Errorf("query: %v: smoothing: directions = %d, seed = %d: must be 0 where none are drawn", t.kind, s.Directions, s.Seed)
	}
	return nil
}
