package recursive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/convex"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/forecast"
	"github.com/stillpoint-dp/stillpoint/query"
)

// mostRounds is the largest number of rounds. With more rounds the weights lambda_s of the rounds'
// quadratics would leave the range that float64 resolves.
const mostRounds = 100

// mostGrowth is the largest ratio R_t/D for PhasedSGD without Theorem. R_t is the radius of the ball of
// round t, and D is the bound on the distance from the start to a minimiser (Recursive.Radius). The
// rounding errors of PhasedSGD grow with R_t.
const mostGrowth = 8

// Plan implements [optimize.Algorithm]. It returns an error if p is not convex or a round would have too few records.
func (c Recursive) Plan(_ context.Context, p optimize.Problem) (optimize.Plan, error) {
	if err := cmp.Or(p.Validate(), c.check(p)); err != nil {
		return nil, err
	}
	free := c.Rounds == 0
	c = c.settle(p)
	plan, err := c.plan(p)
	for free && c.Rounds > 1 && errors.Is(err, errUnresolved) {
		// With fewer rounds each round's steps are longer.
		c.Rounds--
		plan, err = c.plan(p)
	}
	if err != nil {
		return nil, err
	}
	return plan, nil
}

// leastCohort returns the smallest number of records with which a round can be solved.
func (c Recursive) leastCohort() float64 {
	if c.Inner == PhasedSGD {
		return 4 // two records in the first phase
	}
	return 1
}

// plan returns the plan for settings that settle has completed. Only Steps may still be zero; noisyGD then
// applies the rule for Steps.
func (c Recursive) plan(p optimize.Problem) (*plan, error) {
	if float64(c.Steps)*float64(c.Rounds) > optimize.MostSteps {
		return nil, fmt.Errorf("optimize: recursive: steps = %d a round: must be at most %d over %d rounds", c.Steps,
			optimize.MostSteps, c.Rounds)
	}
	size := p.Records
	if c.Cohorts == Disjoint {
		size = p.Cohort(size / float64(c.Rounds))
	}
	least := c.leastCohort()
	if c.Rounds == 1 && size < least {
		return nil, fmt.Errorf("optimize: recursive: records = %v: must be at least %v for a round", p.Records, least)
	}
	if size < least {
		return nil, fmt.Errorf("optimize: recursive: rounds = %d: must leave each at least %v of the %v records", c.Rounds,
			least, p.Records)
	}
	out := &plan{disjoint: c.Cohorts == Disjoint}
	steps := 0
	var pulls, passes float64 // sum of lambda_s; number of gradients computed
	for t := 1; t <= c.Rounds; t++ {
		centre := c.Lambda * math.Pow(c.Growth, float64(t-1))
		pulls += centre
		r := round{centre: centre, size: size}
		var err error
		if r.set, err = c.set(p, t); err != nil {
			return nil, err
		}
		if c.Inner == PhasedSGD {
			if r.phased, err = c.phased(p, size, centre*c.Growth, pulls, r.set); err != nil {
				return nil, fmt.Errorf("optimize: recursive: round %d: %w", t, err)
			}
			steps += len(r.phased.sizes)
			for _, n := range r.phased.sizes {
				passes += float64(n)
			}
		} else {
			r.gd = c.noisyGD(p, centre*c.Growth, pulls)
			steps += r.gd.steps
			passes += float64(r.gd.steps) * size
		}
		out.rounds = append(out.rounds, r)
	}
	summary := c.summary(p, out.rounds[0], steps)
	summary.Passes = passes / p.Records
	var err error
	out.Settled, err = optimize.Settle(optimize.Draft{
		Problem: p, Summary: summary, Output: optimize.Last,
		Needs: optimize.Needs{Cohorts: out.disjoint, Stable: c.Inner == PhasedSGD},
		Properties: optimize.Properties{
			Convex: true, Restarted: true, OnePass: c.Inner == PhasedSGD, Averaged: c.Inner == NoisyGD,
		},
	})
	if err != nil {
		return nil, err
	}
	out.Expect(out.forecast())
	if c.Theorem {
		name := "Theorem 5, part 1 (Arora et al. 2023)"
		if c.Inner == PhasedSGD {
			name = "Theorem 5, part 2 (Arora et al. 2023)"
		}
		out.Promises(name, optimize.OfGradient, p.MostStart(), func(p optimize.Problem) float64 {
			bound := p.Constants.Lipschitz * (1/math.Sqrt(p.Records) + 1/p.Effective())
			if c.Inner == PhasedSGD {
				bound += p.Smoothness() * c.Radius / math.Sqrt(p.Records)
			}
			return bound
		})
	}
	return out, nil
}

func (c Recursive) check(p optimize.Problem) error {
	curvature := p.Constants.Curvature
	switch {
	case curvature.Lo < 0:
		return fmt.Errorf("optimize: recursive: the loss's curvature = [%v, %v]: must be >= 0, the loss convex", curvature.Lo,
			curvature.Hi)
	case p.Regularizer != nil && p.Regularizer.Convexity() < 0:
		return fmt.Errorf("optimize: recursive: regularizer %s has curvature %v: must be >= 0, the objective convex",
			p.Regularizer.Name(), p.Regularizer.Convexity())
	case int(c.Inner) >= len(innerNames):
		return fmt.Errorf("optimize: recursive: inner = %v: must be one of %v", c.Inner, innerNames)
	case int(c.Cohorts) >= len(divisionNames):
		return fmt.Errorf("optimize: recursive: cohorts = %v: must be one of %v", c.Cohorts, divisionNames[1:])
	case c.Inner == PhasedSGD && c.Cohorts == AllRecords:
		return fmt.Errorf("optimize: recursive: cohorts = %v: must be disjoint for phased-sgd, which takes each record once",
			c.Cohorts)
	case c.Inner == PhasedSGD && c.Steps != 0:
		return fmt.Errorf("optimize: recursive: steps = %d: must be 0 for phased-sgd, whose phases follow from the records",
			c.Steps)
	case c.Steps < 0 || c.Steps > optimize.MostSteps:
		return fmt.Errorf("optimize: recursive: steps = %d a round: must be between 1 and %d, or left out for the rule's number",
			c.Steps,
			optimize.MostSteps)
	case c.Rounds < 0 || c.Rounds > mostRounds:
		return fmt.Errorf("optimize: recursive: rounds = %d: must be between 1 and %d, or left out for the rule's number",
			c.Rounds,
			mostRounds)
	case c.Radius != 0 && !optimize.Positive(c.Radius):
		return fmt.Errorf("optimize: recursive: distance = %v: must be finite and > 0, or left out for the rule's", c.Radius)
	case c.Lambda != 0 && !optimize.Positive(c.Lambda):
		return fmt.Errorf("optimize: recursive: lambda = %v: must be finite and > 0, or left out for the rule's", c.Lambda)
	case c.Growth != 0 && !(c.Growth >= 2 && c.Growth <= 1024):
		return fmt.Errorf("optimize: recursive: growth = %v: must be between 2 and 1024, or left out for the rule's",
			c.Growth)
	case c.StepScale != 0 && !optimize.Positive(c.StepScale):
		return fmt.Errorf("optimize: recursive: step scale = %v: must be finite and > 0", c.StepScale)
	case c.Inner == PhasedSGD:
		return checkPhased(p)
	}
	return nil
}

// settle returns c with each setting that is zero, except Steps, replaced by the default rule's value.
func (c Recursive) settle(p optimize.Problem) Recursive {
	if c.Cohorts == RuleDivision {
		c.Cohorts = AllRecords
		if c.Theorem || c.Inner == PhasedSGD {
			c.Cohorts = Disjoint
		}
	}
	c.Radius = cmp.Or(c.Radius, radiusRule(p))
	if c.Growth == 0 {
		c.Growth = 2
		if c.Cohorts == Disjoint && !c.Theorem {
			c.Growth = 8
		}
	}
	if c.StepScale == 0 {
		switch {
		case c.Theorem:
			c.StepScale = 1
		case c.Inner == PhasedSGD:
			c.StepScale = 3
		default:
			c.StepScale = p.StepScale()
		}
	}
	n, l0, l1 := p.Effective(), p.Constants.Lipschitz, p.Smoothness()
	if c.Lambda == 0 {
		onePass := l1 * math.Log(max(p.Records, 2)) / p.Records
		// The lambda of Theorem 5, divided by D^2. The first part of the theorem omits this division.
		theorem := l0 * l0 / (l1 * c.Radius * c.Radius) * min(1/p.Records, 1/(n*n))
		switch {
		case c.Theorem && c.Inner == PhasedSGD:
			c.Lambda = max(theorem, onePass)
		case c.Theorem:
			c.Lambda = theorem
		case c.Inner == PhasedSGD:
			c.Lambda = 5 * onePass
		default:
			c.Lambda = .1 * l0 / (c.Radius * n)
		}
	}
	if c.Rounds == 0 {
		// 1e-9 corrects a quotient that rounding puts just below a whole number.
		t := math.Floor(math.Log(l1/c.Lambda)/math.Log(c.Growth) + 1e-9)
		if c.Cohorts == Disjoint { // at most as many rounds as there are records for
			t = min(t, math.Floor(p.Records/c.leastCohort()))
		}
		c.Rounds = int(min(max(t, 1), mostRounds))
	}
	return c
}

// set returns the set onto which round t, counted from 1, projects. It is the feasible set of the problem,
// or, for a problem without one, the ball of radius R_t = growth^(t/2) D around the start. For PhasedSGD
// without Theorem R_t is at most mostGrowth D.
func (c Recursive) set(p optimize.Problem, t int) (convex.Set, error) {
	if p.Set != nil {
		if _, whole := p.Set.(convex.Whole); !whole {
			return p.Set, nil
		}
	}
	times := math.Pow(math.Sqrt(c.Growth), float64(t))
	if c.Inner == PhasedSGD && !c.Theorem {
		times = min(times, mostGrowth)
	}
	radius := times * c.Radius
	ball, err := convex.NewBall(p.StartPoint(), radius)
	if err != nil {
		return nil, fmt.Errorf("optimize: recursive: round %d: %w", t, err)
	}
	return ball, nil
}

// noisyGD returns the solver of round t by noisy gradient descent. lambda is lambda_t, the weight of the
// quadratic around the round's solution in the objectives of later rounds. pulls is the sum of lambda_0,
// ..., lambda_{t-1}, the weights in the objective of this round.
func (c Recursive) noisyGD(p optimize.Problem, lambda, pulls float64) *noisyGD {
	l1, n, rounds := p.Smoothness(), p.Effective(), float64(c.Rounds)
	kappa := (l1 + lambda) / lambda
	k := kappa * math.Log(kappa) / c.StepScale
	most := 3 * min(4*p.InitialGradient()*n/(2*p.Constants.Lipschitz*c.StepScale), optimize.RuleSteps) / rounds
	if c.Theorem {
		l0 := p.Constants.Lipschitz
		k = max(kappa*math.Log(kappa), n*n*(l0*l0*c.Lambda+math.Pow(l1, 1.5))/(rounds*rounds*c.Lambda*l0*l0))
		most = optimize.MostSteps / rounds
	}
	steps := cmp.Or(c.Steps, int(max(min(math.Ceil(k), math.Floor(most)), 1)))
	eta := c.StepScale / (l1 + pulls)
	// The quadratics and the regularizer may have their full curvature in every direction. The curvature of
	// the data may be smaller than its bound.
	if r := pulls + l1 - p.DataSmoothness(); r > 0 {
		eta = min(eta, 1/r)
	}
	if c.Theorem && steps > 1 {
		eta = min(eta, math.Log(float64(steps))/(lambda*float64(steps)))
	}
	charge := p.Charge() / float64(steps)
	if c.Cohorts == AllRecords {
		charge /= rounds
	}
	return &noisyGD{steps: steps, eta: eta, safe: 1 / (l1 + pulls), decay: min(eta*lambda, 1), charge: charge}
}

// phased returns the solver by phased SGD of a round on size records. lambda and pulls are as for noisyGD.
// phased returns errUnresolved if float64 cannot resolve the steps of the first phase (see resolved). It
// omits the first later phase whose steps float64 cannot resolve, and all phases after it.
func (c Recursive) phased(p optimize.Problem, size, lambda, pulls float64, set convex.Set) (*phasedSGD, error) {
	eta := c.StepScale * math.Log(size) / (lambda * size)
	// Phase 1 makes steps of size eta/4. A step of 2/(L1 + Lambda) is stable in exact arithmetic; the
	// factor leaves room for the rounding errors that the curator charges.
	longest := 2 / (p.Smoothness() + pulls) * (1 - 0x1p-20)
	out := &phasedSGD{eta: min(eta, 4*longest), charge: p.Charge()}
	for i, n := range phaseSizes(int(size)) {
		pass := query.Pass{Start: p.StartPoint(), Step: out.step(i), Clip: p.Constants.Lipschitz,
			Lambda: pulls + p.Smoothness() - p.DataSmoothness()}
		if ball, ok := set.(convex.Ball); ok {
			pass.Radius, pass.Centre = ball.Radius(), ball.Centre()
		}
		if !resolved(pass, n, p.DataSmoothness(), p.Mu) {
			if i == 0 {
				return nil, fmt.Errorf("%w: steps of %.3g over %d records in a ball of radius %.3g: must be longer, "+
					"over fewer records or in a smaller ball", errUnresolved, pass.Step, n, pass.Radius)
			}
			break
		}
		out.sizes = append(out.sizes, n)
	}
	return out, nil
}

func (c Recursive) summary(p optimize.Problem, first round, steps int) optimize.Summary {
	o := optimize.Summary{
		Algorithm: "recursive",
		Citation:  "recursive regularization (Arora et al. 2023, Algorithm 3) around noisy gradient descent",
		Steps:     steps,
		Clip:      p.Constants.Lipschitz,
		Output:    "the last round's weighted average",
	}
	which := "rounds on all records, an equal part of the budget each"
	if c.Cohorts == Disjoint {
		which = fmt.Sprintf("rounds on %.6g records of their own, the whole budget each", first.size)
	}
	o.Charges = fmt.Sprintf("%d %s; lambda from %.3g by factors of %.3g; ||w* - w_0|| taken to be at most %.3g",
		c.Rounds, which, c.Lambda, c.Growth, c.Radius)
	if c.Inner == PhasedSGD {
		o.Citation = "recursive regularization (Arora et al. 2023, Algorithm 3) around phased SGD (Feldman, Koren and " +
			"Talwar 2020)"
		o.StepSize = first.phased.step(0)
		o.Output = "the last phase of the last round"
	} else {
		o.StepSize = first.gd.eta
	}
	return o
}

// forecast computes the gradient norm and excess risk of Recursive's result on the quadratic that forecasts
// assume, with minimiser w*. Along an eigenvector of eigenvalue e every round is a linear map. Let wbar_t
// be the output of round t and v the minimiser of the round's objective. Let lambda_s be the weight of the
// quadratic around wbar_s in the objectives of later rounds. Let keep be the factor by which a round
// without noise reduces the distance from its start to v. Then
//
//	wbar_t = (1 - keep) v + keep wbar_{t-1} + noise,
//	v - w* = sum_{s<t} lambda_s (wbar_s - w*)/(e + sum_{s<t} lambda_s),
//
// so wbar_t - w* is a known linear combination of w_0 - w* and of the noises of the rounds. If each round has its own
// records, the sampling error of the gradients also counts as noise. Its variance is L0^2 divided by the round's number
// of records, distributed over the directions in proportion to their curvature. Projections are ignored.
func (r *plan) forecast() optimize.Forecast {
	p := r.Problem()
	directions := forecast.Assumed(p)
	trace := vector.Sum(directions, func(e forecast.Direction) float64 { // trace of the Hessian
		return e.Share * float64(p.Dim()) * e.Eigenvalue
	})
	var f optimize.Forecast
	for _, e := range directions {
		square := r.along(e, trace)
		f.Gradient += e.Eigenvalue * e.Eigenvalue * square
		f.Excess += e.Eigenvalue / 2 * square
	}
	l0 := p.Constants.Lipschitz
	f.Population = math.Sqrt(f.Gradient + l0*l0/p.Records)
	f.Gradient = math.Sqrt(f.Gradient)
	return f
}

// along returns the expected squared distance between the result and the minimiser along the group e
// of directions. trace is the trace of the Hessian.
func (r *plan) along(e forecast.Direction, trace float64) float64 {
	p := r.Problem()
	l0 := p.Constants.Lipschitz
	scatter := l0 * l0 * e.Eigenvalue / trace // variance of a record's gradient along one direction
	// last has the coefficients of wbar_{t-1} - w*: last[0] for w_0 - w* along the group, and last[t]
	// for the noise of round t. pull has the coefficients of the sum of lambda_s (wbar_s - w*).
	last, pull := make([]float64, len(r.rounds)+1), make([]float64, len(r.rounds)+1)
	last[0] = e.Gradient / e.Eigenvalue
	var strength float64
	for t, round := range r.rounds {
		strength += round.centre
		curvature := e.Eigenvalue + strength
		var keep, variance float64
		if round.phased != nil {
			keep, variance = round.phased.response(curvature, p.Neighbours()*l0, scatter)
		} else {
			keep, variance = round.gd.response(curvature)
			variance *= math.Pow(p.Neighbours()*l0/round.size, 2)
			if r.disjoint {
				variance += math.Pow((1-keep)/curvature, 2) * scatter / round.size
			}
		}
		for i := range last {
			pull[i] += round.centre * last[i]
			last[i] = (1-keep)*pull[i]/curvature + keep*last[i]
		}
		last[t+1] = math.Sqrt(variance)
	}
	square := last[0] * last[0]
	for _, v := range last[1:] {
		square += v * v * e.Share * float64(p.Dim())
	}
	return square
}

// response computes how the average of a round depends on the round's start and on noise, along a direction
// of the given curvature. keep is the ratio of the distance from the average to the round's minimiser,
// without noise, to the distance from the start to the minimiser. variance is the variance of the average
// if an answer's noise has variance 1/charge.
func (s noisyGD) response(curvature float64) (keep, variance float64) {
	q := math.Abs(1 - min(s.eta*curvature, 2))
	var weights float64 // sum of the weights of points k to K, relative to the weight of point K
	weight := 1.
	// pull is the sum over k >= j of weight_k q^(k-j), for j = K, ..., 1. It is the coefficient of
	// step j's noise in the sum of weighted points.
	var pull, squares float64
	for range s.steps {
		pull = weight + q*pull
		squares += pull * pull
		weights += weight
		weight *= 1 - s.decay
	}
	keep = q * pull / weights
	return keep, s.eta * s.eta * squares / (weights * weights * s.charge)
}

// response computes how the last phase's release depends on the round's start and on noise, along a direction of the
// given curvature. keep is the ratio of the distance from the release to the round's minimiser, without noise, to the
// distance from the start to the minimiser. variance is the variance of the release. Each step uses the gradient of one
// record. The argument gradient is the variance of such a gradient along the direction. The noise of phase i's release
// has the standard deviation eta_i reach/sqrt(charge).
func (s phasedSGD) response(curvature, reach, gradient float64) (keep, variance float64) {
	keep = 1
	for i, size := range s.sizes {
		eta, n := s.step(i), float64(size)
		a := min(eta*curvature, 1)
		// mean is the mean of (1-a)^k over k = 0..n-1, and square is the mean of (1-a)^(2k). The
		// gradient of record k enters the average with the coefficient (1 - (1-a)^(n-k))/(n a); the sum
		// of the squares of these coefficients follows from mean and square.
		mean := -math.Expm1(n*math.Log1p(-a)) / (n * a)
		square := -math.Expm1(2*n*math.Log1p(-a)) / (n * a * (2 - a))
		entering := max(1-2*mean+square, 0) / (n * curvature * curvature)
		keep *= mean
		variance = mean*mean*variance + entering*gradient + math.Pow(eta*reach, 2)/s.charge
	}
	return keep, variance
}
