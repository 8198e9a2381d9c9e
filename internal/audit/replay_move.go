package audit

import (
	"fmt"
	"math"
	"strings"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/query"
)

// movement returns how far the change of one record moved an answer: the distance of the exact answers in x
// and y, divided by the charged sensitivity. x and y are exchanges with the same query on two neighbouring
// tables.
//
// For a Poisson sample under replace-one, the charged sensitivity is the contribution of one record. The
// accountant treats a replacement as one record that leaves and another that joins, and the contributions
// of both may add up. The distance is therefore divided by twice the charged sensitivity. If one of the
// tables lacks the record (withoutOne is true), it is divided by the charged sensitivity itself.
func movement(x, y simulate.Exchange, r account.Relation, withoutOne bool) float64 {
	bound := boundSteps(x)
	if x.Event.Kind == account.SampledGaussian && r == account.ReplaceOne && !withoutOne {
		bound *= 2
	}
	if x.Event.Kind == account.Selection {
		return span(x.Scores, y.Scores) / bound
	}
	moved := apart(x.Exact, y.Exact)
	if x.Prefix != (query.Prefix{}) {
		moved *= column(x.Prefix)
	}
	// A number computed from the sum, such as a norm, must not move by more than the charged sensitivity,
	// either.
	return max(moved, span(x.Scores, y.Scores)) / bound
}

// apart returns the Euclidean distance of a and b, or infinity if a and b have different lengths.
func apart(a, b []int64) float64 {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	var squares float64
	for j := range a {
		d := float64(a[j] - b[j])
		squares += d * d
	}
	return math.Sqrt(squares)
}

// span returns the largest absolute difference between a coordinate of a and the same coordinate of b, or
// infinity if a and b have different lengths.
func span(a, b []int64) float64 {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	var most float64
	for j := range a {
		most = max(most, math.Abs(float64(a[j]-b[j])))
	}
	return most
}

// kindOf names the kind of query of an exchange (a query with its answers), for the findings. The name of a
// sum of several terms has each kind once. For a kind whose clipping ball may have its centre along the
// step, such as a gradient difference, the name also says which centre it has: " around 0", or " by
// curvature" for the middle of the curvature interval. The name of an item of a prefix sum begins with the
// factorization, and the name of a query on a Poisson sample with "sample".
func kindOf(x simulate.Exchange) string {
	prefix := ""
	if x.Prefix != (query.Prefix{}) {
		prefix = x.Prefix.Factorization.String() + " sum: "
	}
	if x.Event.Kind == account.SampledGaussian {
		prefix = "sample: "
	}
	switch q := x.Asked.(type) {
	case query.Question:
		// The name of a sum of several terms has each kind once.
		var names []string
		for i := range q.Len() {
			t := q.Term(i)
			name := t.Kind().String()
			if t.Kind().Facts().Centre == query.AlongStep {
				name += " around 0"
				if _, _, centred := t.Curvature(); centred {
					name = t.Kind().String() + " by curvature"
				}
			}
			if len(names) == 0 || !strings.Contains(strings.Join(names, "+"), name) {
				names = append(names, name)
			}
		}
		return prefix + strings.Join(names, " + ")
	case query.Selection:
		return q.Name()
	}
	return prefix + fmt.Sprint(x.Event.Question)
}
