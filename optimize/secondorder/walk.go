package secondorder

// walk is the control flow of Liu and Talwar's Algorithm 3 with Algorithm 2 inside:
// when a fresh estimate is due, when the iterate is taken for a saddle, when an escape
// ends. It holds no points and asks nothing; what it is told is public or released.
// Lines are the paper's.
type walk struct {
	// kappa is the drift that ends a prefix sum, in the unit of a gradient, items how
	// many items it takes, and tau how many escapes, 0 if there are to be none.
	kappa      float64
	items, tau int
	// gamma is the number of steps of an escape, xi the distance at which it ends.
	gamma int
	xi    float64

	// drift is the path since the fresh estimate, times the smoothness.
	drift       float64
	taken       int // items, the fresh estimate among them
	escapes     int
	frozen      int // steps until the next escape may begin
	left        int // steps of the escape under way
	begun, stop bool
}

// due reports whether the next estimate is a fresh one (lines 2 and 5). The number of
// items is declared with the sum, so that a sum that has had them ends as well.
func (w *walk) due() bool {
	return !w.begun || w.stop || w.drift >= w.kappa || w.tau > 0 && w.escapes >= w.tau || w.taken == w.items
}

// fresh begins a prefix sum (line 7).
func (w *walk) fresh() {
	w.drift, w.escapes, w.taken, w.begun, w.stop = 0, 0, 1, true, false
}

// extended says that the sum has an item more (line 9).
func (w *walk) extended() { w.taken++ }

// saddle reports whether an escape begins at an estimate of the given norm (line 13).
func (w *walk) saddle(norm, threshold float64) bool {
	return w.tau > 0 && norm <= threshold && w.frozen <= 0 && w.escapes < w.tau
}

// anchored begins an escape (line 14).
func (w *walk) anchored() {
	w.escapes++
	w.left = w.gamma
}

// descended says that a step moved the iterate so far, times the smoothness (line 21).
// Where it did not move at all, there is nothing to learn from a difference, and a
// fresh estimate is due.
func (w *walk) descended(moved float64) {
	w.drift += moved
	w.frozen--
	w.stop = moved == 0
}

// escaped says that a step of an escape led to a distance from the anchor, and
// reports whether the escape goes on (lines 21 to 24). After its end the difference
// from the anchor to the iterate is the next item: it is what drifts.
func (w *walk) escaped(distance, smoothness float64) (on bool) {
	w.left--
	if distance < w.xi && w.left > 0 {
		return true
	}
	w.frozen = w.gamma
	w.drift += smoothness * distance
	w.stop = distance == 0
	return false
}
