package convex

// Set is a closed convex set of parameter vectors. It is public, immutable and safe for concurrent use.
type Set interface {
	// Name is a short identifier with parameters, such as "ball(2)".
	Name() string
	// Project changes w to the nearest point of the set, up to rounding. Afterwards Contains(w) is true, so
	// a second projection changes no bit. If w contains a NaN or an infinity, it has no nearest point, and
	// Project leaves w unchanged.
	Project(w []float64)
	// Contains reports whether w is in the set. It returns false for a w with a NaN or an infinity.
	Contains(w []float64) bool
}

var (
	_ Set = Whole{}
	_ Set = Ball{}
)
