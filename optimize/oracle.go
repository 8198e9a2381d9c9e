package optimize

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Oracle answers queries about records that it does not show. *curator.Session implements it.
type Oracle interface {
	// All returns the cohort of all records.
	All() query.Cohort
	// Ask charges for the noisy answer to the query q, and returns the answer. If the budget does not allow
	// the charge, Ask returns an *account.BudgetError and computes nothing.
	Ask(ctx context.Context, q query.Question) (query.Release, error)
	// Draw returns a cohort of size records that are in no earlier cohort.
	Draw(size int) (query.Cohort, error)
	// DrawEach returns a new cohort. Each record not yet in a cohort joins it independently with
	// probability p. Under add-or-remove DrawEach is the only way to draw a cohort.
	DrawEach(p float64) (query.Cohort, error)
	// Sample draws the next Poisson sample of the schedule in [Needs]. One query may be made on a
	// sample; its noise is the noise that the schedule states for this sample.
	Sample() (query.Cohort, error)
	// OpenPrefix opens a prefix sum: items are added one by one, and each addition returns a noisy sum of
	// all items so far. Each item is computed from the records of a different cohort.
	OpenPrefix(p query.Prefix) (query.PrefixSum, error)
	// Select draws the index of a candidate with a low score by the exponential mechanism, and charges
	// for the selection.
	Select(ctx context.Context, s query.Selection) (int, error)
	// Stable makes a pass of stochastic gradient descent over a cohort and releases the average of the
	// iterates. Under add-or-remove it returns an error.
	Stable(ctx context.Context, q query.Stable) (query.Release, error)
}

// Needs lists the methods that a plan calls on its oracle. The zero Needs means that the plan makes
// queries on all records and calls no other method.
type Needs struct {
	// Cohorts means that the plan draws disjoint cohorts and makes queries on these cohorts only.
	Cohorts bool
	// Schedule is the schedule that the oracle must follow: the releases on Poisson samples, in order.
	// nil means none.
	Schedule *account.Schedule
	// PrefixSums, Stable and Selection mean that the plan calls the methods OpenPrefix, Stable and
	// Select.
	PrefixSums, Stable, Selection bool
	// PublicCoins means that public random bits are drawn when the plan is made.
	PublicCoins bool
	// Seed means that the plan or its run draws public random bits from the problem's seed.
	Seed bool
}

// dealer draws disjoint cohorts (subsets of records) of given expected sizes, for methods in which each record takes
// part in one release only. Under replace-one a cohort has a fixed number of records. Under add-or-remove the number of
// records is secret, so each record that is not yet in a cohort joins the next cohort independently with probability
// size / (declared number of records not yet in a cohort).
//
// Each cohort can be charged the whole budget, since releases on disjoint cohorts compose in parallel.
type dealer struct {
	oracle Oracle
	coins  bool
	// left is the declared number of records that have not yet been drawn into a cohort.
	left float64
}

// newDealer returns a dealer for the oracle o, from which no cohort has been drawn yet.
func newDealer(o Oracle, p Problem) *dealer {
	return &dealer{oracle: o, coins: p.Relation == account.AddOrRemove, left: o.All().Size()}
}

// draw returns a cohort of the given size. Under replace-one, size is rounded to a whole number, at least
// 1. Under add-or-remove, size is the expected size. draw returns an error if size is not above 0, or is
// larger, beyond rounding, than the declared number of records not yet in a cohort.
func (d *dealer) draw(size float64) (query.Cohort, error) {
	if !d.coins {
		size = max(math.Round(size), 1)
	}
	if !(size > 0 && size <= d.left*(1+1e-9)) {
		return query.Cohort{},
			fmt.Errorf("optimize: cohort of %v records: must be > 0 and <= %v, the declared number not yet drawn", size, d.left)
	}
	var c query.Cohort
	var err error
	if d.coins {
		c, err = d.oracle.DrawEach(min(size/d.left, 1))
	} else {
		c, err = d.oracle.Draw(int(size))
	}
	if err != nil {
		return query.Cohort{}, err
	}
	d.left -= c.Size()
	return c, nil
}

// PrefixSum is a prefix sum ([query.Prefix]) that a run has opened: items are added one by one, and each
// addition releases a noisy sum of all items so far. The run counts the charges of these releases.
type PrefixSum struct {
	run *Run
	sum query.PrefixSum
}

// OpenPrefix opens a prefix sum. Only the items added later are charged.
func (r *Run) OpenPrefix(p query.Prefix) (*PrefixSum, error) {
	sum, err := r.oracle.OpenPrefix(p)
	return &PrefixSum{run: r, sum: sum}, err
}

// Add adds an item and returns the noisy sum of all items so far. The item is the sum of the terms
// over one cohort. If the problem has a smoothing, the terms are smoothed as in Run.Ask.
func (s *PrefixSum) Add(terms ...query.Term) (query.Release, error) {
	a, err := s.sum.Add(s.run.ctx, s.run.smoothed(terms)...)
	if err == nil {
		s.run.charge(terms[0].Cohort(), a.Charge)
	}
	return a, err
}

// DifferenceBall selects the ball to which the difference between a record's gradients at two points w and
// w' is clipped. Let [l, L1] be the bounds on the eigenvalues of the Hessian of a record's loss. The zero
// DifferenceBall selects the smallest ball that contains every difference that these bounds allow. The
// centre of this ball is (l + L1)/2 times w - w'.
type DifferenceBall struct {
	// Fraction is c in (0, 1]. It sets the length to which the difference of a record's gradients at two points w and
	// w' is clipped: c max(|l|, L1) ||w - w'||. The numbers l and L1 bound the eigenvalues of the Hessian of a
	// record's loss. At c = 1 no difference that these bounds allow is clipped. With c below 1 clipping may add bias;
	// privacy stays the same. Zero means the smallest ball that contains every difference that l and L1 allow.
	Fraction float64 `yaml:"ball_fraction"`
}

// Validate returns an error unless the fraction is 0 or in (0, 1].
func (b DifferenceBall) Validate() error {
	if b.Fraction != 0 && !(b.Fraction > 0 && b.Fraction <= 1) {
		return fmt.Errorf("optimize: ball fraction = %v: must be 0 (the centred ball) or in (0, 1]", b.Fraction)
	}
	return nil
}

// String describes the ball.
func (b DifferenceBall) String() string {
	if b.Fraction == 0 {
		return "centred on the curvature interval"
	}
	return fmt.Sprintf("%g of the smoothness bound around zero", b.Fraction)
}

// Slope returns the ratio of the ball's radius to the distance ||w - w'|| of the two points, without the
// limit 2 L0 of the method Difference.
func (b DifferenceBall) Slope(p Problem) float64 {
	if b.Fraction > 0 {
		return b.Fraction * p.DataSmoothness()
	}
	lo, hi := p.Curvature()
	return (hi - lo) / 2
}

// Difference returns the query term that sums, over the records of the cohort c, the gradient at w minus the gradient
// at prev. Each record's difference is clipped to the ball b, or to the ball of radius 2 L0 around zero if that ball is
// smaller: the difference of two gradients clipped at norm L0 is never longer than 2 L0.
func (b DifferenceBall) Difference(p Problem, c query.Cohort, w, prev []float64) query.Term {
	if b.Fraction == 0 {
		lo, hi := p.Curvature()
		if t := query.DifferenceByCurvature(c, w, prev, lo, hi); t.Ball().Radius < 2*p.Constants.Lipschitz {
			return t
		}
	}
	t := query.DifferenceWithin(c, w, prev, 0)
	return query.DifferenceWithin(c, w, prev, min(b.Slope(p)*t.Distance(), 2*p.Constants.Lipschitz))
}

// Mix returns the terms of a query that releases K times the gradient term plus 1-K times the difference term. It omits
// a term whose weight is at most 2^-100, and a difference term whose ball has a radius of at most 2^-100.
func Mix(gradient, difference query.Term, K float64) []query.Term {
	var terms []query.Term
	// Queries reject weights and radii below 2^-200. A term with weight or radius 2^-100 is already
	// negligible compared with the other term.
	const least = 0x1p-100
	if K > least {
		terms = append(terms, gradient.Weighted(K))
	}
	if 1-K > least && difference.Ball().Radius > least {
		terms = append(terms, difference.Weighted(1-K))
	}
	return terms
}

// Coins is a generator of public random bits. A run uses the bits to choose which iterate is the result, or
// to draw random numbers that it adds to a step. The bits come from a public seed. A run is therefore a
// function of the seed and of the noisy answers alone.
type Coins = rand.Rand

// PublicCoins returns a generator of public random bits that is seeded from the problem's public seed. The numbers use
// and more identify the purpose of the bits: two different pairs (use, more) get independent bits.
func (p Problem) PublicCoins(use, more uint64) *Coins { return rand.New(rand.NewPCG(use^p.Seed, more)) }

// trainingOracle is the oracle of the algorithm in a [Selected]. It answers queries about the records that were not held out, and
// about no others. An algorithm that makes queries on all records gets the records that were not held out as one
// cohort. An algorithm that draws cohorts draws them from the records that were not held out.
type trainingOracle struct {
	Oracle
	all   query.Cohort
	draws bool
}

// newRest returns an oracle for the records that the dealer has not drawn yet. n lists the oracle methods
// that the algorithm calls. If n includes neither cohorts nor prefix sums, newRest draws all these records
// as one cohort, and the algorithm makes its queries on this cohort.
func newRest(o Oracle, records *dealer, n Needs) (*trainingOracle, error) {
	if n.Cohorts || n.PrefixSums {
		// This cohort only states the number of records. Ask rejects queries on it.
		return &trainingOracle{Oracle: o, all: query.NewCohort(account.Everyone, records.left), draws: true}, nil
	}
	all, err := records.draw(records.left)
	return &trainingOracle{Oracle: o, all: all}, err
}

func (r *trainingOracle) All() query.Cohort { return r.all }

func (r *trainingOracle) Ask(ctx context.Context, q query.Question) (query.Release, error) {
	if q.Cohort().Everyone() {
		return query.Release{}, errors.New("optimize: selected: a question about everybody, of whom some are held " +
			"out: must be about records the algorithm drew")
	}
	return r.Oracle.Ask(ctx, q)
}

func (r *trainingOracle) Draw(size int) (query.Cohort, error) {
	if !r.draws {
		return query.Cohort{}, fmt.Errorf("optimize: selected: draw of %d records: the algorithm already has all of them",
			size)
	}
	return r.Oracle.Draw(size)
}

func (r *trainingOracle) DrawEach(p float64) (query.Cohort, error) {
	if !r.draws {
		return query.Cohort{},
			fmt.Errorf("optimize: selected: draw each with probability %v: the algorithm already has all records", p)
	}
	return r.Oracle.DrawEach(p)
}

// Sample returns an error: a sample would be drawn from all records, the held-out ones included.
func (r *trainingOracle) Sample() (query.Cohort, error) {
	return query.Cohort{}, errors.New("optimize: selected: samples are of everybody, of whom some are held out")
}
