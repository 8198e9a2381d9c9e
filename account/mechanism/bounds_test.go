package mechanism

import (
	"math"
	"testing"
)

// TestPureRepetitions: the best of several runs is pure if every event of a run is, in whichever order. Its epsilon is worked out
// from the sum over the events of a run: (2 + shape) times it, or epsilon + mean tanh(epsilon/2) for a Poisson number of runs.
func TestPureRepetitions(t *testing.T) {
	made := func(m Mechanism, err error) Mechanism {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	weak, strong, noisy := made(newPure(.1)), made(newPure(.25)), made(NewGaussian(3))
	const run = 3*.1 + 2*.25
	for _, c := range []struct {
		times  Repetitions
		events []Composed
		want   float64
	}{
		{Repetitions{Mean: 5, Shape: 1}, []Composed{{weak, 3}, {strong, 2}}, 3 * run},
		{Repetitions{Mean: 5, Shape: .5}, []Composed{{weak, 3}, {strong, 2}}, 2.5 * run},
		{Repetitions{Mean: 5}, []Composed{{strong, 2}, {weak, 3}}, 2 * run},
		{Repetitions{Mean: 5, Poisson: true}, []Composed{{weak, 3}, {strong, 2}}, run + 5*math.Tanh(run/2)},
		{Repetitions{Mean: 5}, []Composed{{noisy, 1}, {weak, 3}}, 0},
		{Repetitions{Mean: 5}, []Composed{{weak, 3}, {noisy, 1}}, 0},
	} {
		m, err := newRepeatAndSelect(t.Context(), c.times, c.events)
		if err != nil {
			t.Fatal(err)
		}
		var got float64
		switch m := m.(type) {
		case repeated:
			got = m.pure
		case *repeated:
			got = m.pure
		}
		if got < c.want || got > c.want*(1+1e-12) {
			t.Errorf("%v of %v: pure %v: must be %v", c.times, c.events, got, c.want)
		}
	}
}

// TestGroupsOfOneRelation: a group of k records moves a Gaussian release k times as far, also one that holds for one relation
// alone, and a group of groups as far as their product.
func TestGroupsOfOneRelation(t *testing.T) {
	m := boundGaussian{gaussianMechanism{4, .5}, AddOrRemove}
	for _, k := range []int{1, 2, 3, groupMost} {
		g, err := Group(m, k)
		if want := (boundGaussian{gaussianMechanism{4, .5 * float64(k)}, AddOrRemove}); err != nil || g != want {
			t.Errorf("%d records: %v, %v: must be %v", k, g, err, want)
		}
	}
	two, err := Group(m, 2)
	if err != nil {
		t.Fatal(err)
	}
	if six, err := Group(two, 3); err != nil || six != (boundGaussian{gaussianMechanism{4, 3}, AddOrRemove}) {
		t.Errorf("%v, %v", six, err)
	}
	for _, k := range []int{0, -1, groupMost + 1} {
		if _, err := Group(m, k); err == nil {
			t.Errorf("a group of %d records", k)
		}
	}
}

// TestRareDistancesCountAsTheLargest: of a group in a fixed-size sample, the probabilities of distances that are too small to
// compute with are added to that of the largest distance: all sum to 1.
func TestRareDistancesCountAsTheLargest(t *testing.T) {
	for _, c := range []struct{ records, batch, group int }{{100, 30, 3}, {1 << 30, 1, 3}, {1 << 38, 40, 40}, {1 << 40, 3, 64}} {
		made, err := newFixedSample(2, c.records, c.batch, c.group)
		if err != nil {
			t.Fatal(err)
		}
		m := made.(fixedSample)
		sum, most := 0., min(c.group, c.batch)
		for _, p := range m.parts {
			sum += p.weight
		}
		// The group is in the sample unless all of the sample are others.
		none := 1.
		for i := range c.batch {
			none *= 1 - float64(c.group)/float64(c.records-i)
		}
		if last := m.parts[len(m.parts)-1].mean; !(math.Abs(sum-1) <= 1e-9) || last != float64(most) || !(math.Abs(m.sampling/(1-none)-1) <= 1e-3) || m.sampling < 1-none-1e-12 {
			t.Errorf("%+v: weights sum to %v, the largest distance is %v, sampling %v: must be 1, %v and %v", c, sum, last, m.sampling, most, 1-none)
		}
	}
}

// TestCalibrationsNameTheirLimits: where no noise or no sampling is enough, the error names epsilon, delta and the limit.
func TestCalibrationsNameTheirLimits(t *testing.T) {
	noisy := func(float64) ([]Composed, error) {
		m, err := NewGaussian(.5)
		return []Composed{{m, 1}}, err
	}
	_, err := CalibrateMultiplier(t.Context(), .25, 1e-7, noisy)
	if want := "account: epsilon = 0.25, delta = 1e-07: no noise multiplier up to 1e+06 is enough"; err == nil || err.Error() != want {
		t.Errorf("%v: must be %q", err, want)
	}
	_, err = CalibrateSampling(t.Context(), .25, 1e-7, noisy)
	if want := "account: epsilon = 0.25, delta = 1e-07: no sampling probability down to 1e-09 is small enough"; err == nil || err.Error() != want {
		t.Errorf("%v: must be %q", err, want)
	}
	for _, c := range []struct {
		epsilon, delta float64
		want           string
	}{{0, 1e-7, "account: epsilon = 0: must be finite and > 0"}, {1, 1, "account: delta = 1: must be > 0 and < 1"}} {
		if _, err := CalibrateSampling(t.Context(), c.epsilon, c.delta, noisy); err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v", c, err)
		}
		if _, err := CalibrateMultiplier(t.Context(), c.epsilon, c.delta, noisy); err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v", c, err)
		}
		if _, err := CalibrateCount(t.Context(), c.epsilon, c.delta, func(int) ([]Composed, error) { return noisy(0) }); err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
