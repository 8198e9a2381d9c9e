package firstorder

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
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
	// without sampling. AnchorShare sets the ratio of the noise of anchors to the noise of differences, with samples as
	// well. With batches: auto the charges of anchors and differences are those with all records.
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

// Plan implements [optimize.Algorithm]. It returns an error if the calibration of samples fails.
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
		UpdateRule: optimize.UpdateRule{Guarded: guarded, Slope: c.Ball.Slope(p), MostRadius: 2 * p.Constants.Lipschitz,
			Answer: plan.answer},
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
	d.UpdateRule.Importance = vector.Make(c.Steps, plan.charge)
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

func (c SpiderBoost) check() error {
	if err := optimize.CheckSteps("spiderboost", c.Steps); err != nil {
		return err
	}
	switch {
	case !optimize.Positive(c.StepScale):
		return fmt.Errorf("optimize: spiderboost: step scale = %v: must be finite and > 0", c.StepScale)
	case c.Period < 1:
		return fmt.Errorf("optimize: spiderboost: period = %d: must be >= 1, or left out for the rule's", c.Period)
	case !(c.AnchorShare > 0 && c.AnchorShare < 1):
		return fmt.Errorf("optimize: spiderboost: anchor share = %v: must be > 0 and < 1, or left out for the rule's",
			c.AnchorShare)
	}
	return c.checkBatches()
}

func (c SpiderBoost) sampled() bool { return c.AnchorBatch != 0 || c.DifferenceBatch != 0 }

// settle replaces settings that are zero by the values of the default rules, or by the theorem's if
// c.Theorem is set.
func (c SpiderBoost) settle(p optimize.Problem) SpiderBoost {
	n := p.Effective()
	if c.Theorem {
		a := 2 / n
		c.StepScale = cmp.Or(c.StepScale, .5)
		if c.Steps == 0 {
			t := math.Pow(math.Sqrt(p.Constants.InitialGap*p.Smoothness())/(p.Constants.Lipschitz*a*a), 2./3)
			c.Steps = int(min(max(t, 1/a, 1), optimize.MostSteps))
		}
		c.Period = cmp.Or(c.Period, int(min(max(1/(float64(c.Steps)*a*a), 1), float64(c.Steps))))
		c.AnchorShare, c.Batches = cmp.Or(c.AnchorShare, .5), cmp.Or(c.Batches, TheoremBatches)
		c.Output = c.Output.Or(optimize.Random)
		return c
	}
	c.StepScale = cmp.Or(c.StepScale, p.StepScale())
	c.Steps = cmp.Or(c.Steps, varianceReducedSteps(p, c.StepScale))
	if c.Period == 0 {
		t := float64(c.Steps)
		c.Period = int(max(min(.02*n*n/(c.StepScale*c.StepScale*t), t/8), 1))
	}
	c.AnchorShare = cmp.Or(c.AnchorShare, .8)
	c.Output = c.Output.Or(optimize.TailAverage)
	return c
}

// theoremBound returns the bound of Theorem 1 of Arora et al. 2023 on the gradient norm, with its constant set to 1.
func theoremBound(p optimize.Problem) float64 {
	a, c := 2/p.Effective(), p.Constants
	return math.Cbrt(c.InitialGap*p.Smoothness()*c.Lipschitz*a*a) + c.Lipschitz*a
}

// varianceReducedSteps returns the default number of steps of methods that update gradient estimates
// by differences: .1 (G0/L0)^(2/3) N^(4/3)/h, at most 1000. G0 bounds the first gradient norm, N is
// the effective size and h the step size in units of 1/L1.
func varianceReducedSteps(p optimize.Problem, h float64) int {
	return optimize.StepCount(.1 * math.Pow(p.InitialGradient()/p.Constants.Lipschitz, 2./3) * math.Pow(p.Effective(),
		4./3) / h)
}

// schedule calibrates the noise of the releases on Poisson samples to the budget. The plan then
// states, for each release, the charge that a release on all records with the same noise would have.
func (c SpiderBoost) schedule(ctx context.Context, p optimize.Problem, plan *spiderBoostPlan) (*account.Schedule,
	error) {
	// A release on samples of the share q with noise multiplier z has noise of standard deviation z C/(q n)
	// in the mean. A release on all records with the same noise has the charge (v q/z)^2, with v = 2 under
	// replace-one and 1 under add-or-remove.
	root := func(charge float64) float64 { return math.Sqrt(max(charge, math.SmallestNonzeroFloat64)) }
	multiplier := func(batch, charge float64) float64 { return batch / root(charge) }
	if c.Batches == AutoBatches {
		multiplier = func(batch, charge float64) float64 { return sampledMultiplier(p.Neighbours(), batch, charge) }
	}
	s, anchor, difference, err := Amplify(ctx, p, c.Steps, c.Period,
		account.SampledSteps{NoiseMultiplier: multiplier(c.AnchorBatch, plan.anchor), Sampling: c.AnchorBatch},
		account.SampledSteps{NoiseMultiplier: multiplier(c.DifferenceBatch, plan.difference), Sampling: c.DifferenceBatch})
	if err == nil {
		plan.anchor, plan.difference = anchor, difference
	}
	return s, err
}

// Amplify calibrates to the budget of p the noise of a run whose releases are all on Poisson samples. Every period-th
// step, the first included, releases an anchor, the other steps release differences. The noise multipliers of anchor
// and difference count by their ratio alone. Amplify also returns the charges that an anchor and a difference on all
// records with the same noise would have.
func Amplify(ctx context.Context, p optimize.Problem, steps, period int, anchor, difference account.SampledSteps) (
	s *account.Schedule, anchors, differences float64, err error) {
	var list []account.SampledSteps
	anchor.Count = 1
	for t := 0; t < steps; t += period {
		list = append(list, anchor)
		if difference.Count = min(period, steps-t) - 1; difference.Count > 0 {
			list = append(list, difference)
		}
	}
	if s, err = account.CalibrateSchedule(ctx, p.Budget, 0, list...); err != nil {
		return nil, 0, 0, err
	}
	equivalent := func(i int) float64 {
		z, q := s.Step(i)
		return p.Neighbours() * q / z * p.Neighbours() * q / z
	}
	if anchors = equivalent(0); period > 1 && steps > 1 {
		differences = equivalent(1)
	}
	return s, anchors, differences, nil
}

// Batches is a rule for the shares of the records on which a [SpiderBoost] releases anchors and
// differences.
type Batches uint8

const (
	// The zero Batches means TheoremBatches if SpiderBoost.Theorem is set, and AllRecords otherwise.
	_ Batches = iota
	// AllRecords uses all records in each release.
	AllRecords
	// TheoremBatches uses all records in anchors and the b2 of Theorem 9 (Arora et al. 2023) in
	// differences.
	TheoremBatches
	// AutoBatches uses the fewest records for which SpiderBoost.BatchSlack holds.
	AutoBatches

	batchRules
)

var batchNames = [...]string{"", "all", "theorem", "auto"}

// This line does not compile unless every rule has a name.
var _ = [1]struct{}{}[len(batchNames)-int(batchRules)]

func (b Batches) String() string { return optimize.NameOf(batchNames[:], "batches", uint8(b)) }

// defaultBatchSlack is the value of SpiderBoost.BatchSlack if it is zero.
const defaultBatchSlack = .1

func (c SpiderBoost) checkBatches() error {
	if c.Batches >= batchRules {
		return fmt.Errorf("optimize: spiderboost: batches = %v: must be all, theorem or auto", c.Batches)
	}
	if c.BatchSlack != 0 && (c.Batches != AutoBatches || !optimize.Positive(c.BatchSlack)) {
		return fmt.Errorf("optimize: spiderboost: batch slack = %v: must be finite and > 0, and is a setting of batches: "+
			"auto",
			c.BatchSlack)
	}
	for _, x := range []struct {
		name  string
		share float64
	}{{"anchor", c.AnchorBatch}, {"difference", c.DifferenceBatch}} {
		ruled := x.share == 0 && (c.Batches == TheoremBatches || c.Batches == AutoBatches)
		if (c.AnchorBatch != 0 || c.DifferenceBatch != 0) && !ruled && !(x.share > 0 && x.share <= 1) {
			return fmt.Errorf("optimize: spiderboost: %s batch = %v of the records: must be > 0 and <= 1", x.name, x.share)
		}
	}
	if c.Batches == AllRecords && (c.AnchorBatch != 0 || c.DifferenceBatch != 0) {
		return fmt.Errorf("optimize: spiderboost: batches = all: must be left out where a batch is given")
	}
	return nil
}

// withBatches replaces AnchorBatch and DifferenceBatch, if they are zero, by the shares of the rule
// c.Batches. anchor and difference are the charges of the two kinds of releases on all records. If both
// shares are then 1, withBatches sets both to zero, which means that nothing is sampled.
func (c SpiderBoost) withBatches(p optimize.Problem, anchor, difference float64) SpiderBoost {
	var anchors, differences float64
	switch c.Batches {
	case TheoremBatches:
		anchors, differences = 1, theoremBatch(p)
	case AutoBatches:
		slack := cmp.Or(c.BatchSlack, defaultBatchSlack)
		most := (1 + slack) * (1 + slack)
		anchors, differences = leastBatch(p, anchor, most), leastBatch(p, difference, most)
	default:
		return c
	}
	c.AnchorBatch = cmp.Or(c.AnchorBatch, anchors)
	c.DifferenceBatch = cmp.Or(c.DifferenceBatch, differences)
	if c.AnchorBatch == 1 && c.DifferenceBatch == 1 {
		c.AnchorBatch, c.DifferenceBatch = 0, 0
	}
	return c
}

// theoremBatch returns b2/n, the share of the n records in the batch of a gradient difference, by Theorem 9 of Arora et
// al. 2023. The theorem's sqrt(d log(1/delta))/(n epsilon) is replaced by a = 2/N, with the effective size N:
//
//	b2 = floor(max((L0/(sqrt(F0 L1) a))^(2/3), n (L0 a^2/sqrt(F0 L1))^(1/3))), from 1 to n
//
// If b2 is at least the first number, the sampling error is at most the privacy noise. The second number is
// n/sqrt(T) for the theorem's number of steps T. If b2 is smaller than the second number, one release needs
// more noise than amplification by sampling saves.
func theoremBatch(p optimize.Problem) float64 {
	a, f := 2/p.Effective(), math.Sqrt(p.Constants.InitialGap*p.Smoothness())
	samples := math.Pow(p.Constants.Lipschitz/(f*a), 2./3)
	amplified := p.Records * math.Cbrt(p.Constants.Lipschitz*a*a/f)
	return min(max(math.Floor(max(samples, amplified)), 1)/p.Records, 1)
}

// leastBatch returns the smallest share b in (0, 1] of the records that may be sampled for a release, if
// sampling may raise the variance of the release at most by the factor most. charge is the charge of the
// release on all records. If charge is 0, leastBatch returns 1.
//
// Why this rule needs the least work. With A anchors and D differences, a run computes n (A b1 + 2 D b2) gradients of
// records, where b1 and b2 are the shares of anchors and of differences. This number is to be smallest. At the same
// time no gradient estimate may have more than most times the variance that it has on all records, whatever the steps
// are. An estimate is the sum of an anchor and of the differences since this anchor. Let v be 2 under replace-one and 1
// under add-or-remove, and let u = m/(v b)^2. The variance of a release with clip norm C and charge m is
//
//	on all records:        d (v C/n)^2/m from noise
//	on a share b of them:  I(u) d (v C/n)^2/m from noise, and at most (1/b - 1) C^2/n from samples
//
// The ratio of the second variance to the first is
//
//	I(u) + (1/b - 1) n m/(v^2 d),
//
// It depends neither on C nor on the length of the step. The ratio of an estimate is the mean of the ratios
// of its releases, weighted by their variances. With steps of length zero only the anchor has variance, and
// with long steps almost all variance comes from the differences. So neither the ratio of anchors nor the
// ratio of differences may exceed the factor most. The ratio falls as b grows, so the smallest share that
// satisfies this condition needs the least work.
//
// I(u) is the price of sampling in the limit of many releases (the central limit theorem of Gaussian differential
// privacy: Dong, Roth and Su 2022; Bu, Dong, Long and Su 2020). The chi-square divergence of a release on samples with
// noise multiplier z is 4 b^2 sinh(1/z^2) under replace-one, where the record moves the sum from C to -C, and b^2
// (exp(1/z^2) - 1) under add-or-remove. Setting this divergence equal to the charge m gives z^2 = 1/asinh(u) under
// replace-one and 1/ln(1+u) under add-or-remove. I(u) = u z^2 is the ratio of the noise's variance to the variance with
// all records. The limit is used only to choose batches. The accountant calibrates the noise.
func leastBatch(p optimize.Problem, charge, most float64) float64 {
	v := p.Neighbours()
	ratio := func(b float64) float64 {
		z := sampledMultiplier(v, b, charge)
		return charge*z*z/(v*v*b*b) + (1/b-1)*p.Records*charge/(v*v*float64(p.Dim()))
	}
	enough := func(log float64) bool { return ratio(math.Exp(log)) <= most }
	least := math.Log(min(1/p.Records, 1))
	switch {
	case charge == 0: // the plan makes no release of this kind
		return 1
	case enough(least):
		return math.Exp(least)
	}
	return math.Exp(vector.Halve(least, 0, 60, enough))
}

// sampledMultiplier returns the noise multiplier at which a release on a Poisson sample of the share b of
// the records costs the given charge, in the limit of many such releases (see leastBatch). v is 2 under
// replace-one and 1 under add-or-remove.
func sampledMultiplier(v, b, charge float64) float64 {
	u := max(charge, math.SmallestNonzeroFloat64) / (v * v * b * b)
	if v == 1 {
		return 1 / math.Sqrt(math.Log1p(u))
	}
	return 1 / math.Sqrt(math.Asinh(u))
}
