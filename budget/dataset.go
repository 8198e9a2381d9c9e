package budget

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
)

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
	// Charge is the mu^2 of the dataset's cap.
	Charge float64 `json:"charge"`
	// Spent is the part of the cap's Charge that is charged to runs, rounded up, in units of mu^2.
	Spent float64 `json:"spent"`
	// Open is the part of Spent that is reserved by runs that have not ended, as far as the store
	// knows.
	Open float64 `json:"open"`
	// Left is Charge minus Spent.
	Left float64 `json:"left"`
	// Epsilon is the epsilon that follows from Spent at the cap's delta. It is for information: the
	// guarantee is the cap.
	Epsilon float64 `json:"epsilon_spent"`
	// Sampled is the number of runs that release on Poisson samples.
	Sampled int        `json:"sampled"`
	Runs    []RunState `json:"runs"`

	heads []string
}

// Dataset reads the state of a dataset. It returns ErrNoDataset if the store has no dataset with
// this name, and ErrChain if the dataset's chain is damaged.
func (b *Book) Dataset(ctx context.Context, name string) (d *Dataset, err error) {
	err = b.read(ctx, name, func(c *chain) error {
		d, err = c.dataset()
		return err
	})
	return d, err
}

// capOf returns the cap of a dataset, or the error that the method Dataset returns. It takes no
// more time if the book has read many runs before.
func (b *Book) capOf(ctx context.Context, name string) (limit Cap, err error) {
	err = b.read(ctx, name, func(c *chain) error {
		limit = c.cap
		return nil
	})
	return limit, err
}

// read brings a dataset's chain up to date with the store and calls f with the chain. f must not
// keep the chain.
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
		Charge: downward(c.cap.charge()), Spent: upward(c.spent), Left: c.left(), Sampled: c.sampled,
		Runs: slices.Clone(c.runs), heads: slices.Clone(c.heads),
	}
	open := exact(0)
	for _, r := range c.runs {
		if !r.Settled {
			open.Add(open, exact(r.Charged.Charge))
		}
	}
	d.Open = upward(open)
	if d.Spent > 0 {
		var err error
		if d.Epsilon, err = mechanism.GaussianEpsilon(math.Sqrt(d.Spent)*(1+0x1p-50), c.cap.gaussianDelta()); err != nil {
			return nil, fmt.Errorf("budget: %w", err)
		}
		d.Epsilon = min(d.Epsilon, c.cap.Epsilon)
	}
	return d, nil
}

// Has returns an error unless the dataset's chain has the row of a reservation, with its hash. A
// run's certificate names the row. A store that was restored to an earlier state has lost it.
func (d *Dataset) Has(r account.Reservation) error {
	if r.Dataset != d.Name {
		return fmt.Errorf("budget: dataset = %q: the run is of dataset %q", d.Name, r.Dataset)
	}
	if r.Row < 1 || r.Row > len(d.heads) || d.heads[r.Row-1] != r.Head {
		return otherRow(r)
	}
	return nil
}

// Holds verifies the certificate of a run. It returns an error unless the dataset's chain has the
// run, with the same relation, privacy unit and limits as the certificate.
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

// Mark stores a fingerprint of a dataset's table, and returns the datasets that were marked with
// the same fingerprint. It calls fingerprint with a secret key of the store, and fingerprint reads
// the table. A person who may mark a table of their own choice, and sees the result, can find out
// whether it is equal to a dataset's table. Mark is therefore for the owner of the table, and no
// fit calls it.
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
