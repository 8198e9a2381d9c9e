package audit

import (
	"fmt"
	"math"
	"strings"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/query"
)

// movement returns the distance of the exact answers of two exchanges, divided by the charged
// sensitivity.
//
// For a Poisson sample under replace-one, the charge is for the contribution of one record. The
// accountant handles a record that leaves and another that joins, which are two contributions
// apart, so that the bound is doubled. It is not doubled if one of the tables lacks the record
// (withoutOne).
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
	// A number computed from the sum, such as a norm, must not move by more than the charge allows,
	// either.
	return max(moved, span(x.Scores, y.Scores)) / bound
}

// apart returns the Euclidean norm of a - b, or infinity if the lengths differ.
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

// span returns the largest change of a coordinate, or infinity if the lengths differ.
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

// kindOf names the kind of query of an exchange, with its ball and its mechanism.
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
		// a sum of several terms names each kind once
		var names []string
		for _, t := range q.Terms() {
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
