package budget

import (
	"context"
	"errors"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/account"
)

// Session is what a run settles by: a *curator.Session.
type Session interface {
	Ledger() account.View
	// Close has the ledger admit nothing any more.
	Close() error
}

// Settle closes the session that the run belongs to, so that its odometer stands still,
// and returns what the session did not use. A run that does not settle stays charged in
// full. Another session is refused, and left as it is.
func (r *Run) Settle(ctx context.Context, s Session) error {
	own := s.Ledger()
	r.mu.Lock()
	err, receipt := r.mayServe(own), r.receipt
	r.mu.Unlock()
	if err != nil {
		return err
	}
	closing := s.Close()
	if receipt == nil {
		return closing
	}
	return errors.Join(closing, r.book.settle(ctx, *receipt, own))
}

// Certificate is what a run settles by whose session is gone: a
// *certificate.Certificate.
type Certificate interface {
	// Budget returns where the run was charged in a store; ok is false if nowhere.
	Budget() (r account.Reservation, ok bool)
	// Ledger verifies the certificate and returns the ledger of its events, which has
	// ended.
	Ledger(context.Context) (account.View, error)
}

// Settle returns what a run did not use whose session is gone, by its certificate, which
// names the run's row in its dataset's chain and has every charge up to the end. Who has
// the session settles by [Run.Settle] instead. A certificate is no signature: its charges
// are true if whoever made it had them from the session or from a journal in which each
// was durable before its answer was handed out. A run that has settled at this reading may
// be settled again.
func (b *Book) Settle(ctx context.Context, c Certificate) error {
	receipt, reserved := c.Budget()
	if !reserved {
		return errors.New("budget: certificate: names no reservation: its run was charged to no store")
	}
	v, err := c.Ledger(ctx)
	if err != nil {
		return fmt.Errorf("budget: %w", err)
	}
	return b.settle(ctx, receipt, v)
}

// settle returns what a run did not use, by the ledger that it was reserved for.
func (b *Book) settle(ctx context.Context, r account.Reservation, v account.View) error {
	law, err := LawOf(v)
	if err != nil {
		return err
	}
	if !v.Ended() {
		return errors.New("budget: run: its ledger must have ended: what it could still charge would not be counted")
	}
	odometer := v.Charged()
	return b.update(ctx, r.Dataset, func(g *chain, _ string) (*Entry, error) {
		if g.number == 0 {
			return nil, missing(r.Dataset)
		}
		run, err := g.reserved(r)
		if err != nil {
			return nil, err
		}
		if !run.Law.serves(law) {
			return nil, otherLaw(r)
		}
		if run.Settled && run.odometer == odometer {
			return nil, nil
		}
		return &Entry{Kind: Settled, Run: r.Run, Charged: &odometer}, nil
	})
}

// reserved returns the run of a reservation.
func (c *chain) reserved(r account.Reservation) (RunState, error) {
	at, known := c.byID[r.Run]
	if !known {
		return RunState{}, fmt.Errorf("budget: run %s: must have been reserved", r.Run)
	}
	run := c.runs[at]
	if run.Row != r.Row || run.Head != r.Head {
		return RunState{}, otherRow(r)
	}
	return run, nil
}

// otherRow refuses a chain that does not have a reservation where it was.
func otherRow(r account.Reservation) error {
	return fmt.Errorf("%w: dataset %q: row %d is not that of run %s: an earlier state of the store was put back, or another store",
		ErrChain, r.Dataset, r.Row, r.Run)
}

// otherLaw refuses a ledger that is not the one that a run was reserved for.
func otherLaw(r account.Reservation) error {
	return fmt.Errorf("budget: run %s: must have the relation, unit, epsilon, delta and schedule of its reservation", r.Run)
}

// serves reports whether a ledger of one law may settle a run of another: they are alike
// but for mu, which a later version may round differently. Within mu the odometer is held
// by the chain.
func (l Law) serves(m Law) bool {
	m.Mu = l.Mu
	return l.equal(m)
}
