package mechanism

import (
	"reflect"
	"testing"
)

// TestOneDirectionMeansEqualLaws tests that a mechanism with two laws has different ones, and that Compose uses two
// directions exactly then.
func TestOneDirectionMeansEqualLaws(t *testing.T) {
	mixture, err := newGaussianMixture(3, []float64{.9, .1}, []float64{0, 2})
	gaussian, err2 := NewGaussian(2)
	laplace, err3 := newLaplace(2)
	response, err4 := newRandomizedResponse(.2)
	pure, err5 := newPure(.5)
	bounded, err6 := newBoundedRange(.5)
	grouped, err7 := Group(sampled(t, 2, .1, AddOrRemove), 3)
	for _, m := range []Mechanism{
		mustMechanism(t, mixture, err), mustMechanism(t, gaussian, err2), mustMechanism(t, laplace, err3),
		mustMechanism(t, response, err4), mustMechanism(t, pure, err5), mustMechanism(t, bounded, err6),
		mustMechanism(t, grouped, err7),
		sampled(t, 2, .1, AddOrRemove), sampled(t, 2, .1, ReplaceOne), sampled(t, 2, 1, AddOrRemove),
		sampled(t, 2, 1, ReplaceOne),
	} {
		laws := m.laws()
		equal := len(laws) == 1
		if !equal && reflect.DeepEqual(laws[0], laws[1]) {
			t.Errorf("%v: the laws of the two directions are equal", m)
		}
		c := compose(t, 1e-2, Composed{m, 3})
		if len(c.parts) > 0 && (len(c.directions()) == 1) != equal {
			t.Errorf("%v: %d directions composed", m, len(c.directions()))
		}
	}
}

// TestMixtureDirections tests a mixture with the offsets 0 and 1. It is the sampled Gaussian, whose
// two directions have different values in dp_accounting's tests (TestDirectionGoldens).
func TestMixtureDirections(t *testing.T) {
	m, err := newGaussianMixture(1, []float64{.2, .8}, []float64{0, 1})
	d := compose(t, 1e-4, Composed{mustMechanism(t, m, err), 1}).directions()
	if len(d) != 2 {
		t.Fatalf("%d directions", len(d))
	}
	for k, want := range []float64{.0816951786585355, .0231362104090899} {
		b, err := d[k].delta(newEffort(t.Context(), effortMost), 1, 1e-4, false, func(Bracket) bool { return false })
		if err != nil {
			t.Fatal(err)
		}
		checkBracket(t, []string{"remove", "add"}[k], b, want, 1e-9)
	}
}
