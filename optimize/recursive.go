package optimize

import (
	"context"
	"math"

	"github.com/stillpoint-dp/stillpoint/convex"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Recursive configures recursive regularization for convex losses (Arora,
// Bassily, González, Guzmán, Menart and Ullah 2023, Algorithm 3, after Allen-Zhu
// 2018 and Foster et al. 2019): T rounds, each of which minimises an objective
// that is more strongly convex than the one before, from where that one ended.
//
//	wbar_t = solve  F(w) + sum_{s<t} (lambda_s/2) ||w - wbar_s||^2,   t = 1..T
//	         over   ||w - w_0|| <= R_t,  from wbar_{t-1};   wbar_0 = w_0
//
// with lambda_s = 2^s lambda, T = floor(log2(L1/lambda)), R_t = sqrt(2)^t D for D
// that bounds ||w* - w_0||. Early rounds come near a minimiser; late ones are
// well conditioned, which makes the gradient small.
//
// Guarantee: mu-GDP. With NoisyGD it holds whatever the constants; PhasedSGD
// trusts that the loss is convex and L1-smooth, and the curator's ledger says so.
// With the theorem's settings the gradient norm of the *expected* loss is
// O(L0/sqrt(n) + L0/N) up to logarithms, which is optimal; with PhasedSGD, in one
// pass, O(L0/sqrt(n) + L0/N + L1 D/sqrt(n)) (Theorem 5).
//
// Deviations from the paper: rounds are T, where Algorithm 3 loops to T-1 and
// returns round T; cohorts are disjoint, where its overlap by one; noise follows
// from exact charges, where sigma_t^2 has K_t^2 for K_t T^2 (L0/(n epsilon))^2;
// lambda is divided by D^2, which the first part of the theorem forgets; the
// problem's own regularizer is a part of F, added exactly; steps are at most
// 1/(L1 + sum lambda_s) long where the theorem's are not. A problem that has a set
// of its own is projected on that instead of the balls. PhasedSGD leaves out phases,
// and rounds unless their number is given, whose steps float64 does not resolve.
// (n epsilon)^2/(d log
// 1/delta) is N^2 here. A round of NoisyGD has 10^6/T steps at most.
//
// The zero Recursive has practical constants: rounds on all records with mu^2/T
// each, lambda = .1 L0/(D N), steps of h/(L1 + sum lambda_s), K_t = (kappa log
// kappa)/h with kappa = (L1 + lambda_t)/lambda_t, at most 3/T of what the rule of GD
// takes altogether. Disjoint cohorts are a few rounds with factors of 8. PhasedSGD
// has those, lambda = 5 L1 log(n)/n, three times the theorem's step and R_t <= 8 D.
//
// Measured, all of it is behind GD's tail average (docs/papers): what speaks for
// it is the theorem.
type Recursive struct {
	// Inner solves a round.
	Inner Inner
	// Cohorts says which records a round sees. Zero means AllRecords for NoisyGD
	// without Theorem, else Disjoint.
	Cohorts Cohorts
	// Theorem takes the settings of Theorem 5 for those fields that are zero.
	Theorem bool
	// Radius is D, a public bound on the distance from the start to a minimiser.
	// Only accuracy rests on it. Zero: the greatest distance in the problem's set
	// if that is a ball; else that of the minimiser which predictions assume.
	Radius float64
	// Lambda is that of lambda_s = growth^s lambda; Growth is the factor from round
	// to round, at least 2. Zero growth means 2, but 8 for disjoint cohorts without
	// Theorem, where few rounds are better.
	Lambda float64
	Growth float64
	// Rounds is T; zero means floor(log(L1/lambda)/log(growth)), at least 1.
	Rounds int
	// Steps is K_t of NoisyGD for every round.
	Steps int
	// StepScale is h in the step size; for PhasedSGD it multiplies that of Theorem
	// 5. Zero means 1 with Theorem, 3 for PhasedSGD, else 4 for rank-one losses and 1
	// for others.
	StepScale float64
}

// Inner is the algorithm that solves a round of Recursive.
type Inner uint8

const (
	// NoisyGD is full-batch noisy gradient descent on the round's records.
	NoisyGD Inner = iota
	// PhasedSGD passes once over the round's records (Feldman, Koren and Talwar
	// 2020). It needs a StableOracle, replace-one, a rank-one loss, no regularizer
	// but a quadratic one and no set but a ball.
	PhasedSGD
)

var innerNames = [...]string{"noisy-gd", "phased-sgd"}

func (i Inner) String() string { return nameOf(innerNames[:], "inner", uint8(i)) }

// ParseInner reads the name of an inner algorithm; the empty name is NoisyGD.
func ParseInner(s string) (Inner, error) {
	i, err := parseName(innerNames[:], "inner", s)
	return Inner(i), err
}

// Cohorts says which records a round of Recursive sees.
type Cohorts uint8

const (
	// RuleCohorts stands for what the rule says.
	RuleCohorts Cohorts = iota
	// Disjoint gives each round n/T records of its own, which it may charge the
	// whole budget.
	Disjoint
	// AllRecords has every round see all records, for mu^2/T.
	AllRecords
)

var cohortNames = [...]string{"", "disjoint", "all"}

func (c Cohorts) String() string { return nameOf(cohortNames[:], "cohorts", uint8(c)) }

// ParseCohorts reads "disjoint" or "all"; the empty name is RuleCohorts.
func ParseCohorts(s string) (Cohorts, error) {
	i, err := parseName(cohortNames[:], "cohorts", s)
	return Cohorts(i), err
}

// RecursivePlan is a settled Recursive.
type RecursivePlan struct {
	problem    Problem
	outline    Outline
	neighbours float64
	disjoint   bool
	rounds     []round
}

// round is what is settled of round t; one of its solvers is set.
type round struct {
	centre float64    // lambda_{t-1}, the strength added about wbar_{t-1}
	set    convex.Set // what w is projected on
	size   float64    // records of its own; of all where they are not disjoint
	gd     *noisyGD
	phased *phasedSGD
}

// Outline describes the plan.
func (r *RecursivePlan) Outline() Outline { return r.outline }

// Run carries the plan out.
func (r *RecursivePlan) Run(ctx context.Context, o Oracle, observe func(Step)) (Result, error) {
	p := r.problem
	wbar, pull := p.start(), newPull(p.Dim)
	taken := 0
	var charged, before float64 // to any record; in rounds that are over
	watch := func(w []float64, gradient, total float64) {
		taken++
		charged = max(charged, before+total)
		if observe != nil {
			observe(Step{Number: taken, Of: r.outline.Steps, GradientNorm: gradient, Charged: charged, W: w})
		}
	}
	var records *drawer
	if r.disjoint {
		records = newDrawer(o, r.neighbours)
	}
	for _, t := range r.rounds {
		pull.add(t.centre, wbar)
		next, err := r.solve(ctx, o, records, t, objective{problem: p, pull: pull, set: t.set}, wbar, watch)
		if err != nil {
			return Result{W: next, Steps: taken, Output: r.outline.Output}, stepError("recursive", taken, err)
		}
		wbar = next
		if !r.disjoint {
			before = charged
		}
	}
	return Result{W: wbar, Steps: taken, Output: r.outline.Output, Complete: true}, nil
}

// solve runs the sub-routine of a round.
func (r *RecursivePlan) solve(ctx context.Context, o Oracle, records *drawer, t round, f objective, start []float64, watch watcher) ([]float64, error) {
	if t.phased != nil {
		return t.phased.solve(ctx, o, records, f, start, watch)
	}
	var cohort query.Cohort
	if r.disjoint {
		var err error
		if cohort, err = records.draw(t.size); err != nil {
			return start, err
		}
	} else {
		cohort = o.All()
	}
	return t.gd.solve(ctx, o, cohort, f, start, watch)
}

// radiusRule is D where the configuration leaves it open.
func (p Problem) radiusRule() float64 {
	if b, ok := p.Set.(convex.Ball); ok {
		away := p.start()
		if c := b.Centre(); c != nil {
			descend(away, c, 1)
		}
		return b.Radius() + norm(away)
	}
	var square float64
	for _, e := range p.assumed() {
		square += math.Pow(e.gradient/e.eigenvalue, 2)
	}
	return math.Sqrt(square)
}
