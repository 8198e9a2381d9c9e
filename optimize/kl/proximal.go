package kl

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/convex"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Proximal is the proximal point method (Menart, Ullah, Arora, Bassily and Guzmán 2024, Algorithm 2)
// for weakly convex losses, smooth or not, under the KL condition with kappa >= 2.
//
//	3  for t = 1..T
//	4      F_t(w) = F(w) + L~ ||w - w_{t-1}||^2
//	5      w_t = noisy gradient descent on F_t, charged a part of mu^2 (StronglyConvex's steps
//	             1/(L~ s) and weights s, in the ball of radius L0/(2 L~) around w_{t-1})
//	7  return w_T
//
// If F is L~-weakly convex, F_t is L~-strongly convex. The minimiser of F_t has at most the objective
// value of w_{t-1}, and the KL condition bounds from below how much smaller its value is.
//
// Guarantee: mu-GDP whatever the constants. With the theorem's settings the excess risk is O~((gamma L0 sqrt(d (1 +
// F0^((kappa-2)/kappa) gamma^2 L~))/(n mu))^kappa) with probability 1-beta (Menart et al. 2024, Theorem 2).
//
// Deviations from the paper:
//   - A round is charged exactly mu^2/T with Theorem. The noise in the paper's Algorithm 4 costs half as much.
//   - A round's average is over the points at which its K steps end. It leaves out the round's starting
//     point, which has weight 1 of K(K+1)/2 in the paper.
//   - L~ is at least 1/(4 gamma^2) with Theorem, and for convex losses, which would else have L~ = 0. For others the
//     practical rule leaves this bound out: where a stated gamma is too small, a run would end on its way.
//   - The regularizer is part of F. The regularizer's gradient is added exactly, after clipping. The ball's
//     radius accounts for the norm of the regularizer's gradient at the round's start (see
//     [proximalPlan.ball]). If the problem has a feasible set, points are projected on this set instead of
//     the ball.
//   - With Theorem a round has N^2 log^2(2 T/beta)/(2 T) steps, where N is the effective size. A run has at
//     most 10^6 steps.
//   - Without Theorem a step size is at most h/(L1 + 2 L~). There are as many rounds as the KL condition needs
//     for an L~ below the weak convexity, which is that of the worst record and point, and the last round gets
//     half of the budget and half of the steps: the result has the noise of this round alone.
//   - With output smallest, the result is the point, of any round, at which the released gradient of F had
//     the smallest norm. With output selected, the points are scored on records that are held out (see
//     [optimize.Selected]).
//   - The paper's A is any solver with the excess risk of Lemma 3, and its proof takes Algorithm 4. Inner takes others, for
//     which no such risk is proved.
//
// The rounds of the zero Proximal have together as many steps as the default rule of firstorder.GD chooses.
type Proximal struct {
	// KL is the KL condition that the plan assumes. Its kappa must be at least 2.
	KL optimize.KL `yaml:",inline"`
	// Lambda is L~, the weight of the quadratic that a round adds to the objective. Zero means the smaller of c/h and
	// L1/(16 h), where c is the objective's weak convexity and h is StepScale, or for convex objectives 1/(4 gamma^2).
	// With the setting Theorem, zero means the larger of 1/(4 gamma^2) and c.
	Lambda float64 `yaml:"lambda"`
	// Rounds is T, the number of rounds. Zero means the number after which the KL condition bounds the excess risk by
	// that of the noise alone, but at least 8 steps remain for each round. With the setting Theorem, zero means the
	// theorem's number.
	Rounds int `yaml:"rounds"`
	// Steps is the number of steps in each round. Zero means that the last round has half of the number that the
	// rule of algorithm gd gives, and that the other rounds divide the other half. With the setting Theorem, zero
	// means the theorem's number.
	Steps int `yaml:"steps"`
	// StepScale is h in the bound h/(L1 + 2 L~) on the step size. Zero means 16 for networks, 4 for rank-one losses and
	// for records of several rows, and 1 for other losses. With the setting Theorem it must be zero.
	StepScale float64 `yaml:"step_scale"`
	// Inner solves the rounds: strongly-convex, gd, spiderboost or storm. Zero means strongly-convex. With another
	// solver the run has the steps and shares of the rule, and neither Theorem nor the output smallest.
	Inner Inner `yaml:"inner"`
	// Theorem uses the settings of Theorem 2 of Menart et al. (2024) for the fields that are zero.
	Theorem bool `yaml:"theorem"`
	// Output is the rule that picks the result. Zero means Average, taken over the last round. The only other
	// rule is Smallest.
	Output optimize.Output `yaml:"output"`
}

// proximalPlan is the plan of a [Proximal] for one problem.
type proximalPlan struct {
	optimize.Settled
	lambda float64 // L~
	rounds int
	// steps is the number of steps in a round, last that in the last round.
	steps, last int
	step        harmonic
	// share is the part of the budget for the last round; 0 means the same as for each other. charge is the charge
	// of one release, and lastCharge that of one in the last round.
	share, charge, lastCharge float64
	// smallest means that the result is the point, of any round, at which the gradient estimate had the
	// smallest norm.
	smallest bool
}

// proximalName is the name of the algorithm.
const proximalName = "proximal-point"

// Plan implements [optimize.Algorithm]. It returns an error if the KL condition's exponent kappa is below 2.
func (c Proximal) Plan(ctx context.Context, p optimize.Problem) (optimize.Plan, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	known, err := condition(c.KL, p)
	if err == nil {
		err = c.check(known)
	}
	if err != nil {
		return nil, err
	}
	plan, output := &proximalPlan{}, "the last round's weighted average"
	if c.Output == optimize.Smallest {
		plan.smallest, output = true, "smallest, among the points of all rounds"
	}
	if err := c.settle(p, known, plan); err != nil {
		return nil, err
	}
	plan.divide(p)
	if c.Inner != 0 {
		return c.around(ctx, p, plan, known)
	}
	T := (plan.rounds-1)*plan.steps + plan.last
	plan.Settled, err = optimize.Settle(optimize.Draft{
		Problem: p,
		Summary: optimize.Summary{
			Algorithm: proximalName,
			Citation:  "proximal point method (Menart et al. 2024, Algorithm 2) over noisy gradient descent (Algorithm 4)",
			Steps:     T,
			StepSize:  plan.step.eta(1),
			Charges: fmt.Sprintf("%d rounds, of which the last has %d steps and %.3g of the budget; L~ = %.3g, steps 1/(L~ s), "+
				"at most %.3g; %s",
				plan.rounds, plan.last, float64(plan.last)*plan.lastCharge/p.Charge(), plan.lambda, plan.step.most, words(known)),
			Output: output,
			Passes: float64(T),
		},
		Properties: optimize.Properties{Averaged: !plan.smallest, Restarted: true},
		Output:     optimize.Last,
	})
	if err != nil {
		return nil, err
	}
	plan.Expect(plan.forecast(p, known))
	if c.Theorem {
		plan.Promises("Theorem 2 (Menart et al. 2024)", optimize.OfExcess, p.Constants.InitialGap,
			func(p optimize.Problem) float64 { return c.promise(p, known) })
	}
	return plan, nil
}

// check returns an error if a setting is out of range, or does not go with another or with the KL condition.
func (c Proximal) check(known optimize.KL) error {
	output := c.Output.Or(optimize.Average)
	if known.Kappa < 2 {
		return fmt.Errorf("optimize: %s: kappa = %v: must be at least 2 (kl-spider takes less)", proximalName, known.Kappa)
	}
	err := cmp.Or(optimize.CheckCount(proximalName, "rounds", c.Rounds), optimize.CheckSteps(proximalName, c.Steps))
	if err != nil {
		return err
	}
	switch {
	case int(c.Inner) >= len(inners) || c.Inner != 0 && (c.Theorem || output != optimize.Average):
		return fmt.Errorf("optimize: %s: inner = %v: must be one of %v, and strongly-convex with theorem or another output",
			proximalName, c.Inner, inners)
	case output != optimize.Average && output != optimize.Smallest:
		return fmt.Errorf("optimize: %s: output = %v: must be %v or %v", proximalName, c.Output, optimize.Average,
			optimize.Smallest)
	}
	return nil
}

// promise returns the bound of Theorem 2 of Menart et al. 2024 on the excess risk.
func (c Proximal) promise(p optimize.Problem, known optimize.KL) float64 {
	var plan proximalPlan
	if err := c.settle(p, known, &plan); err != nil {
		return math.Inf(1)
	}
	T := float64(plan.rounds)
	return known.Excess(p.Constants.Lipschitz * math.Sqrt(T*stronglyConvexLog(p, T)) * math.Sqrt2 / p.Effective())
}

// forecast returns the rate of Theorem 2 of Menart et al. 2024 without its logarithms. The gradient norm is the noise
// level for the last round's part of the budget. The excess risk is the largest that the KL condition allows at this
// gradient norm.
func (r *proximalPlan) forecast(p optimize.Problem, known optimize.KL) (f optimize.Forecast) {
	f.Gradient = p.Floor() * math.Sqrt(p.Charge()/(float64(r.last)*r.lastCharge))
	f.Excess, f.Population = known.Excess(f.Gradient), math.Hypot(f.Gradient, p.Constants.Lipschitz/math.Sqrt(p.Records))
	return f
}

// settle sets the plan's L~, number of rounds, numbers of steps, and step sizes. It returns an error if a setting is
// out of range or the rounds together have more than optimize.MostSteps steps.
func (c Proximal) settle(p optimize.Problem, known optimize.KL, plan *proximalPlan) error {
	plan.rounds, plan.steps = c.Rounds, c.Steps
	by := c.byTheorem
	if !c.Theorem {
		by = c.byRule
	}
	if err := by(p, known, plan); err != nil {
		return err
	}
	if T := float64(plan.rounds-1)*float64(plan.steps) + float64(plan.last); T > optimize.MostSteps {
		return fmt.Errorf("optimize: %s: %d rounds of %d steps: must be at most %d steps altogether", proximalName,
			plan.rounds, plan.steps, optimize.MostSteps)
	}
	return nil
}

// byTheorem sets the values of Theorem 2 of Menart et al. 2024.
func (c Proximal) byTheorem(p optimize.Problem, known optimize.KL, plan *proximalPlan) (err error) {
	if c.StepScale != 0 {
		return fmt.Errorf("optimize: %s: step scale = %v: must be 0 with the theorem, whose steps have no other length",
			proximalName, c.StepScale)
	}
	plan.lambda = c.Lambda
	err = optimize.Fill(proximalName, optimize.Setting{Name: "lambda", Value: &plan.lambda,
		Rule: max(-convexity(p), 1/(4*known.Gamma*known.Gamma))})
	if err != nil {
		return err
	}
	plan.step = harmonic{lambda: plan.lambda, most: 1 / plan.lambda}
	n := p.Effective()
	if plan.rounds == 0 { // line 1
		F0 := p.Constants.InitialGap
		log := math.Log(F0) + known.Kappa*math.Log(n/(math.Sqrt2*known.Gamma*p.Constants.Lipschitz))
		T := (1 + 32*math.Pow(F0, 1-2/known.Kappa)*known.Gamma*known.Gamma*plan.lambda) * log
		plan.rounds = int(min(max(math.Ceil(T), 1), optimize.MostSteps))
	}
	if plan.steps == 0 { // Theorem 9, at rho/T and beta/T
		T := float64(plan.rounds)
		log := math.Log(2 * T / defaultFailure)
		plan.steps = int(max(min(n*n/(2*T)*log*log, optimize.MostSteps/T), 1))
	}
	plan.last = plan.steps
	return nil
}

// byRule sets the values of the practical rule.
//
// A round that finds the minimiser of F_t is a gradient step of size 1/(2 L~) that uses the gradient at its end. By
// the KL condition with kappa = 2 it divides the excess risk by 1 + 1/(4 gamma^2 L~) at least: the objective
// falls by L~ ||w_t - w_{t-1}||^2 = ||grad F(w_t)||^2/(4 L~) or more, since F_t(w_t) is at most F_t(w_{t-1}), and
// ||grad F(w_t)||^2 is at least the excess risk at w_t over gamma^2. A convex F falls by twice as much. Then F0 falls
// to what the noise of the whole budget leaves in log(F0/(gamma r)^2)/log(1 + 1/(2 gamma^2 L~)) rounds.
func (c Proximal) byRule(p optimize.Problem, known optimize.KL, plan *proximalPlan) error {
	h := c.StepScale
	if err := optimize.Fill(proximalName, optimize.Setting{Name: "step scale", Value: &h, Rule: p.StepScale()}); err != nil {
		return err
	}
	rule := min(-convexity(p), p.Smoothness()/(2*fewestInner)) / h
	if !(rule > 0) {
		rule = 1 / (4 * known.Gamma * known.Gamma)
	}
	plan.lambda = c.Lambda
	if err := optimize.Fill(proximalName, optimize.Setting{Name: "lambda", Value: &plan.lambda, Rule: rule}); err != nil {
		return err
	}
	plan.step = harmonic{lambda: plan.lambda,
		most: min(h/(p.Smoothness()+2*plan.lambda), 1/(2*plan.lambda+p.Smoothness()-p.DataSmoothness()))}
	total := p.GradientSteps(4, h)
	if plan.rounds == 0 {
		noise := known.Gamma * p.Floor()
		rounds := math.Log(p.Constants.InitialGap/(noise*noise)) / math.Log1p(1/(2*known.Gamma*known.Gamma*plan.lambda))
		plan.rounds = int(math.Ceil(min(max(rounds, 1), max(float64(total)/(2*fewestInner), 1))))
	}
	plan.last = plan.steps
	if plan.steps == 0 {
		plan.last = max(total/2, 1)
		if plan.rounds == 1 {
			plan.last = total
		}
		plan.steps = max((total-plan.last)/max(plan.rounds-1, 1), 1)
	}
	plan.share = lastShare
	return nil
}

// fewestInner is the number of steps that the practical rule leaves a round at least. With L~ = L1/(2 h fewestInner)
// as many gradient steps of size h/L1 are as long as the round's own step of size 1/(2 L~). lastShare is the share of
// the budget that the last round gets.
const fewestInner, lastShare = 8, .5

// divide gives each round its share of the budget, and each step of a round the same.
func (r *proximalPlan) divide(p optimize.Problem) {
	share := 1 / float64(r.rounds)
	if r.share > 0 && r.rounds > 1 {
		share = r.share
	}
	r.lastCharge = share * p.Charge() / float64(r.last)
	if r.rounds > 1 {
		r.charge = (1 - share) * p.Charge() / float64(r.rounds-1) / float64(r.steps)
	}
}

// Run minimises the objective F + L~ ||w - w_{t-1}||^2 of each round t, where w_{t-1} is the result of the
// round before. The round starts at w_{t-1}.
func (r *proximalPlan) Run(ctx context.Context, o optimize.Oracle, observe func(optimize.Step)) (optimize.Result,
	error) {
	run := r.Begin(ctx, o, observe)
	w := r.Problem().StartPoint()
	for t := range r.rounds { // line 3
		steps, charge := r.steps, r.charge
		if t == r.rounds-1 {
			steps, charge = r.last, r.lastCharge
		}
		if err := r.solve(run, w, steps, charge); err != nil {
			return run.RoundsResult(false, r.smallest), run.Failed(err)
		}
		w = run.Average()
	}
	return run.RoundsResult(true, r.smallest), nil
}

// solve makes one round: it minimises F + L~ ||w - centre||^2 by noisy gradient descent (Menart et al.
// 2024, Algorithm 4), starting at centre. The round's result is run.Average().
func (r *proximalPlan) solve(run *optimize.Run, centre []float64, steps int, charge float64) (err error) {
	p, s := r.Problem(), 0
	set, err := r.set(p, centre)
	if err != nil {
		return err
	}
	run.Round(optimize.Round{
		Start: centre, Set: set, More: pull{loss.None(), r.lambda, centre}.AddGradient,
		Eta: func([]float64, float64) float64 { return r.step.eta(s + 1) },
	})
	for ; s < steps; s++ {
		if err := run.Follow(charge, run.All(), optimize.Use{Weight: float64(s + 1)}); err != nil {
			return err
		}
	}
	return nil
}

// set returns the problem's set or, if it has none, a ball around centre that contains the minimiser w of F + L~ ||w -
// centre||^2. At the minimiser, 2 L~ ||w - centre||^2 = -<grad F(w), w - centre>. On the right side, the loss
// contributes at most L0 ||w - centre||. The regularizer contributes at most ||grad reg(centre)|| ||w - centre|| - m ||w
// - centre||^2, where m is the regularizer's convexity. If 2 L~ + m is not above 0, this bounds nothing, and set returns
// the whole space.
func (r *proximalPlan) set(p optimize.Problem, centre []float64) (convex.Set, error) {
	if p.Set != nil {
		return p.Set, nil
	}
	at, strong := make([]float64, p.Dim()), 2*r.lambda+p.Penalty().Convexity()
	if p.AddRegularizer(at, centre); !(strong > 0) {
		return convex.Whole{}, nil
	}
	return convex.NewBall(centre, (p.Constants.Lipschitz+optimize.Norm(at))/strong)
}
