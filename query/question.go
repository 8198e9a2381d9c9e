package query

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/account"
)

// Question is a query: a sum of terms over one cohort of records, with the charge offered for a noisy
// answer. It is immutable. The zero Question is invalid.
type Question struct {
	terms  []Term
	charge float64
}

// maxTerms is the largest number of terms. It keeps the rounding errors of adding terms far below the
// allowance that the sensitivity includes for them.
const maxTerms = 1 << 16

// New returns a query. All terms must be over the same cohort and have answers of the same dimension.
// charge, in units of mu^2 of mu-GDP, must be finite and > 0. The standard deviation of the noise of the
// sum is the sum's sensitivity over sqrt(charge). The sensitivity is the weighted sum of the clip radii,
// times the number that [Facts.Moves] returns: 2 under replace-one for most kinds, 1 under
// add-or-remove. It is an error if a term is invalid or the weighted sum of the clip radii is 0.
func New(charge float64, terms ...Term) (Question, error) {
	if !(charge > 0) || math.IsInf(charge, 0) {
		return Question{}, fmt.Errorf("query: charge = %v: must be finite and > 0", charge)
	}
	if len(terms) == 0 {
		return Question{}, fmt.Errorf("query: terms: must have at least one")
	}
	if len(terms) > maxTerms {
		return Question{}, fmt.Errorf("query: terms: %d of them: must be at most %d", len(terms), maxTerms)
	}
	for _, t := range terms {
		if err := t.validate(); err != nil {
			return Question{}, err
		}
		if t.cohort != terms[0].cohort {
			return Question{}, fmt.Errorf("query: cohort %d beside cohort %d: terms must share one cohort", t.cohort.id,
				terms[0].cohort.id)
		}
		if t.kind.Facts().Number != terms[0].kind.Facts().Number {
			return Question{}, fmt.Errorf("query: %v beside %v: a number cannot be added to a vector", t.kind, terms[0].kind)
		}
		if !t.kind.May(Mixed) && len(terms) > 1 {
			return Question{}, fmt.Errorf("query: %v beside %d other terms: must be alone", t.kind, len(terms)-1)
		}
		if t.Dim() != terms[0].Dim() || len(t.w) != len(terms[0].w) {
			return Question{}, fmt.Errorf("query: %v beside %v: terms must share one dimension", t.kind, terms[0].kind)
		}
	}
	q := Question{terms: append([]Term(nil), terms...), charge: charge}
	if c := q.Clip(); !(c > 0) || math.IsInf(c, 0) {
		return Question{}, fmt.Errorf("query: %s: clip norm = %v: must be finite and > 0 (a sum that cannot move "+
			"need not be asked)", q.Name(), c)
	}
	return q, nil
}

// Terms returns a copy of the terms.
func (q Question) Terms() []Term { return append([]Term(nil), q.terms...) }

// Len returns the number of terms.
func (q Question) Len() int { return len(q.terms) }

// Term returns term i, counted from 0, without a copy of the others.
func (q Question) Term(i int) Term { return q.terms[i] }

// First returns the first term, or the zero Term if there is none.
func (q Question) First() Term {
	if len(q.terms) == 0 {
		return Term{}
	}
	return q.terms[0]
}

// Charge returns the charge offered, in units of mu^2.
func (q Question) Charge() float64 { return q.charge }

// Cohort returns the cohort over which records are summed.
func (q Question) Cohort() Cohort { return q.First().cohort }

// Facts returns the public properties of the first term's kind. The kinds of a query's other terms differ
// from it only in the fields Name and Centre.
func (q Question) Facts() Facts { return q.First().kind.Facts() }

// May reports whether all terms may be used in all ways of the set u.
func (q Question) May(u Ways) bool {
	return len(q.terms) > 0 && !slices.ContainsFunc(q.terms, func(t Term) bool { return !t.kind.May(u) })
}

// Dim returns the number of coordinates of the answer.
func (q Question) Dim() int { return q.First().Dim() }

// SumDim returns the number of coordinates that are summed over records. It differs from Dim for a query for the norm
// of a mean gradient: the sum has a coordinate for each parameter, and the answer has one.
func (q Question) SumDim() int { return q.First().SumDim() }

// PointDim returns the number of coordinates of the terms' points, which is the same for all terms.
func (q Question) PointDim() int { return len(q.First().w) }

// Clip returns the clip norm of a record's whole contribution: the largest distance of the
// contribution from its public centre. It is the weighted sum of the terms' radii.
func (q Question) Clip() float64 {
	var c float64
	for _, t := range q.terms {
		c += float64(t.weight * t.ball.Radius)
	}
	return c
}

// Name returns the names of the terms joined by "+", e.g. "gradient+difference".
func (q Question) Name() string {
	names := make([]string, len(q.terms))
	for i, t := range q.terms {
		names[i] = t.name()
	}
	return strings.Join(names, "+")
}

// Sampled reports whether a term estimates gradients along random directions. The contribution of such a term
// is not a multiple of the row.
func (q Question) Sampled() bool {
	return slices.ContainsFunc(q.terms, func(t Term) bool { return t.smoothing.Sampled() })
}

// Release is the noisy answer to a query. Nothing else about the records leaves the session.
type Release struct {
	// Mean is the noisy sum divided by the declared size of the cohort, one value for each coordinate, with the public
	// centres of the clip balls included. For a norm it is the noisy norm of the mean, which may be negative.
	Mean []float64
	// Sigma is the standard deviation of the noise in each coordinate of Mean.
	Sigma float64
	// Charge is the charge of the answer, in units of mu^2.
	Charge float64
}

// Cohort is a handle to a set of records over which queries are summed: an identifier and a declared
// size. It does not hold the records. Under replace-one the declared size is the number of records.
// Under add-or-remove it is the expected number, which is public.
//
// The session that holds the records makes the handles. A handle is valid in its session only: a session refuses
// identifiers and sizes that are not its own. The zero Cohort is invalid: its size is zero.
type Cohort struct {
	id   uint64
	size float64
}

// NewCohort returns the handle with the given identifier and declared size. Sessions, which hold the
// records, call it. A session refuses a handle that it did not issue.
func NewCohort(id uint64, size float64) Cohort { return Cohort{id: id, size: size} }

// ID returns the identifier. The cohort of all records has the identifier account.Everyone.
func (c Cohort) ID() uint64 { return c.id }

// Size returns the declared number of records.
func (c Cohort) Size() float64 { return c.size }

// Everyone reports whether the handle stands for all records of the session.
func (c Cohort) Everyone() bool { return c.id == account.Everyone && c.size > 0 }

// Selection asks which of several candidates has the lowest score over a cohort. A score is the mean of a clipped value
// ([ValueAt]) or the norm of the mean of clipped gradients ([NormAt]). The answer is an index, drawn by the exponential
// mechanism. A Selection is immutable. The zero Selection is invalid.
type Selection struct {
	questions []Question
	epsilon   float64
}

// maxCandidates bounds the number of candidates, each of which takes a pass over the records.
const maxCandidates = 1 << 16

// NewSelection returns a selection among 2 to 65536 candidates. Each candidate is one term. All terms must be values
// ([ValueAt]), or all must be norms ([NormAt]). They must have the same cohort, clip norm, centre and number of
// coordinates, and weight 1. epsilon must be in [2^-40, 16]. The answer is epsilon-DP. Its charge is the result of
// mechanism.SelectionMu, which is smaller than the charge of an arbitrary epsilon-DP answer.
func NewSelection(epsilon float64, candidates ...Term) (Selection, error) {
	if !(epsilon >= 0x1p-40 && epsilon <= 16) {
		return Selection{}, fmt.Errorf("query: selection: epsilon = %v: must be between 2^-40 and 16", epsilon)
	}
	if len(candidates) < 2 || len(candidates) > maxCandidates {
		return Selection{}, fmt.Errorf("query: selection: %d candidates: must be between 2 and %d", len(candidates),
			maxCandidates)
	}
	s := Selection{epsilon: epsilon, questions: make([]Question, len(candidates))}
	first := candidates[0]
	for i, t := range candidates {
		q, err := New(1, t)
		if err != nil {
			return Selection{}, err
		}
		switch {
		case !t.kind.May(Candidate) || t.kind != first.kind:
			return Selection{}, fmt.Errorf("query: selection: candidate %d is a %v: must all be %s", i, t.kind,
				plurals(Candidate))
		case t.cohort != first.cohort:
			return Selection{}, fmt.Errorf("query: selection: candidate %d: cohort %d: must be that of the first, %d", i,
				t.cohort.id, first.cohort.id)
		case t.weight != 1:
			return Selection{}, fmt.Errorf("query: selection: candidate %d: weight = %v: must be 1", i, t.weight)
		case t.ball != first.ball:
			return Selection{}, fmt.Errorf("query: selection: candidate %d: clip %v: must be that of the first, %v", i, t.ball,
				first.ball)
		case len(t.w) != len(first.w):
			return Selection{}, fmt.Errorf("query: selection: candidate %d: point has %d coordinates: must have as "+
				"many as the first, %d", i, len(t.w), len(first.w))
		}
		s.questions[i] = q
	}
	return s, nil
}

// Questions returns each candidate's score as a query. The charges of these queries have no meaning:
// only the selection as a whole is charged.
func (s Selection) Questions() []Question { return append([]Question(nil), s.questions...) }

// Epsilon returns the epsilon of the selection.
func (s Selection) Epsilon() float64 { return s.epsilon }

// Name returns the selection's name, e.g. "selection by value".
func (s Selection) Name() string {
	if len(s.questions) == 0 {
		return "selection"
	}
	return "selection by " + s.questions[0].Name()
}
