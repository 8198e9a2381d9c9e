package train

import "errors"

// Positive is a number that is either left out or above 0. A written 0 is an error, since it would be
// read as a number left out, which is rarely meant.
type Positive float64

// UnmarshalYAML returns an error for 0. Other invalid values are reported where the number is used.
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
