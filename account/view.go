package account

// View reads a ledger and nothing else: what a session shows of its own. It
// follows the ledger as events are added. Assigning to a View changes which
// ledger that variable reads, never a ledger. The zero View reads an empty ledger
// of the zero Budget. Two views are equal, by ==, exactly if they read the same ledger.
type View struct {
	ledger *Ledger
}

// View returns a view of the ledger.
func (l *Ledger) View() View { return View{ledger: l} }

func (v View) source() *Ledger {
	if v.ledger == nil {
		return new(Ledger)
	}
	return v.ledger
}

// Budget returns the budget the ledger was made with.
func (v View) Budget() Budget { return v.source().Budget() }

// Records returns which records the ledger charges. ok is false if it was not opened with
// any.
func (v View) Records() (r Records, ok bool) { return v.source().Records() }

// Ended reports whether the ledger admits nothing any more: its readings are final.
func (v View) Ended() bool { return v.source().Ended() }

// Journal returns all that the ledger holds so far.
func (v View) Journal() Journal {
	r, _ := v.Records()
	return Journal{Budget: v.Budget(), Records: r, Schedule: v.Schedule(), Events: v.Events()}
}

// Events returns a copy of the events so far.
func (v View) Events() []Event { return v.source().Events() }

// Since returns a copy of the events from number n on, counted from 0; none where
// there are no more than n. It takes time in proportion to what it returns.
func (v View) Since(n int) []Event {
	l := v.source()
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Event(nil), l.events[min(max(n, 0), len(l.events)):]...)
}

// Len returns the number of events so far.
func (v View) Len() int {
	l := v.source()
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.events)
}

// Charged returns the largest total charged to any record so far, rounded up.
func (v View) Charged() float64 { return v.source().Charged() }

// Left returns what may still be charged to a record of the cohort, rounded
// down; for Everyone, what may still be charged to every record.
func (v View) Left(cohort uint64) float64 { return v.source().Left(cohort) }

// Schedule returns a copy of the schedule of sampled events; nil if there is
// none.
func (v View) Schedule() *Schedule { return v.source().Schedule() }
