package audit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// Effort states how much work an audit does. The zero value means the defaults.
type Effort struct {
	// Positions is the number of records that are replaced, one at a time. Zero means 4. If all queries are on
	// all records, at most 2 records are replaced. More records are replaced if the queries on cohorts need
	// them (see positions).
	Positions int
	// Records is the largest number of records tried in the place of each replaced record. Zero means 72.
	Records int
	// Climbs is the number of steps of the search for records that move an answer further, for each kind of
	// query. Zero means 12. A negative number means no search.
	Climbs int
	// Seed determines all random choices of the audit.
	Seed uint64
	// Progress, if not nil, is called after each replay.
	Progress func()
}

func (e Effort) settled() Effort {
	e.Positions = cmp.Or(e.Positions, 4)
	e.Records = cmp.Or(e.Records, 72)
	e.Climbs = cmp.Or(e.Climbs, 12)
	if e.Progress == nil {
		e.Progress = func() {}
	}
	return e
}

// Finding is the largest movement of an exact answer, when one record changes, that the audit found
// for a kind of query.
type Finding struct {
	Kind string `json:"kind"`
	// Answers is the number of answers in the run to queries of this kind.
	Answers int `json:"answers"`
	// Ratio is the largest movement of an exact answer, divided by the charged sensitivity.
	Ratio float64 `json:"ratio"`
	// Neighbour describes the pair of records with this movement.
	Neighbour string `json:"neighbour"`
}

// Report is the result of an audit of a subject, a run of queries on a generated table.
type Report struct {
	Subject  string           `json:"subject"`
	Relation account.Relation `json:"relation"`
	Records  int              `json:"records"`
	Dim      int              `json:"dim"`
	// Answers is the number of answers in the recorded run.
	Answers int `json:"answers"`
	// Ended is the text of the error with which the recorded run ended. It is empty if there was no error.
	Ended string `json:"ended_with,omitempty"`
	// Replays is the number of replayed runs.
	Replays int `json:"replays"`
	// Pairs is the number of pairs of neighbouring tables that were compared.
	Pairs int `json:"pairs"`
	// Findings has one entry for each kind of query, sorted by name.
	Findings   []Finding   `json:"findings"`
	Violations []Violation `json:"violations"`
}

// Ratio returns the largest ratio of all findings: the movement of an exact answer divided by the
// charged sensitivity. More than 1 is a violation.
func (r Report) Ratio() float64 {
	return max(0, vector.Most(r.Findings, func(f Finding) float64 { return f.Ratio }))
}

// inquiry is the state of an audit while it replays a run on neighbouring tables.
type inquiry struct {
	subject  Subject
	effort   Effort
	rand     *rand.Rand
	recorded *trace
	report   Report
	worst    map[string]*Finding
	// best holds, for each kind of query, the pair of records with the largest movement of the exact answer
	// relative to the charged sensitivity.
	best map[string]pair
	// loudest is the pair of records that is easiest to distinguish by the run's answers over all records,
	// taken together.
	loudest pair
	// loud is the squared mu of Gaussian differential privacy that loudest reaches. It is the sum, over the
	// answers over all records, of the squared distance of the pair's exact answers in units of the noise.
	loud float64
}

// pair is a position of the table and two candidates for it. The tables with one or the other at this
// position are neighbours.
type pair struct {
	position int
	a, b     candidate
}

// maxIntegers limits the number of integers that the audit keeps in memory at a time. The integers are the
// exact answers of replayed runs. Above this limit, fewer records are tried in a place, but at least 6.
const maxIntegers = 16 << 20

// run audits a subject: it records a run and replays it on neighbouring tables, where every query gets the
// recorded answer. The report contains the violations of the guarantee. run also returns the pair of records that
// is easiest to distinguish by the run's answers over all records. It returns an error if the audit itself fails,
// or if the table has fewer than 2 records.
func run(ctx context.Context, s Subject, e Effort) (Report, pair, error) {
	q := &inquiry{
		subject: s, effort: e.settled(), rand: rand.New(rand.NewPCG(e.Seed, 0x5717)),
		worst: map[string]*Finding{}, best: map[string]pair{},
		report: Report{Subject: s.Name, Relation: s.relation(), Records: len(s.Table.Rows), Dim: s.Dim()},
	}
	if len(s.Table.Rows) < 2 {
		return q.report, pair{}, fmt.Errorf("audit: %s: %d records: must be at least 2", s.Name, len(s.Table.Rows))
	}
	var err error
	if q.recorded, err = s.trace(ctx, s.Table, nil); err != nil {
		return q.report, pair{}, err
	}
	q.report.Answers, q.report.Ended = len(q.recorded.exchanges), q.recorded.err
	q.report.Violations = append([]Violation{}, s.lawful(q.recorded)...)
	for _, k := range q.recorded.kinds {
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
			return q.report, pair{}, err
		}
	}
	for _, k := range slices.Sorted(maps.Keys(q.worst)) {
		q.report.Findings = append(q.report.Findings, *q.worst[k])
	}
	return q.report, q.loudest, nil
}

// enough is the number of violations after which an audit stops.
const enough = 8

// frozen replays the run, with the released answers of the recorded run, on the table in which the
// candidate c replaces the record at the given position. It adds a violation to the report for each
// difference from the recorded run that must not depend on a record.
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

// replace replaces some records of the table, one at a time, by each of their candidates, and replays the run on each
// table. It then compares all pairs of replays whose tables are neighbours. Under replace-one, these are all pairs of
// candidates for a position. Under add-or-remove, they pair the table without the record with each other table.
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
				q.measure(pair{i, list[a], list[b]}, traces[a], traces[b])
			}
			if q.subject.relation() == account.AddOrRemove {
				break // the first table is the one without the record
			}
		}
	}
	return nil
}

// measure compares the exact answers of two replays on the pair p of neighbouring tables. For each kind of
// query it returns the largest ratio: the movement of an exact answer, divided by the charged sensitivity.
// It updates the findings, and adds a violation if a ratio exceeds 1.
func (q *inquiry) measure(p pair, a, b *trace) map[string]float64 {
	q.report.Pairs++
	most := map[string]float64{}
	without := math.IsNaN(p.a.Target) || math.IsNaN(p.b.Target)
	loud := 0.
	for k := range min(len(a.exchanges), len(b.exchanges)) {
		x, y := a.exchanges[k], b.exchanges[k]
		kind := a.kinds[k]
		ratio := movement(x, y, q.subject.relation(), without)
		if ratio > most[kind] {
			most[kind] = ratio
		}
		if x.Members == nil && x.Noisy != nil {
			loud += ratio * ratio * x.Event.Charge
		}
		f := q.worst[kind]
		if f == nil {
			continue // the control flow differs, and frozen has added this violation
		}
		if !(ratio <= f.Ratio) {
			f.Ratio, f.Neighbour, q.best[kind] = ratio, describe(p.a, p.b), p
			if !(ratio <= 1) {
				q.note(f.Neighbour, []Violation{{Rule: "sensitivity",
					Detail: fmt.Sprintf("answer %d: %s: one record moves it by %.9g times what was charged for", k, kind, ratio)}})
			}
		}
	}
	if loud > q.loud {
		q.loud, q.loudest = loud, p
	}
	return most
}

// positions returns the positions in the table of the records that the audit replaces. For every kind of
// query on a cohort or sample, and every clip norm (see [Subject.coverage]), they include a record that
// takes part in such a query. Further positions are added up to the number Effort.Positions.
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
			take(int(x.Members[0])) // the first record of a pass of stable SGD moves the pass's result most
		}
	}
	for _, x := range spread(q.recorded.exchanges, 2*q.effort.Positions) {
		if len(x.Members) > 0 && len(list) < q.effort.Positions {
			take(int(x.Members[q.rand.IntN(len(x.Members))]))
		}
	}
	others := q.effort.Positions
	if len(list) == 0 {
		others = min(others, 2) // if all queries are on all records, the choice of the record does not matter
	}
	for _, i := range []int{n - 1, n / 2, 0, q.rand.IntN(n), q.rand.IntN(n)} {
		if len(list) < others {
			take(i)
		}
	}
	return list
}

// coverage returns a key made of the kind of a query and the clip norms of its terms. For a difference of
// gradients at two points, the clip norm is divided by the distance of the points. For each key, the audit
// replaces a record that takes part in a query with this key.
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

// of returns the exchanges, queries with their answers, in which record i took part.
func (q *inquiry) of(i int) []simulate.Exchange {
	var list []simulate.Exchange
	for _, x := range q.recorded.exchanges {
		if x.Members == nil || slices.Contains(x.Members, int32(i)) {
			list = append(list, x)
		}
	}
	return list
}

// Under add-or-remove, resize replays the run on tables with one record less and one more. The secret
// random bits then belong to other rows, and cohorts have other members. Exact answers are therefore not
// compared. Everything public must repeat.
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
		{"a record more", q.subject.Table.And(extra.Record)},
		{"a faulty record more", q.subject.Table.And(Record{extra.Row, math.Inf(1)})},
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
