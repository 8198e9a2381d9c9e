package query

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// Pass is one pass of projected stochastic gradient descent over a cohort of n records, each used
// once:
//
//	w_1 = Start
//	w_{t+1} = project(w_t - Step (clip(slope_t) x_t + Lambda w_t - Linear))
//
// where x_t are the t-th record's features and slope_t is the derivative of its loss in the margin
// <w_t, x_t>, clipped to [-Clip, Clip]. The order of the records is random, secret and independent of the
// records' values. A malformed (faulty) record has slope 0.
//
// The regularizer sum_s (lambda_s/2) ||w - c_s||^2 has the fields Lambda = sum_s lambda_s and Linear
// = sum_s lambda_s c_s. All fields are public.
type Pass struct {
	// Start is w_1, with one coordinate for each feature.
	Start []float64
	// Step is at most 2/(L1 + Lambda), where Lambda is the regularizer's curvature and L1 is the
	// upper end of the declared curvature of the session's loss. Sessions refuse a longer step.
	Step float64
	// Clip bounds the absolute value of a record's slope, and therefore the norm of its gradient, since
	// rows have norm at most 1. It is usually the loss's Lipschitz constant.
	Clip float64
	// Lambda is the regularizer's curvature, 0 for no regularizer.
	Lambda float64
	// Linear is the regularizer's linear part, nil for 0.
	Linear []float64
	// Radius is the radius of the ball onto which every iterate is projected, 0 for no projection.
	Radius float64
	// Centre is the centre of the ball onto which every iterate is projected, nil for 0.
	Centre []float64
}

// leastPass and mostPass bound the parameters of a pass. Rounding errors are bounded relative to
// Step*Clip, which must stay far from the ends of the float64 range.
const leastPass, mostPass = 0x1p-100, 0x1p100

// Validate returns an error for the first rule that p breaks.
func (p Pass) Validate() error {
	for _, f := range []struct {
		name     string
		v        float64
		optional bool
	}{{"step", p.Step, false}, {"clip", p.Clip, false}, {"lambda", p.Lambda, true}, {"radius", p.Radius, true}} {
		if f.optional && f.v == 0 {
			continue
		}
		if !(f.v >= leastPass && f.v <= mostPass) {
			or := ""
			if f.optional {
				or = "0 or "
			}
			return fmt.Errorf("query: stable sgd: %s = %v: must be %sbetween 2^-100 and 2^100", f.name, f.v, or)
		}
	}
	if len(p.Start) == 0 {
		return fmt.Errorf("query: stable sgd: start: must have at least one coordinate")
	}
	for _, f := range []struct {
		name string
		v    []float64
	}{{"start", p.Start}, {"linear", p.Linear}, {"centre", p.Centre}} {
		if f.v != nil && len(f.v) != len(p.Start) {
			return fmt.Errorf("query: stable sgd: %s has %d coordinates: must have as many as start, %d", f.name, len(f.v),
				len(p.Start))
		}
		for j, x := range f.v {
			if !(math.Abs(x) <= mostPass) {
				return fmt.Errorf("query: stable sgd: %s: coordinate %d = %v: must be between -2^100 and 2^100", f.name, j, x)
			}
		}
	}
	if p.Radius == 0 && p.Centre != nil {
		return fmt.Errorf("query: stable sgd: centre: must be nil where radius is 0 (no projection)")
	}
	return nil
}

// Gain returns Step (1 - 2^-20), the factor by which a step multiplies the clipped gradient. It is less than Step
// because stored rows have a norm of up to 1 + 2^-23 instead of 1. With this factor no row moves the parameters by more
// than Step*Clip, and no row's curvature times the factor exceeds Step times the loss's declared curvature.
func (p Pass) Gain() float64 { return p.Step * (1 - 0x1p-20) }

// Sensitivity predicts the distance by which one of n records moves the average of the iterates, for
// a loss of curvature between 0 and smoothness. Its relative error is at most 2^-5. The prediction is
// (2 Step Clip/n)(1 + c + ... + c^(n-2)), where c <= 1 is the factor by which a step contracts the
// distance between the runs on two neighbouring data sets. This is 2 Step Clip (n-1)/n without a
// regularizer. With a regularizer, it is at most 2 Clip/(n Lambda) if Step <= 2/(smoothness + 2
// Lambda). The [account.Event] of the answer holds the exact sensitivity. p must be valid and n >= 2.
func (p Pass) Sensitivity(n int, smoothness float64) float64 {
	keep := 1 - float64(p.Step*p.Lambda)
	c := max(keep, float64(p.Gain()*smoothness)-keep)
	steps := float64(n - 1)
	if gap := 1 - c; gap*steps > 1e-9 {
		steps = -math.Expm1(steps*math.Log1p(-gap)) / gap
	}
	return 2 * p.Step * p.Clip * steps / float64(n)
}

// Stable asks for the average of the iterates w_1, ..., w_n of one [Pass] over a cohort of n records.
// This is a phase of phased SGD (Feldman, Koren and Talwar 2020). The answer has one coordinate for each
// feature. A Stable is immutable, and the zero Stable is invalid.
//
// Stable is the only query whose sensitivity is not bounded by clipping alone. Let the loss be convex with curvature at
// most L1, and let the regularizer have curvature Lambda. If two iterates make a step of at most 2/(L1 + Lambda) on the
// same record, the distance between them does not increase. The iterates of two runs whose tables differ in one record
// are therefore never more than 2 Step Clip apart (Hardt, Recht and Singer 2016).
//
// The bound holds if the loss is convex and has curvature L1, as it declares. Sessions accept only losses
// for which this is proven, and only under replace-one. The [account.Event] of the answer names the loss.
type Stable struct {
	pass   Pass
	cohort Cohort
	charge float64
}

// NewStable returns a query about a cohort, for the pass p. The cohort must have been drawn with a number of records,
// and not with a sampling rate. It must not be the cohort of all records. charge, in units of mu^2 of mu-GDP, must be
// finite and > 0. The standard deviation of the noise is the sensitivity (see [Pass.Sensitivity]) over sqrt(charge).
func NewStable(charge float64, c Cohort, p Pass) (Stable, error) {
	if !(charge > 0) || math.IsInf(charge, 0) {
		return Stable{}, fmt.Errorf("query: stable sgd: charge = %v: must be finite and > 0", charge)
	}
	if !(c.size > 0) {
		return Stable{}, fmt.Errorf("query: stable sgd: cohort: must come from a session (Draw)")
	}
	if c.Everyone() {
		return Stable{}, fmt.Errorf("query: stable sgd: cohort of all records: must be one that was drawn (Draw)")
	}
	if err := p.Validate(); err != nil {
		return Stable{}, err
	}
	return Stable{pass: p.clone(), cohort: c, charge: charge}, nil
}

func (p Pass) clone() Pass {
	p.Start, p.Linear, p.Centre = slices.Clone(p.Start), slices.Clone(p.Linear), slices.Clone(p.Centre)
	return p
}

// Pass returns a copy of the pass of gradient descent whose average the query asks for.
func (q Stable) Pass() Pass { return q.pass.clone() }

// Cohort returns the cohort whose records the pass uses.
func (q Stable) Cohort() Cohort { return q.cohort }

// Charge returns the charge offered, in units of mu^2.
func (q Stable) Charge() float64 { return q.charge }

// Dim returns the number of coordinates of the answer.
func (q Stable) Dim() int { return len(q.pass.Start) }

// Name returns "stable sgd".
func (q Stable) Name() string { return "stable sgd" }

// Factorization is the choice of the mechanism that answers a [Prefix] query, a sequence of noisy
// prefix sums. Each mechanism factorizes the matrix that sums the items, which determines how the
// noise of different answers is correlated.
type Factorization uint8

const (
	// Tree is the binary tree mechanism: every item of the sum is added to each node above it in a
	// binary tree, and every node has its own noise. A prefix sum is the sum of the nodes in the
	// binary expansion of its length (Dwork, Naor, Pitassi and Rothblum 2010; Chan, Shi and Song
	// 2011). Tree stores as many vectors as the number of items (Prefix.Items) has binary digits.
	Tree Factorization = iota + 1
	// Toeplitz is the square-root mechanism: it multiplies the vector of items by the square root of the lower
	// triangular matrix of ones, adds noise, and multiplies by this square root again (Fichtenberger, Henzinger and
	// Upadhyay 2023). From 8 items on, the largest variance of its answers is less than a quarter of the largest
	// variance of Tree's answers. It stores two vectors for each item and reads all of them for every answer.
	Toeplitz
)

func (m Factorization) String() string {
	switch m {
	case Tree:
		return "tree"
	case Toeplitz:
		return "toeplitz"
	}
	return fmt.Sprintf("mechanism(%d)", uint8(m))
}

// Prefix specifies a prefix sum: after each of up to Items items, the sum of all items so far is released. An item is a
// sum of clipped per-record vectors over a set of records (a [Cohort]), divided by the cohort's declared size. Each
// item has another cohort. All fields are fixed before the first item. The zero Prefix is invalid.
type Prefix struct {
	// Factorization is the mechanism, which determines how the noise of different answers is correlated.
	Factorization Factorization
	// Items is the largest number of items.
	Items int
	// Sensitivity is a declared upper bound on the norm of the change of an item, a mean over a cohort, when one record
	// changes. For a clip norm clip and a cohort of declared size size, the bound may be 2 clip/size under replace-one
	// and clip/size under add-or-remove. An item whose sensitivity exceeds the bound is refused.
	Sensitivity float64
	// Charge is the charge for each item, in units of mu^2 of mu-GDP. It is charged to the records of
	// the item's cohort. It covers the effect of the item on this answer and on all later answers.
	Charge float64
}

// maxTreeItems and maxToeplitzItems bound the number of items of a prefix sum. maxTreeItems is more
// than the possible number of cohorts, each of which contributes one item. maxToeplitzItems keeps the
// sum of the squares of a column of the square-root matrix exact in 64 bits.
const maxTreeItems, maxToeplitzItems = math.MaxInt32, 1 << 20

// Validate returns an error for the first rule that p breaks.
func (p Prefix) Validate() error {
	items := maxTreeItems
	switch p.Factorization {
	case Tree:
	case Toeplitz:
		items = maxToeplitzItems
	default:
		return fmt.Errorf("query: prefix sum: mechanism = %d: must be Tree or Toeplitz", uint8(p.Factorization))
	}
	if p.Items < 1 || p.Items > items {
		return fmt.Errorf("query: prefix sum: items = %d: must be between 1 and %d for %v", p.Items, items, p.Factorization)
	}
	if !(p.Sensitivity >= least && p.Sensitivity <= most) {
		return fmt.Errorf("query: prefix sum: sensitivity = %v: must be between 2^-200 and 2^200", p.Sensitivity)
	}
	if !(p.Charge > 0) || math.IsInf(p.Charge, 0) {
		return fmt.Errorf("query: prefix sum: charge = %v: must be finite and > 0", p.Charge)
	}
	return nil
}

// Sigma predicts the standard deviation of the noise in each coordinate of the t-th answer, 1 <= t <=
// Items, with a relative error of at most 2^-8. The Sigma of the [Release] that holds an answer is
// exact. For Toeplitz it takes time linear in Items. p must be valid.
func (p Prefix) Sigma(t int) float64 {
	noise := p.Sensitivity / math.Sqrt(p.Charge)
	if p.Factorization == Tree {
		return noise * math.Sqrt(float64(bits.Len(uint(p.Items))*bits.OnesCount(uint(t))))
	}
	var column, prefix float64
	for k, e := 0, 1.0; k < p.Items; k++ {
		square := float64(e * e)
		column += square
		if k < t {
			prefix += square
		}
		e *= float64(2*k+1) / float64(2*k+2)
	}
	return noise * math.Sqrt(float64(column*prefix))
}

// PrefixSum is a sequence of noisy prefix sums that has been opened in a session and accepts further
// items. Only sessions create PrefixSums.
type PrefixSum interface {
	// Add adds the next item, the terms' sum over their cohort divided by the cohort's declared
	// size. It returns the noisy sum of all items so far.
	Add(ctx context.Context, terms ...Term) (Release, error)
}
