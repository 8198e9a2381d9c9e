package budget

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
)

// Dataset is the state of a dataset in a store, after its whole chain has been verified.
type Dataset struct {
	Name string `json:"name"`
	Cap  Cap    `json:"cap"`
	// Began is the time of registration by the store's clock. Nothing depends on it.
	Began  string `json:"began"`
	Closed bool   `json:"closed"`
	// Rows is the length of the chain.
	Rows int `json:"rows"`
	// Head is the hash of the last row.
	Head string `json:"head"`
	// Charge is mu^2 of the cap.
	Charge float64 `json:"charge"`
	// Spent is the part of Charge that is charged, rounded up.
	Spent float64 `json:"spent"`
	// Open is the part of Spent that is reserved by runs that have not settled.
	Open float64 `json:"open"`
	// Left is Charge minus Spent.
	Left float64 `json:"left"`
	// Epsilon is the epsilon of Spent at the cap's delta. It is informal: the guarantee is the cap.
	Epsilon float64 `json:"epsilon_spent"`
	// Sampled is the number of runs with sampling.
	Sampled int        `json:"sampled"`
	Runs    []RunState `json:"runs"`

	heads []string
}

// Dataset reads a dataset. It returns ErrNoDataset if there is none with this name, and ErrChain if
// its chain is damaged.
func (b *Book) Dataset(ctx context.Context, name string) (*Dataset, error) {
	g := b.chain(name)
	g.mu.Lock()
	defer g.mu.Unlock()
	t, err := b.store.View(ctx, name, g.number)
	if err != nil {
		return nil, failed(err)
	}
	if err := g.follow(t); err != nil {
		return nil, err
	}
	if g.number == 0 {
		return nil, missing(name)
	}
	return g.dataset()
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
		if d.Epsilon, err = account.GaussianEpsilon(math.Sqrt(d.Spent)*(1+0x1p-50), c.cap.gaussianDelta()); err != nil {
			return nil, fmt.Errorf("budget: %w", err)
		}
		d.Epsilon = min(d.Epsilon, c.cap.Epsilon)
	}
	return d, nil
}

// Has returns an error unless the chain has the row of a reservation. A run's certificate names its
// row. A store that was restored to an earlier state has lost it.
func (d *Dataset) Has(r account.Reservation) error {
	if r.Dataset != d.Name {
		return fmt.Errorf("budget: dataset = %q: the run is of dataset %q", d.Name, r.Dataset)
	}
	if r.Row < 1 || r.Row > len(d.heads) || d.heads[r.Row-1] != r.Head {
		return otherRow(r)
	}
	return nil
}

// Holds verifies the certificate of a run. It returns an error unless the chain has the run, with
// the relation, the privacy unit and the law of the certificate.
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
	law, err := LawOf(v)
	if err != nil {
		return err
	}
	for _, run := range d.Runs {
		if run.Row == r.Row && run.Run == r.Run && run.Law.serves(law) {
			return nil
		}
	}
	return otherLaw(r)
}

// Mark stores a fingerprint of a dataset's table, and returns the datasets that were marked with
// the same fingerprint. It calls fingerprint with a secret key of the store, and fingerprint reads
// the table. A person who can have chosen tables marked, and sees the result, can test a guess of a
// whole table. Mark is therefore for the owner of the table, and no fit calls it.
func (b *Book) Mark(ctx context.Context, name string, fingerprint func(key string) (string, error)) (others []string, err error) {
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
