package stillpoint

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/train"
)

// Budget is the privacy budget of a fit. All releases of the fit together are (Epsilon, Delta)-differentially
// private under Relation. Only Records and Dataset may be left out.
type Budget struct {
	// Epsilon must be finite and > 0. Except for Delta, no set of released values is more than e^Epsilon
	// times as likely from one table as from a neighbouring one.
	Epsilon float64
	// Delta must be > 0 and below 1/2. It is a chance of no protection at all and should be below 1/(number
	// of records).
	Delta float64
	// Relation is the neighbouring relation of the guarantee.
	Relation Relation
	// Records is the public number of records. Under AddOrRemove it must be given and is used in place of the
	// secret number. Under ReplaceOne it may be left out; if given, the fit fails unless the table has this
	// number.
	Records int
	// Dataset is the registered dataset that also pays for the fit. nil means none.
	Dataset *Dataset
}

// Relation is the neighbouring relation: it defines how two neighbouring tables differ.
type Relation = account.Relation

const (
	// ReplaceOne: neighbouring tables differ in one record, which is replaced by any other. The number of
	// records is public.
	ReplaceOne = account.ReplaceOne
	// AddOrRemove: one of two neighbouring tables has one record more. The number of records is secret.
	AddOrRemove = account.AddOrRemove
)

// Dataset is a dataset that its owner registered in a store of budgets. The registration sets a cap on the
// privacy loss of all releases about the dataset (package budget; stillpoint budget create). A fit is charged
// its whole budget there before its first release. When it has ended, the unused part is free again.
type Dataset struct {
	// Store is the address of the store, sqlite:FILE or postgres://USER@HOST/DATABASE. Spec.Stores opens it.
	// Name is the dataset's name in the store.
	Store, Name string
}

// into copies the budget into the configuration c. It returns an error if a value is out of range.
func (b Budget) into(c *Config) error {
	switch {
	case !(b.Epsilon > 0) || math.IsInf(b.Epsilon, 0):
		return rule("budget.epsilon", b.Epsilon, "finite and > 0")
	case !(b.Delta > 0 && b.Delta < .5):
		return rule("budget.delta", b.Delta,
			"> 0 and below 0.5: delta is a chance of no protection at all, and belongs below 1/records")
	case !b.Relation.Valid():
		return rule("budget.relation", b.Relation, "ReplaceOne or AddOrRemove")
	case b.Records < 0:
		return rule("budget.records", b.Records, ">= 1, or left out under ReplaceOne")
	case b.Records == 0 && b.Relation == AddOrRemove:
		return rule("budget.records", b.Records,
			">= 1: the public number of records, which must be declared under AddOrRemove")
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
