package budget

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/stillpoint-dp/stillpoint/account"
)

// Book reads and writes a [Store] by the rules of this package. It is safe for concurrent use. Any
// number of processes may have a Book on the same store.
//
// A Book remembers the number and the hash of the last row that it has read of each dataset's chain. If a
// store later lacks that row, for example because a backup was restored, the Book refuses the store with
// [ErrChain].
type Book struct {
	store Store

	mu     sync.Mutex
	chains map[string]*guarded
	// costs caches the costs of runs that release on Poisson samples. The cost of one such run may
	// take a second to compute.
	costs map[string]Cost
	// held are the renewals of the leases of the book's runs.
	held []*marks
}

// guarded is the chain of rows of a dataset, as far as the book has read it, with a lock. The lock
// is held during a whole transaction. Concurrent runs of one process on the same dataset therefore
// wait for this lock, and not for a lock of the store.
type guarded struct {
	mu sync.Mutex
	*chain
}

// NewBook returns a book that reads and writes the store s. Closing the book closes the store.
func NewBook(s Store) *Book {
	return &Book{store: s, chains: map[string]*guarded{}, costs: map[string]Cost{}}
}

// Close closes the store. The leases of the book's runs are no longer renewed.
func (b *Book) Close() error {
	b.mu.Lock()
	held := b.held
	b.held = nil
	b.mu.Unlock()
	for _, m := range held {
		m.stop()
	}
	return b.store.Close()
}

// ErrNoDataset reports a dataset that is not in the store.
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

// attempts is the largest number of times that a transaction is tried if the store fails.
const attempts = 3

// update runs a transaction on a dataset's chain. In the transaction it reads new rows, calls next
// and appends the entry that next returns. If next returns a nil entry, update appends nothing. If
// the store fails, it is not known whether the row was appended. update then tries again, and next
// must return nil if it finds its entry in the chain. After the last attempt, or once the context
// has ended, update returns [ErrStore]. An error of next, or of the rules for rows, is returned at
// once.
func (b *Book) update(ctx context.Context, name string, next func(c *chain, now string) (*entry, error)) error {
	g := b.chain(name)
	g.mu.Lock()
	defer g.mu.Unlock()
	var err error
	for range attempts {
		var refused error
		var entry *entry
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
					row.Lease = entry.lease
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

// ErrStore reports that a store could not be reached, read or written. The operation may or may not
// have been carried out. Nothing may be released after this error.
var ErrStore = errors.New("budget: the store failed")

func failed(err error) error { return fmt.Errorf("%w: %w", ErrStore, err) }

// Create registers a dataset with its cap. It returns an error if the name or the cap is not valid,
// or if the name is already registered.
func (b *Book) Create(ctx context.Context, name string, c Cap) error {
	if err := checkName("dataset", name); err != nil {
		return err
	}
	salt, err := b.store.Draw(ctx)
	if err != nil {
		return failed(err)
	}
	return b.update(ctx, name, func(g *chain, _ string) (*entry, error) {
		if g.number > 0 {
			if g.salt == salt { // an earlier attempt appended this row, but its reply was lost
				return nil, nil
			}
			return nil, fmt.Errorf("budget: dataset %q: must be new: it is registered already, with a cap of %v", name, g.cap)
		}
		return &entry{Kind: kindCreated, Salt: salt, Cap: &c}, nil
	})
}

// Shut closes a dataset: the dataset then permits no new reservation. Runs that were reserved
// before can still release answers and settle, and a settlement frees the budget that its run did
// not use. Shut does nothing if the dataset is closed already.
func (b *Book) Shut(ctx context.Context, name string) error {
	return b.update(ctx, name, func(g *chain, _ string) (*entry, error) {
		if g.number == 0 {
			return nil, missing(name)
		}
		if g.closed {
			return nil, nil
		}
		return &entry{Kind: kindClosed}, nil
	})
}

func missing(name string) error {
	return fmt.Errorf("%w: %q: stillpoint budget create registers one, list names those there are", ErrNoDataset, name)
}

// Names returns the names of all datasets, sorted.
func (b *Book) Names(ctx context.Context) ([]string, error) {
	names, err := b.store.Datasets(ctx)
	if err != nil {
		return nil, failed(err)
	}
	return names, nil
}

// reserve charges the cost of a run to a dataset and returns the reservation, which names the row
// of the charge. run is the id of the run, and limit bounds the run's releases. lease, if not nil, is
// the run's lease, which the store keeps from then on. A run that is
// reserved already is not charged again. It is an error if the cap does not cover the cost or the
// dataset is closed.
func (b *Book) reserve(ctx context.Context, dataset, run, label string, limit Limit, lease *Lease) (
	r account.Reservation, err error,
) {
	// The cost is computed before the transaction, since it may take a second.
	most, err := b.capOf(ctx, dataset)
	if err != nil {
		return r, err
	}
	cost, err := b.cost(ctx, most, limit)
	if err != nil {
		return r, err
	}
	err = b.update(ctx, dataset, func(g *chain, _ string) (*entry, error) {
		if _, done := g.byID[run]; done { // an earlier attempt reserved the run; its reply was lost
			return nil, nil
		}
		e := &entry{Kind: kindReserved, Run: run, Label: label, Limit: &limit, Cost: &cost, Held: lease != nil, lease: lease}
		return e, nil
	})
	if err != nil {
		return r, err
	}
	g := b.chain(dataset)
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.runs[g.byID[run]]
	return account.Reservation{Dataset: dataset, Run: run, Row: s.Row, Head: s.Head}, nil
}

// cost returns the cost of a run under a cap. l is the limit on the run's releases. The
// cost of a limit with Poisson samples is computed once and then cached.
func (b *Book) cost(ctx context.Context, c Cap, l Limit) (Cost, error) {
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
