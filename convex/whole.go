package convex

// Whole is the whole space, of any dimension: no constraint.
type Whole struct{}

// Name returns "whole".
func (Whole) Name() string { return "whole" }

// Project leaves w unchanged.
func (Whole) Project([]float64) {}

// Contains returns true if every coordinate of w is finite, otherwise false.
func (Whole) Contains(w []float64) bool { return finite(w) }

func finite(w []float64) bool {
	for _, v := range w {
		if v-v != 0 {
			return false
		}
	}
	return true
}
