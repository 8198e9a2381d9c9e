package recursive

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/convex"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Recursive is recursive regularization for convex losses (Arora, Bassily, González, Guzmán, Menart and Ullah 2023,
// Algorithm 3, after Allen-Zhu 2018 and Foster et al. 2019). It runs T rounds. Each round minimises an objective that
// is more strongly convex than the objective of the round before it, and starts at the solution of the round before it.
//
//	wbar_t = solve  F(w) + sum_{s<t} (lambda_s/2) ||w - wbar_s||^2,   t = 1..T
//	         over   ||w - w_0|| <= R_t,  from wbar_{t-1};   wbar_0 = w_0
//
// with lambda_s = 2^s lambda, T = floor(log2(L1/lambda)), R_t = sqrt(2)^t D, where D bounds the distance
// ||w* - w_0|| from the start to a minimiser. The solutions of early rounds come near a minimiser. The
// objectives of late rounds are well conditioned, which makes the gradient small.
//
// Guarantee: mu-GDP. With NoisyGD it holds whatever the constants. With PhasedSGD it holds only if the loss
// is convex and L1-smooth as declared, and the curator's ledger records this assumption. With the theorem's
// settings and NoisyGD, the gradient norm of the *expected* loss is O(L0/sqrt(n) + L0/N) up to logarithms,
// where N is the effective size. This rate is optimal. With PhasedSGD, in one pass, the gradient norm is
// O(L0/sqrt(n) + L0/N + L1 D/sqrt(n)) (Arora et al. 2023, Theorem 5).
//
// Deviations from the paper (N^2 stands for the paper's (n epsilon)^2/(d log 1/delta)):
//   - There are T rounds. Algorithm 3 loops to T-1 and returns the result of round T.
//   - The cohorts of rounds are disjoint with the theorem's settings. The paper's cohorts overlap by one
//     record.
//   - Noise is computed from exact charges. The paper's sigma_t^2 has the factor K_t^2 where K_t T^2 (L0/(n
//     epsilon))^2 is needed.
//   - The theorem's lambda is divided by D^2. The first part of the theorem omits this division.
//   - The problem's own regularizer is part of F and added exactly.
//   - With the theorem's settings, steps of NoisyGD have a size of at most 1/(L1 + sum lambda_s), which the
//     theorem does not require, and a round of NoisyGD has at most 10^6/T steps.
//   - If the problem has a feasible set, points are projected onto this set and not onto the balls of
//     radius R_t.
//   - PhasedSGD omits phases whose steps are too small for float64 to resolve. If a round's first phase is
//     not resolved, the plan has fewer rounds, unless Rounds is set.
//
// The zero Recursive uses practical constants. All rounds are on all records, and each round is charged mu^2/T. lambda
// is .1 L0/(D N), and steps have the size h/(L1 + sum lambda_s). Round t has K_t = (kappa log kappa)/h steps with kappa
// = (L1 + lambda_t)/lambda_t, but at most 3/T times the default number of steps of firstorder.GD. With disjoint cohorts
// the factor of lambda from round to round is 8, so that there are few rounds. PhasedSGD uses disjoint cohorts, lambda
// = 5 L1 log(n)/n, three times the theorem's step size and R_t <= 8 D.
//
// In every measurement the method was worse than GD's tail average (docs/explanation/papers). The theorem
// is the only reason to use it.
type Recursive struct {
	// Inner is the algorithm that solves each round: noisy-gd or phased-sgd. Zero means noisy-gd.
	Inner Inner `yaml:"inner"`
	// Cohorts states which records a round uses: all, or disjoint for a different part of the records in
	// each round. Zero means all for NoisyGD without Theorem, and disjoint otherwise.
	Cohorts Division `yaml:"cohorts"`
	// Theorem means that each setting that is zero has the value of Theorem 5 of Arora et al. (2023).
	Theorem bool `yaml:"theorem"`
	// Radius is D, a public bound on the distance from the start to a minimiser. A wrong bound costs accuracy and
	// leaves privacy as it is. Zero means the largest distance from the start to a point of the problem's feasible set
	// if this set is a ball. Otherwise zero means the distance from the start to the minimiser that forecasts assume.
	Radius float64 `yaml:"distance"`
	// Lambda sets the weight growth^s lambda of the quadratic term that keeps later rounds near the result of round s.
	// Zero means .1 L0/(D N) for NoisyGD and 5 L1 log(n)/n for PhasedSGD, or with Theorem the theorem's value.
	Lambda float64 `yaml:"lambda"`
	// Growth is the factor, from 2 to 1024, by which the weight of the quadratic term grows from round to round. Zero
	// means 8 for disjoint cohorts without Theorem, since few rounds are then better, and 2 otherwise.
	Growth float64 `yaml:"growth"`
	// Rounds is T, the number of rounds. Zero means floor(log(L1/lambda)/log(growth)), at least 1 and at
	// most 100, and with disjoint cohorts at most as many as there are records for.
	Rounds int `yaml:"rounds"`
	// Steps is K_t, the number of steps of each round of NoisyGD. Zero means (kappa log kappa)/h with kappa = (L1 +
	// lambda_t)/lambda_t, but at most 3/T times the default number of steps of gradient descent (gd). With Theorem,
	// zero means the theorem's number. With PhasedSGD it must be zero.
	Steps int `yaml:"steps"`
	// StepScale is h. For NoisyGD steps have the size h/(L1 + sum lambda_s). For PhasedSGD h multiplies the step size
	// of Theorem 5. Zero means 1 with Theorem and 3 for PhasedSGD without Theorem. For NoisyGD without Theorem, zero
	// means 4 for rank-one losses and for records of several rows, and 1 for other losses.
	StepScale float64 `yaml:"step_scale"`
}

// Inner selects the algorithm that solves a round of Recursive.
type Inner uint8

const (
	// NoisyGD is full-batch noisy gradient descent on the round's records.
	NoisyGD Inner = iota
	// PhasedSGD makes one pass over the round's records (Feldman, Koren and Talwar 2020). It needs the replace-one
	// relation, a rank-one loss, a quadratic regularizer or none, and a ball as feasible set or none.
	PhasedSGD
)

var innerNames = [...]string{"noisy-gd", "phased-sgd"}

func (i Inner) String() string { return optimize.NameOf(innerNames[:], "inner", uint8(i)) }

// Division selects which records a round of Recursive uses.
type Division uint8

const (
	// RuleDivision means the default rule in the comment of the field Cohorts of [Recursive].
	RuleDivision Division = iota
	// Disjoint gives each round n/T records of its own. A round may be charged the whole budget.
	Disjoint
	// AllRecords uses all records in every round, at a charge of mu^2/T each.
	AllRecords
)

var divisionNames = [...]string{"", "disjoint", "all"}

func (c Division) String() string { return optimize.NameOf(divisionNames[:], "cohorts", uint8(c)) }

// plan is the plan of a [Recursive] for one problem.
type plan struct {
	optimize.Settled
	disjoint bool
	rounds   []round
}

// round has the settings of one round. Exactly one of gd and phased is set: the solver of the round.
type round struct {
	centre float64    // lambda_{t-1}, the weight of the quadratic around wbar_{t-1}
	set    convex.Set // the set onto which w is projected
	size   float64    // number of records of the round; all records unless cohorts are disjoint
	gd     *noisyGD
	phased *phasedSGD
}

// Run solves the rounds of the plan in order, each from the solution of the round before it. The result is
// the solution of the last round.
func (r *plan) Run(ctx context.Context, o optimize.Oracle, observe func(optimize.Step)) (optimize.Result, error) {
	p := r.Problem()
	run := r.Begin(ctx, o, observe)
	wbar, pull := p.StartPoint(), newPull(p.Dim())
	for _, t := range r.rounds {
		pull.add(t.centre, wbar)
		if err := r.solve(run, t, objective{problem: p, pull: pull, set: t.set}, wbar); err != nil {
			return run.RoundsResult(false, false), run.Failed(err)
		}
		wbar = run.Average()
	}
	return run.RoundsResult(true, false), nil
}

// solve minimises the objective f of the round t by the round's solver, from start.
func (r *plan) solve(run *optimize.Run, t round, f objective, start []float64) (err error) {
	round := optimize.Round{Start: start, More: f.pull.addGradient, Set: f.set}
	if t.phased != nil {
		run.Round(round)
		return t.phased.solve(run, f)
	}
	round.Eta, round.Fade = t.gd.paced(), t.gd.decay
	run.Round(round)
	cohort := run.All()
	if r.disjoint {
		if cohort, err = run.Draw(t.size); err != nil {
			return err
		}
	}
	return t.gd.solve(run, cohort)
}

// radiusRule returns the default of D, the bound on the distance from the start to a minimiser. It is
// the largest distance from the start within the problem's set if the set is a ball, and otherwise
// the distance of the minimiser that forecasts assume.
func radiusRule(p optimize.Problem) float64 {
	if b, ok := p.Set.(convex.Ball); ok {
		away := p.StartPoint()
		if c := b.Centre(); c != nil {
			optimize.Descend(away, c, 1)
		}
		return b.Radius() + optimize.Norm(away)
	}
	return math.Sqrt(vector.Sum(forecast.Assumed(p), func(e forecast.Direction) float64 {
		return math.Pow(e.Gradient/e.Eigenvalue, 2)
	}))
}

// noisyGD solves a round, whose objective is strongly convex, by noisy gradient descent (Arora et al. 2023,
// Algorithm 7). It makes projected steps of one size, each along a noisy mean of clipped gradients. The
// result of the round is the average
//
//	sum_k (1-decay)^(-k) w_k / sum_k (1-decay)^(-k),   k = 1..K.
type noisyGD struct {
	steps  int     // number K of steps
	eta    float64 // step size
	safe   float64 // step size that is stable on every table, to which optimize.Pace may shorten eta
	decay  float64 // eta lambda_t, in [0, 1]
	charge float64 // charge of each step
}

// objective is a round's objective, F + sum_s (lambda_s/2) ||w - wbar_s||^2 over a feasible set. F is the mean loss of
// the round's records plus the problem's regularizer, and wbar_s is the solution of the earlier round s.
type objective struct {
	problem optimize.Problem
	pull    *quadratic
	set     convex.Set
}

// quadratic is the sum sum_s (lambda_s/2) ||w - wbar_s||^2 in the objective of a round, around the
// solutions wbar_s of the earlier rounds. The quadratic is public, and its gradient is added without noise.
type quadratic struct {
	strength float64   // sum_s lambda_s, the curvature of the quadratic
	linear   []float64 // sum_s lambda_s wbar_s
}

func newPull(dim int) *quadratic { return &quadratic{linear: make([]float64, dim)} }

// add adds (lambda/2) ||w - centre||^2 to the quadratic.
func (p *quadratic) add(lambda float64, centre []float64) {
	p.strength += lambda
	vector.Add(p.linear, lambda, centre)
}

func (p *quadratic) addGradient(g, w []float64) {
	for j := range g {
		g[j] += p.strength*w[j] - p.linear[j]
	}
}

// solve makes the steps of a round, with queries on the given records. It returns the first error of a
// query. The run computes the average.
func (s noisyGD) solve(run *optimize.Run, records query.Cohort) error {
	for range s.steps {
		if err := run.Follow(s.charge, records, optimize.Use{Weight: 1}); err != nil {
			return err
		}
	}
	return nil
}

// paced returns a function that returns the size of each step. If eta is at most safe, the step size that
// is stable on every table, every step has the size eta. If eta is larger, steps begin with the size eta,
// and [optimize.Pace] shortens steps that overshoot, down to safe.
func (s noisyGD) paced() func(g []float64, noise float64) float64 {
	if !(s.eta > s.safe) {
		return func([]float64, float64) float64 { return s.eta }
	}
	return optimize.NewPace(s.eta, s.safe).Next
}

// phasedSGD solves a round by phased SGD (Feldman, Koren and Talwar 2020; Arora et al. 2023, Algorithm 5). Phase i = 1,
// 2, ... makes one pass over the share 2^-i of the round's records with steps of size 4^-i eta. Phase 1 starts at the
// round's start, and every later phase at the point that the phase before it released.
//
// The privacy of phased SGD needs stability: steps must not increase the distance between two runs on
// neighbouring tables. Steps of at most 2/(L1 + Lambda) have this property if the round's objective is
// convex with smoothness L1 + Lambda. Lambda is the convexity that the earlier rounds' quadratics add to
// the objective. Each phase has its own records, so each phase may be charged the whole budget.
type phasedSGD struct {
	sizes  []int   // n_i, the number of records of each phase
	eta    float64 // phase i, counted from 1, makes steps of size 4^-i eta
	charge float64 // charge of each phase
}

// phaseSizes returns the number of records of each phase i = 1, 2, ...: 2^-i times records, rounded down, as long as
// this number is at least 2. With a single record the average of a phase would be the phase's start.
func phaseSizes(records int) []int {
	var sizes []int
	for n := records / 2; n >= 2; n /= 2 {
		sizes = append(sizes, n)
	}
	return sizes
}

// errUnresolved means that the steps of a round's first phase are too small compared with the rounding
// errors of float64 (see resolved).
var errUnresolved = errors.New("phased-sgd")

// resolved reports whether a pass over n records is accurate enough in float64 for the curator to answer it. Let reach
// bound the norms of the points that the pass computes with. The rounding error of one step is below d 2^-53 reach for
// large d. The rounding errors of all n steps together must be at most 1/80 of the longest step. The standard deviation
// of the noise must be at least 2^-29 reach. These limits are a little stricter than the curator's own.
func resolved(p query.Pass, n int, smoothness, mu float64) bool {
	d := float64(len(p.Start))
	reach := optimize.Norm(p.Centre) + p.Radius + optimize.Norm(p.Start)
	reach += p.Step * (p.Clip + p.Lambda*reach)
	step := 0x1p-53 * reach * ((p.Step*smoothness+1)*(d/8+6) + d/2 + 16)
	return 80*float64(n)*step <= p.Step*p.Clip && p.Sensitivity(n, smoothness) >= 0x1p-29*reach*mu
}

// step returns the step size of phase i, counted from 0.
func (s phasedSGD) step(i int) float64 { return math.Ldexp(s.eta, -2*(i+1)) }

// solve makes, in each phase, one pass over a new cohort, and releases the average of the pass with
// noise. The round's result is the release of the last phase.
func (s phasedSGD) solve(run *optimize.Run, f objective) error {
	pass := query.Pass{Clip: f.problem.Constants.Lipschitz, Lambda: f.pull.strength, Linear: slices.Clone(f.pull.linear)}
	// The quadratic regularizer (a/2) ||w - c||^2 has gradient a w + b, where b is its gradient at 0.
	if r := f.problem.Regularizer; r != nil {
		b := make([]float64, len(run.W))
		r.AddGradient(b, make([]float64, len(b)))
		pass.Lambda += r.Smoothness()
		optimize.Descend(pass.Linear, b, 1)
	}
	if ball, ok := f.set.(convex.Ball); ok {
		pass.Radius, pass.Centre = ball.Radius(), ball.Centre()
	}
	for i, size := range s.sizes {
		cohort, err := run.Draw(float64(size))
		if err != nil {
			return err
		}
		pass.Start, pass.Step = slices.Clone(run.W), s.step(i)
		q, err := query.NewStable(s.charge, cohort, pass)
		if err != nil {
			return err
		}
		answer, err := run.Stable(q)
		if err != nil {
			return err
		}
		// A pass releases no gradient. The run records the pass as one step from the pass's start to its
		// release. The average of the iterates is about half as far from the start as the last iterate, so
		// the recorded step size is half the sum of the pass's step sizes.
		run.Land(answer, pass.Step*float64(size)/2)
	}
	return nil
}

// checkPhased returns an error if phased SGD would not be stable or if the curator does not offer it for
// the problem. This is so under add-or-remove, for a loss that is not rank-one with one margin, for a
// regularizer that is not quadratic, and for a feasible set that is neither a ball nor the whole space.
func checkPhased(p optimize.Problem) error {
	switch r := p.Regularizer; {
	case p.Relation == account.AddOrRemove:
		return errors.New("optimize: recursive: inner = phased-sgd: must be noisy-gd under add-or-remove, where a " +
			"record's place in a pass would tell how many there are")
	case !p.RankOne || p.Shape.Margins != 1:
		return errors.New("optimize: recursive: inner = phased-sgd: must be noisy-gd for a loss that is not rank-one")
	case r != nil && r.Smoothness() != r.Convexity():
		return fmt.Errorf("optimize: recursive: inner = phased-sgd: regularizer %s has curvatures from %v to %v: must be "+
			"quadratic, such as l2", r.Name(), r.Convexity(), r.Smoothness())
	}
	switch p.Set.(type) {
	case nil, convex.Whole, convex.Ball:
		return nil
	}
	return fmt.Errorf("optimize: recursive: inner = phased-sgd: set %s: must be a ball", p.Set.Name())
}
