package account

import (
	"errors"
	"fmt"
	"sync"
)

// BudgetError reports a charge that would pass the budget. Nothing was
// computed and nothing was charged.
type BudgetError struct {
	// Want is the charge asked for; Have is what is left for the records
	// concerned. Both in units of mu^2.
	Want, Have float64
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("account: over budget: charge %.6g asked, %.6g left (units of mu^2)", e.Want, e.Have)
}

// Ledger is an append-only list of events guarded by a filter: the exact
// Gaussian-DP privacy filter, which admits an event only while the charges to
// every record sum to at most mu^2. The decision uses public quantities only,
// so being refused reveals nothing about records.
//
// Disjoint cohorts compose in parallel: a record is charged the events on
// Everyone plus those on its own cohort, and the filter guards the largest
// such total. This holds under replace-one also for cohorts drawn adaptively,
// since a drawn cohort consists of records no other cohort has.
//
// A Ledger is safe for concurrent use. The zero Ledger admits nothing. Whoever
// holds a pointer to one can assign another over it, so what guards records is
// shown to others as a [View] only.
type Ledger struct {
	mu     sync.Mutex
	budget Budget
	// records are the zero Records where the ledger was not opened with any.
	records Records
	// schedule counts the sampled events, limit guards the others.
	schedule *fixed
	sampled  int
	limit    float64
	events   []Event
	filter   filter
	ended    bool
}

// NewLedger returns an empty ledger for a budget, of no records: it counts, and neither a
// store of budgets nor a certificate takes it.
func NewLedger(b Budget) *Ledger {
	return &Ledger{budget: b, limit: b.Charge()}
}

// OpenLedger returns an empty ledger of records. It is for what holds the records, a
// session, and for [Replay]: whoever else calls it makes a statement about records that
// nothing holds to be true.
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

// Follow has an empty ledger admit the sampled events of a schedule, each once
// and in order, and Gaussian events only within the schedule's own share for
// them. The schedule must have been made for the ledger's budget. The ledger keeps
// what the schedule is now: what is assigned to *s later changes nothing.
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
	l.schedule, l.limit = s, mulDown(s.mu, s.mu)
	return nil
}

// Reserve asks the filter and, if it admits the event, appends it. It is
// called before anything is computed from records; there is no way to take an
// event back, whatever happens to the release it was reserved for.
func (l *Ledger) Reserve(e Event) error {
	if err := e.Check(); err != nil {
		return err
	}
	r := l.budget.Relation()
	if e.Basis == Stability && r != ReplaceOne {
		return fmt.Errorf("account: basis = %q: relation = %v: must be replace-one", e.Basis, r)
	}
	if e.Relation == 0 {
		e.Relation = r
	}
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

// End has the ledger admit nothing any more: its readings are final.
func (l *Ledger) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
}

// Ended reports whether the ledger admits nothing any more.
func (l *Ledger) Ended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

// Records returns which records the ledger charges. ok is false if it was not opened with
// any.
func (l *Ledger) Records() (r Records, ok bool) { return l.records, l.records != (Records{}) }

// Budget returns the budget the ledger was made with.
func (l *Ledger) Budget() Budget { return l.budget }

// Events returns a copy of the events so far.
func (l *Ledger) Events() []Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Event(nil), l.events...)
}

// Charged returns the largest total charged to any record so far, rounded up:
// an odometer reading. The guarantee of a run is its budget.
func (l *Ledger) Charged() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.filter.largest()
}

// Schedule returns the schedule of sampled events; nil if there is none. It is a
// copy, through which the ledger's own cannot be reached.
func (l *Ledger) Schedule() *Schedule {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.schedule == nil {
		return nil
	}
	return &Schedule{fixed: l.schedule}
}

// Left returns what may still be charged to a record of the cohort, rounded
// down; for Everyone, what may still be charged to every record.
func (l *Ledger) Left(cohort uint64) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.filter.left(cohort, l.limit)
}

// filter keeps the totals, rounded up at each addition.
type filter struct {
	everyone float64
	cohorts  map[uint64]float64
	// most is the largest entry of cohorts.
	most float64
}

// total returns the largest total of a record the cohort's next event would
// touch.
func (f *filter) total(cohort uint64) float64 {
	if cohort == Everyone {
		return f.largest()
	}
	return addUp(f.everyone, f.cohorts[cohort])
}

func (f *filter) largest() float64 { return addUp(f.everyone, f.most) }

func (f *filter) left(cohort uint64, limit float64) float64 {
	left := -addUp(f.total(cohort), -limit)
	return max(left, 0)
}

func (f *filter) admit(e Event, limit float64) error {
	everyone, own := f.everyone, f.most
	if e.Cohort == Everyone {
		everyone = addUp(everyone, e.Charge)
	} else {
		own = addUp(f.cohorts[e.Cohort], e.Charge)
	}
	if !(addUp(everyone, own) <= limit) {
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

// Total recomputes from events alone the largest total charged to any record,
// rounded up and in units of mu^2 (sampled events count nothing in it; see
// Composed), and checks each event's charge against its law. It is what a
// verifier runs: it needs neither the table nor the ledger that wrote them.
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

// maxCharge is a limit no sum of charges of a sane run reaches.
const maxCharge = 1e300
