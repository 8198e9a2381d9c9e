package account

import "fmt"

// Journal is all that a ledger holds, as a program writes it down while the ledger is in
// use and reads it back when the ledger is gone.
type Journal struct {
	Budget  Budget
	Records Records
	// Schedule is the one that the ledger followed; nil for none.
	Schedule *Schedule
	// Events are in the order in which they were charged. Each states its relation.
	Events []Event
}

// Replay has a new ledger admit a journal's events again, one after the other, and
// returns a view of it. The ledger has ended. An event is an error if the budget's filter
// or the schedule does not admit it, if its number is not its place, or if it does not
// state the budget's relation.
//
// A journal can be written by hand: Replay shows that its events fit together and within
// the budget, not that they are what happened.
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
