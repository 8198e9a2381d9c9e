package recursive

import (
	"context"
	"math"

	"github.com/stillpoint-dp/stillpoint/convex"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
)

// Recursive is recursive regularization for convex losses (Arora, Bassily, González, Guzmán, Menart and
// Ullah 2023, Algorithm 3, after Allen-Zhu 2018 and Foster et al. 2019). It runs T rounds. Each round
// minimises an objective that is more strongly convex than the objective of the round before it, and starts
// at the solution of the round before it.
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
// The zero Recursive uses practical constants. All rounds are on all records, and each round is charged
// mu^2/T. lambda is .1 L0/(D N), and steps have the size h/(L1 + sum lambda_s). Round t has K_t = (kappa
// log kappa)/h steps with kappa = (L1 + lambda_t)/lambda_t, but at most 3/T times the default number of
// steps of firstorder.GD. With disjoint cohorts the factor of lambda from round to round is 8, so that
// there are few rounds. PhasedSGD uses disjoint cohorts, lambda = 5 L1 log(n)/n, three times the theorem's
// step size and R_t <= 8 D.
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
	// Radius is D, a public bound on the distance from the start to a minimiser. It affects accuracy, never
	// privacy. Zero means the largest distance from the start to a point of the problem's feasible set if
	// this set is a ball. Otherwise zero means the distance from the start to the minimiser that forecasts
	// assume.
	Radius float64 `yaml:"distance"`
	// Lambda is lambda in lambda_s = growth^s lambda, the weight of the quadratic around the solution of
	// round s. Zero means .1 L0/(D N) for NoisyGD and 5 L1 log(n)/n for PhasedSGD, or with Theorem the
	// theorem's value.
	Lambda float64 `yaml:"lambda"`
	// Growth is the factor of lambda from round to round, from 2 to 1024. Zero means 8 for disjoint cohorts
	// without Theorem, since few rounds are then better, and 2 otherwise.
	Growth float64 `yaml:"growth"`
	// Rounds is T, the number of rounds. Zero means floor(log(L1/lambda)/log(growth)), at least 1 and at
	// most 100, and with disjoint cohorts at most as many as there are records for.
	Rounds int `yaml:"rounds"`
	// Steps is K_t, the number of steps of each round of NoisyGD. Zero means (kappa log kappa)/h with kappa
	// = (L1 + lambda_t)/lambda_t, but at most 3/T times the default number of steps of gradient descent
	// (gd). With Theorem it means the theorem's number. With PhasedSGD it must be zero.
	Steps int `yaml:"steps"`
	// StepScale is h. For NoisyGD steps have the size h/(L1 + sum lambda_s). For PhasedSGD h multiplies the
	// step size of Theorem 5. Zero means 1 with Theorem and 3 for PhasedSGD without Theorem. For NoisyGD
	// without Theorem it means 4 for rank-one losses and for records of several rows, and 1 for other
	// losses.
	StepScale float64 `yaml:"step_scale"`
}

// Inner selects the algorithm that solves a round of Recursive.
type Inner uint8

const (
	// NoisyGD is full-batch noisy gradient descent on the round's records.
	NoisyGD Inner = iota
	// PhasedSGD makes one pass over the round's records (Feldman, Koren and Talwar 2020). It needs the
	// replace-one relation, a rank-one loss, a quadratic regularizer or none, and a ball as feasible
	// set or none.
	PhasedSGD
)

var innerNames = [...]string{"noisy-gd", "phased-sgd"}

func (i Inner) String() string { return optimize.NameOf(innerNames[:], "inner", uint8(i)) }

// UnmarshalText sets i to the inner algorithm with the given name. No name means NoisyGD.
func (i *Inner) UnmarshalText(text []byte) error {
	return optimize.SetName(i, innerNames[:], "inner", text)
}

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

// UnmarshalText sets c to the division with the given name, disjoint or all. No name means RuleDivision.
func (c *Division) UnmarshalText(text []byte) error {
	return optimize.SetName(c, divisionNames[:], "cohorts", text)
}

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
	return t.gd.solve(run, cohort, f)
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
	var square float64
	for _, e := range forecast.Assumed(p) {
		square += math.Pow(e.Gradient/e.Eigenvalue, 2)
	}
	return math.Sqrt(square)
}
