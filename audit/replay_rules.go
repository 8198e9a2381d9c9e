package audit

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Violation is something that must not be.
type Violation struct {
	// Rule is control flow, cohorts, charge, question or sensitivity.
	Rule string `json:"rule"`
	// Neighbour says between which tables it showed; empty for one that a single
	// run shows.
	Neighbour string `json:"neighbour,omitempty"`
	Detail    string `json:"detail"`
}

func (v Violation) String() string {
	if v.Neighbour == "" {
		return v.Rule + ": " + v.Detail
	}
	return v.Rule + ": " + v.Detail + " (" + v.Neighbour + ")"
}

// faults collects violations.
type faults []Violation

func (f *faults) add(rule, format string, args ...any) {
	*f = append(*f, Violation{Rule: rule, Detail: fmt.Sprintf(format, args...)})
}

// lawful returns what a trace breaks on its own: the kernel answered the
// questions that were asked and released what it says, each charge covers its
// law and its question, cohorts share no record, and all charges are within the
// budget.
func (s Subject) lawful(t *trace) []Violation {
	var f faults
	answered := slices.DeleteFunc(slices.Clone(t.calls), func(c call) bool { return !c.answered })
	if len(answered) != len(t.exchanges) {
		f.add("question", "%d answers were given, %d were computed", len(answered), len(t.exchanges))
	}
	for k, x := range t.exchanges {
		if k < len(answered) {
			if !identical(answered[k].question(), x.Asked) {
				f.add("question", "answer %d: what was computed is not what was asked (%s)", k, x.Event.Question)
			}
			if !identical(answered[k].returned, x.Released) {
				f.add("question", "answer %d: what came back is not what was released (%s)", k, x.Event.Question)
			}
		}
		if err := x.Event.Check(); err != nil {
			f.add("charge", "answer %d: %v", k, err)
		}
		if r, ok := x.Released.(query.Release); ok && r.Charge != x.Event.Charge && x.Event.Kind != account.SampledGaussian {
			f.add("charge", "answer %d: released with charge %v, recorded with %v", k, r.Charge, x.Event.Charge)
		}
		if need := s.clipSteps(x); !(need <= boundSteps(x)) {
			f.add("charge", "answer %d: %s: clipped at %.9g grid steps, charged for %.9g", k, x.Event.Question, need, boundSteps(x))
		}
		if noise := math.Ldexp(1, x.Bits); x.Event.Sigma*x.Scale > noise {
			f.add("charge", "answer %d: noise of %v grid steps, charged as %v", k, noise, x.Event.Sigma*x.Scale)
		}
	}
	s.recorded(t, &f)
	disjoint(t.exchanges, &f)
	return f
}

// recorded compares the ledger with the exchanges. A charge without an answer is
// in order (a question may fail once it is charged), an answer without a charge
// is not.
func (s Subject) recorded(t *trace, f *faults) {
	i := 0
	for k, x := range t.exchanges {
		for ; i < len(t.events); i++ {
			e := t.events[i]
			e.Index = x.Event.Index
			if identical(e, x.Event) {
				break
			}
		}
		if i == len(t.events) {
			f.add("charge", "answer %d: %s: is not in the ledger", k, x.Event.Question)
			return
		}
		i++
	}
	for _, e := range t.events {
		if !e.Simulated {
			f.add("charge", "event %d: is not marked as simulated", e.Index)
		}
	}
	if total, err := account.Total(t.events); err != nil || !(total <= s.Budget.Charge()) {
		f.add("charge", "the ledger's total is %v of %v: %v", total, s.Budget.Charge(), err)
	}
}

// disjoint checks that drawn cohorts share no record: they are charged in
// parallel. (Poisson samples may overlap, which the accountant counts on.)
func disjoint(exchanges []simulate.Exchange, f *faults) {
	owner := map[int32]uint64{}
	for k, x := range exchanges {
		c := x.Event.Cohort
		if c == account.Everyone || x.Event.Kind == account.SampledGaussian {
			continue
		}
		for _, m := range x.Members {
			if other, taken := owner[m]; taken && other != c {
				f.add("cohorts", "answer %d: a record is in cohort %d and in cohort %d", k, other, c)
				return
			}
			owner[m] = c
		}
	}
}

// clipSteps is what the question itself says that one record can move its sum
// by, in the unit of boundSteps: the clip times that of the relation. A kind of
// question this package does not know has no such bound, and zero is returned.
func (s Subject) clipSteps(x simulate.Exchange) float64 {
	factor := 2.
	if s.relation() == account.AddOrRemove || x.Event.Kind == account.SampledGaussian {
		factor = 1
	}
	switch q := x.Asked.(type) {
	case query.Question:
		if factor > 1 && q.Facts().Pairs {
			factor = math.Sqrt2 // products of features are at most a right angle apart
		}
		if x.Prefix != (query.Prefix{}) {
			return factor * q.Clip() / q.Cohort().Size() * column(x.Prefix) * x.Scale
		}
		return factor * q.Clip() * x.Scale
	case query.Selection:
		var most float64
		for _, score := range q.Questions() {
			most = max(most, factor*score.Clip()*x.Scale)
		}
		return most
	case query.Stable:
		// Stated to a relative 2^-5.
		n := int(q.Cohort().Size())
		return q.Pass().Sensitivity(n, s.Loss.Constants().Curvature.Hi) * (1 - 0x1p-5) * x.Scale
	}
	return 0
}

// boundSteps is the charged sensitivity in grid steps.
func boundSteps(x simulate.Exchange) float64 {
	if x.Event.Kind == account.Selection {
		return math.Ldexp(1, x.Bits)
	}
	return x.Event.Sensitivity * x.Scale
}

// column is the largest norm of a column of a prefix sum's matrix, by which the
// movement of an item is multiplied in the noisy state: for the tree the root of
// how many nodes hold the first item, for the square-root matrix that of its
// first column, whose entries binom(2k,k)/4^k are rounded to multiples of 2^-q.
func column(p query.Prefix) float64 {
	if p.Factorization == query.Tree {
		levels := 0
		for block := 1; block <= p.Items; block *= 2 {
			levels++
		}
		return math.Sqrt(float64(levels))
	}
	q := 0
	for 1<<q < p.Items {
		q++
	}
	unit := math.Ldexp(1, max(16, q+4))
	var squares float64
	for k, e := 0, 1.; k < p.Items; k++ {
		rounded := math.Round(e*unit) / unit
		squares += rounded * rounded
		e *= (2*float64(k) + 1) / (2*float64(k) + 2)
	}
	return math.Sqrt(squares)
}

// differences returns where two traces differ in what must not depend on a
// record. sameRows says that both tables have as many rows, so that with the
// same coins cohorts are the same rows, too. The exact answers are not looked
// at.
func differences(a, b *trace, sameRows bool) []Violation {
	var f faults
	for k := range max(len(a.calls), len(b.calls)) {
		if k >= len(a.calls) || k >= len(b.calls) {
			f.add("control flow", "%d calls, on the neighbour %d", len(a.calls), len(b.calls))
			break
		}
		if what := unlike(a.calls[k], b.calls[k]); what != "" {
			f.add("control flow", "call %d (%s): %s", k, a.calls[k].method, what)
			break // what follows, follows from it
		}
	}
	for _, c := range []struct {
		name string
		a, b any
	}{{"steps shown", a.steps, b.steps}, {"result", a.result, b.result}, {"error", a.err, b.err}} {
		if !identical(c.a, c.b) {
			f.add("control flow", "the %s: not the same", c.name)
		}
	}
	if !identical(a.events, b.events) {
		f.add("charge", "the ledgers are not the same")
	}
	for k := range min(len(a.exchanges), len(b.exchanges)) {
		x, y := a.exchanges[k], b.exchanges[k]
		if sameRows && !slices.Equal(x.Members, y.Members) {
			f.add("cohorts", "answer %d: cohort %d: other records took part", k, x.Event.Cohort)
			break
		}
		if !identical(x.Asked, y.Asked) {
			f.add("question", "answer %d: %s: something else was computed", k, x.Event.Question)
			break
		}
		if !identical(x.Event, y.Event) || x.Scale != y.Scale || x.Bits != y.Bits || x.Prefix != y.Prefix {
			f.add("charge", "answer %d: %s: charged or rounded otherwise", k, x.Event.Question)
			break
		}
	}
	return f
}

// unlike says in what two calls differ.
func unlike(a, b call) string {
	switch {
	case a.method != b.method:
		return "on the neighbour " + b.method
	case !identical(a.asked, b.asked):
		return "asks something else"
	case a.err != b.err:
		return "an error that depends on the records"
	case reflect.TypeOf(a.returned) == reflect.TypeFor[query.Cohort]() && !identical(a.returned, b.returned):
		return "another cohort"
	case !identical(a.returned, b.returned):
		return "another answer to a frozen question"
	}
	return ""
}
