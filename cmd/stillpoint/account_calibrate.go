package main

import (
	"context"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
)

// calibrated is the parameter of the releases that --calibrate asks for, such as the noise multiplier, with
// its computed value.
type calibrated struct {
	Parameter string  `json:"parameter"`
	Value     float64 `json:"value"`
	// Epsilon and Delta are the goal that the user stated. They are no account.Guarantee, since releases of
	// other mechanisms than the Gaussian need not have a mu.
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
}

// calibrate computes the parameter that --calibrate names, for a composition with the releases in beside, and
// sets its flag. It rounds the value to the digits that are printed, and verifies that the composition with
// the rounded value is within the goal (epsilon, delta).
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
	var digit float64 // one unit of the last printed digit; its sign is the direction of more privacy
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
	a.Delta = nil // the report then states the delta at the goal's epsilon
	return out, nil
}

// verified tests that the composition with the computed value is within the goal (epsilon, delta). If it is
// not, verified moves the value by one unit of its last printed digit towards more privacy and tests again.
// Usually the first test succeeds; the width of the search can make further tests necessary. After 20 tests
// without success verified returns an error.
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

// inDigits returns n times unit, a power of 10, rounded so that it is printed with few digits.
func inDigits(n, unit float64) float64 {
	if unit >= 1 {
		return n * unit
	}
	return n / math.Round(1/unit)
}
