package budget

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
)

// chain is the state of a dataset, computed from the dataset's rows in a store. Every row that is
// read is checked by the same rules as a new row. A row that breaks a rule is therefore refused,
// whoever wrote it. number and head are the number and the hash of the last row read.
type chain struct {
	name   string
	number int
	head   string
	cap    Cap
	closed bool
	// spent is the sum of the charges of all runs. A run's charge is its reserved cost until the
	// run settles, and then the cost of the charges of its ledger.
	spent *big.Float
	// sampled is the number of runs that release on Poisson samples.
	sampled int
	runs    []RunState
	byID    map[string]int // the index in runs of a run, by its id
	// leases are the leases of runs that have not ended, as the store had them at the last read.
	leases map[string]Lease
	// now is the time of the last read by the store's clock.
	now string
	// heads are the hashes of all rows.
	heads []string
	// began is the time of the first row by the store's clock. salt is the random salt of that row.
	began, salt string
}

// RunState is the state of a run in its dataset's chain.
type RunState struct {
	// Run is the id of the run.
	Run   string `json:"run"`
	Label string `json:"label,omitempty"`
	// Row is the number of the row that holds the reservation.
	Row int `json:"row"`
	// Head is the hash of the row that holds the reservation.
	Head  string `json:"head"`
	Time  string `json:"time"`
	Limit Limit  `json:"law"`
	// Reserved is the cost at the run's reservation.
	Reserved Cost `json:"reserved"`
	// Charged is the cost of the run at present. It differs from Reserved only if Settled is true.
	Charged Cost `json:"charged"`
	Settled bool `json:"settled"`
	// Corrected is the number of settlements after the first. Each raised Charged.
	Corrected int `json:"corrected,omitempty"`
	// Held is true if the run was reserved with a lease. Lease is this lease; it is nil after the run's
	// settlement, in a certificate, and if the store has lost it.
	Held  bool   `json:"held,omitempty"`
	Lease *Lease `json:"lease,omitempty"`

	odometer float64
}

// ErrChain reports a store whose rows do not follow from each other, or do not follow from rows
// that were read before. The store was altered or damaged, or an earlier state of it was restored.
// Nothing is charged to such a store, and no answer of a run is released.
var ErrChain = errors.New("budget: the store's record is not whole")

func (c *chain) broken(format string, args ...any) error {
	return fmt.Errorf("%w: dataset %q: %s", ErrChain, c.name, fmt.Sprintf(format, args...))
}

func newChain(name string) *chain { return &chain{name: name, spent: exact(0), byID: map[string]int{}} }

// follow checks the rows that t has read from the store after this chain's end, and appends them to
// the chain's state. It returns [ErrChain] if the rows do not continue the chain, or if they do not
// end at the length and the last hash that the store states.
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
	c.leases, c.now = map[string]Lease{}, t.Now
	for _, l := range t.Leases {
		c.leases[l.Run] = l
	}
	return nil
}

// take checks the next row and appends it to the chain's state. It returns [ErrChain] if the row's hash is not the hash
// of its text and the hash of the row before, or if the rules do not allow the row's entry.
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

// admit returns an error if the rules do not allow the entry as the next one in the chain. If
// sampled is true and the entry reserves a run that releases on Poisson samples, admit also
// composes the run's schedule again to verify its cost.
func (c *chain) admit(ctx context.Context, e entry, sampled bool) error {
	switch {
	case e.Dataset != c.name:
		return fmt.Errorf("dataset = %q: must be %q", e.Dataset, c.name)
	case e.Number != c.number+1:
		return fmt.Errorf("number = %d: must be %d", e.Number, c.number+1)
	case (e.Kind == kindCreated) != (c.number == 0):
		return fmt.Errorf("kind = %q: created must be the first row, and no other", e.Kind)
	}
	switch e.Kind {
	case kindCreated:
		return e.Cap.check()
	case kindReserved:
		return c.admitRun(ctx, e, sampled)
	case kindSettled:
		return c.admitEnd(e)
	}
	if c.closed {
		return errors.New("the dataset is closed already")
	}
	return nil
}

// admitRun is the privacy filter over runs. It returns an error that wraps an *account.BudgetError
// if the part of the cap that is not charged does not cover the run's cost, or if the number of
// runs with sampling is used up. It also returns an error if the dataset is closed, if the run's id
// is used already or if the entry's cost or label is invalid.
func (c *chain) admitRun(ctx context.Context, e entry, sampled bool) error {
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
	if err := e.Limit.checkCost(ctx, c.cap, *e.Cost, sampled); err != nil {
		return err
	}
	if e.Limit.samples() && c.sampled >= c.cap.SampledRuns {
		return c.over(&account.BudgetError{Want: e.Cost.Charge, Have: 0},
			fmt.Sprintf("all of its %d runs that may sample have been", c.cap.SampledRuns))
	}
	sum := new(big.Float).Add(c.spent, exact(e.Cost.Charge))
	if sum.Cmp(c.cap.charge()) > 0 {
		return c.over(&account.BudgetError{Want: e.Cost.Charge, Have: c.left()}, c.leftText(*e.Limit))
	}
	return nil
}

func (c *chain) over(err error, why string) error {
	return fmt.Errorf("budget: dataset %q: the cap of epsilon %v at delta %v for everything together does not cover "+
		"this run: %s: %w", c.name, c.cap.Epsilon, c.cap.Delta, why, err)
}

// leftText states, for an error message, the largest epsilon of a run that the rest of the cap
// still covers. The run has the relation and the delta of l.
func (c *chain) leftText(l Limit) string {
	mu := math.Sqrt(c.left())
	if f, err := factor(l.Relation, c.cap.Relation); err == nil {
		mu /= math.Sqrt(f)
	}
	if epsilon, err := mechanism.GaussianEpsilon(mu*(1-1e-9), l.Delta); err == nil && epsilon > 0 {
		return fmt.Sprintf("epsilon %.3g at delta %v is left", epsilon*.995, l.Delta)
	}
	return "nothing is left"
}

// admitEnd returns an error unless the entry settles a run that was reserved, at most at the charge of its
// reservation and, if the run was settled before, at a larger charge than before. The cap is not asked: what
// was released counts, even past the cap.
func (c *chain) admitEnd(e entry) error {
	at, reserved := c.byID[e.Run]
	switch {
	case !reserved:
		return fmt.Errorf("budget: run %s: must have been reserved", e.Run)
	case c.runs[at].Settled && !(*e.Charged > c.runs[at].odometer):
		return fmt.Errorf("budget: run %s: charged = %v: must be more than %v, at which it was settled: a settlement only "+
			"rises", e.Run, *e.Charged, c.runs[at].odometer)
	}
	_, err := c.runs[at].end(c.cap, *e.Charged)
	return err
}

// end returns a run's cost, under the cap c, after the run's ledger has ended. odometer is the sum of mu^2 that this
// ledger has charged. The run's cost is then odometer times the factor for the relations (see factor), and the rest of
// the reservation is free again. This is valid because the charges of a ledger add up even if they were chosen after
// earlier releases. A run that releases on Poisson samples keeps its reserved cost, since no such rule is known for a
// schedule that stops early. It is an error if odometer exceeds the mu^2 of the reservation.
func (r RunState) end(c Cap, odometer float64) (Cost, error) {
	f, err := factor(r.Limit.Relation, c.Relation)
	if err != nil {
		return Cost{}, err
	}
	if !(odometer >= 0) || math.IsInf(odometer, 0) {
		return Cost{}, fmt.Errorf("budget: charged = %v: must be finite and >= 0", odometer)
	}
	if exact(odometer).Cmp(r.Limit.gaussian(1)) > 0 {
		return Cost{}, fmt.Errorf("budget: charged = %v: must be at most mu^2 = %v, which run %s reserved", odometer,
			downward(square(r.Limit.Mu)), r.Run)
	}
	if r.Limit.samples() {
		return r.Reserved, nil
	}
	charge := exact(odometer)
	return Cost{Charge: upward(charge.Mul(charge, exact(f)))}, nil
}

// apply appends an entry to the chain's state. hash is the hash of the entry's row. The method
// admit must have allowed the entry.
func (c *chain) apply(e entry, hash string) {
	c.number, c.head = e.Number, hash
	c.heads = append(c.heads, hash)
	switch e.Kind {
	case kindCreated:
		c.cap, c.began, c.salt = *e.Cap, e.Time, e.Salt
	case kindReserved:
		c.byID[e.Run] = len(c.runs)
		c.runs = append(c.runs, RunState{Run: e.Run, Label: e.Label, Row: e.Number, Head: hash, Time: e.Time, Limit: *e.Limit,
			Reserved: *e.Cost, Charged: *e.Cost, Held: e.Held})
		c.spent.Add(c.spent, exact(e.Cost.Charge))
		if e.Limit.samples() {
			c.sampled++
		}
	case kindSettled:
		r := &c.runs[c.byID[e.Run]]
		if r.Settled {
			r.Corrected++
		}
		c.spent.Sub(c.spent, exact(r.Charged.Charge))
		r.Settled, r.odometer = true, *e.Charged
		r.Charged, _ = r.end(c.cap, r.odometer) // admitEnd has already checked that end returns no error
		c.spent.Add(c.spent, exact(r.Charged.Charge))
	case kindClosed:
		c.closed = true
	}
}

// left returns the part of the cap that is not charged to runs, in units of mu^2, rounded down. It
// is at least 0.
func (c *chain) left() float64 {
	return downward(new(big.Float).SetPrec(sumBits).SetMode(big.ToNegativeInf).Sub(c.cap.charge(), c.spent))
}

// past returns the charge by which the sum of the runs' charges exceeds the cap, in units of mu^2, rounded up.
// It is 0 if the cap covers the sum.
func (c *chain) past() float64 {
	sum := exact(0)
	return max(0, upward(sum.Sub(c.spent, c.cap.charge())))
}

// entry is the content of a row of a chain. Each entry has exactly one valid encoding, and therefore one
// text and one hash.
type entry struct {
	// Number is the number of the row in its chain, counted from 1. The order of rows depends on
	// Number alone.
	Number int `json:"number"`
	// Kind is one of the kinds below.
	Kind    string `json:"kind"`
	Dataset string `json:"dataset"`
	// Time is the time of the entry by the store's clock. No decision depends on it.
	Time string `json:"time"`
	// Salt is a random text in the first row. It makes the hashes of two chains different even if
	// the chains have the same contents. It is empty in other rows.
	Salt string `json:"salt,omitempty"`
	// Cap is the dataset's cap in the first row, and nil in other rows.
	Cap *Cap `json:"cap,omitempty"`
	// Run is the id of the run that a row reserves or settles. The store draws the id at random. A
	// run is reserved once. It may be settled more than once, each time with a larger charge.
	Run string `json:"run,omitempty"`
	// Label describes the purpose of a run in public words.
	Label string `json:"label,omitempty"`
	// Limit is the limit on the run's releases. It is set in a reservation only.
	Limit *Limit `json:"law,omitempty"`
	// Cost is the charge of the run to the cap. It is set in a reservation only.
	Cost *Cost `json:"cost,omitempty"`
	// Held is true in a reservation whose run has a [Lease] in the store.
	Held bool `json:"held,omitempty"`
	// Charged is set in a settlement only. It bounds the sum of the charges of all that the run released, in units of
	// mu^2 under the run's own relation. Further settlements of a run correct it, each upwards.
	Charged *float64 `json:"charged,omitempty"`

	// lease is the lease that is stored together with the row. It is no part of the row.
	lease *Lease
}

// Kinds of entries.
const (
	kindCreated  = "created"
	kindReserved = "reserved"
	kindSettled  = "settled"
	kindClosed   = "closed"
)

// genesis is hashed together with the first row of a chain, in place of the hash of an earlier row.
const genesis = "stillpoint budget 1"

// chained returns the hash of a row, SHA-256 in hexadecimal. text is the row's text, and before is
// the hash of the row before it, or empty for the first row of a chain.
func chained(before, text string) string {
	sum := sha256.Sum256([]byte(cmp.Or(before, genesis) + "\n" + text))
	return hex.EncodeToString(sum[:])
}

// write encodes the entry as a row of a chain. before is the hash of the row before it.
func (e entry) write(before string) (Row, error) {
	text, err := encode(e)
	if err != nil {
		return Row{}, err
	}
	return Row{Text: text, Hash: chained(before, text)}, nil
}

func encode(e entry) (string, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(e); err != nil {
		return "", fmt.Errorf("budget: %w", err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// parse reads the text of a row that the method write produced. It returns an error for every other
// text, even if the text has the same meaning, and for an entry whose fields do not fit its kind.
func parse(text string) (entry, error) {
	var e entry
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return e, errors.New("must be an entry")
	}
	again, err := encode(e)
	if err != nil {
		return e, err
	}
	if again != text {
		return e, errors.New("must be written as an entry is")
	}
	return e, e.check()
}

// check returns an error unless the entry has exactly the fields that its kind requires, and its
// time and its run's id are valid names (see checkName).
func (e *entry) check() error {
	first, reserves, settles := e.Kind == kindCreated, e.Kind == kindReserved, e.Kind == kindSettled
	switch {
	case !first && !reserves && !settles && e.Kind != kindClosed:
		return fmt.Errorf("kind = %q: must be created, reserved, settled or closed", e.Kind)
	case first != (e.Cap != nil), first != (e.Salt != ""):
		return errors.New("cap, salt: must be given of the first row alone")
	case (reserves || settles) != (e.Run != ""):
		return errors.New("run: must be given of reservations and settlements alone")
	case reserves != (e.Limit != nil), reserves != (e.Cost != nil), !reserves && (e.Label != "" || e.Held):
		return errors.New("law, cost, held: must be given of reservations alone")
	case settles != (e.Charged != nil):
		return errors.New("charged: must be given of settlements alone")
	}
	if err := checkName("time", e.Time); err != nil {
		return err
	}
	if e.Run != "" {
		return checkName("run", e.Run)
	}
	return nil
}
