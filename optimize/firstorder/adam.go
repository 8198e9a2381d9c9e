package firstorder

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Adam is DP-Adam. It makes Adam's steps (Kingma and Ba 2015, Algorithm 1, with beta1 = .9 and beta2 =
// .999) along the noisy gradients of DP-SGD. Adam only post-processes these gradients, so the guarantee is
// the same as for [SGD]. The plan's forecast is made for SGD's steps, not for Adam's.
//
// The zero Adam samples each record with probability one tenth in each step, and makes as many steps
// as the default rule of [GD] chooses.
type Adam struct {
	// Rate is the step size alpha. Zero means .05.
	Rate float64 `yaml:"rate"`
	// Sampling is the probability with which a record joins the batch of a step. Zero means .1.
	Sampling float64 `yaml:"sampling"`
	// Steps is the number of steps T. Zero means the number that the default rule of gradient descent (gd)
	// gives.
	Steps int `yaml:"steps"`
	// Output is the rule that chooses the result; zero means TailAverage.
	Output optimize.Output `yaml:"output"`
}

// Plan implements [optimize.Algorithm], with the noise and samples that SGD would have. It returns an error if the
// calibration of the noise fails.
func (c Adam) Plan(ctx context.Context, p optimize.Problem) (optimize.Plan, error) {
	err := cmp.Or(p.Validate(), optimize.Fill("dp-adam", optimize.Setting{Name: "rate", Value: &c.Rate, Rule: .05}))
	if err != nil {
		return nil, err
	}
	sgd := SGD{Sampling: c.Sampling, Steps: c.Steps, Output: c.Output}
	sgd.Steps = cmp.Or(sgd.Steps, sgd.StepRule(p))
	return sgd.settle(ctx, optimize.Draft{
		Problem:    p,
		UpdateRule: optimize.UpdateRule{StepSize: p.StepSize(p.StepScale())}, // the forecast is made with SGD's steps
		Begin: func(run *optimize.Run) func(int) error {
			moments := newMoments(p.Dim())
			run.Bounded(c.Rate*mostDirection, func(grad []float64) ([]float64, float64) {
				return moments.direction(grad), c.Rate
			})
			return func(t int) error { return sampledStep(run, t) }
		},
	}, optimize.Summary{
		Algorithm: "dp-adam",
		Citation:  "Adam (Kingma and Ba 2015) on the gradients of DP-SGD",
		StepSize:  c.Rate,
	})
}

const beta1, beta2, small = .9, .999, 1e-8

// mostDirection is an upper bound on the absolute value of a coordinate of Adam's direction
// m/sqrt(v), with the bias corrections, after t gradients. Let a_i and b_i be the weights of gradient
// i in the averages m (of gradients) and v (of their squares). By the Cauchy-Schwarz inequality the
// square of the coordinate is at most sum_i a_i^2/b_i, which is
//
//	(1-beta1)^2/(1-beta2) (1-beta2^t)/(1-beta1^t)^2 sum_{k<t} (beta1^2/beta2)^k.
//
// The last expression is 1 for t = 1 and at most 52.9 for every t. mostDirection is the square root of its
// limit for large t, 7.3.
var mostDirection = math.Sqrt((1 - beta1) * (1 - beta1) / (1 - beta2) / (1 - beta1*beta1/beta2))

// moments contains Adam's moving averages of the gradient (m) and its square (v) after t gradients
// (Kingma and Ba 2015, Algorithm 1).
type moments struct {
	m, v []float64
	t    int
}

func newMoments(dim int) *moments { return &moments{m: make([]float64, dim), v: make([]float64, dim)} }

// direction updates Adam's averages with the gradient g and returns the bias-corrected direction of
// the next step.
func (a *moments) direction(g []float64) []float64 {
	a.t++
	out := slices.Clone(g)
	for j, x := range g {
		a.m[j] = beta1*a.m[j] + (1-beta1)*x
		a.v[j] = beta2*a.v[j] + (1-beta2)*x*x
		m := a.m[j] / (1 - math.Pow(beta1, float64(a.t)))
		v := a.v[j] / (1 - math.Pow(beta2, float64(a.t)))
		out[j] = m / (math.Sqrt(v) + small)
	}
	return out
}
