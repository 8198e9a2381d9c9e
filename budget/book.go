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

// reserve charges a law to a dataset under an id that is this run's alone.
func (b *Book) reserve(ctx context.Context, dataset, run, label string, law Law) (r account.Reservation, err error) {
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
	return account.Reservation{Dataset: dataset, Run: run, Row: s.Row, Head: s.Head}, nil
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
