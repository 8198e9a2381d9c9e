package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// MarshalJSON returns the schema as a JSON object. The columns are an array, which preserves their order.
// Bounds are written with all their bits.
func (s *Schema) MarshalJSON() ([]byte, error) {
	raw, err := s.raw()
	if err != nil {
		return nil, err
	}
	return json.Marshal(raw)
}

// UnmarshalJSON reads the output of MarshalJSON and checks every rule of [New]. Unknown keys are
// errors. On error s is unchanged.
func (s *Schema) UnmarshalJSON(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var raw rawSchema
	if err := decoder.Decode(&raw); err != nil {
		return fmt.Errorf("dataset: schema: %w", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return fmt.Errorf("dataset: schema: more than one JSON value")
	}
	decoded, err := raw.schema()
	if err != nil {
		return err
	}
	*s = *decoded
	return nil
}
