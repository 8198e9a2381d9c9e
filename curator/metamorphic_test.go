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

// relation is a metamorphic test: it derives a second world (a random table with its schema) from a
// first one and compares the answers. It must hold for all worlds that its subject allows.
type relation struct {
	name string
	of   subject
	hold func(t rapid.TB, w *world)
}

// TestRelationsHold: changes that no query depends on change no exact sum, and changes with a known
// effect change sums by exactly that effect. It tries random schemas, tables, losses, neighbouring
// relations, and every kind of query. No reference implementation says what the sums are. A failure
// prints the smallest table found.
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

// TestQuestionsAreOfEveryKind: the suite makes queries of every kind.
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

// equal fails the test unless two sessions have the same charges and the same integers.
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

// alike reports whether two answers have the same grid and charge, or were both refused.
func (a answer) alike(b answer) bool {
	if a.err != nil || b.err != nil {
		return a.err != nil && b.err != nil
	}
	return a.Scale == b.Scale && a.Bits == b.Bits && a.Event == b.Event
}

// about reports whether two answers have the same charge up to rounding in norms, or were both
// refused.
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

// near fails the test unless the sums in got are the sums in want, mapped by the frame (a permutation
// of coordinates), up to rounding: half a grid step for each record's rounded number, and rounding
// errors of floats, which are at most 2^13 here. Lengths in a metric are rounded to float32.
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

// rounding returns the largest difference between the sums that two orders of summation give for an
// answer about the given number of records.
func (a answer) rounding(records, d int) float64 {
	facts := a.terms[0].Kind().Facts()
	float, each := 0x1p-38, 1.
	if facts.Metric {
		float = 0x1p-20
	}
	if facts.Lifted {
		each = float64(d) * 0x1p20 // entries of a metric may be as large as 2^20
	}
	return float64(records+1) * (each + float*a.Event.Sensitivity*a.Scale)
}

// without returns the answers for which drop is false.
func without(list []answer, drop func(a answer) bool) []answer {
	return slices.DeleteFunc(slices.Clone(list), drop)
}

// sampled reports whether a query's random directions depend on the order of a row's coordinates.
func sampled(a answer) bool {
	return slices.ContainsFunc(a.terms, func(t query.Term) bool { return t.Smoothing().Sampled() })
}

func drawn(a answer) bool { return a.cohort != "all" }
