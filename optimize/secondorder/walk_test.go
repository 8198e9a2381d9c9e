package secondorder

import (
	"math/rand/v2"
	"testing"
)

// begun returns the state of a walk (the control flow of Spider) directly after a fresh gradient
// estimate.
func begun() walk {
	w := walk{kappa: 1, items: 10, tau: 2, gamma: 3, xi: .5}
	w.fresh()
	return w
}

// TestFreshEstimates (Liu and Talwar 2025, Algorithm 3, line 5): the next estimate must be a fresh
// one at the start, when the drift has reached kappa, after tau escapes, after the declared number of
// items, and when the iterate has not moved. Otherwise the next estimate must extend the prefix sum
// by a difference.
func TestFreshEstimates(t *testing.T) {
	if w := (walk{kappa: 1, items: 10, tau: 2}); !w.due() {
		t.Error("the first estimate is not fresh")
	}
	for name, c := range map[string]struct {
		do  func(w *walk)
		due bool
	}{
		"just begun":           {func(w *walk) {}, false},
		"drift below kappa":    {func(w *walk) { w.descended(.4); w.descended(.59) }, false},
		"drift of kappa":       {func(w *walk) { w.descended(.4); w.descended(.6) }, true},
		"drift by an escape":   {func(w *walk) { w.anchored(); w.escaped(.5, 2) }, true},
		"one escape of two":    {func(w *walk) { w.anchored(); w.escaped(.5, 1) }, false},
		"two escapes":          {func(w *walk) { w.anchored(); w.escaped(.5, .1); w.anchored(); w.escaped(.5, .1) }, true},
		"one item short":       {func(w *walk) { extend(w, 8) }, false},
		"all items":            {func(w *walk) { extend(w, 9) }, true},
		"no move":              {func(w *walk) { w.descended(0) }, true},
		"an escape back again": {func(w *walk) { w.anchored(); w.left = 1; w.escaped(0, 1) }, true},
	} {
		w := begun()
		if c.do(&w); w.due() != c.due {
			t.Errorf("%s: due %v, want %v", name, w.due(), c.due)
		}
		// Line 7: a fresh estimate resets the walk's drift and counters.
		if w.fresh(); w.due() || w.drift != 0 || w.escapes != 0 || w.taken != 1 {
			t.Errorf("%s: a fresh estimate leaves %+v", name, w)
		}
	}
}

func extend(w *walk, times int) {
	for range times {
		w.extended()
	}
}

// TestEscapesBegin (line 13): an escape must begin only if the norm of the estimate is at most the
// threshold, the last escape ended at least Gamma steps before, and the prefix sum has fewer than tau
// escapes.
func TestEscapesBegin(t *testing.T) {
	w := begun()
	if w.saddle(.2, .1) || !w.saddle(.1, .1) {
		t.Error("an escape does not begin where the estimate is at most the threshold, and only there")
	}
	w.anchored()
	w.escaped(.6, .1)
	for step := range 3 {
		if w.saddle(0, .1) {
			t.Errorf("an escape begins %d steps after the last", step)
		}
		w.descended(.01)
	}
	if !w.saddle(0, .1) {
		t.Error("no escape begins Gamma steps after the last")
	}
	w.anchored()
	if w.frozen = 0; w.saddle(0, .1) {
		t.Error("a third escape of two begins")
	}
	if without := (walk{kappa: 1, items: 10}); without.saddle(0, .1) {
		t.Error("an escape begins where there are to be none")
	}
}

// TestEscapesEnd (Liu and Talwar 2025, Algorithm 2, line 7, and Algorithm 3, line 22): an escape must end
// at a distance of at least Xi from its starting point, or after Gamma steps. The distance at its end,
// times the smoothness, must be added to the drift.
func TestEscapesEnd(t *testing.T) {
	for _, c := range []struct {
		distances []float64
		steps     int
	}{{[]float64{.1, .5, .6, .7}, 2}, {[]float64{.1, .49, .49, .6}, 3}, {[]float64{.9}, 1}} {
		w := begun()
		w.anchored()
		steps := 0
		for on := true; on; steps++ {
			on = w.escaped(c.distances[steps], 2)
		}
		if drift := 2 * c.distances[steps-1]; steps != c.steps || w.drift != drift {
			t.Errorf("distances %v: ended after %d steps with drift %v: want %d, %v", c.distances, steps, w.drift, c.steps,
				drift)
		}
	}
}

// TestWalksKeepToWhatIsDeclared drives walks with random norms and distances. A prefix sum must have
// at most the declared number of items. The Hessian-vector products between two fresh estimates must
// be at most Gamma tau (Gamma steps in each of tau escapes), the number that the plan charges for.
func TestWalksKeepToWhatIsDeclared(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	sums := 0
	for range 200 {
		w := walk{kappa: r.Float64() * 3, items: 1 + r.IntN(12), tau: r.IntN(4), gamma: 1 + r.IntN(6), xi: r.Float64()}
		items, products := 0, 0
		for range 300 {
			if w.due() {
				w.fresh()
				items, products = 1, 0
				sums++
			} else {
				w.extended()
				items++
			}
			if items > w.items {
				t.Fatalf("%+v: %d items", w, items)
			}
			if !w.saddle(r.Float64(), .5) {
				w.descended(r.Float64() / 2)
				continue
			}
			w.anchored()
			for first := true; ; first = false {
				if !first {
					products++
				}
				if !w.escaped(r.Float64(), 1) {
					break
				}
			}
			if products > w.gamma*w.tau {
				t.Fatalf("%+v: %d products", w, products)
			}
		}
	}
	if sums < 1000 {
		t.Errorf("only %d sums were tried", sums)
	}
}
