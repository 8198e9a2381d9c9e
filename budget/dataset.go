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

// Dataset reads the state of a dataset. It returns [ErrNoDataset] if the store has no dataset with
// this name, [ErrChain] if the dataset's chain is damaged, and [ErrStore] if the store cannot be
// read.
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

// Holds verifies the certificate of a run. It returns an error unless the dataset's chain has the
// run in the row that the certificate names, with the relation, privacy unit, epsilon, delta and
// schedule of the certificate.
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

// Mark stores a fingerprint of the table of dataset name, and returns the other datasets that were
// marked with the same fingerprint. The function fingerprint reads the table and returns its
// fingerprint, keyed with a secret key of the store. Suppose that a person may mark a table of
// their own choice and sees the result. They can then find out whether this table is equal to a
// dataset's table. Mark is therefore for the owner of the table, and no fit calls it.
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
