package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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

// trace holds everything about a run that is visible from outside: calls to the session, steps shown,
// result, error and charged events. It also holds the run's exchanges: each query with its exact and its
// released answer.
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

// trace runs the subject, the audited run, on a table. If frozen is nil, trace records the run. Otherwise
// it replays the run: every query gets the released answer that frozen holds. It returns an error if the
// session cannot be opened or the context ends. An error of the run itself, or a panic, is part of the
// trace.
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
