package inference

import (
	"bytes"
	"encoding/json"
)

// JSON returns the fit as the member inference of a model's file; nil for a nil Fit. It returns an error if a number
// is not finite.
func (f *Fit) JSON() (json.RawMessage, error) {
	if f == nil {
		return nil, nil
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(f); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// Parse returns the fit that the member inference of a model's file states; nil for an empty text. Unknown members
// are errors. Parse does not check the numbers ([Fit.Check]).
func Parse(text json.RawMessage) (f *Fit, err error) {
	if len(text) == 0 {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(&f)
	return f, err
}
