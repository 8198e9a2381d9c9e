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

// Violation describes how the audited run breaks a rule of the privacy guarantee.
type Violation struct {
	// Rule is "control flow", "cohorts", "charge", "question", "sensitivity" or "attack".
	Rule string `json:"rule"`
	// Neighbour describes the pair of tables; empty if a single run breaks the rule.
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

// lawful returns the violations in the trace t of a single run. It checks these rules. The session must
// answer the queries that were made and return the values that it records as released. The charge of each
// answer must be consistent, cover the query's clip norm, and state no more noise than was added. Drawn
// cohorts must share no record. All charges together must be within the budget.
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
			f.add("charge", "answer %d: %s: clipped at %.9g grid steps, charged for %.9g", k, x.Event.Question, need,
				boundSteps(x))
		}
		if noise := math.Ldexp(1, x.Bits); x.Event.Sigma*x.Scale > noise {
			f.add("charge", "answer %d: noise of %v grid steps, charged as %v", k, noise, x.Event.Sigma*x.Scale)
		}
	}
	s.recorded(t, &f)
	disjoint(t.exchanges, &f)
	return f
}

// recorded compares the ledger of charges with the answers that the session recorded. It adds a violation
// to f for an answer without a charge, for a charge that is not marked as simulated, and for charges above
// the budget. A charge without an answer is allowed, since a query may fail after it is charged.
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

// disjoint adds a violation to f if two drawn cohorts share a record. Drawn cohorts are charged in parallel, which is
// valid only without a shared record. Poisson samples may share records, since their accountant allows for it.
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

// clipSteps returns the largest movement of a sum by one record that follows from the query itself, in steps of the
// grid to which answers are rounded. It is the clip norm times a factor. Under replace-one the factor is 2, or sqrt 2
// if two records' contributions are at most a right angle apart. Under add-or-remove and for Poisson samples it is 1.
// clipSteps returns zero for kinds of query that this package does not know.
func (s Subject) clipSteps(x simulate.Exchange) float64 {
	factor := 2.
	if s.relation() == account.AddOrRemove || x.Event.Kind == account.SampledGaussian {
		factor = 1
	}
	switch q := x.Asked.(type) {
	case query.Question:
		if factor > 1 && q.Facts().WithinRightAngle() {
			factor = math.Sqrt2 // two records' contributions are at most a right angle apart
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
		// The charged sensitivity may be smaller than this bound by a relative tolerance of 2^-5.
		n := int(q.Cohort().Size())
		return q.Pass().Sensitivity(n, s.Loss.Constants().Curvature.Hi) * (1 - 0x1p-5) * x.Scale
	}
	return 0
}

// boundSteps returns the sensitivity for which a query was charged, in steps of the grid to which its exact
// answer is rounded.
func boundSteps(x simulate.Exchange) float64 {
	if x.Event.Kind == account.Selection {
		return math.Ldexp(1, x.Bits)
	}
	return x.Event.Sensitivity * x.Scale
}

// column returns the largest norm of a column of the matrix by which a prefix-sum mechanism multiplies its items before
// it adds noise. It is the factor by which a movement of one item moves the vector to which noise is added. For the
// tree mechanism it is the square root of the number of nodes that contain the first value. For the square-root matrix
// it is the norm of the first column. Its entries binom(2k,k)/4^k are rounded to multiples of 2^-16 or, for more than
// 2^12 items, of 2^-(q+4) with 2^q the next power of two.
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

// differences compares the traces of two runs in everything that must not depend on a record, and returns a
// violation for each difference. If sameRows is true, both tables have the same number of rows, and cohorts
// must consist of the same rows in both runs. Exact answers are not compared.
func differences(a, b *trace, sameRows bool) []Violation {
	var f faults
	for k := range max(len(a.calls), len(b.calls)) {
		if k >= len(a.calls) || k >= len(b.calls) {
			f.add("control flow", "%d calls, on the neighbour %d", len(a.calls), len(b.calls))
			break
		}
		if what := unlike(a.calls[k], b.calls[k]); what != "" {
			f.add("control flow", "call %d (%s): %s", k, a.calls[k].method, what)
			break // later calls differ as a consequence
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

// unlike describes in words how two calls to a session differ. The text is empty if the calls are
// identical.
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
