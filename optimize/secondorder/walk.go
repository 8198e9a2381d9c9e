package secondorder

// walk is the control flow of Algorithms 2 and 3 of Liu and Talwar 2025. It decides when a fresh
// gradient estimate is due, when an escape from a saddle begins, and when the escape ends. A walk
// contains no points and makes no queries. Its inputs are public or released numbers. Line numbers in
// the comments are the paper's.
type walk struct {
	// A prefix sum ends when drift reaches kappa. Both are in units of a gradient norm. items is the largest
	// number of items of a prefix sum. tau is the largest number of escapes from saddles during a prefix sum;
	// 0 means that there are none.
	kappa      float64
	items, tau int
	// gamma is the largest number of steps of an escape. xi is the distance from the escape's starting
	// point at which the escape ends.
	gamma int
	xi    float64

	// drift is the length of the path since the last fresh estimate, times the smoothness L1.
	drift       float64
	taken       int // number of items of the current prefix sum, including the fresh estimate
	escapes     int
	frozen      int // number of steps outside escapes until another escape may begin
	left        int // number of steps left in the current escape
	begun, stop bool
}

// due reports whether the next gradient estimate must be a fresh one (Liu and Talwar 2025, Algorithm
// 3, lines 2 and 5). It must at the start, after a step of length 0, when the drift has reached
// kappa, after tau escapes, and when the prefix sum has all its declared items.
func (w *walk) due() bool {
	return !w.begun || w.stop || w.drift >= w.kappa || w.tau > 0 && w.escapes >= w.tau || w.taken == w.items
}

// fresh resets the state at the beginning of a prefix sum, whose first item is a fresh gradient
// estimate (Liu and Talwar 2025, Algorithm 3, line 7).
func (w *walk) fresh() {
	w.drift, w.escapes, w.taken, w.begun, w.stop = 0, 0, 1, true, false
}

// extended counts one more item of the current prefix sum. The caller has just added a gradient
// difference to the sum (Liu and Talwar 2025, Algorithm 3, line 9).
func (w *walk) extended() { w.taken++ }

// saddle reports whether an escape from a saddle begins at a gradient estimate with the given norm (Liu and
// Talwar 2025, Algorithm 3, line 13). Three conditions must hold: the norm is at most the threshold, the
// run has made at least gamma steps since the last escape, and the prefix sum has had fewer than tau
// escapes.
func (w *walk) saddle(norm, threshold float64) bool {
	return w.tau > 0 && norm <= threshold && w.frozen <= 0 && w.escapes < w.tau
}

// anchored records that an escape from a saddle begins (Liu and Talwar 2025, Algorithm 3, line 14).
func (w *walk) anchored() {
	w.escapes++
	w.left = w.gamma
}

// descended records a step outside an escape (Liu and Talwar 2025, Algorithm 3, line 21). moved is
// the step's length times the smoothness. If moved is 0, the next gradient difference would be 0
// without any query, so a fresh estimate is due.
func (w *walk) descended(moved float64) {
	w.drift += moved
	w.frozen--
	w.stop = moved == 0
}

// rest returns the largest length of the next step outside escapes, times the smoothness: what the path of the
// prefix sum has left, but at least a quarter of the path, and so much more that the drift passes kappa whatever the
// rounding of sums. Steps of the default size are limited by it.
func (w *walk) rest() float64 { return max(w.kappa-w.drift, w.kappa/4) * (1 + 0x1p-20) }

// escaped records a step of an escape and reports whether the escape goes on (Liu and Talwar 2025,
// Algorithm 2, lines 7 to 9, and Algorithm 3, lines 21 to 24). distance is the distance from the escape's
// starting point to the iterate. After the escape, the next item of the prefix sum is the gradient
// difference between the escape's starting point and its last point. The drift therefore grows by the
// smoothness times distance.
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
