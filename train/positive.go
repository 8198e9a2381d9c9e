package train

import "errors"

// Positive is a number that is left out or above 0: a 0 that is written would be taken
// for one left out, which is seldom meant.
type Positive float64

// UnmarshalYAML refuses 0. What else is wrong is told where the number is used.
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
