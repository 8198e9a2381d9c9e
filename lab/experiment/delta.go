package experiment

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Delta is the delta of a budget: a number, or a power of the number of records n, written as
// n^-1.5.
type Delta struct {
	// Power is the exponent of n. If it is 0, delta is Value.
	Power, Value float64
}

// ParseDelta reads a number or a power of n. A number must be > 0 and < 1. The exponent of a power must be
// < 0. ParseDelta returns an error for any other text.
func ParseDelta(text string) (Delta, error) {
	var d Delta
	var err error
	number, power := strings.CutPrefix(text, "n^")
	if power {
		d.Power, err = strconv.ParseFloat(number, 64)
	} else {
		d.Value, err = strconv.ParseFloat(number, 64)
	}
	if err != nil || power && !(d.Power < 0) || !power && !(d.Value > 0 && d.Value < 1) {
		return Delta{}, fmt.Errorf("delta = %q: must be > 0 and < 1, or n^ with an exponent < 0", text)
	}
	return d, nil
}

// at returns delta for n records.
func (d Delta) at(n float64) float64 {
	if d.Power != 0 {
		return math.Pow(n, d.Power)
	}
	return d.Value
}

// String returns a text that ParseDelta reads.
func (d Delta) String() string {
	if d.Power != 0 {
		return fmt.Sprintf("n^%g", d.Power)
	}
	return strconv.FormatFloat(d.Value, 'g', -1, 64)
}

// UnmarshalYAML reads the text of a scalar. Its errors do not quote the text.
func (d *Delta) UnmarshalYAML(text []byte) (err error) {
	if *d, err = ParseDelta(strings.Trim(strings.TrimSpace(string(text)), `"'`)); err != nil {
		return errors.New("delta: must be > 0 and < 1, or n^ with an exponent < 0")
	}
	return nil
}
