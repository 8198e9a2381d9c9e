package account

import "fmt"

// Journal is the complete content of a ledger. A program can store it while the ledger is in use
// and read it back later.
type Journal struct {
	Budget  Budget
	Records Records
	// Schedule is the schedule that the ledger followed, nil if there was none.
	Schedule *Schedule
	// Events are the ledger's events, in the order in which they were charged. Each event states
	// its relation.
	Events []Event
}

// Journal returns the content of the ledger so far.
func (v View) Journal() Journal {
	r, _ := v.Records()
	return Journal{Budget: v.Budget(), Records: r, Schedule: v.Schedule(), Events: v.Events()}
}

// Replay makes a new ledger admit the events of a journal again, one after the other. It returns a
// view of that ledger, which admits no further events. It is an error if the budget's privacy
// filter or the schedule refuses an event, if an event's Index is not its position in Events
// (counted from 0), or if an event does not state the budget's relation.
//
// A journal can be written by hand. Replay proves that its events are consistent and within the
// budget. It does not prove that these events took place.
func Replay(j Journal) (View, error) {
	l, err := OpenLedger(j.Budget, j.Records)
	if err != nil {
		return View{}, err
	}
	if j.Schedule != nil {
		if err := l.Follow(j.Schedule); err != nil {
			return View{}, err
		}
	}
	for i, e := range j.Events {
		if e.Index != i {
			return View{}, fmt.Errorf("account: event %d: index = %d: must be its place, from 0 without gaps", i, e.Index)
		}
		if !e.Relation.Valid() {
			return View{}, fmt.Errorf("account: event %d: relation = %v: must be stated", i, e.Relation)
		}
		if err := l.Reserve(e); err != nil {
			return View{}, fmt.Errorf("account: event %d: %w", i, err)
		}
	}
	l.End()
	return l.View(), nil
}
