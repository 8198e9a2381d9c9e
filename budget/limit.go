package budget

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"unicode"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
)

// Limit is the limit on a run's releases: a guarantee and possibly a schedule of Poisson samples. It is fixed before
// the first release and determines the run's cost. In the rows of a chain it is the value of the key "law".
type Limit struct {
	// Guarantee is the guarantee of the run alone. Its Mu bounds the run's Gaussian releases and
	// selections together. Mu is 0 if all releases are on Poisson samples.
	account.Guarantee
	// Schedule lists the releases on Poisson samples, which Mu does not cover. It is nil if no
	// release is on a Poisson sample.
	Schedule []account.SampledSteps `json:"schedule,omitempty"`
}

// MarshalJSON writes the members of a limit in the order in which the rows of a chain have them. A
// row's hash depends on these bytes.
func (l Limit) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Relation account.Relation       `json:"relation"`
		Epsilon  float64                `json:"epsilon"`
		Delta    float64                `json:"delta"`
		Mu       float64                `json:"mu"`
		Schedule []account.SampledSteps `json:"schedule,omitempty"`
		Unit     string                 `json:"unit,omitempty"`
	}{l.Relation, l.Epsilon, l.Delta, l.Mu, l.Schedule, l.Unit})
}

// LimitOf returns the limit on the releases of a session with this ledger. Relation, epsilon and delta are from the
// ledger's budget, and the unit is from the ledger's records. Mu is from the schedule if the ledger follows one, and
// from the budget otherwise. LimitOf returns an error for a ledger without records.
func LimitOf(v account.View) (Limit, error) {
	records, opened := v.Records()
	if !opened {
		return Limit{}, errors.New("budget: ledger: must be that of a session (curator.Open): " +
			"this one does not say which records it charges")
	}
	b := v.Budget()
	l := Limit{Guarantee: b.Guarantee(records.Unit.Column)}
	if s := v.Schedule(); s != nil {
		l.Mu, l.Schedule = s.Mu(), s.Steps()
	}
	return l, nil
}

func (l Limit) equal(m Limit) bool {
	return l.Guarantee == m.Guarantee && slices.Equal(l.Schedule, m.Schedule)
}

func (l Limit) samples() bool { return len(l.Schedule) > 0 }

func (l Limit) check() error {
	if !(l.Mu >= 0) || l.Mu == 0 && !l.samples() {
		return fmt.Errorf("budget: law: mu = %v: must be finite and > 0", l.Mu)
	}
	if err := l.Guarantee.Check(); err != nil {
		return fmt.Errorf("budget: law: %w", err)
	}
	return nil
}

// factor returns the number by which a run's charges are multiplied under a cap's relation. It is 1 if the relations
// are equal. A run under add-or-remove has the factor 4 under a cap for replace-one. Replacing a record means to remove
// one record and to add another. If releases are mu-GDP for each of these two changes, they are 2 mu-GDP for the two
// changes together, so their charge is 4 mu^2. This holds whether or not the two records take part in the same
// releases. A run under replace-one is refused under a cap for add-or-remove: its guarantee holds for tables of one
// size only.
func factor(run, dataset account.Relation) (float64, error) {
	switch {
	case run == dataset:
		return 1, nil
	case run == account.AddOrRemove && dataset == account.ReplaceOne:
		return 4, nil
	}
	return 0, fmt.Errorf("budget: relation = %v: must be the dataset's %v: the size of the table is secret there, "+
		"and not in this run", run, dataset)
}

// sameUnit returns an error if a run's privacy unit is not the dataset's unit. A guarantee for people does not imply a
// guarantee for rows: if a row is replaced by a row of another person, the records of two people change. Conversely, a
// guarantee for single rows does not cover all rows of a person.
func sameUnit(run, dataset string) error {
	if run == dataset {
		return nil
	}
	called := func(unit string) string {
		if unit == "" {
			return "each row"
		}
		return "all rows of one " + unit
	}
	return fmt.Errorf("budget: unit = %q: must be the dataset's %q: a record is %s there, and %s in this run", run,
		dataset, called(dataset), called(run))
}

// Cost is the charge of a run to a cap. Charge is in units of mu^2. Delta is the run's part of the
// delta that the cap sets aside for runs with sampling, and 0 for a run without sampling.
type Cost struct {
	Charge float64 `json:"charge"`
	Delta  float64 `json:"delta,omitempty"`
}

// cost returns the cost, under a cap, of a run whose releases have this limit. For a schedule of Poisson samples it
// composes privacy-loss distributions, which may take a second. It returns an error if the limit is invalid, or if the
// cap does not permit such a run because of its relation, its unit or its sampling.
func (l Limit) cost(ctx context.Context, c Cap) (Cost, error) {
	charge, _, err := l.under(c)
	if err != nil {
		return Cost{}, err
	}
	var cost Cost
	if l.samples() {
		if c.SampledRuns == 0 {
			return Cost{}, errors.New("budget: schedule: the dataset is registered without runs that sample (sampled " +
				"runs = 0), for which a part of delta must be set aside beforehand")
		}
		cost.Delta = c.sampledDelta()
		// The steps are composed under the cap's relation, even if the run's relation is another. This is valid because
		// a sampled sum clips each record's contribution, whether the record is added or replaced.
		mu, err := mechanism.ApproximateMu(ctx, l.Schedule, c.Relation, cost.Delta)
		if err != nil {
			return Cost{}, err
		}
		charge.Add(charge, square(mu))
	}
	cost.Charge = upward(charge)
	return cost, nil
}

// checkCost checks the cost that a run states, for a run whose releases have the limit l. It returns an
// error if the limit is invalid, or if the cap c does not permit such a run. It also returns an error if
// the charge is smaller than the releases without sampling require, or if the delta is not what the cap
// sets aside for a run that samples (0 for other runs). If sampled is true and the run samples, checkCost
// also composes the schedule again, and returns an error unless the rest of the charge pays for it.
func (l Limit) checkCost(ctx context.Context, c Cap, cost Cost, sampled bool) error {
	gaussian, f, err := l.under(c)
	if err != nil {
		return err
	}
	if !(cost.Charge > 0) || math.IsInf(cost.Charge, 0) {
		return fmt.Errorf("budget: charge = %v: must be finite and > 0", cost.Charge)
	}
	rest := exact(cost.Charge)
	if rest.Sub(rest, gaussian); rest.Sign() < 0 {
		return fmt.Errorf("budget: charge = %v: must be at least %v times mu^2 = %v", cost.Charge, f, upward(gaussian))
	}
	if !l.samples() {
		if cost.Delta != 0 {
			return fmt.Errorf("budget: delta = %v: must be absent from the cost of a run that does not sample", cost.Delta)
		}
		return nil
	}
	if c.SampledRuns == 0 || cost.Delta != c.sampledDelta() {
		return fmt.Errorf("budget: delta = %v: must be %v, what a run that samples may leave over", cost.Delta,
			c.sampledDelta())
	}
	if !sampled {
		return nil
	}
	mu := math.Sqrt(downward(rest)) * (1 - 0x1p-50)
	return mechanism.CheckApproximateMu(ctx, l.Schedule, c.Relation, cost.Delta, mu)
}

// under returns the charge under a cap of the releases without sampling, and the factor for the relations in it. It
// returns an error if the limit is invalid, or if the cap does not permit such a run because of its relation or its
// unit.
func (l Limit) under(c Cap) (gaussian *big.Float, f float64, err error) {
	if err := l.check(); err != nil {
		return nil, 0, err
	}
	if f, err = factor(l.Relation, c.Relation); err != nil {
		return nil, 0, err
	}
	return l.gaussian(f), f, sameUnit(l.Unit, c.Unit)
}

// gaussian returns the charge of the releases without sampling, in units of mu^2. It is the limit of a session's
// ledger, mu^2 rounded down, multiplied by f, the factor for the relations (see factor).
func (l Limit) gaussian(f float64) *big.Float {
	c := exact(downward(square(l.Mu)))
	return c.Mul(c, exact(f))
}

// Would returns the cost that Reserve would charge for a session with this ledger, in the dataset's
// present state. If Reserve would return an error, Would returns this error. Would charges nothing,
// so another run may use the budget before this run is reserved.
func (r *Run) Would(ctx context.Context, v account.View) (Cost, error) {
	limit, err := LimitOf(v)
	if err != nil {
		return Cost{}, err
	}
	r.mu.Lock()
	b, dataset, err := r.book, r.dataset, r.mayServe(v)
	r.mu.Unlock()
	if err != nil {
		return Cost{}, err
	}
	return b.Covers(ctx, dataset, limit)
}

// Covers returns the cost that the reservation of a run would have in the dataset's present state.
// limit bounds the run's releases. If the reservation would return an error, Covers returns this
// error. Covers charges nothing. It is for callers that know the limit before they open a session.
func (b *Book) Covers(ctx context.Context, dataset string, limit Limit) (Cost, error) {
	most, err := b.capOf(ctx, dataset)
	if err != nil {
		return Cost{}, err
	}
	cost, err := b.cost(ctx, most, limit)
	if err != nil {
		return Cost{}, err
	}
	g := b.chain(dataset)
	g.mu.Lock()
	defer g.mu.Unlock()
	return cost, g.admitRun(ctx, entry{Limit: &limit, Cost: &cost}, false)
}

// Cap is an upper limit on the privacy loss of everything ever released of a dataset, under one
// relation. The zero Cap permits nothing.
type Cap struct {
	// Guarantee covers all releases together. [NewCap] computes its Mu: the mu of Gaussian DP for Epsilon and the part
	// of Delta that is not set aside for runs with sampling. The Unit of the guarantee is fixed when the dataset is
	// registered, since guarantees for different kinds of record do not add up.
	account.Guarantee
	// SampledRuns is the number of runs with sampling that the dataset permits in its whole life. If it is not 0, a
	// tenth of Delta is set aside and divided equally among these runs. A run with sampling is counted as mu-GDP up to
	// a small delta, and its part of Delta covers this small delta. SampledRuns is fixed when the dataset is
	// registered, since no privacy filter is known that divides a delta adaptively.
	SampledRuns int `json:"sampled_runs"`
}

// MarshalJSON writes the members of a cap in the order in which the rows of a chain have them. A
// row's hash depends on these bytes.
func (c Cap) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Epsilon     float64          `json:"epsilon"`
		Delta       float64          `json:"delta"`
		Relation    account.Relation `json:"relation"`
		SampledRuns int              `json:"sampled_runs"`
		Unit        string           `json:"unit,omitempty"`
		Mu          float64          `json:"mu"`
	}{c.Epsilon, c.Delta, c.Relation, c.SampledRuns, c.Unit, c.Mu})
}

// mostSampledRuns is the largest number of runs with sampling. With more, a run's part of delta
// would be too small for the accountant.
const mostSampledRuns = 1 << 20

// setAside is the share of a cap's delta that is set aside for runs that release on Poisson
// samples.
const setAside = .1

// NewCap returns the cap for an epsilon, a delta, a relation and a number of runs with sampling.
// The cap's records are rows, since its Unit is empty. It is an error unless epsilon is finite and
// > 0, delta is in (0, 1) and sampledRuns is in [0, 2^20].
func NewCap(epsilon, delta float64, r account.Relation, sampledRuns int) (Cap, error) {
	c := Cap{Guarantee: account.Guarantee{Relation: r, Epsilon: epsilon, Delta: delta}, SampledRuns: sampledRuns}
	if sampledRuns < 0 || sampledRuns > mostSampledRuns {
		return Cap{}, fmt.Errorf("budget: sampled runs = %d: must be between 0 and %d", sampledRuns, mostSampledRuns)
	}
	b, err := account.NewBudget(epsilon, delta, r)
	if err != nil {
		return Cap{}, fmt.Errorf("budget: %w", err)
	}
	if sampledRuns > 0 {
		if b, err = account.NewBudget(epsilon, c.gaussianDelta(), r); err != nil {
			return Cap{}, fmt.Errorf("budget: %w", err)
		}
	}
	c.Mu = b.Mu()
	return c, nil
}

// gaussianDelta returns the part of delta for all charges that are counted in mu^2. It is delta
// without the part that is set aside for runs with sampling.
func (c Cap) gaussianDelta() float64 {
	if c.SampledRuns == 0 {
		return c.Delta
	}
	// The last factor keeps the sum of this part and the part set aside below delta after rounding.
	return c.Delta * (1 - setAside) * (1 - 0x1p-50)
}

// sampledDelta returns the part of delta for one run that releases on Poisson samples.
func (c Cap) sampledDelta() float64 {
	if c.SampledRuns == 0 {
		return 0
	}
	return c.Delta * setAside / float64(c.SampledRuns) * (1 - 0x1p-50)
}

// check returns an error unless the cap is valid: mu-GDP must imply (epsilon, delta)-DP, where delta is the part of
// Delta that is not set aside. The cap's mu may be smaller than the mu that NewCap computes. It may also be larger by
// rounding errors, since a later version may round differently.
func (c Cap) check() error {
	again, err := NewCap(c.Epsilon, c.Delta, c.Relation, c.SampledRuns)
	if err != nil {
		return err
	}
	if c.Unit != "" {
		if err := checkName("unit", c.Unit); err != nil {
			return err
		}
	}
	if !(c.Mu > 0 && c.Mu <= again.Mu*(1+0x1p-40)) {
		return fmt.Errorf("budget: mu = %v: must be at most %v, that of the cap's epsilon and delta", c.Mu, again.Mu)
	}
	delta, err := mechanism.GaussianDelta(c.Mu, c.Epsilon)
	if err != nil {
		return err
	}
	if !(delta <= c.gaussianDelta()) {
		return fmt.Errorf("budget: mu = %v: costs delta = %v at epsilon = %v: must be at most %v", c.Mu, delta, c.Epsilon,
			c.gaussianDelta())
	}
	return nil
}

// charge returns the square of the cap's mu, computed without rounding.
func (c Cap) charge() *big.Float { return square(c.Mu) }

// String states the cap's epsilon, delta, relation and unit in words.
func (c Cap) String() string { return c.Text() }

// sumBits is the precision, in bits, of sums of charges. The sums are rounded upwards. A charge is a product of at most
// two float64, so a sum of charges is exact if their ratios are at most 10^100.
const sumBits = 512

// exact returns x as a big.Float of high precision, whose sums and products are rounded upwards.
func exact(x float64) *big.Float {
	return new(big.Float).SetPrec(sumBits).SetMode(big.ToPositiveInf).SetFloat64(x)
}

func square(x float64) *big.Float { b := exact(x); return b.Mul(b, exact(x)) }

// upward returns the smallest float64 that is at least x.
func upward(x *big.Float) float64 {
	f, accuracy := x.Float64()
	if accuracy == big.Below {
		return math.Nextafter(f, math.Inf(1))
	}
	return f
}

// downward returns the largest float64 >= 0 that is at most x.
func downward(x *big.Float) float64 {
	f, accuracy := x.Float64()
	if accuracy == big.Above {
		f = math.Nextafter(f, math.Inf(-1))
	}
	return max(0, f)
}

// mostName is the largest length, in bytes, of the name of a dataset or a unit, and of a label.
const mostName = 200

// checkName returns an error for a name that is empty, has white space around it, has more than
// mostName bytes or contains a character that is not printable. field names the value in the error.
// Programs may show such a name in different ways.
func checkName(field, name string) error {
	switch {
	case name == "" || name != strings.TrimSpace(name):
		return fmt.Errorf("budget: %s = %q: must be a name without white space around it", field, name)
	case len(name) > mostName:
		return fmt.Errorf("budget: %s: must have at most %d bytes", field, mostName)
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }):
		return fmt.Errorf("budget: %s = %q: must hold visible characters only", field, name)
	}
	return nil
}
