package budget

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
)

// Dataset is what a store says of one, its whole chain having been checked.
type Dataset struct {
	Name string `json:"name"`
	Cap  Cap    `json:"cap"`
	// Began is the store's clock when it was registered, for people.
	Began  string `json:"began"`
	Closed bool   `json:"closed"`
	// Rows is the length of the chain, Head the hash of the last row.
	Rows int    `json:"rows"`
	Head string `json:"head"`
	// Charge is mu^2 of the cap; Spent of it is charged, rounded up, and Open of that
	// is reserved by runs that have not settled. Left is the rest.
	Charge float64 `json:"charge"`
	Spent  float64 `json:"spent"`
	Open   float64 `json:"open"`
	Left   float64 `json:"left"`
	// Epsilon is what is spent, at the cap's delta: an odometer's reading. The
	// guarantee is the cap.
	Epsilon float64 `json:"epsilon_spent"`
	// Sampled is how many runs sample.
	Sampled int        `json:"sampled"`
	Runs    []RunState `json:"runs"`

	heads []string
}

// Dataset reads a dataset.
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

// Has reports whether a row of the chain has this hash: a run's certificate names its
// own, and a store that was set back has lost it.
func (d *Dataset) Has(r account.Reservation) error {
	if r.Dataset != d.Name {
		return fmt.Errorf("budget: dataset = %q: the run is of dataset %q", d.Name, r.Dataset)
	}
	if r.Row < 1 || r.Row > len(d.heads) || d.heads[r.Row-1] != r.Head {
		return otherRow(r)
	}
	return nil
}

// Holds verifies the certificate of a run and reports whether the chain has that run, with
// the relation, the unit of privacy and the law that the certificate states.
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

// Mark keeps a fingerprint of a dataset's table, keyed by what never leaves the store,
// and returns the datasets that were registered with the same one. fingerprint is
// given the key and reads the table. Who can have tables of their own choice marked,
// and sees what Mark returns, can test a guess of a whole table: it is for who keeps
// the table, and no part of a fit.
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
