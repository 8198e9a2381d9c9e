package stillpoint

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// Budget is the privacy budget of a fit. All releases of the fit together are (Epsilon, Delta)-differentially
// private under Relation. Only Records and Dataset may be left out.
type Budget struct {
	// Epsilon must be finite and > 0. Let A and B be neighbouring tables, and S any set of results. The probability
	// that a fit's releases are in S is, for table A, at most e^Epsilon times the probability for table B, plus Delta.
	Epsilon float64
	// Delta must be > 0 and below 1/2. With probability Delta there may be no protection at all, so Delta
	// should be below 1/(number of records).
	Delta float64
	// Relation is the neighbouring relation of the guarantee.
	Relation Relation
	// Records is the public number of records. Under AddOrRemove it must be given, and the fit uses it in
	// place of the secret number. Under ReplaceOne it may be 0 (left out); if it is given, the fit fails if
	// the table has another number of records.
	Records int
	// Dataset is a registered dataset to which the fit is charged, in addition to the ledger of its folder.
	// nil means none.
	Dataset *Dataset
}

// Relation is the neighbouring relation: it defines how two neighbouring tables differ.
type Relation = account.Relation

const (
	// ReplaceOne: one record of a table is replaced by any other record in the neighbouring table. The number
	// of records is public.
	ReplaceOne = account.ReplaceOne
	// AddOrRemove: one of two neighbouring tables has one additional record. The number of records is secret.
	AddOrRemove = account.AddOrRemove
)

// Dataset is a dataset that its owner registered in a store of budgets. The registration sets a cap on the privacy loss
// of all releases about the dataset (package budget; stillpoint budget create). A fit is charged its whole budget in
// the store before its first release. When the fit has ended, the store frees the unused part.
type Dataset struct {
	// Store is the address of the store, sqlite:FILE or postgres://USER@HOST/DATABASE. Spec.Stores opens it.
	// Name is the dataset's name in the store.
	Store, Name string
}

// into writes the budget into the fields Privacy and Budget of the configuration c. It returns an error if a
// value is missing or out of range.
func (b Budget) into(c *train.Config) error {
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
