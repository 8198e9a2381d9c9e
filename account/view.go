package account

// View gives read access to a ledger. A session shows its ledger as a View. A View shows the events
// that are added to the ledger later, too. An assignment to a View variable changes which ledger
// the variable reads, and never changes a ledger. The zero View reads an empty ledger of the zero
// Budget. Two views are equal, by ==, exactly if they read the same ledger.
type View struct {
	ledger *Ledger
}

// View returns read access to the ledger, to be handed to code that must not change it.
func (l *Ledger) View() View { return View{ledger: l} }

func (v View) source() *Ledger {
	if v.ledger == nil {
		return new(Ledger)
	}
	return v.ledger
}

// Budget returns the budget the ledger was made with.
func (v View) Budget() Budget { return v.source().Budget() }

// Records returns the records that the ledger charges. ok is false if the ledger was opened without
// records.
func (v View) Records() (r Records, ok bool) { return v.source().Records() }

// Ended reports whether the ledger refuses every further event. If it does, the totals read from it
// are final.
func (v View) Ended() bool { return v.source().hasEnded() }

// Events returns a copy of the events so far.
func (v View) Events() []Event { return v.source().Events() }

// Since returns a copy of the events with index n or larger. The copy is empty if there are at most
// n events. A negative n is read as 0. The time taken is proportional to the number of events
// returned.
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

// Charged returns the largest total charged to any record so far, rounded up, in units of mu^2.
func (v View) Charged() float64 { return v.source().Charged() }

// Left returns the charge that a record of the cohort may still be given, rounded down, in units of
// mu^2. For [Everyone] it is the charge that every record may still be given.
func (v View) Left(cohort uint64) float64 { return v.source().left(cohort) }

// Schedule returns a copy of the schedule of sampled events, or nil if the ledger follows none.
func (v View) Schedule() *Schedule { return v.source().Schedule() }
