package budget

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/stillpoint-dp/stillpoint/account"
)

// Book reads and writes a store by its rules. It is safe for concurrent use, and any
// number of processes may have one on the same store.
//
// A Book remembers where the chains ended that it has read: a store that goes back
// behind that is refused with [ErrChain].
type Book struct {
	store Store

	mu     sync.Mutex
	chains map[string]*guarded
	// costs are those of laws that sample, which take a second to compose.
	costs map[string]Cost
}

// guarded is what is known of a chain. Its lock is held over whole transactions, so
// that a process's own runs wait for each other here and not in the store.
type guarded struct {
	mu sync.Mutex
	*chain
}

// NewBook returns a book of a store. Closing it closes the store.
func NewBook(s Store) *Book {
	return &Book{store: s, chains: map[string]*guarded{}, costs: map[string]Cost{}}
}

// Close closes the store.
func (b *Book) Close() error { return b.store.Close() }

// ErrNoDataset reports a dataset that the store does not have.
var ErrNoDataset = errors.New("budget: no such dataset")

func (b *Book) chain(name string) *guarded {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := b.chains[name]
	if g == nil {
		g = &guarded{chain: newChain(name)}
		b.chains[name] = g
	}
	return g
}

// attempts is how often a transaction is tried whose answer was lost.
const attempts = 3

// update appends the entry that next makes of a chain, if it makes one. Where it is
// not known whether an attempt was carried out, next sees it in the chain.
func (b *Book) update(ctx context.Context, name string, next func(c *chain, now string) (*Entry, error)) error {
	g := b.chain(name)
	g.mu.Lock()
	defer g.mu.Unlock()
	var err error
	for range attempts {
		var refused error
		var entry *Entry
		var row Row
		err = b.store.Update(ctx, name, g.number, func(t Tail) (*Row, error) {
			entry, refused = nil, g.follow(t)
			if refused == nil {
				entry, refused = next(g.chain, t.Now)
			}
			if refused == nil && entry != nil {
				entry.Number, entry.Dataset, entry.Time = g.number+1, name, t.Now
				if refused = g.admit(ctx, *entry, false); refused == nil {
					row, refused = entry.write(g.head)
				}
			}
			if refused != nil || entry == nil {
				return nil, refused
			}
			return &row, nil
		})
		if refused != nil {
			return refused
		}
		if err == nil {
			if entry != nil {
				g.apply(*entry, row.Hash)
			}
			return nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return failed(err)
}

// ErrStore reports that a store could not be reached, read or written to. What was
// being done may have been done or not; nothing may be released under it.
var ErrStore = errors.New("budget: the store failed")

func failed(err error) error { return fmt.Errorf("%w: %w", ErrStore, err) }

// Create registers a dataset with its cap.
func (b *Book) Create(ctx context.Context, name string, c Cap) error {
	if err := checkName("dataset", name); err != nil {
		return err
	}
	salt, err := b.store.Draw(ctx)
	if err != nil {
		return failed(err)
	}
	return b.update(ctx, name, func(g *chain, _ string) (*Entry, error) {
		if g.number > 0 {
			if g.salt == salt { // by an attempt whose answer was lost
				return nil, nil
			}
			return nil, fmt.Errorf("budget: dataset %q: must be new: it is registered already, with a cap of %v", name, g.cap)
		}
		return &Entry{Kind: Created, Salt: salt, Cap: &c}, nil
	})
}

// Shut closes a dataset: nothing more is reserved of it, ever. Runs that are under
// way go on, and settle.
func (b *Book) Shut(ctx context.Context, name string) error {
	return b.update(ctx, name, func(g *chain, _ string) (*Entry, error) {
		if g.number == 0 {
			return nil, missing(name)
		}
		if g.closed {
			return nil, nil
		}
		return &Entry{Kind: Closed}, nil
	})
}

func missing(name string) error {
	return fmt.Errorf("%w: %q: stillpoint budget create registers one, list names those there are", ErrNoDataset, name)
}

// Names returns the names of all datasets, in order.
func (b *Book) Names(ctx context.Context) ([]string, error) {
	names, err := b.store.Datasets(ctx)
	if err != nil {
		return nil, failed(err)
	}
	return names, nil
}

// Receipt says where a reservation is in its dataset's chain. It is written into the
// run's certificate: a store that does not have Head in that row any more is not the
// store that it was.
type Receipt struct {
	Dataset string
	Run     string
	Row     int
	Head    string
}

// reserve charges a law to a dataset under an id that is this run's alone.
func (b *Book) reserve(ctx context.Context, dataset, run, label string, law Law) (r Receipt, err error) {
	// What a run costs is settled before the transaction: it may take a second.
	d, err := b.Dataset(ctx, dataset)
	if err != nil {
		return r, err
	}
	cost, err := b.cost(ctx, d.Cap, law)
	if err != nil {
		return r, err
	}
	err = b.update(ctx, dataset, func(g *chain, _ string) (*Entry, error) {
		if _, done := g.byID[run]; done { // by an attempt whose answer was lost
			return nil, nil
		}
		return &Entry{Kind: Reserved, Run: run, Label: label, Law: &law, Cost: &cost}, nil
	})
	if err != nil {
		return r, err
	}
	g := b.chain(dataset)
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.runs[g.byID[run]]
	return Receipt{dataset, run, s.Row, s.Head}, nil
}

// cost is that of a law, composed once.
func (b *Book) cost(ctx context.Context, c Cap, l Law) (Cost, error) {
	key := fmt.Sprint(c, c.SampledRuns, l.Relation, l.Mu, l.Schedule, l.Unit)
	b.mu.Lock()
	cost, known := b.costs[key]
	b.mu.Unlock()
	if known {
		return cost, nil
	}
	cost, err := l.cost(ctx, c)
	if err == nil && l.samples() {
		b.mu.Lock()
		b.costs[key] = cost
		b.mu.Unlock()
	}
	return cost, err
}

// Settle returns what a run did not use, by its odometer's reading when it could
// release nothing any more, in units of mu^2. Only who can prove that reading may call it:
// [Run.Settle] does, and the recovery of a fit whose journal holds every charge.
// A run that has settled at this reading may be settled again.
func (b *Book) Settle(ctx context.Context, dataset, run string, odometer float64) error {
	return b.update(ctx, dataset, func(g *chain, _ string) (*Entry, error) {
		if g.number == 0 {
			return nil, missing(dataset)
		}
		if at, reserved := g.byID[run]; reserved && g.runs[at].Settled && g.runs[at].odometer == odometer {
			return nil, nil
		}
		return &Entry{Kind: Settled, Run: run, Charged: &odometer}, nil
	})
}

// Run is one run's reservation of a dataset's cap. It is safe for concurrent use.
type Run struct {
	book           *Book
	dataset, label string
	unit           string

	mu      sync.Mutex
	id      string
	law     *Law
	receipt *Receipt
}

// Run returns the reservation of a run that is about to begin, which label describes
// in public words; it may be empty. Nothing is charged yet.
func (b *Book) Run(dataset, label string) *Run {
	return &Run{book: b, dataset: dataset, label: label}
}

// OfUnits says that the run's records are all rows with one value in a column, which its
// dataset must have been registered with; where it is not called each row is one. It is
// to be called before Reserve.
func (r *Run) OfUnits(column string) *Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unit = column
	return r
}

// law is that of a session whose ledger this is.
func (r *Run) lawOf(v account.View) Law {
	law := LawOf(v)
	law.Unit = r.unit
	return law
}

// Reserve charges the whole budget of the session whose ledger this is, before its
// first release: it is for curator.Config.Reserve. Over the cap the error is an
// *account.BudgetError, and nothing was charged. After any other error nothing may be
// released either, though the charge may stand: asked again, the same Run finds it.
//
// A Run is charged once. Its id is drawn by the store, so that no other process can
// release under it: what is begun anew after a crash is charged anew.
func (r *Run) Reserve(ctx context.Context, v account.View) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	law := r.lawOf(v)
	if r.law != nil && !r.law.equal(law) {
		return errors.New("budget: run: must be of one session: its law is not the one reserved")
	}
	if r.receipt != nil {
		return nil
	}
	if _, err := r.draw(ctx); err != nil {
		return err
	}
	r.law = &law
	receipt, err := r.book.reserve(ctx, r.dataset, r.id, r.label, law)
	if err != nil {
		return err
	}
	r.receipt = &receipt
	return nil
}

// Receipt returns where the reservation is; ok is false before it was made.
func (r *Run) Receipt() (receipt Receipt, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.receipt == nil {
		return Receipt{}, false
	}
	return *r.receipt, true
}

// Session is what is settled: a *curator.Session.
type Session interface {
	Ledger() account.View
	// Close has the ledger admit nothing any more.
	Close() error
}

// Settle closes the session, so that its odometer stands still, and returns what it
// did not use. A run that does not settle stays charged in full.
func (r *Run) Settle(ctx context.Context, s Session) error {
	closing := s.Close()
	r.mu.Lock()
	receipt, law, own := r.receipt, r.law, r.lawOf(s.Ledger())
	r.mu.Unlock()
	if receipt == nil {
		return closing
	}
	if !law.equal(own) {
		return errors.Join(closing, errors.New("budget: run: must be settled by the session it was reserved for"))
	}
	return errors.Join(closing, r.book.Settle(ctx, receipt.Dataset, receipt.Run, s.Ledger().Charged()))
}
