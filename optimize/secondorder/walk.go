package secondorder

// walk is the control flow of Liu and Talwar's Algorithm 3 with Algorithm 2 inside. It decides when
// a fresh estimate is due, when the iterate counts as a saddle, and when an escape ends. It holds
// no points and makes no queries; its inputs are public or released numbers. Line numbers are the
// paper's.
type walk struct {
	// kappa is the drift that ends a prefix sum, in units of a gradient. items is the number of
	// items of a prefix sum, and tau its largest number of escapes, 0 for none.
	kappa      float64
	items, tau int
	// gamma is the largest number of steps of an escape, xi the distance at which it ends.
	gamma int
	xi    float64

	// drift is the length of the path since the fresh estimate, times the smoothness.
	drift       float64
	taken       int // number of items so far, with the fresh estimate
	escapes     int
	frozen      int // steps until the next escape may begin
	left        int // steps left to the escape under way
	begun, stop bool
}

// due reports whether the next estimate is a fresh one (lines 2 and 5). A prefix sum also ends
// after its declared number of items.
func (w *walk) due() bool {
	return !w.begun || w.stop || w.drift >= w.kappa || w.tau > 0 && w.escapes >= w.tau || w.taken == w.items
}

// fresh begins a prefix sum (line 7).
func (w *walk) fresh() {
	w.drift, w.escapes, w.taken, w.begun, w.stop = 0, 0, 1, true, false
}

// extended counts an item added to the prefix sum (line 9).
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

// descended takes the distance of a step, times the smoothness (line 21). If the iterate did not
// move, a difference carries no information, and a fresh estimate is due.
func (w *walk) descended(moved float64) {
	w.drift += moved
	w.frozen--
	w.stop = moved == 0
}

// escaped takes the distance from the anchor after a step of an escape, and reports whether the
// escape goes on (lines 21 to 24). After the escape the next item is the difference from the anchor
// to the iterate, so that this distance adds to the drift.
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
