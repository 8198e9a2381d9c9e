package audit

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
)

// Effort says how much is tried. The zero value takes the defaults.
type Effort struct {
	// Positions is how many records are replaced in turn; zero means 4.
	Positions int
	// Records is how many records are put in the place of each; zero means 72.
	Records int
	// Climbs is how many steps the search for worse records takes for each kind
	// of question; zero means 12, less than zero none.
	Climbs int
	// Seed settles what is drawn.
	Seed uint64
	// Progress, if not nil, is called after each replay.
	Progress func()
}

func (e Effort) settled() Effort {
	if e.Positions == 0 {
		e.Positions = 4
	}
	if e.Records == 0 {
		e.Records = 72
	}
	if e.Climbs == 0 {
		e.Climbs = 12
	}
	if e.Progress == nil {
		e.Progress = func() {}
	}
	return e
}

// Finding is the worst that was seen of a kind of question.
type Finding struct {
	Kind string `json:"kind"`
	// Answers is how many were given.
	Answers int `json:"answers"`
	// Ratio is the largest movement of an exact answer as a part of the charged
	// sensitivity.
	Ratio float64 `json:"ratio"`
	// Neighbour is the pair of records that moved it so.
	Neighbour string `json:"neighbour"`
}

// Report is what an audit of a subject found.
type Report struct {
	Subject  string           `json:"subject"`
	Relation account.Relation `json:"relation"`
	Records  int              `json:"records"`
	Dim      int              `json:"dim"`
	// Answers is how many the recorded run was given, Ended the error that it ended
	// with, if it did.
	Answers int    `json:"answers"`
	Ended   string `json:"ended_with,omitempty"`
	// Replays is how many runs were compared, Pairs how many pairs of neighbouring
	// tables.
	Replays int `json:"replays"`
	Pairs   int `json:"pairs"`
	// Findings has one entry for each kind of question, by name.
	Findings   []Finding   `json:"findings"`
	Violations []Violation `json:"violations"`
}

// Ratio is the largest ratio of all.
func (r Report) Ratio() float64 {
	var most float64
	for _, f := range r.Findings {
		most = max(most, f.Ratio)
	}
	return most
}

// inquiry is an audit under way.
type inquiry struct {
	subject  Subject
	effort   Effort
	rand     *rand.Rand
	recorded *trace
	report   Report
	worst    map[string]*Finding
	// best is the pair of records behind each worst ratio, and where.
	best map[string]place
	// loudest is the pair that all answers over all records together tell apart
	// best, at the mu^2 that follows from their exact distances.
	loudest place
	loud    float64
}

type place struct {
	position int
	a, b     candidate
}

// maxIntegers bounds the exact answers kept at once.
const maxIntegers = 16 << 20

// Run audits a subject: it records a run and replays it on neighbours. The
// error is one of the audit itself; what it finds is in the report.
func Run(ctx context.Context, s Subject, e Effort) (Report, error) {
	r, _, err := run(ctx, s, e)
	return r, err
}

// run also returns the pair of records that are easiest to tell apart.
func run(ctx context.Context, s Subject, e Effort) (Report, place, error) {
	q := &inquiry{
		subject: s, effort: e.settled(), rand: rand.New(rand.NewPCG(e.Seed, 0x5717)),
		worst: map[string]*Finding{}, best: map[string]place{},
		report: Report{Subject: s.Name, Relation: s.relation(), Records: len(s.Table.Rows), Dim: s.Dim()},
	}
	if len(s.Table.Rows) < 2 {
		return q.report, place{}, fmt.Errorf("audit: %s: %d records: must be at least 2", s.Name, len(s.Table.Rows))
	}
	var err error
	if q.recorded, err = s.trace(ctx, s.Table, nil); err != nil {
		return q.report, place{}, err
	}
	q.report.Answers, q.report.Ended = len(q.recorded.exchanges), q.recorded.err
	q.report.Violations = append([]Violation{}, s.lawful(q.recorded)...)
	for _, x := range q.recorded.exchanges {
		k := kindOf(x)
		if q.worst[k] == nil {
			q.worst[k] = &Finding{Kind: k}
		}
		q.worst[k].Answers++
	}
	for _, step := range []func(context.Context) error{q.replace, q.resize, q.climb} {
		if len(q.report.Violations) >= enough {
			break
		}
		if err := step(ctx); err != nil {
			return q.report, place{}, err
		}
	}
	for _, k := range slices.Sorted(maps.Keys(q.worst)) {
		q.report.Findings = append(q.report.Findings, *q.worst[k])
	}
	return q.report, q.loudest, nil
}

// enough violations say what there is to say.
const enough = 8

// frozen replays the run on the table with a record replaced.
func (q *inquiry) frozen(ctx context.Context, position int, c candidate) (*trace, error) {
	q.report.Replays++
	q.effort.Progress()
	t, err := q.subject.trace(ctx, q.subject.Table.With(position, c.Record), q.recorded.exchanges)
	if err == nil {
		q.note(c.Why, differences(q.recorded, t, true))
	}
	return t, err
}

func (q *inquiry) note(neighbour string, list []Violation) {
	for _, v := range list {
		if len(q.report.Violations) >= enough {
			return
		}
		v.Neighbour = neighbour
		q.report.Violations = append(q.report.Violations, v)
	}
}

// replace replays on all candidates for some records' places, and compares all
// of these tables with each other: under replace-one any two of them are
// neighbours; under add-or-remove those without the record and with it.
func (q *inquiry) replace(ctx context.Context) error {
	size := 0
	for _, x := range q.recorded.exchanges {
		size += len(x.Exact) + len(x.Scores)
	}
	records := min(q.effort.Records, max(maxIntegers/max(size, 1), 6))
	for _, i := range q.positions() {
		list := q.subject.around(q.rand, i, q.of(i), records)
		traces := make([]*trace, 0, len(list))
		for _, c := range list {
			t, err := q.frozen(ctx, i, c)
			if err != nil {
				return err
			}
			traces = append(traces, t)
		}
		for a := range traces {
			for b := a + 1; b < len(traces); b++ {
				q.measure(place{i, list[a], list[b]}, traces[a], traces[b])
			}
			if q.subject.relation() == account.AddOrRemove {
				break // the first is the one without the record
			}
		}
	}
	return nil
}

// measure compares the exact answers of two replays and returns the largest
// ratio for each kind.
func (q *inquiry) measure(p place, a, b *trace) map[string]float64 {
	q.report.Pairs++
	most := map[string]float64{}
	without := math.IsNaN(p.a.Target) || math.IsNaN(p.b.Target)
	loud := 0.
	for k := range min(len(a.exchanges), len(b.exchanges)) {
		x, y := a.exchanges[k], b.exchanges[k]
		kind := kindOf(x)
		ratio := movement(x, y, q.subject.relation(), without)
		if ratio > most[kind] {
			most[kind] = ratio
		}
		if x.Members == nil && x.Noisy != nil {
			loud += ratio * ratio * x.Event.Charge
		}
		f := q.worst[kind]
		if f == nil {
			continue // control flow has changed, which is noted
		}
		if !(ratio <= f.Ratio) {
			f.Ratio, f.Neighbour, q.best[kind] = ratio, describe(p.a, p.b), p
			if !(ratio <= 1) {
				q.note(f.Neighbour, []Violation{{Rule: "sensitivity", Detail: fmt.Sprintf("answer %d: %s: one record moves it by %.9g times what was charged for", k, kind, ratio)}})
			}
		}
	}
	if loud > q.loud {
		q.loud, q.loudest = loud, p
	}
	return most
}

// positions are records to replace: one that takes part for every kind of
// question that is asked of a cohort or sample, and others up to the number
// wanted.
func (q *inquiry) positions() []int {
	n := len(q.subject.Table.Rows)
	var list []int
	take := func(i int) {
		if !slices.Contains(list, i) {
			list = append(list, i)
		}
	}
	covered := map[string]bool{}
	for _, x := range q.recorded.exchanges {
		key := q.subject.coverage(x)
		if len(x.Members) == 0 || covered[key] {
			continue
		}
		covered[key] = true
		if !slices.ContainsFunc(list, func(i int) bool { return slices.Contains(x.Members, int32(i)) }) {
			take(int(x.Members[0])) // the first record of a pass moves it most
		}
	}
	for _, x := range spread(q.recorded.exchanges, 2*q.effort.Positions) {
		if len(x.Members) > 0 && len(list) < q.effort.Positions {
			take(int(x.Members[q.rand.IntN(len(x.Members))]))
		}
	}
	others := q.effort.Positions
	if len(list) == 0 {
		others = min(others, 2) // where all records always take part one is like another
	}
	for _, i := range []int{n - 1, n / 2, 0, q.rand.IntN(n), q.rand.IntN(n)} {
		if len(list) < others {
			take(i)
		}
	}
	return list
}

// coverage tells questions apart by kind and by how tightly they clip, for
// differences beside their step.
func (s Subject) coverage(x simulate.Exchange) string {
	key := kindOf(x)
	for _, t := range s.terms(x) {
		radius := t.Ball().Radius
		if d := t.Distance(); d > 0 {
			radius /= d
		}
		key += fmt.Sprintf(" %.2g", radius)
	}
	return key
}

// of returns the exchanges that record i took part in.
func (q *inquiry) of(i int) []simulate.Exchange {
	var list []simulate.Exchange
	for _, x := range q.recorded.exchanges {
		if x.Members == nil || slices.Contains(x.Members, int32(i)) {
			list = append(list, x)
		}
	}
	return list
}

// resize replays on tables of one record less and one more, where they are
// neighbours. The secret coins then fall on other rows, so the exact answers
// have no common cohort and are not compared; all that is public must repeat
// itself.
func (q *inquiry) resize(ctx context.Context) error {
	if q.subject.relation() != account.AddOrRemove {
		return nil
	}
	n := len(q.subject.Table.Rows)
	extra := random(q.rand, q.subject.Dim(), q.subject.Loss)
	for _, c := range []struct {
		name  string
		table Table
	}{
		{"a record less, the first", q.subject.Table.Without(0)}, {"a record less, the last", q.subject.Table.Without(n - 1)},
		{"a record more", q.subject.Table.And(extra.Record)}, {"a faulty record more", q.subject.Table.And(Record{extra.Row, math.Inf(1)})},
	} {
		q.report.Replays++
		q.effort.Progress()
		t, err := q.subject.trace(ctx, c.table, q.recorded.exchanges)
		if err != nil {
			return err
		}
		q.report.Pairs++
		q.note(c.name, differences(q.recorded, t, false))
	}
	return nil
}
