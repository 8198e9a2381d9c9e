package budget

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
)

// Run is one session's reservation of a dataset's budget. It belongs to the ledger of the first
// session that reserves with it, and only that session can settle it by [Run.Settle]. Each session
// therefore needs its own Run. A Run is safe for concurrent use.
type Run struct {
	book           *Book
	dataset, label string

	mu sync.Mutex
	// owner is the ledger of the session to which the run belongs. It is the zero View before the
	// first call of Reserve.
	owner   account.View
	id      string
	limit   Limit
	receipt *account.Reservation
	// held says that the run has a lease. marks renews it from the reservation on; it is nil for a run
	// without a lease.
	held  bool
	marks *marks
}

// Run returns the [Run] with which a session that is about to begin reserves its budget. label describes the purpose of
// the run in public words and may be empty. Nothing is charged before [Run.Reserve] is called.
func (b *Book) Run(dataset, label string) *Run { return &Run{book: b, dataset: dataset, label: label} }

// errShared is the error for a ledger that does not own the run.
var errShared = errors.New("budget: run: belongs to the session that reserved by it first: " +
	"make one for each session (Book.Run)")

// mayServe returns errShared if the run has an owner and v reads a ledger other than the owner.
// Otherwise it returns nil. r.mu must be locked.
func (r *Run) mayServe(v account.View) error {
	if r.owner != (account.View{}) && r.owner != v {
		return errShared
	}
	return nil
}

// Reserve charges the whole budget of the session with this ledger, before its first release. It is
// the function for curator.Config.Reserve. If the cap does not cover the budget, it returns an
// *account.BudgetError and charges nothing. After any other error nothing may be released either,
// but the charge may have been made. A further call of Reserve on the same Run finds this charge
// and does not charge again.
//
// A Run is charged once, for one ledger. Reserve refuses the ledger of another session. The store
// draws the run's id at random, so that no other process can release under the run. A session that
// is started again after a crash has a new Run and is charged again.
func (r *Run) Reserve(ctx context.Context, v account.View) error {
	limit, err := LimitOf(v)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.mayServe(v); err != nil {
		return err
	}
	if r.owner == (account.View{}) {
		r.owner, r.limit = v, limit
	}
	if !r.limit.equal(limit) {
		return errors.New("budget: run: the session's limit must be the one that was reserved")
	}
	if r.receipt != nil {
		return nil
	}
	if _, err := r.draw(ctx); err != nil {
		return err
	}
	var lease *Lease
	if r.held {
		var err error
		if lease, err = newLease(ctx, r.id); err != nil {
			return err
		}
	}
	receipt, err := r.book.reserve(ctx, r.dataset, r.id, r.label, limit, lease)
	if err != nil {
		return err
	}
	r.receipt = &receipt
	if r.held {
		r.marks = r.book.keep(ctx, r.dataset, *lease, downward(square(limit.Mu)))
	}
	return nil
}

// Hold gives the run a [Lease], which the store keeps from the reservation on: this process holds the run,
// and nobody else settles it while this process may be alive. It must be called before Reserve. The holder
// must call Cover before each release, since a run is otherwise settled below what it released.
func (r *Run) Hold() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = r.receipt == nil
}

// Cover returns after the store has noted, in the run's [Lease], that the run may release answers up to the
// sum charge, in units of mu^2 under the run's own relation. events is the number of events that the run's
// journal has so far. Nothing may be released after an error: [ErrSettled] if somebody else has settled the
// run, and [ErrStore] if the store has not answered for a minute. Most calls return at once, since the store
// is asked ahead. Cover does nothing for a run without a lease.
func (r *Run) Cover(ctx context.Context, events int, charge float64) error {
	r.mu.Lock()
	m := r.marks
	r.mu.Unlock()
	return m.cover(ctx, events, charge)
}

// Receipt returns the reservation, which names the store's row with the charge and the row's hash.
// The reservation is written into the run's certificate. ok is false before Reserve has succeeded.
func (r *Run) Receipt() (receipt account.Reservation, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.receipt == nil {
		return account.Reservation{}, false
	}
	return *r.receipt, true
}

// marks raises the charge of a run's lease (the mark) ahead of the run's releases, and renews the lease.
//
// A release waits for the store only if the mark does not cover it. To make this rare, the mark is raised
// before it is reached, in the background, by a block: the charge that the run makes in the time of 32
// replies of the store. The next block is asked for when half of the last one is used. If the run takes longer
// for a release than the store for 32 replies, each mark is exact, and releases wait for at most 3% of the time.
type marks struct {
	store   Store
	dataset string
	limit   float64 // the largest charge of the run
	// patience is the time for which a failing store is asked again.
	patience time.Duration
	ctx      context.Context // of the renewals; it ends when stop has waited for too long
	cancel   context.CancelFunc
	// lost returns the error for a lease that the store did not renew.
	lost func(context.Context) error

	mu    sync.Mutex
	lease Lease // as the store has it
	begun bool  // the store has renewed the lease once
	// pending is closed when the renewal that is under way has ended. It is nil if none is.
	pending chan struct{}
	failed  error
	quit    chan struct{} // closed by stop
	// events and charge are the numbers of the last call of cover.
	events int
	charge float64
	// rate is the charge that the run makes in a second, and latency the time of a reply of the store. since,
	// sum and waited describe the state at the last measurement of rate. wait is the time for which releases
	// have waited for the store.
	rate         float64
	latency      time.Duration
	since        time.Time
	sum          float64
	wait, waited time.Duration
}

// replies is the number of replies of the store in whose time a run makes the charge of a block.
const replies = 32

// keep begins to renew a lease.
func (b *Book) keep(ctx context.Context, dataset string, l Lease, limit float64) *marks {
	m := &marks{store: b.store, dataset: dataset, limit: limit, patience: time.Minute, lease: l, quit: make(chan struct{}),
		since: time.Now()}
	m.ctx, m.cancel = context.WithCancel(context.WithoutCancel(ctx))
	m.lost = func(ctx context.Context) error { return b.lost(ctx, dataset, l.Run) }
	b.mu.Lock()
	b.held = append(b.held, m)
	b.mu.Unlock()
	active.Store(l.Run, true)
	go m.heartbeat()
	return m
}

// lost says why the store did not renew a run's lease.
func (b *Book) lost(ctx context.Context, dataset, run string) error {
	d, err := b.Dataset(ctx, dataset)
	if err != nil {
		return err
	}
	for _, r := range d.Runs {
		if r.Run == run && r.Settled {
			return fmt.Errorf("%w: run %s is charged %v (units of mu^2) in dataset %q", ErrSettled, run, r.Charged.Charge,
				dataset)
		}
	}
	return fmt.Errorf("%w: dataset %q: the lease of run %s is not what it was: an earlier state of the store was put "+
		"back, or another store", ErrChain, dataset, run)
}

// heartbeat renews the lease from time to time until stop is called.
func (m *marks) heartbeat() {
	t := time.NewTicker(renewal)
	defer t.Stop()
	for {
		select {
		case <-m.quit:
			return
		case <-t.C:
		}
		m.mu.Lock()
		if m.pending == nil && m.failed == nil {
			m.raise(m.lease.Charge)
		}
		m.mu.Unlock()
	}
}

// cover returns after the store has a mark of at least charge. events is the number of events in the run's
// journal.
func (m *marks) cover(ctx context.Context, events int, charge float64) error {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	// A ledger of another version may round its limit otherwise; the reservation covers both.
	charge = min(charge, m.limit)
	m.events, m.charge = max(m.events, events), max(m.charge, charge)
	for m.failed == nil {
		covered := m.begun && m.lease.Charge >= charge
		if covered && (m.pending != nil || m.lease.Charge >= m.limit || m.lease.Charge-charge >= m.block()/2) {
			return nil
		}
		if m.pending == nil {
			m.measure()
			m.raise(min(m.limit, m.charge+m.block()))
		}
		if covered {
			return nil
		}
		if err := m.await(ctx); err != nil {
			return err
		}
	}
	return m.failed
}

// await waits until the renewal that is under way has ended. m.mu must be locked, and is while await returns.
func (m *marks) await(ctx context.Context) error {
	began, pending := time.Now(), m.pending
	m.mu.Unlock()
	var err error
	select {
	case <-pending:
	case <-ctx.Done():
		err = ctx.Err()
	}
	m.mu.Lock()
	m.wait += time.Since(began)
	return err
}

// measure estimates the rate of charging from the time since the last measurement, without the time for which
// releases waited for the store. The first mark is that of the first release alone, since no rate is known yet.
func (m *marks) measure() {
	now := time.Now()
	if worked := now.Sub(m.since) - (m.wait - m.waited); m.begun && worked > 0 && m.charge > m.sum {
		m.rate = (m.charge - m.sum) / worked.Seconds()
	}
	m.since, m.sum, m.waited = now, m.charge, m.wait
}

// block returns the charge that the run makes in the time of some replies of the store, and at most what it has
// charged so far, so that a mark is at most twice what a run that is killed has charged.
func (m *marks) block() float64 { return min(m.charge, m.rate*replies*m.latency.Seconds()) }

// raise begins to renew the lease with a mark. m.mu must be locked.
func (m *marks) raise(mark float64) {
	before, after := m.lease, m.lease
	after.Charge, after.Events = max(mark, before.Charge), max(m.events, before.Events)
	pending := make(chan struct{})
	m.pending = pending
	go func() {
		err := m.renew(before, after)
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.failed = err; err == nil {
			m.lease, m.begun = after, true
		}
		m.pending = nil
		close(pending)
	}()
}

// renew renews the lease. If the store fails, it tries again for some time.
func (m *marks) renew(before, after Lease) error {
	began := time.Now()
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		asked := time.Now()
		renewed, err := m.store.Renew(m.ctx, m.dataset, before, after)
		switch {
		case err == nil && renewed:
			m.mu.Lock()
			m.latency = (m.latency + time.Since(asked)) / 2
			m.mu.Unlock()
			return nil
		case err == nil:
			return m.lost(m.ctx)
		case time.Since(began) > m.patience || m.ctx.Err() != nil:
			return failed(err)
		}
		select {
		case <-m.quit:
			return failed(err)
		case <-time.After(pause):
		}
	}
}

// mostWait is the time for which stop waits for a reply of the store.
const mostWait = 10 * time.Second

// stop ends the renewals, and returns after the last one has ended.
func (m *marks) stop() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.quit:
		return
	default:
	}
	close(m.quit)
	defer active.Delete(m.lease.Run)
	late := time.AfterFunc(mostWait, m.cancel)
	for m.pending != nil {
		_ = m.await(context.Background())
	}
	late.Stop()
	m.cancel()
}
