package main

import (
	"context"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
)

// calibrated is a parameter of the releases that the command was asked to compute, such as the
// noise multiplier.
type calibrated struct {
	Parameter string  `json:"parameter"`
	Value     float64 `json:"value"`
	// Epsilon and Delta are the goal that the user stated. They are no account.Guarantee: the releases may be
	// of any mechanism and need not have a mu.
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
}

// calibrate computes the value of the unknown flag, for a composition with the releases in beside, and sets
// the flag. The value, with the digits that are printed and at the width that is printed, has itself been
// verified to be private.
func (a *accountCommand) calibrate(ctx context.Context, relation account.Relation,
	beside []mechanism.Composed) (*calibrated, error) {
	epsilon, delta := a.Epsilon[0], a.Delta[0]
	a.Width = min(a.Width, 1e-3)
	var set func(*accountCommand, float64)
	at := func(x float64) ([]mechanism.Composed, error) {
		try := *a
		set(&try, x)
		own, err := try.own(relation)
		return append(own, beside...), err
	}
	count := func(name string, most int) (float64, error) {
		n, err := mechanism.CalibrateCount(ctx, epsilon, delta,
			func(n int) ([]mechanism.Composed, error) { return at(float64(min(n, most))) })
		if err == nil && n == 0 {
			err = fmt.Errorf("account: epsilon = %v, delta = %v: %s = 1 already costs more", epsilon, delta, name)
		}
		return float64(min(n, most)), err
	}
	out := &calibrated{Epsilon: epsilon, Delta: delta}
	var digit float64 // towards more privacy
	var err error
	switch {
	case a.Calibrate == "noise":
		out.Parameter, set = "noise_multiplier", func(c *accountCommand, x float64) { c.NoiseMultiplier = x }
		out.Value, err = mechanism.CalibrateMultiplier(ctx, epsilon, delta, at)
		digit = unit(out.Value)
		out.Value = inDigits(math.Ceil(out.Value/digit), digit)
	case a.Calibrate == "steps":
		out.Parameter, set = "steps", func(c *accountCommand, x float64) { c.Steps = int(x) }
		out.Value, err = count("steps", math.MaxInt)
		digit = -1
	case a.Records != 0:
		out.Parameter, set = "batch", func(c *accountCommand, x float64) { c.Batch = int(x) }
		out.Value, err = count("batch", a.Records)
		digit = -1
	default:
		out.Parameter, set = "sampling", func(c *accountCommand, x float64) { c.Sampling = x }
		out.Value, err = mechanism.CalibrateSampling(ctx, epsilon, delta, at)
		digit = -unit(out.Value)
		out.Value = inDigits(math.Floor(out.Value/-digit), -digit)
	}
	if err != nil {
		return nil, err
	}
	if err := a.verified(ctx, out, digit, at); err != nil {
		return nil, err
	}
	set(a, out.Value)
	a.Delta = nil // the following output states delta at epsilon
	return out, nil
}

// verified moves the computed value by units of its last printed digit towards more privacy until
// the composition with it is shown to be within the budget. Usually the first value is; only the
// width of the search can make further steps necessary. After 20 tests it returns an error.
func (a *accountCommand) verified(ctx context.Context, out *calibrated, digit float64,
	at func(float64) ([]mechanism.Composed, error)) error {
	const tries = 20
	for range tries {
		events, err := at(out.Value)
		if err != nil {
			return err
		}
		c, err := mechanism.Compose(ctx, events, a.Width)
		if err != nil {
			return err
		}
		b, err := c.Delta(ctx, out.Epsilon)
		if err != nil {
			return err
		}
		if b.Upper <= out.Delta {
			return nil
		}
		out.Value = inDigits(math.Round(out.Value/math.Abs(digit))+math.Copysign(1, digit), math.Abs(digit))
	}
	return fmt.Errorf("account: %s = %v: not private within the width asked for", out.Parameter, out.Value)
}

// unit returns one unit of the sixth significant digit of x.
func unit(x float64) float64 { return math.Pow(10, math.Floor(math.Log10(x))-5) }

// inDigits returns n units as the nearest number with few decimal digits, so that it prints short.
func inDigits(n, unit float64) float64 {
	if unit >= 1 {
		return n * unit
	}
	return n / math.Round(1/unit)
}
