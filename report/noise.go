package report

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/account"
)

// noise is what the certificate tells of the noise in a fit. Every number is a
// standard deviation in one coordinate, in the encoded space.
//
// Let xi_t be the noise of release t over the number of records, and e_t that of
// the gradient estimate a step used. Estimates are of the form
//
//	e_t = keep_t e_{t-1} + xi_t
//
// with keep 0 for a gradient, 1 for a difference, and for STORM's mix 1-K_t with
// the gain K_t that minimises the variance P_t of e_t. The gain is not in a
// certificate but follows from it: with a the sensitivity of release t over that
// of a gradient, so that (1-K)(1 - s_d/s_a) = 1-a, and s_t the standard deviation
// of xi_t, the stationarity of P_t in K gives
//
//	keep_t^2 P_{t-1} = s_t^2 (1-a)/a,  and so  P_t = s_t^2/a.
//
// Steps w_{t+1} = w_t - eta (estimate) carry the noise to the weights. To first
// order, e_t enters w_T as -eta J_t e_t with J_t a product of matrices I - eta
// Hessian. Where the loss is flat J_t is 1 and the standard deviation of a weight is
// exactly the one computed here; under a convex loss whose steps do not overshoot
// J_t shrinks, so it is at most that. Projections and convex regularizers shrink as
// well. Clipping and the finite table are not noise in this sense.
type noise struct {
	// estimate is that of the gradient estimate at each step.
	estimate []float64
	// weight is the bound for each weight of the result.
	weight float64
}

// knownAlgorithms are those whose steps are as above.
var knownAlgorithms = []string{"gd", "spiderboost", "storm", "dp-sgd"}

// derive computes the noise of a run. complete says that all planned steps were
// taken.
func derive(algorithm string, p plan, events []account.Event, records float64, complete bool) (noise, error) {
	if !slices.Contains(knownAlgorithms, algorithm) {
		return noise{}, fmt.Errorf("how %s turns releases into steps is not known here", algorithm)
	}
	var sigma, keep, variance, charge []float64
	for _, e := range events {
		if e.Question == "value" || e.Question == "norm" {
			continue // the result's quality, asked at the end
		}
		s := e.Sigma / records
		switch {
		case e.Cohort != account.Everyone:
			return noise{}, errors.New("releases are on parts of the table")
		case e.Kind == account.SampledGaussian && algorithm == "dp-sgd" && e.Sampling > 0:
			s /= e.Sampling
		case e.Kind != account.Gaussian:
			return noise{}, fmt.Errorf("a release of kind %s", e.Kind)
		}
		k, err := kept(algorithm, e, events[0], s, variance)
		if err != nil {
			return noise{}, err
		}
		last := 0.0
		if len(variance) > 0 {
			last = variance[len(variance)-1]
		}
		m := e.Charge
		if algorithm == "dp-sgd" {
			m = 1
		}
		sigma, keep, charge = append(sigma, s), append(keep, k), append(charge, m)
		variance = append(variance, k*k*last+s*s)
	}
	n := noise{}
	for _, v := range variance {
		n.estimate = append(n.estimate, math.Sqrt(v))
	}
	switch {
	case len(sigma) == 0, complete && len(sigma) != p.Steps, len(sigma) > p.Steps:
		return n, fmt.Errorf("%d releases for %d steps", len(sigma), p.Steps)
	case !(p.StepSize > 0):
		return n, errors.New("the certificate does not state the step size")
	}
	after, err := weightsAfter(p, charge)
	if err != nil {
		return n, err
	}
	// reach is how much of xi_t is in the result: through e_t itself, and through
	// what later estimates keep of it.
	reach, sum := 0.0, 0.0
	for t := len(sigma) - 1; t >= 0; t-- {
		carried := 0.0
		if t+1 < len(sigma) {
			carried = keep[t+1] * reach
		}
		reach = after[t] + carried
		sum += reach * reach * sigma[t] * sigma[t]
	}
	n.weight = p.StepSize * math.Sqrt(sum)
	if !(n.weight > 1e-100 && n.weight < 1e100) {
		return noise{estimate: n.estimate}, errors.New("it is out of all proportion")
	}
	return n, nil
}

// kept is how much of the last estimate's noise a release keeps.
func kept(algorithm string, e, first account.Event, s float64, variance []float64) (float64, error) {
	switch {
	case e.Question == "gradient" && (algorithm != "storm" || len(variance) == 0):
		return 0, nil
	case e.Question == "difference" && len(variance) > 0 && algorithm != "dp-sgd":
		return 1, nil
	case algorithm == "storm" && len(variance) > 0 && (e.Question == "gradient" || e.Question == "gradient+difference"):
		a := e.Sensitivity / first.Sensitivity
		return math.Min(1, s*math.Sqrt(max(0, 1-a)/(a*variance[len(variance)-1]))), nil
	}
	return 0, fmt.Errorf("%s asked a %s out of turn", algorithm, e.Question)
}

// weightsAfter returns for each step t the total weight in the result of the
// iterates after it.
func weightsAfter(p plan, charge []float64) ([]float64, error) {
	T := len(charge)
	of := make([]float64, T+1) // of the iterates, the start first
	switch rule, _, _ := strings.Cut(p.Output, ":"); rule {
	case "tail-average":
		total := 0.0
		for t, m := range charge {
			if 2*(t+1) >= p.Steps {
				of[t] = m
				total += m
			}
		}
		if total > 0 {
			for t := range of {
				of[t] /= total
			}
			break
		}
		of[T] = 1
	case "last", "random":
		// An iterate drawn beforehand holds no more than the last.
		of[T] = 1
	default:
		return nil, fmt.Errorf("result %q is not known here", p.Output)
	}
	after, sum := make([]float64, T), 0.0
	for t := T - 1; t >= 0; t-- {
		sum += of[t+1]
		after[t] = sum
	}
	return after, nil
}
