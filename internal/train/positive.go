package train

import "errors"

// Positive is a number > 0 that a configuration may leave out; the value 0 means that it was left out. A 0 in
// the configuration's text is an error, since its author hardly wants the default.
type Positive float64

// UnmarshalYAML returns an error for 0. It accepts negative numbers; the code that uses the number reports
// them.
func (p *Positive) UnmarshalYAML(read func(any) error) error {
	var x float64
	if err := read(&x); err != nil {
		return err
	}
	if x == 0 {
		return errors.New("is 0: must be > 0, or be left out")
	}
	*p = Positive(x)
	return nil
}
