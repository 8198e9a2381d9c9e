package ledgerfile

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
)

// TestAnEndStatesItsReservation changes one field of an end at a time: one that states another table, algorithm, budget,
// schedule or run than its reservation is none of it. The time, the charge and the certificate are the end's own.
func TestAnEndStatesItsReservation(t *testing.T) {
	steps := []account.SampledSteps{{NoiseMultiplier: 2.5, Sampling: .01, Count: 100}}
	entry := func() Entry {
		return Entry{Entry: Settled, Fit: 3, Data: "/people.csv", Algorithm: "dp-sgd", Guarantee: account.Guarantee{Epsilon: 1, Delta: 1e-6,
			Mu: .25, Relation: account.ReplaceOne, Unit: "person"}, Schedule: steps, Store: "sqlite:///s.db", Dataset: "people", Run: "r"}
	}
	for i, c := range []struct {
		change func(*Entry)
		same   bool
	}{
		{func(*Entry) {}, true},
		{func(e *Entry) { e.Time, e.Charged, e.Certificate = time.Unix(5, 0), .05, "abc" }, true},
		{func(e *Entry) { e.Schedule = []account.SampledSteps{steps[0]} }, true},
		{func(e *Entry) { e.Data = "/others.csv" }, false},
		{func(e *Entry) { e.Algorithm = "gd" }, false},
		{func(e *Entry) { e.Epsilon = 2 }, false},
		{func(e *Entry) { e.Delta = 1e-7 }, false},
		{func(e *Entry) { e.Mu = .26 }, false},
		{func(e *Entry) { e.Relation = account.AddOrRemove }, false},
		{func(e *Entry) { e.Unit = "" }, false},
		{func(e *Entry) { e.Schedule = nil }, false},
		{func(e *Entry) { e.Schedule = []account.SampledSteps{{NoiseMultiplier: 2.5, Sampling: .01, Count: 99}} }, false},
		{func(e *Entry) { e.Store = "sqlite:///t.db" }, false},
		{func(e *Entry) { e.Dataset = "others" }, false},
		{func(e *Entry) { e.Run = "q" }, false},
	} {
		e := entry()
		c.change(&e)
		err := e.ends(entry())
		if (err == nil) != c.same || err != nil && err.Error() !=
			`entry = "settled": must state the table, algorithm and budget that fit 3 reserved` {
			t.Errorf("change %d: %v", i, err)
		}
	}
}

// TestStepsOfASchedule tests that the releases of all steps of a schedule are counted together.
func TestStepsOfASchedule(t *testing.T) {
	const most = 1 << 40
	for _, c := range []struct {
		counts []int
		wrong  int // the step that is one too many; -1 for none
	}{{[]int{most}, -1}, {[]int{most + 1}, 0}, {[]int{most - 1, 1}, -1}, {[]int{most - 1, 2}, 1}, {[]int{1, most - 2, 1}, -1},
		{[]int{1, most - 2, 2}, 2}, {[]int{5, 0}, 1}} {
		e := Entry{}
		for _, n := range c.counts {
			e.Schedule = append(e.Schedule, account.SampledSteps{NoiseMultiplier: 1, Sampling: 1, Count: n})
		}
		err := e.checkSchedule()
		if (err == nil) != (c.wrong < 0) || err != nil && !strings.HasPrefix(err.Error(),
			fmt.Sprintf("schedule[%d].count = %d: must be >= 1, and all of them at most %d", c.wrong, c.counts[max(c.wrong, 0)], most)) {
			t.Errorf("%v: %v", c.counts, err)
		}
	}
}
