package firstorder

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
	"github.com/stillpoint-dp/stillpoint/query"
)

// DPZero is private zeroth-order descent (Zhang, Li, Thekumparampil, Oh and He 2024, Algorithm 2; DP-ZO of Tang et al.
// 2024). A step draws a public random direction u of length sqrt(d), and releases one number: the mean slope of the
// loss along u. No gradient is computed, and the noise of a step is one number too.
//
//	s_t = mean_i clip((f(w_t + h u; x_i) - f(w_t - h u; x_i))/(2h), C) + noise_t
//	w_{t+1} = Proj(w_t - eta (s_t + <u, grad reg(w_t)>) u)
//
// Guarantee: mu-GDP whatever the constants. A record moves the released mean by at most 2C/n under replace-one.
//
// Accuracy: let R bound the trace of the objective's Hessian, with all eigenvalues counted positive. Of the loss it is r
// times its smoothness, where r is the effective rank. The mean of u u' is I, that of u'Hu is at most R, and that of
// (g'u)^2 u'Hu at most (R + 2 L1) ||g||^2. With eta = 1/(R + 2 L1), equal charges and C so large that clips do not
// matter, the squared gradient norm of a random iterate has a mean of at most 2 F0/(eta T) + eta R V, where V = (2C/(n
// mu))^2 T is the variance of a step's noise. The best T gives 2 (2C/(n mu)) sqrt(2 F0 R), in which d enters by R alone.
//
// Deviations from the papers:
//   - All records are read in each step. The papers draw batches.
//   - C is 2 L0 by default. For a record with the gradient g, the mean of the clipped slope times u is g times the
//     probability that a standard normal is at most C/||g||, at least .95. Longer clips add more noise than they gain.
//   - As in [GD], step t is charged in proportion to t, and the result is an average over the second half.
//   - The regularizer's slope along u is added to the number: at the minimum it cancels the loss's.
//
// The zero DPZero selects every setting by the rule in the field's comment.
type DPZero struct {
	// Steps is the number of steps T. Zero means the number of steps that gd would make with steps of this size, at
	// most twice the number for which the bound is smallest and at most 10,000. With Theorem, zero means the number for
	// which the bound is smallest.
	Steps int `yaml:"steps"`
	// Rank is the effective rank r of the loss's Hessian, at least 1. Zero means a bound for generalised linear models,
	// the number of margins; 2 for networks and records of several rows; and d for other losses.
	Rank float64 `yaml:"effective_rank" trial:"3"`
	// StepScale is h in eta = h/(R + 2 L1), where R is r times the loss's smoothness, plus d times the regularizer's.
	// Zero means 1.
	StepScale float64 `yaml:"step_scale"`
	// Clip is the clip norm C, in units of L0. Zero means 2. With Theorem, zero means sqrt(2 log(e + n^2)).
	Clip float64 `yaml:"clip_scale"`
	// Theorem means that all steps have equal charges, the result is a random iterate, and the other settings are
	// those of the proof.
	Theorem bool `yaml:"theorem"`
	// Output is the rule that chooses the result; zero means TailAverage, or Random with Theorem.
	Output optimize.Output `yaml:"output"`
}

// mostZeroSteps is the largest number of steps that the default rule of [DPZero] chooses. Its steps are shorter than
// those of gd, and a step reads the records once.
const mostZeroSteps = 10_000

// halfway is h, the distance by which a step moves each way along its direction, in units of the direction's length.
// The error of the difference quotient is of the order of its square, and far above rounding.
const halfway = 1e-3

// Plan implements [optimize.Algorithm].
func (c DPZero) Plan(_ context.Context, p optimize.Problem) (optimize.Plan, error) {
	if err := cmp.Or(p.Validate(), optimize.CheckSteps("dpzero", c.Steps)); err != nil {
		return nil, err
	}
	c, err := c.settle(p)
	if err != nil {
		return nil, err
	}
	charges, words := optimize.Charges(p.Charge(), c.Steps, c.Theorem)
	T, clip := float64(c.Steps), c.Clip*p.Constants.Lipschitz
	unit, plan := c.noise(p), new(optimize.Settled)
	made, err := forecast.Finish(plan, plan, optimize.Draft{
		Problem: p,
		Summary: optimize.Summary{
			Algorithm: "dpzero",
			Citation:  "zeroth-order descent, one private number a step (Zhang et al. 2024, DPZero; Tang et al. 2024, DP-ZO)",
			Steps:     c.Steps, StepSize: c.StepScale / c.steepness(p), Clip: clip, Passes: T,
			Charges: fmt.Sprintf("%s; a step releases one number, the slope along a public direction", words),
		},
		Needs:    optimize.Needs{Seed: true},
		Workload: optimize.Workload{}.Count(query.ValueChange, T, 1),
		UpdateRule: optimize.UpdateRule{Importance: charges,
			Answer: optimize.Fresh(func(t int) float64 { return unit * unit * p.Charge() / charges[t] })},
		Output: c.Output,
		Begin:  func(run *optimize.Run) func(int) error { return alongDirections(p, run, charges, clip) },
	})
	if err == nil && c.Theorem {
		plan.Promises("the bound of one private number a step (after Zhang et al. 2024)", optimize.OfGradient, p.MostStart(),
			func(p optimize.Problem) float64 {
				c.Clip = 0
				all, _ := c.settle(p)
				return math.Sqrt(2 * all.noise(p) * math.Sqrt(2*p.Constants.InitialGap*all.trace(p)))
			})
	}
	return made, err
}

// settle returns c with each setting that is zero replaced by the default rule's value, or an error that names a setting
// out of range, its value and its limits.
func (c DPZero) settle(p optimize.Problem) (DPZero, error) {
	rank, clip, output := float64(p.Dim()), 2., optimize.TailAverage
	switch {
	case p.RankOne:
		rank = float64(p.Shape.Margins)
	case p.LowRank():
		rank = 2
	}
	if c.Theorem {
		clip, output = math.Sqrt(2*math.Log(math.E+p.Records*p.Records)), optimize.Random
	}
	setting := func(name string, value *float64, rule float64) optimize.Setting {
		return optimize.Setting{Name: name, Value: value, Rule: rule, Or: fmt.Sprintf(", or left out for %.4g", rule)}
	}
	if err := optimize.Fill("dpzero", setting("effective rank", &c.Rank, rank), setting("step scale", &c.StepScale, 1),
		setting("clip scale", &c.Clip, clip)); err != nil {
		return c, err
	}
	if c.Rank < 1 {
		return c, fmt.Errorf("optimize: dpzero: effective rank = %v: must be >= 1", c.Rank)
	}
	c.Output = c.Output.Or(output)
	if c.Steps == 0 {
		// best makes the bound smallest.
		best := math.Sqrt(2*p.Constants.InitialGap/c.trace(p)) * c.steepness(p) / c.noise(p)
		c.Steps = int(min(max(math.Ceil(best), 1), optimize.MostSteps))
		if !c.Theorem {
			c.Steps = min(2*c.Steps, p.StepsUpTo(mostZeroSteps, 4, c.StepScale*p.Smoothness()/c.steepness(p)))
		}
	}
	return c, nil
}

// trace returns R, and steepness R + 2 L1.
func (c DPZero) trace(p optimize.Problem) float64 {
	return c.Rank*p.DataSmoothness() + float64(p.Dim())*(p.Smoothness()-p.DataSmoothness())
}

func (c DPZero) steepness(p optimize.Problem) float64 { return c.trace(p) + 2*p.Smoothness() }

// noise returns the standard deviation of the noise in a number that is released with the whole budget.
func (c DPZero) noise(p optimize.Problem) float64 {
	return p.Neighbours() * c.Clip * p.Constants.Lipschitz / (p.Records * math.Sqrt(p.Charge()))
}

// alongDirections returns the function that releases the slope along a new public direction and makes a step along it.
func alongDirections(p optimize.Problem, run *optimize.Run, charges []float64, clip float64) func(t int) error {
	coins, d := p.PublicCoins(0xd92e50, uint64(p.Dim())), p.Dim()
	u, ahead, behind := make([]float64, d), make([]float64, d), make([]float64, d)
	return func(t int) error {
		for j := range u {
			u[j] = coins.NormFloat64()
		}
		long := optimize.Norm(u) / math.Sqrt(float64(d))
		for j := range u {
			u[j] /= long
			ahead[j], behind[j] = run.W[j]+float64(halfway*u[j]), run.W[j]-float64(halfway*u[j])
		}
		answer, err := run.Ask(charges[t], query.ValueChangeAt(run.All(), ahead, behind, 2*halfway*clip))
		if err != nil {
			return err
		}
		reg := make([]float64, d)
		p.AddRegularizer(reg, run.W)
		run.Descend(run.Along(answer, 1/(2*halfway), vector.Dot(reg, u), u), optimize.Use{Weight: charges[t]})
		return nil
	}
}
