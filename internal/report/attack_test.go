package report

import (
	"math"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account/mechanism"
)

// TestAttackCurveIsTheBudgets tests the curve that the page draws for an attack. gaussianPower must
// be the curve of mu-GDP: its largest height above the line e^epsilon times the false-alarm
// probability must be delta(epsilon) (Dong, Roth and Su 2022, proposition 6), and the probability
// of a right guess must be (1 + delta(0))/2.
func TestAttackCurveIsTheBudgets(t *testing.T) {
	for _, mu := range []float64{.1, .5, 1, 3} {
		for _, epsilon := range []float64{0, .3, 1, 2} {
			best := 0.0
			for i := 1; i < 20000; i++ {
				alarm := normal(float64(i)/2000 - 5)
				best = max(best, gaussianPower(mu, alarm)-math.Exp(epsilon)*alarm)
			}
			want, err := mechanism.GaussianDelta(mu, epsilon)
			if err != nil || best > want*(1+1e-9)+1e-15 || best < want*(1-1e-4)-1e-9 {
				t.Errorf("mu %v, epsilon %v: %v: want %v", mu, epsilon, best, want)
			}
			if epsilon == 0 && !near(normal(mu/2), (1+want)/2, 1e-12) {
				t.Errorf("mu %v: a guess is right with %v: want %v", mu, normal(mu/2), (1+want)/2)
			}
		}
	}
}

// TestAttackCurves tests that the curve of mu-GDP, the power of the best test by its false-alarm
// probability, rises from 0 to 1, is never below a coin toss, and never above the curve that
// (epsilon, delta) alone allows.
func TestAttackCurves(t *testing.T) {
	for _, b := range []struct{ epsilon, delta float64 }{{.1, 1e-9}, {1, 1e-6}, {8, 1e-5}, {800, .5}} {
		mu, err := mechanism.GaussianMu(b.epsilon, b.delta)
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

// TestScheduledAttackIsNoKinder tests the curve of an attack on a schedule of Poisson samples.
// Between the points at which the curve of a composition is known, the method at must return an
// upper bound. For one Gaussian mechanism the bound must not be below the exact curve, and at most
// .03 above it.
func TestScheduledAttackIsNoKinder(t *testing.T) {
	m, err := mechanism.NewGaussian(2)
	if err != nil {
		t.Fatal(err)
	}
	c, err := mechanism.Compose(t.Context(), []mechanism.Composed{{Mechanism: m, Count: 1}}, 1e-3)
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
