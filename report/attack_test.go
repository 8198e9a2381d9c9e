package report

import (
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
)

// TestAttackCurveIsTheBudgets: the curve is that of mu: its greatest height over
// the line e^epsilon alpha is delta(epsilon) (Dong, Roth and Su 2022,
// proposition 6), and half of one more than delta(0) is the chance of a guess.
func TestAttackCurveIsTheBudgets(t *testing.T) {
	for _, mu := range []float64{.1, .5, 1, 3} {
		for _, epsilon := range []float64{0, .3, 1, 2} {
			best := 0.0
			for i := 1; i < 20000; i++ {
				alarm := normal(float64(i)/2000 - 5)
				best = max(best, gaussianPower(mu, alarm)-math.Exp(epsilon)*alarm)
			}
			want, err := account.GaussianDelta(mu, epsilon)
			if err != nil || best > want*(1+1e-9)+1e-15 || best < want*(1-1e-4)-1e-9 {
				t.Errorf("mu %v, epsilon %v: %v: want %v", mu, epsilon, best, want)
			}
			if epsilon == 0 && !near(normal(mu/2), (1+want)/2, 1e-12) {
				t.Errorf("mu %v: a guess is right with %v: want %v", mu, normal(mu/2), (1+want)/2)
			}
		}
	}
}

// TestAttackCurves: a curve rises from 0 to 1, stays above the coin's and below
// what (epsilon, delta) alone allows.
func TestAttackCurves(t *testing.T) {
	for _, b := range []struct{ epsilon, delta float64 }{{.1, 1e-9}, {1, 1e-6}, {8, 1e-5}, {800, .5}} {
		mu, err := account.GaussianMu(b.epsilon, b.delta)
		if err != nil {
			t.Fatal(err)
		}
		before := 0.0
		for _, alarm := range alarms() {
			power, pair := gaussianPower(mu, alarm), pairPower(b.epsilon, b.delta, alarm)
			if !(power >= before && power >= alarm && power <= pair+1e-12 && pair <= 1) {
				t.Fatalf("%v: at %v: %v after %v, pair %v", b, alarm, power, before, pair)
			}
			before = power
		}
		if before != 1 {
			t.Errorf("%v: ends at %v", b, before)
		}
	}
}

// TestScheduledAttackIsNoKinder: read between its points, the curve of a
// composition is an upper bound: on one Gaussian it is never below that of mu.
func TestScheduledAttackIsNoKinder(t *testing.T) {
	m, err := account.NewGaussian(2)
	if err != nil {
		t.Fatal(err)
	}
	c, err := account.Compose(t.Context(), []account.Composed{{Mechanism: m, Count: 1}}, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	a := attack{alarms: alarms()}
	curve, err := c.TradeOff(t.Context(), a.alarms)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range curve {
		a.detected = append(a.detected, 1-b.Lower)
	}
	for i := range 1000 {
		alarm := float64(i) / 1000
		if got, want := a.at(alarm), gaussianPower(.5, alarm); got < want-1e-9 || got > want+.03 {
			t.Errorf("at %v: %v: want %v or a little more", alarm, got, want)
		}
	}
}
