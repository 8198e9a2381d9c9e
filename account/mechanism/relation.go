package mechanism

import (
	"fmt"
	"strconv"
)

// Relation is a neighbouring relation: it decides which tables are neighbours. The zero Relation is
// invalid, so that a relation must be stated.
type Relation uint8

const (
	// ReplaceOne makes two tables neighbours if they differ by one row that is exchanged for any
	// other. The number of rows is public.
	ReplaceOne Relation = iota + 1
	// AddOrRemove makes two tables neighbours if one of them is the other with one row added. The
	// number of rows is secret, so a mean is a sum divided by a declared number.
	AddOrRemove
)

var relationNames = map[Relation]string{
	ReplaceOne:  "replace-one",
	AddOrRemove: "add-or-remove",
}

// ParseRelation reads "replace-one" or "add-or-remove". Any other text is an error.
func ParseRelation(s string) (Relation, error) {
	for r, name := range relationNames {
		if name == s {
			return r, nil
		}
	}
	return 0, fmt.Errorf("account: relation = %q: must be replace-one or add-or-remove", s)
}

// Valid reports whether r is one of the declared relations.
func (r Relation) Valid() bool { _, ok := relationNames[r]; return ok }

// String returns the name that ParseRelation reads.
func (r Relation) String() string {
	if name, ok := relationNames[r]; ok {
		return name
	}
	return "relation(" + strconv.Itoa(int(r)) + ")"
}

// MarshalText writes the relation's name. An invalid relation is an error.
func (r Relation) MarshalText() ([]byte, error) {
	if !r.Valid() {
		return nil, fmt.Errorf("account: relation = %d: not a relation", uint8(r))
	}
	return []byte(r.String()), nil
}

// UnmarshalText reads a relation's name. Any other text is an error, and *r is then unchanged.
func (r *Relation) UnmarshalText(text []byte) error {
	v, err := ParseRelation(string(text))
	if err != nil {
		return err
	}
	*r = v
	return nil
}
