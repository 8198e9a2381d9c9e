package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

var errNoSchedule = errors.New("audit: session: cannot follow a schedule")

// call is a call that the audited run made to its session, the object that answers its queries: the
// query, and the answer or the error that came back.
type call struct {
	method   string
	asked    any
	returned any
	err      string
	// answered reports whether the session computed an answer to the call and recorded it as an exchange (a
	// query with its exact and its released answer).
	answered bool
}

// trace holds everything about a run that is visible from outside: calls to the session, steps shown, result, error and
// charged events. It also holds the run's exchanges: each query with its exact and its released answer.
type trace struct {
	calls     []call
	steps     []optimize.Step
	result    any
	err       string
	events    []account.Event
	exchanges []simulate.Exchange
	// kinds names the kind of query of each exchange, see kindOf.
	kinds []string
}

// trace runs the subject, the audited run, on a table. If frozen is nil, trace records the run. Otherwise it replays
// the run: every query gets the released answer that frozen holds. It returns an error if the session cannot be opened
// or the context ends. An error of the run itself, or a panic, is part of the trace.
func (s Subject) trace(ctx context.Context, t Table, frozen []simulate.Exchange) (*trace, error) {
	session, err := s.open(t, frozen)
	if err != nil {
		return nil, fmt.Errorf("audit: %s: %w", s.Name, err)
	}
	w := &witness{Session: session, trace: new(trace)}
	w.run(ctx, s)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w.trace.events = session.Ledger().Events()
	w.trace.exchanges = session.Exchanges()
	for _, x := range w.trace.exchanges {
		w.trace.kinds = append(w.trace.kinds, kindOf(x))
	}
	return w.trace, nil
}

// witness is the session that a subject (the audited run) gets. It passes every call on to the real
// session, which answers queries, and records the call.
type witness struct {
	Session
	mu    sync.Mutex
	trace *trace
}

func (w *witness) run(ctx context.Context, s Subject) {
	defer func() {
		if p := recover(); p != nil {
			w.trace.err = fmt.Sprintf("panic: %v", p)
		}
	}()
	observe := func(step optimize.Step) {
		step.W = slices.Clone(step.W)
		w.trace.steps = append(w.trace.steps, step)
	}
	result, err := s.Run(ctx, w, observe)
	w.trace.result, w.trace.err = result, text(err)
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (w *witness) note(method string, asked, returned any, err error, answer bool) {
	if r, ok := returned.(query.Release); ok {
		// Mean is copied, because the caller may write into it.
		r.Mean = slices.Clone(r.Mean)
		returned = r
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trace.calls = append(w.trace.calls, call{method, asked, returned, text(err), answer && err == nil})
}

func (w *witness) Ask(ctx context.Context, q query.Question) (query.Release, error) {
	r, err := w.Session.Ask(ctx, q)
	w.note("Ask", q, r, err, true)
	return r, err
}

func (w *witness) Stable(ctx context.Context, q query.Stable) (query.Release, error) {
	r, err := w.Session.Stable(ctx, q)
	w.note("Stable", q, r, err, true)
	return r, err
}

func (w *witness) Select(ctx context.Context, sel query.Selection) (int, error) {
	i, err := w.Session.Select(ctx, sel)
	w.note("Select", sel, i, err, true)
	return i, err
}

// refine gives every row of the session the features of another schema, whose numbers the audit compares between
// tables. change returns the row of that schema for a row of the present one. refine returns an error if the session
// cannot change its rows.
func (w *witness) refine(to *dataset.Schema, change refinement) error {
	session, ok := w.Session.(interface {
		Refine(dim int, change func(x []float32) []float32) error
	})
	if !ok {
		return errors.New("audit: a schema that is refined: must be of sessions whose rows can be refined")
	}
	told, err := json.Marshal(to)
	if err == nil {
		err = session.Refine(change.dim, change.row)
	}
	w.note("Refine", string(told), nil, err, false)
	return err
}

func (w *witness) All() query.Cohort {
	c := w.Session.All()
	w.note("All", nil, c, nil, false)
	return c
}

func (w *witness) Draw(size int) (query.Cohort, error) {
	c, err := w.Session.Draw(size)
	w.note("Draw", size, c, err, false)
	return c, err
}

func (w *witness) DrawEach(p float64) (query.Cohort, error) {
	c, err := w.Session.DrawEach(p)
	w.note("DrawEach", p, c, err, false)
	return c, err
}

func (w *witness) Sample() (query.Cohort, error) {
	c, err := w.Session.Sample()
	w.note("Sample", nil, c, err, false)
	return c, err
}

func (w *witness) OpenPrefix(p query.Prefix) (query.PrefixSum, error) {
	sum, err := w.Session.OpenPrefix(p)
	w.note("OpenPrefix", p, nil, err, false)
	if err != nil {
		return nil, err
	}
	return &prefixWitness{sum, w, p}, nil
}

type prefixWitness struct {
	query.PrefixSum
	witness *witness
	prefix  query.Prefix
}

func (p *prefixWitness) Add(ctx context.Context, terms ...query.Term) (query.Release, error) {
	r, err := p.PrefixSum.Add(ctx, terms...)
	// bad is not nil if the terms are not a valid query. The session has then refused them, too.
	q, bad := query.New(p.prefix.Charge, terms...)
	p.witness.note("Add", [...]any{p.prefix, q, text(bad)}, r, err, true)
	return r, err
}

// question returns the query of a call in the form in which the session's exchange holds it as Asked, so
// that both can be compared. For an item of a prefix sum this is the query of the item's terms.
func (c call) question() any {
	if add, ok := c.asked.([3]any); ok {
		return add[1]
	}
	return c.asked
}

// movement returns how far the change of one record moved an answer: the distance of the exact answers in x and y,
// divided by the charged sensitivity. x and y are exchanges with the same query on two neighbouring tables.
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

// identical reports whether two values are equal, with floats compared by their bits: zeros of different
// sign differ, and a NaN equals a NaN with the same bits. It also compares unexported fields, so that it
// covers every part of a query. Maps, functions and channels are equal only if both are nil.
func identical(a, b any) bool { return same(reflect.ValueOf(a), reflect.ValueOf(b)) }

func same(a, b reflect.Value) bool {
	if a.IsValid() != b.IsValid() {
		return false
	}
	if !a.IsValid() {
		return true
	}
	if a.Type() != b.Type() {
		return false
	}
	switch a.Kind() {
	case reflect.Float32, reflect.Float64:
		return math.Float64bits(a.Float()) == math.Float64bits(b.Float())
	case reflect.Interface, reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return same(a.Elem(), b.Elem())
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !same(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Struct:
		for i := range a.NumField() {
			if !same(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Func, reflect.Map, reflect.Chan:
		return a.IsNil() && b.IsNil()
	}
	return a.Equal(b)
}
