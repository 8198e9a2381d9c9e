package firstorder

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
	"github.com/stillpoint-dp/stillpoint/query"
)

// SpiderBoost is Private SpiderBoost on all records (Arora, Bassily, González, Guzmán, Menart and
// Ullah 2023, Algorithm 1).
//
//	if t mod q = 0:  g  = mean_i clip(grad f(w_t; x_i), L0) + noise
//	else:            g += mean_i clip(grad f(w_t; x_i) - grad f(w_{t-1}; x_i), ball) + noise
//	w_{t+1} = w_t - eta (g + grad reg(w_t))
//
// A release by the first line is called an anchor. A release by the second line is called a difference.
//
// Guarantee: mu-GDP whatever the constants. For an L1-smooth loss and the theorem's settings a
// uniformly random iterate has expected gradient norm O((sqrt(F0 L1 L0) a)^(2/3) + L0 a) with a = 2
// sqrt(d)/(n mu) (Arora et al. 2023, Theorems 1 and 9).
//
// Deviations from the paper:
//   - Anchors and differences share one budget. The paper's Algorithm 1 calibrates the noise of each to
//     the whole budget.
//   - Under replace-one the sensitivity of a sum is twice the clip norm, where Algorithm 1 has once the
//     clip norm. Under add-or-remove it is once the clip norm.
//   - The loop runs T times, not T+1. The q of Theorem 9 has an extra factor L1^2, which is dropped.
//   - Differences are clipped, by default to the ball centred on the curvature interval (see
//     [optimize.DifferenceBall]), which enforces L1.
//   - If an iterate equals the iterate before it, the difference is zero and needs no query. The step
//     instead releases a gradient at the charge of a difference, and averages it with the estimate,
//     weighted by inverse variances.
//   - The regularizer's gradient is added exactly and never estimated.
//   - Batches smaller than n, the number of records, are Poisson samples. The noise of all releases on
//     samples is calibrated together by privacy-loss distributions. The paper uses the amplification that
//     Theorem 8 states up to a constant. Samples save computation. At equal budget they raise the error,
//     since privacy amplification gains less accuracy than smaller samples lose.
//   - In the settings of Theorem 9, the batch size b2 included, a = 2 sqrt(d)/(n mu) takes the place of
//     sqrt(d log(1/delta))/(n epsilon). b2 is at most n.
//
// The zero SpiderBoost uses practical constants. With these, measured errors were far smaller than with the constants
// of the theorem. It makes T = .1 (G0/L0)^(2/3) N^(4/3)/h steps, at most 1000. Every q = .02 N^2/(h^2 T) steps it
// releases an anchor, but at least 8 anchors if T is at least 8. All anchors together have .8 of the budget. The result
// is the tail average. Here N is the effective size, G0 the bound on the first gradient norm and h = eta L1.
type SpiderBoost struct {
	// Theorem means that each setting that is zero has the value of Theorem 9 (Arora et al. 2023), the
	// batches included. The output is then a random iterate, unless Output is set.
	Theorem bool `yaml:"theorem"`
	// Steps is the number of steps T. Zero means .1 (G0/L0)^(2/3) N^(4/3)/h, at most 1000, or with Theorem
	// the theorem's number. N is the effective size, G0 = sqrt(2 L1 F0) and h is StepScale.
	Steps int `yaml:"steps"`
	// Period is q: every q-th step releases a gradient (an anchor), the other steps release gradient
	// differences. Zero means .02 N^2/(h^2 T), at most T/8, or with Theorem the theorem's number.
	Period int `yaml:"period"`
	// AnchorShare is the share of the budget that all anchors together have. Zero means .8, or .5 with
	// Theorem.
	AnchorShare float64 `yaml:"anchor_share"`
	// StepScale is h in eta = h/L1. Zero means .5 with Theorem. Without Theorem, zero means 16 for
	// networks, 4 for rank-one losses and for records of several rows, and 1 for other losses.
	StepScale float64 `yaml:"step_scale"`
	// Ball is the ball to which each record's gradient difference is clipped.
	Ball optimize.DifferenceBall `yaml:",inline"`
	// Batches is the rule for AnchorBatch and DifferenceBatch if these are zero. all means all records. theorem means
	// all records for anchors and the b2 of Theorem 9 (Arora et al. 2023) for differences. auto means the fewest
	// records for which BatchSlack holds. Zero means theorem if Theorem is set, and all otherwise.
	Batches Batches `yaml:"batches" trial:"auto"`
	// BatchSlack is the loss of accuracy that batches: auto allows. The root mean square error of every gradient
	// estimate is at most 1 + BatchSlack times the error with all records, for the same steps. Zero means .1.
	BatchSlack float64 `yaml:"batch_slack"`
	// AnchorBatch and DifferenceBatch are two shares in (0, 1] of the n records: the expected shares in the Poisson
	// sample of an anchor, and in that of a difference. If both are zero and Batches is all, all records are used
	// without sampling. AnchorShare sets the ratio of the noise of anchors to the noise of differences, as with all
	// records. With batches: auto the charges of anchors and differences are those with all records.
	AnchorBatch     float64 `yaml:"anchor_batch"`
	DifferenceBatch float64 `yaml:"difference_batch"`
	// Output is the rule that chooses the result; zero means Random with Theorem, else TailAverage.
	Output optimize.Output `yaml:"output"`
}

// spiderBoostPlan is the plan of a [SpiderBoost] for one problem. Every period-th step releases a
// gradient (an anchor), the others gradient differences.
type spiderBoostPlan struct {
	optimize.Settled
	period             int
	anchor, difference float64 // charges
	ball               optimize.DifferenceBall

	anchorBatch, differenceBatch float64 // shares of the records; 1 without sampling
}

// Plan returns the plan of SpiderBoost for the problem p, with the rule's value for each zero setting. Plan returns an
// error if p is not valid, a setting is out of range or the calibration of samples fails.
func (c SpiderBoost) Plan(ctx context.Context, p optimize.Problem) (optimize.Plan, error) {
	guarded := c.StepScale == 0
	c = c.settle(p)
	if err := cmp.Or(p.Validate(), c.Ball.Validate(), c.check()); err != nil {
		return nil, err
	}
	anchors := (c.Steps + c.Period - 1) / c.Period
	differences := c.Steps - anchors
	plan := &spiderBoostPlan{period: c.Period, ball: c.Ball, anchorBatch: 1, differenceBatch: 1}
	left := p.Charge()
	if !c.sampled() && c.Batches <= AllRecords {
		left -= p.CurvatureCharge()
	}
	if differences == 0 {
		plan.anchor = left / float64(anchors)
	} else {
		plan.anchor = left * c.AnchorShare / float64(anchors)
		plan.difference = left * (1 - c.AnchorShare) / float64(differences)
	}
	c = c.withBatches(p, plan.anchor, plan.difference)
	d := optimize.Draft{
		Problem: p,
		Summary: optimize.Summary{
			Algorithm: "spiderboost",
			Citation:  "Private SpiderBoost (Arora et al. 2023, Algorithm 1)",
			Steps:     c.Steps,
			StepSize:  p.StepSize(c.StepScale),
			Charges: fmt.Sprintf("%d anchors, one every %d steps, share %.3g; %d differences the rest, ball %s",
				anchors, c.Period, plan.anchor*float64(anchors)/p.Charge(), differences, c.Ball),
			Passes: float64(anchors + 2*differences),
		},
		UpdateRule: optimize.UpdateRule{Guarded: guarded, Importance: make([]float64, c.Steps), Slope: c.Ball.Slope(p),
			MostRadius: 2 * p.Constants.Lipschitz, Answer: plan.answer},
		Curvature: p.Charge() - left, Output: c.Output,
	}
	var err error
	if c.sampled() {
		if d.Needs.Schedule, err = c.schedule(ctx, p, plan); err != nil {
			return nil, err
		}
		d.Properties.Sampled = true
		d.Summary.Algorithm = "spiderboost-batches"
		d.Summary.Charges += fmt.Sprintf("; Poisson batches of %.3g (anchors) and %.3g (differences) of the records",
			c.AnchorBatch, c.DifferenceBatch)
		d.Summary.Passes = float64(anchors)*c.AnchorBatch + 2*float64(differences)*c.DifferenceBatch
		plan.anchorBatch, plan.differenceBatch = c.AnchorBatch, c.DifferenceBatch
	}
	d.Workload = optimize.Workload{}.Count(query.Gradient, float64(anchors), plan.anchorBatch).
		Count(query.Difference, float64(differences), plan.differenceBatch)
	for t := range c.Steps {
		d.UpdateRule.Importance[t] = plan.charge(t)
	}
	made, err := forecast.Finish(plan, &plan.Settled, d)
	if err == nil && c.Theorem {
		plan.Promises("Theorem 1 (Arora et al. 2023)", optimize.OfGradient, p.MostStart(), theoremBound)
	}
	return made, err
}

// charge returns the charge of step t, counted from 0. For releases on Poisson samples it returns the
// charge that a release on all records with the same noise would have.
func (b *spiderBoostPlan) charge(t int) float64 {
	if t%b.period == 0 {
		return b.anchor
	}
	return b.difference
}

// answer implements [optimize.UpdateRule].Answer. The weight K of the new gradient is 1 for an anchor (a gradient)
// and 0 for a difference. For the variance from sampling, each record's clipped gradient or difference is
// assumed to be as long as the clip norm (root mean square).
func (b *spiderBoostPlan) answer(t int, radius, _ float64) (K float64, fresh optimize.Variance) {
	p := b.Problem()
	batch := b.differenceBatch
	if t%b.period == 0 {
		K, radius, batch = 1, p.Constants.Lipschitz, b.anchorBatch
	}
	s := p.Neighbours() * radius / p.Records
	return K, optimize.Variance{
		Noise:    s * s / b.charge(t),
		Sampling: (1/batch - 1) * radius * radius / (p.Records * float64(p.Dim())),
	}
}

// Run makes the steps of Private SpiderBoost (Arora et al. 2023, Algorithm 1) with queries to o.
func (b *spiderBoostPlan) Run(ctx context.Context, o optimize.Oracle, observe func(optimize.Step)) (optimize.Result,
	error) {
	p := b.Problem()
	run := b.Begin(ctx, o, observe)
	var prev []float64
	var estimate *optimize.Estimate
	var variance float64
	return run.Steps(func(t int) error {
		batch := run.All()
		if b.Needs().Schedule != nil {
			var err error
			if batch, err = run.Sample(); err != nil {
				return err
			}
		}
		term := query.GradientAt(batch, run.W, p.Constants.Lipschitz)
		if t%b.period != 0 && !slices.Equal(run.W, prev) {
			term = b.ball.Difference(p, batch, run.W, prev)
		}
		answer, err := run.Ask(b.charge(t), term)
		if err != nil {
			return err
		}
		fresh := answer.Sigma * answer.Sigma
		switch {
		case t%b.period == 0:
			estimate, variance = run.Estimate(answer), fresh
		case term.Kind() == query.Difference:
			estimate = run.Mix(estimate, 1, answer, 1)
			variance += fresh
		default:
			k := variance / (variance + fresh)
			estimate = run.Mix(estimate, 1-k, answer, k)
			variance *= 1 - k
		}
		prev = slices.Clone(run.W)
		run.Descend(estimate, optimize.Use{Weight: b.charge(t)})
		return nil
	})
}
