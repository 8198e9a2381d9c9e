package optimize

import (
	"fmt"
	"math"
	"slices"
)

// One-pass methods use each record in one release only, each release with the
// whole budget: cohorts are disjoint and compose in parallel. Fresh cohorts make
// their guarantees ones for the distribution that the records were drawn from.

// onePassScale is h in eta = h/L1 at the start of a pass: four times what
// methods on all records take, for steps are few; overshooting shortens it (see
// pace). On losses of which only L1 is known nothing beyond 1/L1 is safe.
func (p Problem) onePassScale() float64 {
	if p.RankOne {
		return 4 * p.defaultStepScale()
	}
	return p.defaultStepScale()
}

// onePassSteps is the rule for the number of steps: 4 sqrt(N)/h, at most 1000.
func onePassSteps(n, h float64) int { return stepCount(4 * math.Sqrt(n) / h) }

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

func newScatter(p Problem, s Size) scatter {
	return scatter{dim: float64(p.Dim), neighbours: s.neighbours(), charge: s.Mu * s.Mu * usable}
}

// cohortSizes divides the records among steps: step t, counted from 1, gets a
// share in proportion to sqrt(t), or all steps alike. Under replace-one sizes
// are whole. ok is false if some cohort would have less than a record.
func cohortSizes(s Size, steps int, equal bool) (sizes []float64, ok bool) {
	sizes = make([]float64, steps)
	var sum float64
	for t := range sizes {
		sizes[t] = 1
		if !equal {
			sizes[t] = math.Sqrt(float64(t + 1))
		}
		sum += sizes[t]
	}
	ok = s.Records/sum >= 1
	var before, used float64
	for t := range sizes {
		before += sizes[t]
		end := s.Records * (before / sum)
		if s.neighbours() == 2 {
			end = math.Floor(end)
		}
		sizes[t] = end - used
		used = end
	}
	return sizes, ok
}

// passSizes settles the number of steps of a pass, 0 for the rule's, and the
// cohorts' sizes.
func passSizes(algorithm string, s Size, steps, rule int, equal bool) ([]float64, error) {
	if steps < 0 || steps > mostSteps {
		return nil, fmt.Errorf("optimize: %s: steps = %d: must be between 0 (the rule's number) and %d", algorithm, steps, mostSteps)
	}
	if steps > 0 {
		sizes, ok := cohortSizes(s, steps, equal)
		if !ok {
			return nil, fmt.Errorf("optimize: %s: steps = %d: must leave every cohort of %v records one", algorithm, steps, s.Records)
		}
		return sizes, nil
	}
	for ; rule > 1; rule-- {
		if sizes, ok := cohortSizes(s, rule, equal); ok {
			return sizes, nil
		}
	}
	return []float64{s.Records}, nil
}

// passWords describes the cohorts.
func passWords(sizes []float64) string {
	return fmt.Sprintf("the whole budget to each of %d disjoint cohorts, of %.6g to %.6g records", len(sizes), slices.Min(sizes), slices.Max(sizes))
}

// pace shortens steps that overshoot. Where the last step passed the minimum by
// far along the steepest directions the estimate turns round. When it turns by
// more than 120 degrees, all later steps are divided by
//
//	1 - <g, last>/||last||^2,
//
// which is eta times the curvature that the secant shows along the last step,
// so that this step would have ended where it found no slope; but never below
// 1/L1, which no curvature asks for: what turns an estimate round then is noise,
// as it often does in few dimensions. A least of 0 sets no such end. It looks at
// released vectors only.
type pace struct {
	eta, least float64
	last       []float64
}

// newPace starts with steps of eta.
func newPace(p Problem, eta float64) pace { return pace{eta: eta, least: min(eta, 1/p.Smoothness())} }

// next returns the step size to use with the estimate g, which it keeps.
func (p *pace) next(g []float64) float64 {
	var product float64
	for j, v := range p.last {
		product += v * g[j]
	}
	if length := norm(p.last); product < -length*norm(g)/2 {
		p.eta = max(p.eta/(1-product/(length*length)), p.least)
	}
	p.last = g
	return p.eta
}

// The tail average of a pass is of the points that steps reach, not of those
// asked about: steps are few, and the last point is the best.
//
// reached says whether iterates are to be shown to the collector after the step.
func (c choice) reached() bool { return c.rule == TailAverage }

// step moves w by a gradient step and shows it to the collector, before or after
// as the rule has it.
func (c *collector) step(p Problem, w, grad []float64, eta, weight float64) {
	if !c.reached() {
		c.visit(w, weight, norm(grad))
	}
	descend(w, grad, eta)
	p.project(w)
	if c.reached() {
		c.visit(w, weight, norm(grad))
	}
}

// passWeights is weights for a pass: one for every point asked about and the
// last reached.
func (c choice) passWeights(sizes []float64) []float64 {
	w := c.weights(sizes)
	if c.reached() {
		copy(w[1:], w[:len(w)-1])
		w[0] = 0
	}
	return w
}

// passForecast is the forecast of a pass. Its law counts which records are drawn
// among the noise, so that the gradient it follows is the distribution's; the
// records' own is taken to be alike. Steps that pass the minimum are shortened
// (see pace): it follows them at the length that just reaches it.
func (p Problem) passForecast(eta float64, s Size, weights []float64, l law) Forecast {
	for _, e := range p.assumed() {
		eta = min(eta, 1/e.eigenvalue)
	}
	f := p.forecast(eta, s.Records, weights, l)
	f.Population = f.Gradient
	return f
}
