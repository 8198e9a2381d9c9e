package mechanism

import (
	"math"
	"testing"
)

func epsilonOf(t *testing.T, m Mechanism, count int, delta float64) Bracket {
	t.Helper()
	c, err := Compose(t.Context(), []Composed{{m, count}}, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.Epsilon(t.Context(), delta)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestGroupOfGaussian tests that a group of k records has k times the sensitivity.
func TestGroupOfGaussian(t *testing.T) {
	m, err := NewGaussian(10)
	if err != nil {
		t.Fatal(err)
	}
	g, err := Group(m, 4)
	if err != nil {
		t.Fatal(err)
	}
	want, err := GaussianEpsilon(.4, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	if got := epsilonOf(t, g, 1, 1e-6); !(math.Abs(got.Upper/want-1) <= 1e-9) {
		t.Errorf("epsilon %v, want %v", got, want)
	}
}

// TestGroupOfSampledGaussian compares delta with a fine sum from the definition: P is the sum of
// binomial weights times N(j, z^2), and Q is N(0, z^2). The test fails if a group of k is counted as one
// record, or if the group is sampled as a whole.
func TestGroupOfSampledGaussian(t *testing.T) {
	const z, q, k, epsilon = 2., .3, 3, .4
	m, err := NewSampledGaussian(z, q, AddOrRemove)
	if err != nil {
		t.Fatal(err)
	}
	g, err := Group(m, k)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Compose(t.Context(), []Composed{{g, 1}}, 1e-4)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Delta(t.Context(), epsilon)
	if err != nil {
		t.Fatal(err)
	}
	density := func(x, mean float64) float64 {
		return math.Exp(-(x-mean)*(x-mean)/(2*z*z)) / (z * math.Sqrt(2*math.Pi))
	}
	choose := []float64{1, 3, 3, 1}
	var removed, added float64
	const step = 1e-3
	for x := -20.; x < 30; x += step {
		var p float64
		for j := range k + 1 {
			p += choose[j] * math.Pow(q, float64(j)) * math.Pow(1-q, float64(k-j)) * density(x, float64(j))
		}
		u := density(x, 0)
		removed += max(0, p-math.Exp(epsilon)*u) * step
		added += max(0, u-math.Exp(epsilon)*p) * step
	}
	want := max(removed, added)
	if got.Upper < want*(1-1e-5) || got.Lower > want*(1+1e-5) || got.width() > 1e-3 {
		t.Errorf("delta %v, want %v in it", got, want)
	}
	one, err := Group(m, 1)
	if err != nil || one.String() != m.String() {
		t.Errorf("a group of one is %v (%v), want %v", one, err, m)
	}
}

func TestGroupRules(t *testing.T) {
	t.Parallel()
	pure, err := newPure(.25)
	if err != nil {
		t.Fatal(err)
	}
	g, err := Group(pure, 4)
	if err != nil {
		t.Fatal(err)
	}
	if got := epsilonOf(t, g, 1, 1e-12); !(math.Abs(got.Upper-1) <= 1e-3) {
		t.Errorf("four records under 1/4-DP: epsilon %v, want 1", got)
	}
	mixture, err := newGaussianMixture(2, []float64{.5, .5}, []float64{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Group(mixture, 2); err == nil {
		t.Error("a group under a secret sensitivity of unknown joint law was accepted")
	}
	for _, multiplier := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if m, err := newReplacedMixture(multiplier, []float64{.5, .5}, []float64{0, 1}); err == nil {
			t.Errorf("the noise multiplier %v gives %v", multiplier, m)
		}
	}
	for _, k := range []int{0, -1, 65} {
		if _, err := Group(pure, k); err == nil {
			t.Errorf("a group of %d was accepted", k)
		}
	}
}

// TestGroupOfLaplace tests that a group of k records shifts the output by k scales. The delta of
// this shift is 1 - e^((epsilon - k epsilon0)/2), which is smaller than the delta of the least
// private (k epsilon0)-DP mechanism.
func TestGroupOfLaplace(t *testing.T) {
	m, err := newLaplace(4)
	g, err := Group(mustMechanism(t, m, err), 6)
	g = mustMechanism(t, g, err)
	for _, epsilon := range []float64{0, .4, 1.2} {
		b, err := compose(t, 1e-4, Composed{g, 1}).Delta(t.Context(), epsilon)
		if err != nil {
			t.Fatal(err)
		}
		checkBracket(t, g.String(), b, refLaplace(1.5, epsilon), 1e-9)
	}
	// The group of a bounded-range or pure mechanism must have the same kind.
	r, err := newBoundedRange(.2)
	if g, err := Group(mustMechanism(t, r, err), 3); err != nil ||
		g.String() != "bounded range(epsilon 0.6000000000000001)" {
		t.Errorf("%v, %v", g, err)
	}
	pure, err := newPure(.1)
	sum, err2 := Group(mustMechanism(t, pure, err), 2)
	other, err3 := newPure(.2)
	if err2 != nil || err3 != nil || sum.String() != other.String() {
		t.Errorf("%v, want %v", sum, other)
	}
	if _, err := Group(mustMechanism(t, m, nil), 0); err == nil {
		t.Error("a group of none was accepted")
	}
	big, err := newLaplace(.02)
	_, err = Group(mustMechanism(t, big, err), 13)
	wantError(t, err, "epsilon = 650: must be within")
}
