package account

import "github.com/stillpoint-dp/stillpoint/account/mechanism"

// Relation is a neighbouring relation: it decides which tables are neighbours. The zero Relation is
// invalid, so that a relation must be stated.
type Relation = mechanism.Relation

// The relations; see [mechanism.Relation].
const (
	ReplaceOne  = mechanism.ReplaceOne
	AddOrRemove = mechanism.AddOrRemove
)

// ParseRelation reads "replace-one" or "add-or-remove". Any other text is an error.
func ParseRelation(s string) (Relation, error) { return mechanism.ParseRelation(s) }
