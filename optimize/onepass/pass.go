package onepass

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// stepScale returns the default of h in the size eta = h/L1 of the first step of a pass. For losses whose
// gradients have rank one, and for records of several such rows, h is four times the default of methods on
// all records, since a pass has few steps. If steps overshoot, [optimize.Pace] shortens later steps. For
// other losses only L1 is known, and steps above 1/L1 may be unstable.
func stepScale(p optimize.Problem) float64 {
	if p.RankOne || p.Grouped {
		return 4 * p.StepScale()
	}
	return p.StepScale()
}

// stepRule returns the default number of steps of a pass: 4 sqrt(N)/h rounded up, at least 1 and at most
// 1000. The argument n is the effective size N, and h is the size of the first step in units of 1/L1.
func stepRule(n, h float64) int { return optimize.StepCount(4 * math.Sqrt(n) / h) }

// within returns the step size eta, or a smaller one with which errors of estimates alone move the iterate by at most
// 2 R (root mean square), where R = sqrt(2 F0/L1) is the distance within which the objective can fall by its bound
// F0. square is the sum of the squared errors of all estimates, in units of the squared Lipschitz constant. In a small
// table errors are as large as gradients: a pass of steps of 16/L1 then ends anywhere. From an effective size N of 500
// up estimates tell the direction, and the bound grows in proportion to N.
func within(p optimize.Problem, eta, square float64) float64 {
	most := 2 * math.Sqrt(2*p.Constants.InitialGap/p.Smoothness()) * max(1, p.Effective()/500)
	return min(eta, most/(p.Constants.Lipschitz*math.Sqrt(square)))
}

// sum returns the sum of the squared errors of the released mean vectors of all cohorts.
func (s meanError) sum(sizes []float64) float64 { return vector.Sum(sizes, s.of) }

// meanError computes the expected squared error, summed over the d coordinates, of the released mean vector of a cohort.
// The error is the distance from the mean over the distribution of the records. Each record's vector lies within
// distance 1 of a public centre. Noise adds d (neighbours/size)^2/charge to the squared error, where neighbours is 2
// under replace-one and 1 under add-or-remove. The random choice of the cohort's records adds at most 1/size.
type meanError struct {
	dim, neighbours, charge float64
}

func (s meanError) of(size float64) float64 {
	noise := s.neighbours / size
	return s.dim*noise*noise/s.charge + 1/size
}

// variance returns the error variance per coordinate of the released mean vector of a cohort of the given size,
// separately for noise and sampling, if each record's vector is within the given radius of a public centre.
func (s meanError) variance(radius, size float64) optimize.Variance {
	noise := s.neighbours / size
	square := radius * radius / s.dim
	return optimize.Variance{Noise: square * s.dim * noise * noise / s.charge, Sampling: square / size}
}

func newScatter(p optimize.Problem) meanError {
	return meanError{dim: float64(p.Dim()), neighbours: p.Neighbours(), charge: p.Charge()}
}

// cohortSizes divides the records among the steps. The size of the cohort of step t, counted from 1, is
// proportional to sqrt(t). If equal is set, all cohorts have the same size. Under replace-one sizes are
// rounded to whole numbers. ok is false if a cohort would have less than one record.
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
		end := p.Cohort(p.Records * (before / sum))
		sizes[t] = end - used
		used = end
	}
	return sizes, ok
}

// passSizes returns the size of the cohort of each step of a pass. If steps is 0, the number of steps is the argument
// rule, or the largest smaller number for which each cohort has at least one record. passSizes returns an error if
// steps is out of range, or if steps is set and a cohort would have less than one record.
func passSizes(algorithm string, p optimize.Problem, steps, rule int, equal bool) ([]float64, error) {
	if err := optimize.CheckSteps(algorithm, steps); err != nil {
		return nil, err
	}
	if steps > 0 {
		sizes, ok := cohortSizes(p, steps, equal)
		if !ok {
			return nil, fmt.Errorf("optimize: %s: steps = %d: must leave every cohort of %v records one", algorithm, steps,
				p.Records)
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

// draft returns what the plans of a pass have in common. The cohorts' sizes are the importance of the steps, whose size
// begins with h/L1, or less if h is 0 for the rule's.
func draft(algorithm, citation string, p optimize.Problem, steps int, h float64, equal bool) (d optimize.Draft,
	scatter meanError, err error) {
	ruled := h == 0
	err = cmp.Or(p.Validate(), optimize.Fill(algorithm,
		optimize.Setting{Name: "step scale", Value: &h, Rule: stepScale(p)}))
	if err != nil {
		return d, scatter, err
	}
	sizes, err := passSizes(algorithm, p, steps, stepRule(p.Effective(), h), equal)
	if err != nil {
		return d, scatter, err
	}
	scatter, eta := newScatter(p), p.StepSize(h)
	if ruled {
		eta = within(p, eta, scatter.sum(sizes))
	}
	return optimize.Draft{
		Problem: p,
		Summary: optimize.Summary{
			Algorithm: algorithm, Citation: citation, Steps: len(sizes), StepSize: eta, Passes: 1,
			Charges: fmt.Sprintf("the whole budget to each of %d disjoint cohorts, of %.6g to %.6g records", len(sizes),
				slices.Min(sizes), slices.Max(sizes)),
		},
		Needs: optimize.Needs{Cohorts: true}, Properties: optimize.Properties{OnePass: true},
		UpdateRule: optimize.UpdateRule{OnePass: true, Importance: sizes},
	}, scatter, nil
}

// paced returns a function that chooses each step's size by pace (see [optimize.Pace]). It passes the noise
// 0 to pace, which means that the noise is unknown. In one pass, the error of an estimate comes from noise
// and from the random choice of records, and only the sum of the two errors is bounded.
func paced(pace *optimize.Pace) func(g []float64, _ float64) float64 {
	return func(g []float64, _ float64) float64 { return pace.Next(g, 0) }
}

// newPace returns a pace (see [optimize.Pace]) with the first step size eta. It never shortens steps
// below 1/L1, or below eta if eta is smaller.
func newPace(p optimize.Problem, eta float64) *optimize.Pace {
	return optimize.NewPace(eta, min(eta, 1/p.Smoothness()))
}
