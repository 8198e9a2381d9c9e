package budget

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/stillpoint-dp/stillpoint/account"
)

// chain is a dataset as its rows tell it. Each row is taken by the rules that a
// reservation is made by, so that rows that another program wrote, or nobody, are
// refused.
type chain struct {
	name   string
	number int
	head   string
	cap    Cap
	closed bool
	// spent is what all runs are charged: reservations that have not settled in full.
	spent *big.Float
	// sampled is how many runs sample.
	sampled int
	runs    []RunState
	byID    map[string]int // places in runs
	// heads are the hashes of all rows.
	heads []string
	// began is the store's clock at the first row, salt what that row drew.
	began, salt string
}

// RunState is a run as its dataset's rows tell it.
type RunState struct {
	// Run is its id, Row the number of its reservation and Head that row's hash.
	Run   string `json:"run"`
	Label string `json:"label,omitempty"`
	Row   int    `json:"row"`
	Head  string `json:"head"`
	Time  string `json:"time"`
	Law   Law    `json:"law"`
	// Reserved is what it was charged at its beginning, and Charged what it is charged
	// now. They differ once it has Settled.
	Reserved Cost `json:"reserved"`
	Charged  Cost `json:"charged"`
	Settled  bool `json:"settled"`

	odometer float64
}

// ErrChain reports a store whose rows do not follow from each other, or from those
// that were seen before: it was altered, damaged, or is an earlier state of itself.
// Nothing is charged to it, and so nothing released under it.
var ErrChain = errors.New("budget: the store's record is not whole")

func (c *chain) broken(format string, args ...any) error {
	return fmt.Errorf("%w: dataset %q: %s", ErrChain, c.name, fmt.Sprintf(format, args...))
}

func newChain(name string) *chain {
	return &chain{name: name, spent: exact(0), byID: map[string]int{}}
}

// follow takes the rows of a tail that was asked for from this chain's end.
func (c *chain) follow(t Tail) error {
	if t.Length < c.number || c.number > 0 && t.Before != c.head {
		return c.broken("row %d is not what it was: an earlier state of the store was put back, or another store", c.number)
	}
	for _, r := range t.Rows {
		if err := c.take(r); err != nil {
			return err
		}
	}
	if t.Length != c.number || t.Head != c.head {
		return c.broken("it ends with row %d, %.12s: must end with row %d, %.12s", c.number, c.head, t.Length, t.Head)
	}
	return nil
}

// take takes a row that follows.
func (c *chain) take(r Row) error {
	if r.Hash != chained(c.head, r.Text) {
		return c.broken("row %d: its hash is not that of its text and the row before", c.number+1)
	}
	e, err := parse(r.Text)
	if err == nil {
		err = c.admit(context.Background(), e, false)
	}
	if err != nil {
		return c.broken("row %d: %v", c.number+1, err)
	}
	c.apply(e, r.Hash)
	return nil
}

// admit reports whether an entry may follow. sampled has the laws of runs that sample
// composed again.
func (c *chain) admit(ctx context.Context, e Entry, sampled bool) error {
	switch {
	case e.Dataset != c.name:
		return fmt.Errorf("dataset = %q: must be %q", e.Dataset, c.name)
	case e.Number != c.number+1:
		return fmt.Errorf("number = %d: must be %d", e.Number, c.number+1)
	case (e.Kind == Created) != (c.number == 0):
		return fmt.Errorf("kind = %q: created must be the first row, and no other", e.Kind)
	}
	switch e.Kind {
	case Created:
		return e.Cap.check()
	case Reserved:
		return c.admitRun(ctx, e, sampled)
	case Settled:
		return c.admitEnd(e)
	}
	if c.closed {
		return errors.New("the dataset is closed already")
	}
	return nil
}

// admitRun is the filter over runs.
func (c *chain) admitRun(ctx context.Context, e Entry, sampled bool) error {
	if c.closed {
		return fmt.Errorf("budget: dataset %q is closed: nothing more may be released of it", c.name)
	}
	if _, used := c.byID[e.Run]; used {
		return fmt.Errorf("budget: run %s: must be used once", e.Run)
	}
	if e.Label != "" {
		if err := checkName("label", e.Label); err != nil {
			return err
		}
	}
	if err := e.Law.checkCost(ctx, c.cap, *e.Cost, sampled); err != nil {
		return err
	}
	if e.Law.samples() && c.sampled >= c.cap.SampledRuns {
		return c.over(e, &account.BudgetError{Want: e.Cost.Charge, Have: 0}, fmt.Sprintf("all of its %d runs that may sample have been", c.cap.SampledRuns))
	}
	sum := new(big.Float).Add(c.spent, exact(e.Cost.Charge))
	if sum.Cmp(c.cap.charge()) > 0 {
		return c.over(e, &account.BudgetError{Want: e.Cost.Charge, Have: c.left()}, c.room(*e.Law))
	}
	return nil
}

func (c *chain) over(e Entry, err error, why string) error {
	return fmt.Errorf("budget: dataset %q: the cap of epsilon %v at delta %v for everything together does not cover this run: %s: %w", c.name, c.cap.Epsilon, c.cap.Delta, why, err)
}

// room says what would still fit.
func (c *chain) room(l Law) string {
	mu := math.Sqrt(c.left())
	if f, err := factor(l.Relation, c.cap.Relation); err == nil {
		mu /= math.Sqrt(f)
	}
	if epsilon, err := account.GaussianEpsilon(mu*(1-1e-9), l.Delta); err == nil && epsilon > 0 {
		return fmt.Sprintf("epsilon %.3g at delta %v is left", epsilon*.995, l.Delta)
	}
	return "nothing is left"
}

func (c *chain) admitEnd(e Entry) error {
	at, reserved := c.byID[e.Run]
	switch {
	case !reserved:
		return fmt.Errorf("budget: run %s: must have been reserved", e.Run)
	case c.runs[at].Settled:
		return fmt.Errorf("budget: run %s: must settle once", e.Run)
	}
	_, err := c.runs[at].end(c.cap, *e.Charged)
	return err
}

// end returns what a run is charged once its odometer is known. The filter kept its
// releases within the reservation and its charges add up whatever was released, so
// what it did not use is free again. Of a run that samples nothing is returned: no
// such count is known for a schedule that is left early.
func (r RunState) end(c Cap, odometer float64) (Cost, error) {
	f, err := factor(r.Law.Relation, c.Relation)
	if err != nil {
		return Cost{}, err
	}
	if !(odometer >= 0) || math.IsInf(odometer, 0) {
		return Cost{}, fmt.Errorf("budget: charged = %v: must be finite and >= 0", odometer)
	}
	if exact(odometer).Cmp(r.Law.gaussian(1)) > 0 {
		return Cost{}, fmt.Errorf("budget: charged = %v: must be at most mu^2 = %v, which run %s reserved", odometer, downward(square(r.Law.Mu)), r.Run)
	}
	if r.Law.samples() {
		return r.Reserved, nil
	}
	charge := exact(odometer)
	return Cost{Charge: upward(charge.Mul(charge, exact(f)))}, nil
}

// apply makes an entry that was admitted part of the chain.
func (c *chain) apply(e Entry, hash string) {
	c.number, c.head = e.Number, hash
	c.heads = append(c.heads, hash)
	switch e.Kind {
	case Created:
		c.cap, c.began, c.salt = *e.Cap, e.Time, e.Salt
	case Reserved:
		c.byID[e.Run] = len(c.runs)
		c.runs = append(c.runs, RunState{Run: e.Run, Label: e.Label, Row: e.Number, Head: hash, Time: e.Time, Law: *e.Law, Reserved: *e.Cost, Charged: *e.Cost})
		c.spent.Add(c.spent, exact(e.Cost.Charge))
		if e.Law.samples() {
			c.sampled++
		}
	case Settled:
		r := &c.runs[c.byID[e.Run]]
		r.Settled, r.odometer = true, *e.Charged
		r.Charged, _ = r.end(c.cap, r.odometer) // which admitEnd has seen
		c.spent.Sub(c.spent, exact(r.Reserved.Charge))
		c.spent.Add(c.spent, exact(r.Charged.Charge))
	case Closed:
		c.closed = true
	}
}

// left is what may still be charged, rounded down.
func (c *chain) left() float64 {
	return downward(new(big.Float).SetPrec(sumBits).SetMode(big.ToNegativeInf).Sub(c.cap.charge(), c.spent))
}
