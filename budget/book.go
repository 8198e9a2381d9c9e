package budget

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
)

// Book reads and writes a [Store] by the rules of this package. It is safe for concurrent use. Any
// number of processes may have a Book on the same store.
//
// A Book remembers the number and the hash of the last row that it has read of each dataset's chain. If a store later
// lacks that row, for example because a backup was restored, the Book refuses the store with [ErrChain].
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

// update runs a transaction on a dataset's chain. In the transaction it reads new rows, calls next and appends the
// entry that next returns. If next returns a nil entry, update appends nothing. If the store fails, it is not known
// whether the row was appended. update then tries again, and next must return nil if it finds its entry in the chain.
// After the last attempt, or once the context has ended, update returns [ErrStore]. An error of next, or of the rules
// for rows, is returned at once.
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

// reserve charges the cost of a run to a dataset and returns the reservation, which names the row of the charge. run is
// the id of the run, and limit bounds the run's releases. lease, if not nil, is the run's lease, which the store keeps
// from then on. A run that is reserved already is not charged again. It is an error if the cap does not cover the cost
// or the dataset is closed.
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

// Dataset is the state of a dataset in a store, after its whole chain has been verified.
type Dataset struct {
	Name string `json:"name"`
	Cap  Cap    `json:"cap"`
	// Began is the time of the dataset's registration by the store's clock. No decision depends on it.
	Began  string `json:"began"`
	Closed bool   `json:"closed"`
	// Rows is the number of rows of the dataset's chain.
	Rows int `json:"rows"`
	// Head is the hash of the last row.
	Head string `json:"head"`
	// Charge is the mu^2 of the dataset's cap, rounded down.
	Charge float64 `json:"charge"`
	// Spent is the part of the cap's Charge that is charged to runs, rounded up, in units of mu^2.
	Spent float64 `json:"spent"`
	// Open is the part of Spent that is charged to runs that have not settled, in units of mu^2.
	Open float64 `json:"open"`
	// Left is the part of the cap's mu^2 that is not spent, rounded down.
	Left float64 `json:"left"`
	// Over is the charge by which Spent exceeds the cap, in units of mu^2, rounded up. It is 0 unless a
	// settlement was corrected after the cap's rest had been given to other runs. The guarantee of the
	// cap does not hold then: people were overspent by Over.
	Over float64 `json:"over,omitempty"`
	// Epsilon is the epsilon that follows from Spent at the part of the cap's delta that is not set
	// aside for runs with sampling. It is at most the cap's epsilon, unless Over is positive. It is for
	// information: the guarantee is the cap.
	Epsilon float64 `json:"epsilon_spent"`
	// Sampled is the number of runs that were reserved for releases on Poisson samples.
	Sampled int        `json:"sampled"`
	Runs    []RunState `json:"runs"`

	heads []string
}

// Dataset reads the state of a dataset. It returns [ErrNoDataset] if the store has no dataset with this name,
// [ErrChain] if the dataset's chain is damaged, and [ErrStore] if the store cannot be read.
func (b *Book) Dataset(ctx context.Context, name string) (d *Dataset, err error) {
	err = b.read(ctx, name, func(c *chain) error {
		d, err = c.dataset()
		return err
	})
	return d, err
}

// capOf returns the cap of a dataset, or the error that the method Dataset returns. Unlike Dataset
// it does not copy the dataset's runs, so that its time does not grow with their number.
func (b *Book) capOf(ctx context.Context, name string) (limit Cap, err error) {
	err = b.read(ctx, name, func(c *chain) error {
		limit = c.cap
		return nil
	})
	return limit, err
}

// read reads the new rows of a dataset's chain from the store and calls f with the chain. The chain
// is locked during the call, and f must not keep it. read returns the error of f.
func (b *Book) read(ctx context.Context, name string, f func(*chain) error) error {
	g := b.chain(name)
	g.mu.Lock()
	defer g.mu.Unlock()
	t, err := b.store.View(ctx, name, g.number)
	if err != nil {
		return failed(err)
	}
	if err := g.follow(t); err != nil {
		return err
	}
	if g.number == 0 {
		return missing(name)
	}
	return f(g.chain)
}

func (c *chain) dataset() (*Dataset, error) {
	d := &Dataset{
		Name: c.name, Cap: c.cap, Began: c.began, Closed: c.closed, Rows: c.number, Head: c.head,
		Charge: downward(c.cap.charge()), Spent: upward(c.spent), Left: c.left(), Over: c.past(), Sampled: c.sampled,
		Runs: slices.Clone(c.runs), heads: slices.Clone(c.heads),
	}
	open := exact(0)
	for i, r := range d.Runs {
		if !r.Settled {
			open.Add(open, exact(r.Charged.Charge))
		}
		if l, ok := c.leases[r.Run]; ok && !r.Settled {
			d.Runs[i].Lease = &l
		}
	}
	d.Open = upward(open)
	if d.Spent > 0 {
		var err error
		if d.Epsilon, err = mechanism.GaussianEpsilon(math.Sqrt(d.Spent)*(1+0x1p-50), c.cap.gaussianDelta()); err != nil {
			return nil, fmt.Errorf("budget: %w", err)
		}
		if d.Over == 0 {
			d.Epsilon = min(d.Epsilon, c.cap.Epsilon)
		}
	}
	return d, nil
}

// Has returns an error unless the row that the reservation r names is in the dataset's chain and
// has the hash r.Head. A run's certificate contains its reservation. A store that was restored to
// an earlier state lacks the row or has another row in its place.
func (d *Dataset) Has(r account.Reservation) error {
	if r.Dataset != d.Name {
		return fmt.Errorf("budget: dataset = %q: the run is of dataset %q", d.Name, r.Dataset)
	}
	if r.Row < 1 || r.Row > len(d.heads) || d.heads[r.Row-1] != r.Head {
		return otherRow(r)
	}
	return nil
}

// Holds verifies the certificate of a run. It returns an error unless the dataset's chain has the run in the row that
// the certificate names, with the relation, privacy unit, epsilon, delta and schedule of the certificate.
func (d *Dataset) Holds(ctx context.Context, c Certificate) error {
	r, reserved := c.Budget()
	if !reserved {
		return errors.New("budget: certificate: names no reservation: its run was charged to no store")
	}
	if err := d.Has(r); err != nil {
		return err
	}
	v, err := c.Ledger(ctx)
	if err != nil {
		return fmt.Errorf("budget: %w", err)
	}
	limit, err := LimitOf(v)
	if err != nil {
		return err
	}
	for _, run := range d.Runs {
		if run.Row == r.Row && run.Run == r.Run && run.Limit.serves(limit) {
			return nil
		}
	}
	return otherLaw(r)
}

// Mark stores a fingerprint of the table of dataset name, and returns the other datasets that were marked with the same
// fingerprint. The function fingerprint reads the table and returns its fingerprint, keyed with a secret key of the
// store. Suppose that a person may mark a table of their own choice and sees the result. They can then find out whether
// this table is equal to a dataset's table. Mark is therefore for the owner of the table, and no fit calls it.
func (b *Book) Mark(ctx context.Context, name string, fingerprint func(key string) (string, error)) (others []string,
	err error) {
	key, err := b.store.Key(ctx)
	if err != nil {
		return nil, failed(err)
	}
	mark, err := fingerprint(key)
	if err != nil {
		return nil, err
	}
	if others, err = b.store.Mark(ctx, name, mark); err != nil {
		return nil, failed(err)
	}
	return others, nil
}
