package budget

import (
	"math"
	"testing"
	"time"
)

// TestBlocksAreAtMostWhatWasCharged tests the charge that a mark reserves ahead: that of 32 replies of the store at the
// rate of the run, and at most what was charged before. A run that is killed has then marked at most twice its charge.
func TestBlocksAreAtMostWhatWasCharged(t *testing.T) {
	for _, x := range []struct {
		charge, rate float64
		latency      time.Duration
		want         float64
	}{{.5, .01, 250 * time.Millisecond, .08}, {.05, .01, 250 * time.Millisecond, .05}, {.05, 0, time.Second, 0},
		{0, 3, time.Second, 0}} {
		m := &marks{charge: x.charge, rate: x.rate, latency: x.latency}
		if got := m.block(); math.Abs(got-x.want) > 1e-12 || got > x.charge {
			t.Errorf("%+v: %v", x, got)
		}
	}
}
