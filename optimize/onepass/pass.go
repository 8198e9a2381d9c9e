package onepass

import (
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// stepScale returns h in eta = h/L1 at the start of a pass. For rank-one and grouped losses it is
// four times the rule of the methods on all records, since there are few steps; optimize.Pace
// shortens steps that overshoot. For other losses only L1 is known, and steps above 1/L1 are not
// safe.
func stepScale(p optimize.Problem) float64 {
	if p.RankOne || p.Grouped {
		return 4 * p.StepScale()
	}
	return p.StepScale()
}

// stepRule returns the default number of steps, 4 sqrt(N)/h but at most 1000.
func stepRule(n, h float64) int { return optimize.StepCount(4 * math.Sqrt(n) / h) }

// scatter computes the mean squared error, summed over coordinates, of the released mean of a
// cohort's vectors, each within distance 1 of a public centre. The noise contributes d
// (neighbours/size)^2/m at charge m. The choice of the cohort's records contributes at most 1/size.
type scatter struct {
	dim, neighbours, charge float64
}

func (s scatter) of(size float64) float64 {
	noise := s.neighbours / size
	return s.dim*noise*noise/s.charge + 1/size
}

// variance returns the same error per coordinate, in its two parts, for vectors within a radius.
func (s scatter) variance(radius, size float64) optimize.Variance {
	noise := s.neighbours / size
	square := radius * radius / s.dim
	return optimize.Variance{Noise: square * s.dim * noise * noise / s.charge, Sampling: square / size}
}

func newScatter(p optimize.Problem) scatter {
	return scatter{dim: float64(p.Dim()), neighbours: p.Neighbours(), charge: p.Charge()}
}

// cohortSizes divides the records among steps. Step t, counted from 1, gets a share in proportion
// to sqrt(t), or with equal the same share as every step. Under replace-one sizes are whole
// numbers. ok is false if a cohort would have less than one record.
func cohortSizes(p optimize.Problem, steps int, equal bool) (sizes []float64, ok bool) {
	sizes = make([]float64, steps)
	var sum float64
	for t := range sizes {
		sizes[t] = 1
		if !equal {
			sizes[t] = math.Sqrt(float64(t + 1))
		}
		sum += sizes[t]
	}
	ok = p.Records/sum >= 1
	var before, used float64
	for t := range sizes {
		before += sizes[t]
		end := p.Records * (before / sum)
		if p.Relation == account.ReplaceOne {
			end = math.Floor(end)
		}
		sizes[t] = end - used
		used = end
	}
	return sizes, ok
}

// passSizes returns the sizes of a pass's cohorts. It returns an error if steps is out of range or
// would leave a cohort without a record. steps = 0 means rule steps, or the largest smaller number
// that leaves each cohort a record.
func passSizes(algorithm string, p optimize.Problem, steps, rule int, equal bool) ([]float64, error) {
	if err := optimize.CheckSteps(algorithm, steps); err != nil {
		return nil, err
	}
	if steps > 0 {
		sizes, ok := cohortSizes(p, steps, equal)
		if !ok {
			return nil, fmt.Errorf("optimize: %s: steps = %d: must leave every cohort of %v records one", algorithm, steps, p.Records)
		}
		return sizes, nil
	}
	for ; rule > 1; rule-- {
		if sizes, ok := cohortSizes(p, rule, equal); ok {
			return sizes, nil
		}
	}
	return []float64{p.Records}, nil
}

// passWords describes the cohorts for the plan's summary.
func passWords(sizes []float64) string {
	return fmt.Sprintf("the whole budget to each of %d disjoint cohorts, of %.6g to %.6g records", len(sizes), slices.Min(sizes), slices.Max(sizes))
}

// paced returns the step sizes of pace (see [optimize.Pace]). It tells pace that estimates have no
// noise: in one pass the error from the noise and from the choice of records is not known
// separately.
func paced(pace *optimize.Pace) func(g []float64, _ float64) float64 {
	return func(g []float64, _ float64) float64 { return pace.Next(g, 0) }
}

// newPace returns a pace that starts with steps of eta and shortens them no further than 1/L1.
func newPace(p optimize.Problem, eta float64) *optimize.Pace {
	return optimize.NewPace(eta, min(eta, 1/p.Smoothness()))
}
