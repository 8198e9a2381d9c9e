package curator_test

import (
	"flag"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/query"
	"pgregory.net/rapid"
)

var long = flag.Duration("long", 0, "how long TestRelationsHold searches each relation, such as 1h")

// relation is one between the answers to two worlds, which holds whatever they are, as far as
// it speaks of them.
type relation struct {
	name string
	of   subject
	hold func(t rapid.TB, w *world)
}

// TestRelationsHold: what no question depends on changes no un-noised sum, and what a sum
// depends on in a known way changes it so: for random schemas, tables, losses and relations of
// neighbours, and every kind of question. No reference says what the sums are. A failure shows
// the smallest table that was found for it.
func TestRelationsHold(t *testing.T) {
	for _, r := range relations {
		t.Run(r.name, func(t *testing.T) {
			property := func(t *rapid.T) {
				w := anyWorld(r.of).Draw(t, "world")
				if w.records(t) {
					r.hold(t, w)
				}
			}
			rapid.Check(t, property)
			for start := time.Now(); time.Since(start) < *long; {
				rapid.Check(t, property)
			}
		})
	}
}

// TestQuestionsAreOfEveryKind: the suite asks all kinds there are.
func TestQuestionsAreOfEveryKind(t *testing.T) {
	w := &world{seed: 1}
	var kinds []query.Kind
	for _, a := range w.questions(t, named(t, "absolute"), 3, frame{}) {
		for _, term := range a.terms {
			kinds = append(kinds, term.Kind())
		}
	}
	for _, k := range query.Kinds() {
		if !slices.Contains(kinds, k) {
			t.Errorf("no question is of the kind %v", k)
		}
	}
}

// equal demands that two sessions charged and summed alike, to the integer.
func equal(t rapid.TB, w *world, what string, got, want []answer) {
	t.Helper()
	for i := range want {
		g, v := got[i], want[i]
		if g.alike(v) && slices.Equal(g.Exact, v.Exact) && slices.Equal(g.Scores, v.Scores) {
			continue
		}
		t.Fatalf("%s: %s of %s records: %v, %v, by %+v: must be %v, %v, by %+v\n%v", what, v.name, v.cohort, g.Exact,
			g.err, g.Event, v.Exact, v.err, v.Event, w)
	}
}

// alike reports whether two answers have one grid and one charge, or were both refused.
func (a answer) alike(b answer) bool {
	if a.err != nil || b.err != nil {
		return a.err != nil && b.err != nil
	}
	return a.Scale == b.Scale && a.Bits == b.Bits && a.Event == b.Event
}

// about reports whether two answers have one charge, within the roundings of norms that are
// added up in another order, or were both refused.
func (a answer) about(b answer) bool {
	if a.err != nil || b.err != nil {
		return a.err != nil && b.err != nil
	}
	ratio := func(x, y float64) bool { return math.Abs(x-y) <= 1e-12*math.Abs(y) }
	return a.Event.Question == b.Event.Question && a.Event.Cohort == b.Event.Cohort && ratio(a.Event.Charge,
		b.Event.Charge) &&
		ratio(a.Event.Sensitivity, b.Event.Sensitivity) && ratio(a.Event.Sigma, b.Event.Sigma) && ratio(a.Scale,
		b.Scale) && a.Bits == b.Bits
}

// near demands the sums that a frame makes of others, within the roundings of so many records:
// half a step each time one is rounded, and the roundings of floats, of which none is of more
// than 2^13 numbers. Lengths in a metric are floats of 24 bits.
func near(t rapid.TB, w *world, what string, f frame, runs, d int, got, want []answer) {
	t.Helper()
	for i, v := range want {
		g := got[i]
		if !g.about(v) {
			t.Fatalf("%s: %s of %s records: %v, %+v: must be %v, %+v\n%v", what, v.name, v.cohort, g.err, g.Event, v.err,
				v.Event, w)
		}
		if v.err != nil {
			continue
		}
		facts := v.terms[0].Kind().Facts()
		within := v.rounding(len(w.rows), d)
		for j, s := range f.sums(v.Exact, facts, runs, d) {
			if off := math.Abs(float64(g.Exact[j]) - float64(s)); !(off <= within) {
				t.Fatalf("%s: %s of %s records: coordinate %d is %d: must be %d, up to %v\n%v", what, v.name, v.cohort, j,
					g.Exact[j], s, within, w)
			}
		}
	}
}

// rounding is how far two ways to add up an answer of so many records may be apart.
func (a answer) rounding(records, d int) float64 {
	facts := a.terms[0].Kind().Facts()
	float, each := 0x1p-38, 1.
	if facts.Metric {
		float = 0x1p-20
	}
	if facts.Lifted {
		each = float64(d) * 0x1p20 // entries of a metric have up to 20 bits
	}
	return float64(records+1) * (each + float*a.Event.Sensitivity*a.Scale)
}

// without leaves out what a relation does not speak of.
func without(list []answer, drop func(a answer) bool) []answer {
	return slices.DeleteFunc(slices.Clone(list), drop)
}

// sampled reports questions whose directions are drawn by the bits of a row in their order.
func sampled(a answer) bool {
	return slices.ContainsFunc(a.terms, func(t query.Term) bool { return t.Smoothing().Sampled() })
}

func drawn(a answer) bool { return a.cohort != "all" }
