package account

import (
	"cmp"
	"errors"
	"fmt"
	"sync"

	"github.com/stillpoint-dp/stillpoint/account/internal/round"
)

// BudgetError reports that a charge would exceed the budget. The ledger has refused the event:
// nothing was charged, and the release must not be computed.
type BudgetError struct {
	// Want is the requested charge. Have is the charge that every record of the event's cohort may
	// still be given. Want and Have are in units of mu^2. For a sampled event beyond the end of its
	// schedule, they count events instead: Want is 1 and Have is 0.
	Want, Have float64
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("account: over budget: charge %.6g asked, %.6g left (units of mu^2)", e.Want, e.Have)
}

// Ledger is an append-only list of events guarded by the exact privacy filter of Gaussian DP. It admits an event only
// if afterwards the charges to every record sum to at most the square of the budget's mu. The decision depends on
// public quantities only, so that a refusal reveals nothing about records.
//
// Disjoint cohorts (groups of records) compose in parallel: a record is charged the events on [Everyone] and the events
// on its own cohort. The filter limits the largest total charge of any record. Under replace-one this also holds for
// cohorts that are drawn adaptively, because a drawn cohort consists of records that no other cohort has.
//
// A Ledger is safe for concurrent use. The zero Ledger admits nothing. Code that holds a pointer to a Ledger can
// overwrite the Ledger by an assignment. A session therefore shows its ledger only as a [View].
type Ledger struct {
	mu     sync.Mutex
	budget Budget
	// records is the zero Records if the ledger was opened without records.
	records Records
	// schedule is the schedule of the sampled events, nil if there is none.
	schedule *fixed
	// sampled is the number of sampled events so far.
	sampled int
	// limit bounds the sum of the charges to any record by the events that are not sampled, in
	// units of mu^2.
	limit  float64
	events []Event
	filter filter
	ended  bool
}

// NewLedger returns an empty ledger for a budget. The ledger names no records. It adds up charges
// as any ledger does, but the stores of package budget and package certificate refuse it.
func NewLedger(b Budget) *Ledger { return &Ledger{budget: b, limit: b.Charge()} }

// OpenLedger returns an empty ledger that charges the records r. It is called by a session, which
// holds the records, and by [Replay]. For any other caller, nothing checks that the statement r
// about the records is true. It is an error if the budget's relation or r is invalid.
func OpenLedger(b Budget, r Records) (*Ledger, error) {
	if !b.relation.Valid() {
		return nil, fmt.Errorf("account: budget: relation = %v: must be replace-one or add-or-remove", b.relation)
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	l := NewLedger(b)
	l.records = r
	return l, nil
}

// Follow binds an empty ledger to a schedule. The ledger then admits the sampled events of the schedule, each once and
// in order, and other events only as long as their charges to any record sum to at most the square of the mu that the
// schedule reserves for them. It is an error if the schedule has no steps or was made for another budget, if the ledger
// has events, or if it already follows a schedule. A later assignment to *s does not change the ledger.
func (l *Ledger) Follow(schedule *Schedule) error {
	s := schedule.content()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case s.total == 0:
		return errors.New("account: follow: the schedule has no steps")
	case s.budget != l.budget:
		return fmt.Errorf("account: follow: the schedule is for %v: must be for the ledger's %v", s.budget, l.budget)
	case len(l.events) > 0 || l.schedule != nil:
		return errors.New("account: follow: must come before the first event, and once")
	}
	l.schedule, l.limit = s, round.MulDown(s.mu, s.mu)
	return nil
}

// Reserve appends the event to the ledger and sets its Index. If the event states no relation, Reserve sets the
// budget's relation. It returns an error and appends nothing if the event is invalid, if the privacy filter or the
// schedule refuses the event, or if the ledger has ended. Reserve is called before anything is computed from records.
// An event stays in the ledger, whatever happens to its release.
func (l *Ledger) Reserve(e Event) error {
	if err := e.Check(); err != nil {
		return err
	}
	r := l.budget.Relation()
	if e.Basis == Stability && r != ReplaceOne {
		return fmt.Errorf("account: basis = %q: relation = %v: must be replace-one", e.Basis, r)
	}
	e.Relation = cmp.Or(e.Relation, r)
	if e.Relation != r {
		return fmt.Errorf("account: event: relation = %v: must be the budget's %v", e.Relation, r)
	}
	if l.records != (Records{}) && e.Simulated != l.records.Simulated {
		return fmt.Errorf("account: event: simulated = %t: must be %t, as the ledger's records are",
			e.Simulated, l.records.Simulated)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return errors.New("account: the ledger has ended: nothing more is charged")
	}
	if e.Kind == SampledGaussian {
		if err := l.schedule.covers(l.sampled, e); err != nil {
			return err
		}
		l.sampled++
	} else if err := l.filter.admit(e, l.limit); err != nil {
		return err
	}
	e.Index = len(l.events)
	l.events = append(l.events, e)
	return nil
}

// covers returns an error unless the schedule admits e as sampled event number i, counted from 0. It does if i is less
// than the schedule's number of releases, the event's sampling probability equals the schedule's at i, and Sigma is at
// least the schedule's noise multiplier at i times Sensitivity.
func (s *fixed) covers(i int, e Event) error {
	if s == nil {
		return fmt.Errorf("account: kind = %q: needs a schedule", e.Kind)
	}
	if i >= s.total {
		return &BudgetError{Want: 1, Have: 0}
	}
	z, q := s.step(i)
	if e.Sampling != q {
		return fmt.Errorf("account: sampling = %v: must be the schedule's %v", e.Sampling, q)
	}
	if !(round.MulDown(e.Sensitivity, z) <= e.Sigma) {
		return fmt.Errorf("account: sigma = %v: must be at least the schedule's multiplier %v times %v", e.Sigma, z,
			e.Sensitivity)
	}
	return nil
}

// End makes the ledger refuse every further event. The totals read from it are then final.
func (l *Ledger) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
}

// hasEnded reports whether [Ledger.End] was called.
func (l *Ledger) hasEnded() bool { return read(l, func() bool { return l.ended }) }

// read returns what f reads of the ledger while no event is charged.
func read[T any](l *Ledger, f func() T) T {
	l.mu.Lock()
	defer l.mu.Unlock()
	return f()
}

// Records returns the records that the ledger charges. ok is false if the ledger was opened without
// records.
func (l *Ledger) Records() (r Records, ok bool) { return l.records, l.records != (Records{}) }

// Budget returns the budget the ledger was made with.
func (l *Ledger) Budget() Budget { return l.budget }

// Events returns a copy of the events so far.
func (l *Ledger) Events() []Event { return l.since(0) }

// since returns a copy of the events with an index of at least n.
func (l *Ledger) since(n int) []Event {
	return read(l, func() []Event { return append([]Event(nil), l.events[min(max(n, 0), len(l.events)):]...) })
}

// Charged returns the largest total charged to any record so far, rounded up, in units of mu^2. The
// guarantee of a run is its whole budget, even if less has been charged.
func (l *Ledger) Charged() float64 { return read(l, l.filter.largest) }

// Schedule returns a copy of the schedule of sampled events, or nil if the ledger follows none.
func (l *Ledger) Schedule() *Schedule {
	if s := read(l, func() *fixed { return l.schedule }); s != nil {
		return &Schedule{fixed: s}
	}
	return nil
}

// left returns the charge that a record of the cohort may still be given, rounded down, in units of
// mu^2. For [Everyone] it is the charge that every record may still be given.
func (l *Ledger) left(cohort uint64) float64 {
	return read(l, func() float64 { return l.filter.left(cohort, l.limit) })
}

// filter is the state of the privacy filter. everyone is the sum of the charges of the events on all records. cohorts
// holds, for each cohort, the sum of the charges of the events on this cohort alone. Every addition is rounded up.
type filter struct {
	everyone float64
	cohorts  map[uint64]float64
	// most is the largest entry of cohorts.
	most float64
}

// total returns the largest total charge among the records that an event on the cohort would
// charge.
func (f *filter) total(cohort uint64) float64 {
	if cohort == Everyone {
		return f.largest()
	}
	return round.AddUp(f.everyone, f.cohorts[cohort])
}

func (f *filter) largest() float64 { return round.AddUp(f.everyone, f.most) }

func (f *filter) left(cohort uint64, limit float64) float64 {
	left := -round.AddUp(f.total(cohort), -limit)
	return max(left, 0)
}

func (f *filter) admit(e Event, limit float64) error {
	everyone, own := f.everyone, f.most
	if e.Cohort == Everyone {
		everyone = round.AddUp(everyone, e.Charge)
	} else {
		own = round.AddUp(f.cohorts[e.Cohort], e.Charge)
	}
	if !(round.AddUp(everyone, own) <= limit) {
		return &BudgetError{Want: e.Charge, Have: f.left(e.Cohort, limit)}
	}
	f.everyone = everyone
	if e.Cohort != Everyone {
		if f.cohorts == nil {
			f.cohorts = make(map[uint64]float64)
		}
		f.cohorts[e.Cohort] = own
		f.most = max(f.most, own)
	}
	return nil
}

// Total recomputes, from events alone, the largest total charged to any record, rounded up, in units of mu^2. It adds
// the charges that the events' noise requires, not the charges that the events state. It is an error if an event is
// invalid, if it states a smaller charge than its noise requires, if an event's Index is not its position, or if the
// total exceeds 1e300. Sampled events add nothing to the total, because a [Schedule] accounts for them. Total is for a
// verifier, who needs neither the table nor the ledger that wrote the events.
func Total(events []Event) (float64, error) {
	var f filter
	for i, e := range events {
		if e.Index != i {
			return 0, fmt.Errorf("account: event %d: index = %d: events must be numbered from 0 without gaps", i, e.Index)
		}
		if err := e.Check(); err != nil {
			return 0, err
		}
		charge, err := e.recharge()
		if err != nil {
			return 0, err
		}
		if e.Kind == SampledGaussian {
			continue
		}
		e.Charge = charge
		if err := f.admit(e, maxCharge); err != nil {
			return 0, err
		}
	}
	return f.largest(), nil
}

// maxCharge is the limit beyond which a sum of charges is refused, in units of mu^2. Real sums are
// far below it.
const maxCharge = 1e300

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

// Since returns a copy of the events with index n or larger. The copy is empty if there are at most n events. A
// negative n is read as 0. The time taken is proportional to the number of events returned.
func (v View) Since(n int) []Event { return v.source().since(n) }

// Len returns the number of events so far.
func (v View) Len() int {
	l := v.source()
	return read(l, func() int { return len(l.events) })
}

// Charged returns the largest total charged to any record so far, rounded up, in units of mu^2.
func (v View) Charged() float64 { return v.source().Charged() }

// Left returns the charge that a record of the cohort may still be given, rounded down, in units of
// mu^2. For [Everyone] it is the charge that every record may still be given.
func (v View) Left(cohort uint64) float64 { return v.source().left(cohort) }

// Schedule returns a copy of the schedule of sampled events, or nil if the ledger follows none.
func (v View) Schedule() *Schedule { return v.source().Schedule() }

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

// Replay makes a new ledger admit the events of a journal again, one after the other. It returns a view of that ledger,
// which admits no further events. It is an error if the budget's privacy filter or the schedule refuses an event, if an
// event's Index is not its position in Events (counted from 0), or if an event does not state the budget's relation.
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
