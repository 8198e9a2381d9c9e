package mechanism

import (
	"math"
	"math/rand/v2"
	"testing"
)

func mustMechanism(t testing.TB, m Mechanism, err error) Mechanism {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func sampled(t testing.TB, multiplier, q float64, r Relation) Mechanism {
	t.Helper()
	m, err := NewSampledGaussian(multiplier, q, r)
	return mustMechanism(t, m, err)
}

func compose(t testing.TB, width float64, events ...Composed) *Composition {
	t.Helper()
	c, err := Compose(t.Context(), events, width)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// checkBracket fails the test unless the number truth is inside the bracket b. truth is known to a
// relative error of tolerance.
func checkBracket(t *testing.T, name string, b Bracket, truth, tolerance float64) {
	t.Helper()
	if !(b.Lower >= 0 && b.Lower <= b.Upper) || math.IsInf(b.Upper, 0) {
		t.Errorf("%s: [%v, %v] is not a bracket", name, b.Lower, b.Upper)
	}
	if truth*(1+tolerance) < b.Lower || truth*(1-tolerance) > b.Upper {
		t.Errorf("%s: %.12g is outside [%.12g, %.12g]", name, truth, b.Lower, b.Upper)
	}
}

// TestOneUse compares the delta of one use of a mechanism, in each order of the neighbouring tables,
// with the closed form.
func TestOneUse(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(41, 1))
	for range trials(160) {
		relation := []Relation{ReplaceOne, AddOrRemove}[r.IntN(2)]
		multiplier, q := logUniform(r, .3, 20), logUniform(r, 1e-4, .999)
		laws := refSampled(multiplier, q, relation)
		c := compose(t, 1e-3, Composed{sampled(t, multiplier, q, relation), 1})
		epsilon := logUniform(r, 1e-3, 5)
		for k, d := range c.directions() {
			want := refHockey(laws[k], epsilon)
			if want < 1e-9 { // the reference's own cancellation
				continue
			}
			b, err := d.delta(newEffort(t.Context(), effortMost), epsilon, 1e-3, false, func(Bracket) bool { return false })
			if err != nil {
				t.Fatal(err)
			}
			name := c.parts[0].Mechanism.String()
			checkBracket(t, name, b, want, 1e-6)
			if b.width() > 1e-3 {
				t.Errorf("%s: epsilon %v: width %v", name, epsilon, b.width())
			}
		}
	}
}

func TestTwoUses(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(41, 2))
	for range trials(8) {
		relation := []Relation{ReplaceOne, AddOrRemove}[r.IntN(2)]
		s1, q1 := logUniform(r, .5, 4), logUniform(r, 1e-2, .95)
		s2, q2 := logUniform(r, .5, 4), logUniform(r, 1e-2, .95)
		one, two := refSampled(s1, q1, relation), refSampled(s2, q2, relation)
		c := compose(t, 1e-3, Composed{sampled(t, s1, q1, relation), 1}, Composed{sampled(t, s2, q2, relation), 1})
		epsilon := logUniform(r, 1e-2, 2)
		for k, d := range c.directions() {
			want := refTwo(one[k], two[k], epsilon)
			if want < 1e-8 {
				continue
			}
			b, err := d.delta(newEffort(t.Context(), effortMost), epsilon, 1e-4, false, func(Bracket) bool { return false })
			if err != nil {
				t.Fatal(err)
			}
			checkBracket(t, c.parts[0].Mechanism.String(), b, want, 1e-5)
		}
	}
}

// TestManyUses compares many uses of different mechanisms with an inversion of the moment
// generating function.
func TestManyUses(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(41, 3))
	for range trials(48) {
		relation := []Relation{ReplaceOne, AddOrRemove}[r.IntN(2)]
		var events []Composed
		laws := [2][]mixtureLaw{}
		var counts []float64
		for range 1 + r.IntN(2) {
			s, q, n := logUniform(r, .7, 6), logUniform(r, 3e-3, .5), logUniformInt(r, 8, 5000)
			n = max(8, min(n, int(20*s*s/(q*q)))) // keeps epsilon moderate
			events = append(events, Composed{sampled(t, s, q, relation), n})
			l := refSampled(s, q, relation)
			laws[0], laws[1] = append(laws[0], l[0]), append(laws[1], l[1])
			counts = append(counts, float64(n))
		}
		c := compose(t, 1e-3, events...)
		for k, d := range c.directions() {
			if err := d.draw(newEffort(t.Context(), effortMost), sketchTail); err != nil {
				t.Fatal(err)
			}
			s := d.profile.forDelta(logUniform(r, 1e-10, 1e-2))
			if !(s.epsilon > 1e-3 && s.theta < 60) {
				continue
			}
			b, err := d.delta(newEffort(t.Context(), effortMost), s.epsilon, 1e-3, false, func(Bracket) bool { return false })
			if err != nil {
				t.Fatal(err)
			}
			want := refMany(laws[k], counts, s.epsilon, s.theta, 14*(1/s.deviation+.3*s.theta), 800)
			coarse := refMany(laws[k], counts, s.epsilon, s.theta, 10*(1/s.deviation+.3*s.theta), 800)
			if math.Abs(coarse/want-1) > 1e-5 { // the reference has not converged
				continue
			}
			checkBracket(t, c.parts[0].Mechanism.String(), b, want, 2e-5)
			if b.width() > 1e-3 {
				t.Errorf("%v: width %v", c.parts, b.width())
			}
		}
	}
}
