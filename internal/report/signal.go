package report

import (
	"errors"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// runNoise is the noise of a fit, computed from its certificate. If the noise is not known, why is the reason.
type runNoise struct {
	noise
	why error
	// convex is true if the loss and the regularizer are convex. It is false if the run wrote no model.
	convex bool
}

// noise derives the noise of the fit from its trace, the public description of its steps and releases.
func (f *Fit) noise() runNoise {
	n, err := derive(f.plan.Trace)
	if f.plan.Effects != nil {
		err = errors.New(passage("two stages"))
	}
	r := runNoise{noise: n, why: err}
	if f.Model != nil {
		r.convex = f.Model.Loss().Constants().Curvature.Lo >= 0 && f.Model.Regularizer().Convexity() >= 0
	}
	return r
}

// signal makes the section of the page that compares the noise with the gradients that the run released.
func (f *Fit) signal(n runNoise) Section {
	s := Section{Title: "Noise and signal"}
	var facts Facts
	root := 0.0
	if f.Model != nil {
		root = math.Sqrt(float64(len(f.Model.Weights())))
	}
	if k := len(n.estimate); k > 0 && root > 0 {
		facts.positive("Noise in the last gradient estimate", root*n.estimate[k-1],
			fmt.Sprintf("its length; %s in each coordinate", Number(n.estimate[k-1])))
	}
	at := "at the result"
	if c := f.plan.Compared; c != nil && c.Shrunk > 0 {
		at = "at the fit, which is not the published model"
	}
	facts.positive("Gradient norm expected by the plan", f.plan.Predicted, at+", computed before the first release; 0 at a stationary point")
	if f.plan.Foreseen > 0 {
		facts.positive("Gradient norm expected by the fit", f.plan.Foreseen, at+", computed from the releases about rows and gradients")
	}
	if l := f.plan.Late; l != nil && l.Noise > 0 {
		note := fmt.Sprintf("of the last %d steps on average; noise alone has %s", l.Steps, Number(l.Noise))
		if f.plan.Arrived != "" {
			note += "; " + f.plan.Arrived
		}
		facts.positive("Gradient at the end", l.Gradient, note)
	}
	if m := f.plan.Measured; m != nil {
		facts.released("Gradient norm measured", m.GradientNorm,
			fmt.Sprintf("at the result, released with noise of %s", Number(m.GradientSigma)))
	}
	if c := f.plan.Curvature; c != nil && drawable(math.Abs(c.Curvature), true) && drawable(c.Sigma, true) {
		note := fmt.Sprintf("%s, the least of %s, each released with noise of %s: ", at,
			count(c.Directions, "direction", "directions"), Number(c.Sigma))
		if c.Curvature >= -4*c.Sigma {
			note += "none is below zero by more than noise explains, but an eigenvalue along another direction may be"
		} else {
			note += "this point is no minimum"
		}
		facts = append(facts, Fact{Name: "Curvature released", Value: Number(c.Curvature), Note: note})
	}
	if l := f.plan.SelectedNorm; l != nil {
		of := "of the loss"
		if l.Radius > 0 {
			of = fmt.Sprintf("of the loss smoothed over radius %s", Number(l.Radius))
		}
		note := fmt.Sprintf("%s, %s, chosen by it among %s; released with noise of %s", of, at,
			count(l.Among, "point", "points"), Number(l.Sigma))
		facts.released("Gradient norm of the choice", l.GradientNorm, note)
	}
	facts.positive("Noise level", f.plan.Floor, "the noise in one gradient that is released with the whole budget; on "+
		"the worst problems no private algorithm gets below a constant times this")
	facts.positive("Longest gradient of a row", f.plan.Clip,
		"longer ones are shortened to it, so that the mean gradient is never longer")
	facts.positive("Effective size N", f.plan.Effective, "rows × μ / √weights; below 30 the table is too small for this budget")
	if len(facts) > 0 {
		s.Parts = append(s.Parts, facts, Text("Lengths are after scaling: a scaled row has norm 1 at most."))
	}
	p := f.multiplierPlot()
	if len(n.estimate) > 0 && root > 0 {
		p = f.noisePlot(n, root)
	}
	if len(p.Series[0].X) > 0 {
		s.Parts = append(s.Parts, p)
	}
	if len(s.Parts) == 0 {
		s.Parts = append(s.Parts, Text("Nothing was released."))
	}
	return s
}

// noisePlot draws the root mean square length of the noise vector in the gradient estimate of each step. root is the
// square root of the number of weights. If the lengths of the noisy estimates were released, it also draws them.
func (f *Fit) noisePlot(n runNoise, root float64) Plot {
	p := Plot{
		Title:   "Length of the noise in the gradient estimate, step by step",
		Caption: passage("noise of steps"),
		X:       Axis{Label: "step"},
		Y:       Axis{Label: "length after scaling", Log: true},
	}
	p.Series = []Series{logarithmic("noise", vector.Map(n.estimate, func(v float64) float64 { return root * v }))}
	if len(f.GradientNorms) == len(n.estimate) {
		if released := logarithmic("released gradient", f.GradientNorms); len(released.X) > 0 {
			p.Series = append(p.Series, released)
			p.Caption += " The released gradient contains the noise: where both lines meet, the true gradient is lost in the noise."
		}
	}
	for _, line := range []Reference{Level("expected at the end", f.plan.Predicted), Level("noise level", f.plan.Floor)} {
		if drawable(line.Y[0], true) {
			p.References = append(p.References, line)
		}
	}
	return p
}

// logarithmic returns the line of numbers about steps or releases, counted from 1, without those that a logarithmic axis
// cannot show.
func logarithmic(name string, values []float64) Series {
	s := Series{Name: name, Style: Line}
	for i, v := range values {
		if drawable(v, true) {
			s.X, s.Y = append(s.X, float64(i+1)), append(s.Y, v)
		}
	}
	return s
}

// multiplierPlot draws the noise multiplier of every release in the certificate: the standard deviation of
// the noise divided by the sensitivity.
func (f *Fit) multiplierPlot() Plot {
	multipliers := vector.Map(f.Certificate.Events(), func(e account.Event) float64 { return e.Sigma / e.Sensitivity })
	return Plot{
		Title:   "Noise multiplier, release by release",
		Caption: "Standard deviation of the noise, divided by the largest change of the answer by one row.",
		X:       Axis{Label: "release"},
		Y:       Axis{Label: "noise / sensitivity", Log: true},
		Series:  []Series{logarithmic("noise / sensitivity", multipliers)},
	}
}

// noise holds standard deviations of the privacy noise of a fit, computed from its certificate. Every
// number is the standard deviation in one coordinate of the scaled features. The effects of clipping and
// the sampling error of the finite table are not included.
//
// The gradient estimate of step t is e_t = keep e_{t-back} + r_t. It reuses a share keep of the
// estimate made back steps earlier, and r_t is a release with noise of standard deviation s_t. Each
// step w_{t+1} = w_t - eta e_t of size eta adds the noise of e_t to the weights.
//
// For a flat loss and no preconditioner (metric), the noises of different weights are independent, and their standard
// deviation follows from these sums. For a convex loss whose steps do not overshoot, each step multiplies the noise by
// a matrix of norm at most 1. Every linear combination of weights whose factors have length 1 then has at most the
// standard deviation that a flat loss gives. Projections and convex regularizers do not increase the noise either.
type noise struct {
	// estimate is the noise of the gradient estimate at each step. It is empty if the certificate does not
	// hold the noise of each step, as for runs of very many steps.
	estimate []float64
	// weight is an upper bound on the standard deviation of the noise in each weight of the result. It
	// holds for a run without a preconditioner.
	weight float64
	// absolute reports that the noises of different weights may be correlated in any way. The field weight
	// is then a bound for each weight, but not for linear combinations of weights.
	absolute bool
	// loose says why the noise of a weight may be smaller than the bound even if the loss is flat.
	// It is empty if a flat loss reaches the bound.
	loose string
}

// derive computes the noise of a run from its trace l, the public description of its steps and releases. It
// returns an error with the reason if the trace does not determine the noise.
func derive(l *runrecord.Trace) (noise, error) {
	if l == nil {
		return noise{}, errors.New("the certificate does not state how releases became steps")
	}
	if l.Unstated {
		return noise{}, errors.New("the algorithm does not state how it mixes answers")
	}
	if l.WeightNoise == 0 {
		return noise{}, errors.New("the result is the start of the fit, which no release has changed")
	}
	variance := make([]float64, len(l.Noise))
	for t, s := range l.Noise {
		back, keep := 1, 0.
		if i := min(t, len(l.Back)-1); i >= 0 {
			back = l.Back[i]
		}
		if i := min(t, len(l.Keep)-1); i >= 0 {
			keep = l.Keep[i]
		}
		if back < 1 {
			return noise{}, fmt.Errorf("step %d corrects the estimate of %d steps before", t+1, back)
		}
		variance[t] = s * s
		if back <= t {
			variance[t] += keep * keep * variance[t-back]
		}
	}
	// On a flat loss the noise of the start stays in the intercept. The bound is the same for all weights.
	n := noise{weight: math.Hypot(l.WeightNoise, l.Start), absolute: l.Move > 0}
	n.estimate = vector.Map(variance, math.Sqrt)
	switch {
	case l.Move > 0:
		n.loose = "the steps are not linear in the gradient estimates, so the bound counts their greatest length"
	case l.Chosen > 1:
		n.loose = fmt.Sprintf("the result was chosen among %d points by looking at noisy numbers", l.Chosen)
	case len(l.Rounds) > 1:
		n.loose = "the bound adds the deviations of all rounds, which is exact only for a correlation of 1"
	}
	if !(n.weight > 1e-100 && n.weight < 1e100) {
		return noise{estimate: n.estimate}, errors.New("it is too large or too small to compute with")
	}
	return n, nil
}
