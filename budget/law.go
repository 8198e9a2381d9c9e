package budget

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
)

// Law is what a run may release at most, fixed before its first release: all that is
// needed to say what it may cost.
type Law struct {
	// Guarantee is the run's own. Its mu bounds the run's Gaussian releases and its
	// selections together; 0 for none.
	account.Guarantee
	// Schedule is what is released on Poisson samples beside them; nil for nothing.
	Schedule []account.SampledSteps `json:"schedule,omitempty"`
}

// MarshalJSON writes a law as rows of chains have it, which are hashed as they are written.
func (l Law) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Relation account.Relation       `json:"relation"`
		Epsilon  float64                `json:"epsilon"`
		Delta    float64                `json:"delta"`
		Mu       float64                `json:"mu"`
		Schedule []account.SampledSteps `json:"schedule,omitempty"`
		Unit     string                 `json:"unit,omitempty"`
	}{l.Relation, l.Epsilon, l.Delta, l.Mu, l.Schedule, l.Unit})
}

// LawOf returns the law of a session whose ledger this is: of its budget, or of the
// schedule that it follows, for the records that it was opened with. A ledger of no
// records has none.
func LawOf(v account.View) (Law, error) {
	records, opened := v.Records()
	if !opened {
		return Law{}, errors.New("budget: ledger: must be that of a session (curator.Open): " +
			"this one does not say which records it charges")
	}
	b := v.Budget()
	l := Law{Guarantee: b.Guarantee(records.Unit.Column)}
	if s := v.Schedule(); s != nil {
		l.Mu, l.Schedule = s.Mu(), s.Steps()
	}
	return l, nil
}

func (l Law) equal(m Law) bool {
	return l.Guarantee == m.Guarantee && slices.Equal(l.Schedule, m.Schedule)
}

func (l Law) samples() bool { return len(l.Schedule) > 0 }

func (l Law) check() error {
	switch {
	case !l.Relation.Valid():
		return errors.New("budget: law: relation: must be replace-one or add-or-remove")
	case !(l.Epsilon > 0) || math.IsInf(l.Epsilon, 0):
		return fmt.Errorf("budget: law: epsilon = %v: must be finite and > 0", l.Epsilon)
	case !(l.Delta > 0 && l.Delta < 1):
		return fmt.Errorf("budget: law: delta = %v: must be > 0 and < 1", l.Delta)
	case !(l.Mu >= 0) || math.IsInf(l.Mu, 0) || l.Mu == 0 && !l.samples():
		return fmt.Errorf("budget: law: mu = %v: must be finite and > 0", l.Mu)
	}
	return nil
}

// factor is by what a run's charges count under a cap's relation. To exchange a
// record is to remove one and add one: what is mu-GDP for each is 2 mu-GDP for both,
// at every release that either takes part in. What is private for tables of one size
// need not be for others, so nothing bounds a run under replace-one by a cap under
// add-or-remove.
func factor(run, dataset account.Relation) (float64, error) {
	switch {
	case run == dataset:
		return 1, nil
	case run == account.AddOrRemove && dataset == account.ReplaceOne:
		return 4, nil
	}
	return 0, fmt.Errorf("budget: relation = %v: must be the dataset's %v: the size of the table is secret there, and not in this run", run, dataset)
}

// sameUnit refuses a run whose records are not the dataset's. One row exchanged for
// another may be of another person, so that it is two people's records that change; and a
// run about rows says nothing of all rows of a person.
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
	return fmt.Errorf("budget: unit = %q: must be the dataset's %q: a record is %s there, and %s in this run", run, dataset, called(dataset), called(run))
}

// Cost is what a run is charged of a cap: in mu^2, and of the delta set aside for
// runs that sample.
type Cost struct {
	Charge float64 `json:"charge"`
	Delta  float64 `json:"delta,omitempty"`
}

// cost returns what a law costs of a cap. Of one that samples it composes
// privacy-loss distributions, which may take a second.
func (l Law) cost(ctx context.Context, c Cap) (Cost, error) {
	if err := l.check(); err != nil {
		return Cost{}, err
	}
	f, err := factor(l.Relation, c.Relation)
	if err != nil {
		return Cost{}, err
	}
	if err := sameUnit(l.Unit, c.Unit); err != nil {
		return Cost{}, err
	}
	charge := l.gaussian(f)
	var cost Cost
	if l.samples() {
		if c.SampledRuns == 0 {
			return Cost{}, errors.New("budget: schedule: the dataset is registered without runs that sample (sampled runs = 0), for which a part of delta must be set aside beforehand")
		}
		cost.Delta = c.sampledDelta()
		// The law of the steps under the cap's relation, whatever the run's own is: a
		// sampled sum clips each record's contribution, be it added or exchanged.
		mu, err := account.ApproximateMu(ctx, l.Schedule, c.Relation, cost.Delta)
		if err != nil {
			return Cost{}, err
		}
		charge.Add(charge, square(mu))
	}
	cost.Charge = upward(charge)
	return cost, nil
}

// checkCost demands a cost that covers the law. sampled also has the steps of a
// schedule composed again.
func (l Law) checkCost(ctx context.Context, c Cap, cost Cost, sampled bool) error {
	if err := l.check(); err != nil {
		return err
	}
	f, err := factor(l.Relation, c.Relation)
	if err != nil {
		return err
	}
	if err := sameUnit(l.Unit, c.Unit); err != nil {
		return err
	}
	if !(cost.Charge > 0) || math.IsInf(cost.Charge, 0) {
		return fmt.Errorf("budget: charge = %v: must be finite and > 0", cost.Charge)
	}
	gaussian := l.gaussian(f)
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
		return fmt.Errorf("budget: delta = %v: must be %v, what a run that samples may leave over", cost.Delta, c.sampledDelta())
	}
	if !sampled {
		return nil
	}
	mu := math.Sqrt(downward(rest)) * (1 - 0x1p-50)
	return account.CheckApproximateMu(ctx, l.Schedule, c.Relation, cost.Delta, mu)
}

// gaussian is what the releases that do not sample are charged: f times mu^2 rounded
// down, which is as far as a session's ledger admits them.
func (l Law) gaussian(f float64) *big.Float {
	c := exact(downward(square(l.Mu)))
	return c.Mul(c, exact(f))
}
