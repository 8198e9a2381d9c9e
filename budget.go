package stillpoint

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/train"
)

// Budget is what a fit may charge: all it releases together is (Epsilon, Delta)-
// differentially private under the relation. Nothing in it has a default but Records and
// Dataset.
type Budget struct {
	// Epsilon is finite and > 0. Of two neighbouring tables, nothing that is released is
	// e^Epsilon times as likely from one as from the other, but for Delta.
	Epsilon float64
	// Delta is > 0 and below 1/2: a chance of no protection at all, which belongs below
	// one in the number of records.
	Delta float64
	// Relation says what neighbouring tables are.
	Relation Relation
	// Records is the public number of records: it must be given under AddOrRemove, where it
	// stands in for the secret one, and is checked against the table under ReplaceOne.
	Records int
	// Dataset is the registered dataset that the fit is charged to beside itself; nil for
	// none.
	Dataset *Dataset
}

// Relation says what neighbouring tables are.
type Relation = account.Relation

const (
	// ReplaceOne: one record is any other. The number of records is public.
	ReplaceOne = account.ReplaceOne
	// AddOrRemove: one record more or less. The number of records is secret.
	AddOrRemove = account.AddOrRemove
)

// Dataset is one that its custodian registered in a store of budgets, with a cap on all
// that is ever released of it (package budget; stillpoint budget create). A fit is charged
// its whole budget there before its first release, and gets back what it did not use.
type Dataset struct {
	// Store is sqlite:FILE or postgres://USER@HOST/DATABASE, which Spec.Stores opens, and
	// Name the dataset's there.
	Store, Name string
}

// into writes the budget into a configuration.
func (b Budget) into(c *Config) error {
	switch {
	case !(b.Epsilon > 0) || math.IsInf(b.Epsilon, 0):
		return rule("budget.epsilon", b.Epsilon, "finite and > 0")
	case !(b.Delta > 0 && b.Delta < .5):
		return rule("budget.delta", b.Delta, "> 0 and below 0.5: delta is a chance of no protection at all, and belongs below 1/records")
	case !b.Relation.Valid():
		return rule("budget.relation", b.Relation, "ReplaceOne or AddOrRemove")
	case b.Records < 0:
		return rule("budget.records", b.Records, ">= 1, or left out under ReplaceOne")
	case b.Records == 0 && b.Relation == AddOrRemove:
		return rule("budget.records", b.Records, ">= 1: the public number of records, which must be declared under AddOrRemove")
	}
	c.Privacy = train.Privacy{Epsilon: &b.Epsilon, Delta: &b.Delta, Relation: b.Relation.String(), Records: b.Records}
	if d := b.Dataset; d != nil {
		if d.Name == "" {
			return rule("budget.dataset.name", `""`, "that of a registered dataset")
		}
		if _, err := budget.ParseAddress(d.Store); err != nil {
			return rule("budget.dataset.store", d.Store, "sqlite:FILE or postgres://USER@HOST/DATABASE: "+err.Error())
		}
		c.Budget = &train.StoredBudget{Store: d.Store, Dataset: d.Name}
	}
	return nil
}
