package query

import "fmt"

// Smoothing makes a term use a smoothed loss: each record's loss, smoothed as a function of the parameters w.
// The smoothed gradient replaces the gradient before the clip. Clip norm and charge do not change. The zero
// Smoothing leaves the loss as it is.
//
// Losses phi(<w,x>, y) whose slopes jump are smoothed in closed form (loss.Kinked). For any other loss, the
// gradient of the smoothed loss is estimated from gradients or values of the loss at points around w. These
// points are w plus multiples of public random directions ([Directions]).
type Smoothing struct {
	// Radius is the radius of the ball of parameters over which the loss is smoothed by the method By. It
	// is 0 for no smoothing, and otherwise between 1e-9 and 1e9.
	Radius float64
	// By is the method of smoothing.
	By Smoother
	// Directions is the number of directions that each record uses, if By is Gradients or Values. It is zero
	// otherwise.
	Directions int
	// Seed is the seed from which directions are drawn, if By is Gradients or Values. It is zero otherwise.
	Seed uint64
}

// Smoother is a method of smoothing.
type Smoother uint8

const (
	// Ball is the mean of the loss over the ball around w (loss.OverBall).
	Ball Smoother = iota
	// LasryLions is the Lasry-Lions regularization: the Moreau envelope of a Moreau envelope of the loss
	// (loss.LasryLions).
	LasryLions
	// Gradients estimates the gradient of the smoothing Ball by the mean of gradients at w + Radius
	// u, for directions u uniform in the unit ball (a first-order estimate). The norm of the estimate
	// is at most the largest norm of gradients.
	Gradients
	// Values estimates the gradient of the smoothing Ball by the mean of
	//
	//	(d/(2 Radius)) (f(w + Radius u) - f(w - Radius u)) u
	//
	// for directions u uniform on the unit sphere and the loss f of d parameters. It uses no gradients (a
	// zero-order estimate). The norm of the estimate from one direction may be d times the norm of
	// gradients. With about d directions it is near the norm of gradients.
	Values
)

// leastRadius and mostRadius bound the radius, so that products with it stay far from the ends of the range
// of float64.
const leastRadius, mostRadius = 1e-9, 1e9

// On reports whether s smooths the loss: the zero Smoothing does not.
func (s Smoothing) On() bool { return s.Radius != 0 }

// Sampled reports whether s estimates the gradient of the smoothed loss along random directions, as
// the smoothers Gradients and Values do.
func (s Smoothing) Sampled() bool { return s.On() && (s.By == Gradients || s.By == Values) }

// Smoothed returns the same term for the loss smoothed by s. [New] returns an error if s is invalid or the
// term's kind does not allow smoothing.
func (t Term) Smoothed(s Smoothing) Term {
	t.smoothing = s
	return t
}

// Smoothing returns the smoothing of the loss that the term uses. It is the zero Smoothing if there
// is none.
func (t Term) Smoothing() Smoothing { return t.smoothing }

func (t Term) validateSmoothing(f Facts) error {
	switch s := t.smoothing; {
	case !s.On():
	case !f.Smooths:
		return fmt.Errorf("query: %v: smoothing radius = %v: must be 0: it is not asked of smoothed losses", t.kind, s.Radius)
	case !(s.Radius >= leastRadius && s.Radius <= mostRadius):
		return fmt.Errorf("query: %v: smoothing radius = %v: must be between %v and %v, or 0 for none", t.kind, s.Radius,
			leastRadius, mostRadius)
	case s.By > Values:
		return fmt.Errorf("query: %v: smoothing = %d: must be one of Ball, LasryLions, Gradients and Values", t.kind, s.By)
	case s.Sampled() && f.Metric:
		return fmt.Errorf("query: %v: smoothing = %d: must be Ball or LasryLions: what is measured in a metric is a "+
			"multiple of the row", t.kind, s.By)
	case s.Sampled() && !(s.Directions >= 1 && s.Directions <= Pool(len(t.w))):
		return fmt.Errorf("query: %v: smoothing: directions = %d: must be between 1 and %d", t.kind, s.Directions,
			Pool(len(t.w)))
	case !s.Sampled() && (s.Directions != 0 || s.Seed != 0):
		return fmt.Errorf("query: %v: smoothing: directions = %d, seed = %d: must be 0 where none are drawn", t.kind,
			s.Directions, s.Seed)
	}
	return nil
}
