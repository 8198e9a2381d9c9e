package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
)

// Refines returns an error unless the schema can take the place of another one over rows that were stored by
// the other one. What rows store must be the same under both schemas: the numbers of a row, its groups and the
// divisor of the row ([Schema.Scale], without features of effects). They may differ only in features that are computed
// when rows are read: a column that has a curve in both schemas may have another number of knots, at other places
// ([Schema.Hats]), either schema may have features of [Effects], and the baseline hazards of a time to
// an event may differ.
func (s *Schema) Refines(of *Schema) error {
	mine, err := s.stored()
	if err != nil {
		return err
	}
	other, err := of.stored()
	if err != nil {
		return err
	}
	if !bytes.Equal(mine, other) {
		return errors.New("dataset: schema: a refined schema must differ in knots of curves and baseline hazards alone")
	}
	return nil
}

// stored returns a text that two schemas share if and only if rows are stored in the same way under both. It is
// the schema as JSON, in which each curve has the same number of equally spaced knots.
func (s *Schema) stored() ([]byte, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	if s.Unresolved() {
		return nil, errors.New("dataset: schema: curve: auto must be resolved to a number of knots first (Schema.Resolve)")
	}
	def := s.definition()
	def.Target.Hazards, def.Target.HazardErrors = nil, nil
	for i := range def.Columns {
		if c := &def.Columns[i]; c.Curve > 0 {
			c.Curve, c.Knots = leastAuto, nil
		}
	}
	bare, err := New(def)
	if err != nil {
		return nil, err
	}
	return json.Marshal(bare)
}
