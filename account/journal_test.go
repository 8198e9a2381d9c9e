package account

import (
	"slices"
	"strings"
	"testing"
)

// recorded returns the ledger of a session that followed a schedule, or none, and answered queries
// of every kind.
func recorded(t *testing.T, r Relation, records Records, schedule *Schedule) *Ledger {
	t.Helper()
	b, err := NewBudget(1, 1e-6, r)
	if err != nil {
		t.Fatal(err)
	}
	l, err := OpenLedger(b, records)
	if err == nil && schedule != nil {
		err = l.Follow(schedule)
	}
	if err != nil {
		t.Fatal(err)
	}
	small := b.Mu() / 16
	list := []func() (Event, error){
		func() (Event, error) { return GaussianEvent("gradient", Everyone, small, 1) },
		func() (Event, error) { return GaussianEvent("gradient", 3, 2*small, 1) },
		func() (Event, error) { return SelectionEvent("selection", Everyone, small) },
		func() (Event, error) { return GaussianEvent("value", 2, small, 1) },
	}
	if schedule != nil {
		list = append(list, func() (Event, error) { return SampledEvent("gradient", .25, 1, 200) })
	}
	for _, make := range list {
		e, err := make()
		e.Simulated = records.Simulated
		if err == nil {
			err = l.Reserve(e)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func sampledSchedule(t *testing.T, r Relation) *Schedule {
	t.Helper()
	b, err := NewBudget(1, 1e-6, r)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSchedule(t.Context(), b, b.Mu()/2, SampledSteps{NoiseMultiplier: 200, Sampling: .25, Count: 4})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestReplayIsTheLedger tests that Replay restores the ledger from which a journal was made, and
// that the restored ledger admits no further events.
func TestReplayIsTheLedger(t *testing.T) {
	unit := Records{Count: 7, Unit: Unit{"person", 3, Sum}, Filter: Filter{"split", "train"}}
	for _, r := range []Relation{ReplaceOne, AddOrRemove} {
		for _, schedule := range []*Schedule{nil, sampledSchedule(t, r)} {
			for _, records := range []Records{{Count: 9}, unit, {Count: 9, Simulated: true}} {
				l := recorded(t, r, records, schedule)
				v, err := Replay(l.View().Journal())
				if err != nil {
					t.Fatal(err)
				}
				got, opened := v.Records()
				if !opened || got != records || !v.Ended() || l.View().Ended() {
					t.Errorf("records %+v (%v), ended %v: must be %+v", got, opened, v.Ended(), records)
				}
				if !slices.Equal(v.Events(), l.Events()) || v.Charged() != l.Charged() || v.Budget() != l.Budget() {
					t.Errorf("charged %v by %d events: must be %v", v.Charged(), v.Len(), l.Charged())
				}
				if (v.Schedule() == nil) != (schedule == nil) {
					t.Error("the schedule is lost")
				}
				if own, again := l.View(), l.View(); v == own || own != again {
					t.Error("views are equal that read two ledgers, or differ that read one")
				}
			}
		}
	}
}

// TestReplayRefuses tests that a journal is refused if an event states no relation, has an index
// that is not its position, or would be refused by the ledger.
func TestReplayRefuses(t *testing.T) {
	least, err := NewBudget(.01, 1e-6, ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(*Journal)
		want   string
	}{
		{"a relation cleared", func(j *Journal) { j.Events[2].Relation = 0 }, "event 2: relation"},
		{"all relations cleared", func(j *Journal) {
			for i := range j.Events {
				j.Events[i].Relation = 0
			}
		}, "event 0: relation"},
		{"the other relation", func(j *Journal) { j.Events[1].Relation = AddOrRemove }, "event 1: account: event: relation"},
		{"the first dropped", func(j *Journal) { j.Events = j.Events[1:] }, "event 0: index = 1"},
		{"one dropped", func(j *Journal) { j.Events = slices.Delete(j.Events, 1, 2) }, "event 1: index = 2"},
		{"one twice", func(j *Journal) { j.Events = slices.Insert(j.Events, 1, j.Events[0]) }, "event 1: index = 0"},
		{"a charge lowered", func(j *Journal) { j.Events[3].Charge /= 2 }, "event 3: charge"},
		{"another's schedule", func(j *Journal) { j.Budget = least }, "follow"},
		{"a smaller budget", func(j *Journal) { j.Budget, j.Schedule, j.Events = least, nil, j.Events[:4] }, "over budget"},
		{"no budget", func(j *Journal) { j.Budget = Budget{} }, "budget: relation"},
		{"a sample of no schedule", func(j *Journal) { j.Schedule = nil }, "event 4"},
		{"an event of other coins", func(j *Journal) { j.Events[0].Simulated = true },
			"event 0: account: event: simulated = true"},
		{"other coins", func(j *Journal) { j.Records.Simulated = true }, "event 0: account: event: simulated = false"},
		{"no records", func(j *Journal) { j.Records = Records{} }, "records = 0"},
	} {
		j := recorded(t, ReplaceOne, Records{Count: 9}, sampledSchedule(t, ReplaceOne)).View().Journal()
		c.change(&j)
		if _, err := Replay(j); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v: want an error about %q", c.name, err, c.want)
		}
	}
}

// TestRecordsThatThereAre tests that OpenLedger accepts valid descriptions of records and refuses
// invalid descriptions.
func TestRecordsThatThereAre(t *testing.T) {
	b := mustBudget(t, 1, 1e-6)
	for _, c := range []struct {
		r  Records
		ok bool
	}{
		{Records{Count: 1}, true},
		{Records{Count: MaxRecords, Simulated: true}, true},
		{Records{Count: 5, Unit: Unit{"person", 1, Mean}}, true},
		{Records{}, false},
		{Records{Simulated: true}, false},
		{Records{Count: -1}, false},
		{Records{Count: MaxRecords + 1}, false},
		{Records{Count: 5, Unit: Unit{"", 1, Mean}}, false},
		{Records{Count: 5, Unit: Unit{"person", 0, Mean}}, false},
		{Records{Count: 5, Unit: Unit{"person", 1, ""}}, false},
	} {
		l, err := OpenLedger(b, c.r)
		if (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.r, err)
		}
		if err != nil {
			continue
		}
		if got, opened := l.View().Records(); !opened || got != c.r {
			t.Errorf("%+v became %+v", c.r, got)
		}
	}
	if r, opened := NewLedger(b).View().Records(); opened || r != (Records{}) {
		t.Errorf("a ledger of no records has %+v", r)
	}
	if _, opened := (View{}).Records(); opened {
		t.Error("the zero View has records")
	}
}
