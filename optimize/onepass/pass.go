package onepass

import (
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// stepScale is h in eta = h/L1 at the start of a pass: four times what
// methods on all records take, for steps are few; overshooting shortens it (see
// optimize.Pace). On losses of which only L1 is known nothing beyond 1/L1 is safe.
func stepScale(p optimize.Problem) float64 {
	if p.RankOne || p.Grouped {
		return 4 * p.StepScale()
	}
	return p.StepScale()
}

// stepRule is the rule for the number of steps: 4 sqrt(N)/h, at most 1000.
func stepRule(n, h float64) int { return optimize.StepCount(4 * math.Sqrt(n) / h) }

// scatter is the mean squared error, over all coordinates, of the mean of a
// cohort's vectors, each within 1 of a public centre: that of the noise,
// d (neighbours/size)^2/m, and at most 1/size for which records were drawn.
type scatter struct {
	dim, neighbours, charge float64
}

func (s scatter) of(size float64) float64 {
	noise := s.neighbours / size
	return s.dim*noise*noise/s.charge + 1/size
}

// variance is the same a coordinate, in its parts, of vectors within a radius.
func (s scatter) variance(radius, size float64) optimize.Variance {
	noise := s.neighbours / size
	square := radius * radius / s.dim
	return optimize.Variance{Noise: square * s.dim * noise * noise / s.charge, Sampling: square / size}
}

func newScatter(p optimize.Problem) scatter {
	return scatter{dim: float64(p.Dim()), neighbours: p.Neighbours(), charge: p.Charge()}
}

// cohortSizes divides the records among steps: step t, counted from 1, gets a
// share in proportion to sqrt(t), or all steps alike. Under replace-one sizes
// are whole. ok is false if some cohort would have less than a record.
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

// passSizes settles the number of steps of a pass, 0 for the rule's, and the
// cohorts' sizes.
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

// passWords describes the cohorts.
func passWords(sizes []float64) string {
	return fmt.Sprintf("the whole budget to each of %d disjoint cohorts, of %.6g to %.6g records", len(sizes), slices.Min(sizes), slices.Max(sizes))
}

// paced steps along estimates, shortened where they overshoot; see optimize.Pace. The
// noise of an estimate is not told apart from which records it is of.
func paced(pace *optimize.Pace) func(g []float64, _ float64) float64 {
	return func(g []float64, _ float64) float64 { return pace.Next(g, 0) }
}

// newPace starts with steps of eta.
func newPace(p optimize.Problem, eta float64) *optimize.Pace {
	return optimize.NewPace(eta, min(eta, 1/p.Smoothness()))
}
