package choose

import (
	"context"
	"errors"
	"math"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/nonsmooth"
)

// kinked returns the candidates for losses whose slope jumps: smoothed, subgradient, and subgradient in one
// pass. Forecasts do not hold for such losses. The order follows measurements: smoothed comes first if
// nonsmooth.Suits returns true for the problem, and subgradient comes first otherwise.
func (a Auto) kinked(ctx context.Context, p optimize.Problem) ([]Candidate, error) {
	var list []Candidate
	for _, of := range []func(steps int) optimize.Algorithm{
		func(steps int) optimize.Algorithm { return nonsmooth.Smoothed{Steps: steps} },
		func(steps int) optimize.Algorithm { return nonsmooth.Subgradient{Steps: steps} },
		func(int) optimize.Algorithm { return nonsmooth.Subgradient{OnePass: true} },
	} {
		plan, err := capped(of)(ctx, p, a)
		if err != nil {
			return nil, err
		}
		if s := plan.Summary(); a.allows(s) {
			list = append(list, Candidate{Plan: plan, Summary: s, Predicted: a.Goal.of(s), Ranked: math.Inf(1), unranked: true})
		}
	}
	if len(list) == 0 {
		return nil, errors.New("optimize: auto: no algorithm serves")
	}
	if len(list) > 1 && list[0].Summary.Algorithm == "smoothed" && !nonsmooth.Suits(p) {
		list[0], list[1] = list[1], list[0]
	}
	return list, nil
}
