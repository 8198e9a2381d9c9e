package audit

import (
	"context"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/curator/simulate/recordtest"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/querytest"
	"github.com/stillpoint-dp/stillpoint/internal/spline"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Record is an encoded row and its target. A record is faulty if its row is longer than 1 or not finite, or
// if its target is infinite. A target of NaN means that the position holds no record.
type Record struct {
	Row    []float32
	Target float64
}

// Table is a generated table of encoded records, on which an audited run makes its queries.
type Table struct {
	Rows    [][]float32
	Targets []float64
}

// Record returns record i.
func (t Table) Record(i int) Record { return Record{t.Rows[i], t.Targets[i]} }

// With returns a copy of the table in which r replaces record i.
func (t Table) With(i int, r Record) Table {
	t = Table{slices.Clone(t.Rows), slices.Clone(t.Targets)}
	t.Rows[i], t.Targets[i] = r.Row, r.Target
	return t
}

// Without returns a copy of the table that lacks record i.
func (t Table) Without(i int) Table {
	return Table{slices.Delete(slices.Clone(t.Rows), i, i+1), slices.Delete(slices.Clone(t.Targets), i, i+1)}
}

// And returns a copy of the table with a record appended.
func (t Table) And(r Record) Table {
	return Table{append(slices.Clone(t.Rows), r.Row), append(slices.Clone(t.Targets), r.Target)}
}

// Oracle is the interface through which an audited run makes queries on its table.
type Oracle = optimize.Oracle

// Session answers the queries of an audited run. It also returns its exchanges: each query with its
// exact and its released answer. *recordtest.Recording is a Session.
type Session interface {
	Oracle
	Exchanges() []simulate.Exchange
	Ledger() account.View
}

// Subject is what an audit examines: a run of queries on a table, under a budget.
type Subject struct {
	Name   string
	Loss   loss.Loss
	Budget account.Budget
	// Table is the table of the recorded run. Under add-or-remove its length is also the declared
	// number of records.
	Table Table
	// Schedule, if not nil, is the privacy schedule that the session follows. It states how much each step may
	// spend.
	Schedule *account.Schedule
	// Run makes the queries. It must depend on nothing but the oracle's answers. The audit compares its result
	// and every step that it passes to observe.
	Run func(ctx context.Context, o Oracle, observe func(optimize.Step)) (any, error)
	// Seed determines the random bits of the sessions.
	Seed uint64
	// Open, if not nil, opens the sessions that answer the run's queries, in place of package simulate. If
	// frozen is nil, the session records its exchanges, the queries with their answers. Otherwise the session
	// replays the exchanges in frozen: it gives the same released answers.
	Open func(c simulate.Config, frozen []simulate.Exchange) (Session, error)
}

// Dim is the number of features.
func (s Subject) Dim() int { return len(s.Table.Rows[0]) }

func (s Subject) relation() account.Relation { return s.Budget.Relation() }

// open opens a session, which answers queries, on the table t. If frozen is not nil, the session replays
// the answers in frozen. Under add-or-remove the declared number of records is the length of the subject's
// own table, also if t has one record more or less.
func (s Subject) open(t Table, frozen []simulate.Exchange) (Session, error) {
	c := simulate.Config{
		Rows: t.Rows, Targets: t.Targets, Loss: s.Loss, Budget: s.Budget, Seed: s.Seed,
		Workers: 1, BlockRows: min(len(t.Rows), 1024),
	}
	for i, y := range t.Targets {
		if math.IsNaN(y) {
			c.Absent = append(c.Absent, i)
		}
	}
	if s.relation() == account.AddOrRemove {
		c.Declared = float64(len(s.Table.Rows))
	}
	open := s.Open
	if open == nil {
		open = simulated
	}
	session, err := open(c, frozen)
	if err != nil || s.Schedule == nil {
		return session, err
	}
	follower, ok := session.(interface {
		Follow(*account.Schedule) error
	})
	if !ok {
		return nil, errNoSchedule
	}
	return session, follower.Follow(s.Schedule)
}

func simulated(c simulate.Config, frozen []simulate.Exchange) (Session, error) {
	if frozen == nil {
		return recordtest.Record(c)
	}
	return recordtest.Replay(c, frozen)
}

// OfPlan returns the subject of an audit that runs a plan of an algorithm on the table t, with the
// given loss and budget.
func OfPlan(name string, l loss.Loss, b account.Budget, t Table, p optimize.Plan) Subject {
	s := Subject{Name: name, Loss: l, Budget: b, Table: t, Seed: 1, Schedule: p.Needs().Schedule}
	s.Run = func(ctx context.Context, o Oracle, observe func(optimize.Step)) (any, error) {
		return p.Run(ctx, o, observe)
	}
	return s
}

// boundsOf returns the bounds on a loss's slopes and curvatures from which a form of query computes its
// clip norm.
func boundsOf(k loss.Constants, features int) querytest.Bounds {
	if math.IsInf(k.Curvature.Hi-k.Curvature.Lo, 0) {
		// The slope of the loss jumps, and its curvature has no bound. Queries are then on the smoothed loss.
		// Clipping enforces any curvature interval, here [-1, 2].
		k.Curvature = loss.CurvatureInterval{Lo: -1, Hi: 2}
		b := boundsOf(k, features)
		b.Smoothing = query.Smoothing{Radius: .4}
		return b
	}
	return querytest.Bounds{Features: features, Lipschitz: k.Lipschitz, InitialGap: k.InitialGap, Lo: k.Curvature.Lo,
		Hi: k.Curvature.Hi}
}

// vectors returns the forms of query that a prefix sum can add up and whose answers have one coordinate for
// each feature. The last form is a weighted sum of several kinds (see [mix]).
func vectors() []querytest.Form { return append(formsOf(query.Item), mixed()) }

func mixed() querytest.Form { return querytest.Form{Name: "mix", Ask: mix} }

// mix makes a weighted sum of terms, with alternating weights .3 and .7. The terms are the first form of
// each kind of query that can be mixed with others and added up in a prefix sum.
func mix(c query.Cohort, w, prev []float64, b querytest.Bounds) []query.Term {
	var terms []query.Term
	for _, k := range query.Kinds() {
		if k.May(query.Mixed | query.Item) {
			term := querytest.Forms(k)[0].Ask(c, w, prev, b)[0]
			terms = append(terms, term.Weighted([]float64{.3, .7}[len(terms)%2]))
		}
	}
	return terms
}

// numbers returns the forms of query that can be a candidate's score in a private selection. Their answer
// is one number.
func numbers() []querytest.Form { return formsOf(query.Candidate) }

// alone returns the forms of query that the loss allows and that neither a prefix sum nor a private
// selection can use.
func alone(l loss.Loss) []querytest.Form {
	var list []querytest.Form
	for _, k := range query.Kinds() {
		if !k.May(query.Item) && !k.May(query.Candidate) &&
			k.Facts().Suits(query.Margins(l, loss.Count(l)), loss.Products(l), loss.UnitOfMargin(l)) {
			list = append(list, querytest.Forms(k)...)
		}
	}
	return list
}

func formsOf(u query.Ways) []querytest.Form {
	var list []querytest.Form
	for _, k := range query.Kinds() {
		if k.May(u) {
			list = append(list, querytest.Forms(k)...)
		}
	}
	return list
}

// refinement is how records change when a session's schema is refined: row returns a record of dim features, or nil
// for one that is not of the former schema.
type refinement struct {
	dim int
	row func(x []float32) []float32
}

// refinedRow returns how records of a schema change when it is refined to another one, by the definition of features
// that are computed when rows are read: those of curves and surfaces, and of effects. Records of several rows have
// their rows one after the other.
func refinedRow(from, to *dataset.Schema, l loss.Loss) refinement {
	before, after := from.WithoutEffects(), to.WithoutEffects()
	rows := 1
	if u, ok := l.(loss.Units); ok {
		rows = u.Rows()
	}
	dim, wide := before.Dim(), to.Dim()
	return refinement{loss.RecordFeatures(l, wide), func(x []float32) []float32 {
		if len(x) != loss.RecordFeatures(l, dim) {
			return nil
		}
		var all []float32
		for i := range rows {
			row := x[i*dim : (i+1)*dim]
			if before != after {
				row = recurved(before, after, row)
			}
			all = append(all, to.Extended(row)...)
		}
		return append(all, x[rows*dim:]...)
	}}
}

// recurved returns the row x of a schema by a schema with other knots, or without some of the curves. A row that hats
// would make longer than 1 has none, as in a session. The divisor of a schema without curves is smaller.
func recurved(from, to *dataset.Schema, x []float32) []float32 {
	y := make([]float32, to.Dim())
	curves, ratio := to.Hats(), 1.
	if from.Scale() != to.Scale() {
		ratio = from.Scale() / to.Scale() * (1 - 0x1p-22)
	}
	var bareRow []float32
	at := 0
	for _, h := range append(from.Hats(), dataset.Hats{First: len(x)}) {
		bareRow = append(bareRow, x[at:h.First]...)
		at = h.First + h.Width
	}
	for i, j, k := 0, 0, 0; j < len(y); {
		if k < len(curves) && j == curves[k].First {
			j, k = j+curves[k].Width, k+1
			continue
		}
		y[j] = float32(float64(bareRow[i]) * ratio)
		i, j = i+1, j+1
	}
	groups, bare := to.Groups(), slices.Clone(y)
	level := float64(y[len(y)-1])
	for _, h := range curves {
		// at holds the features of hats and by their sizes, for one axis after the other.
		at, by := []int{h.First}, []float64{level}
		known := level > 0
		for a, axis := range h.Axes {
			cell, f := spline.Of(axis.Knots, axis.At).Cell(float64(y[axis.Number]) / level)
			known = known && y[axis.Missing] == 0
			inner := 1
			if a == 0 && len(h.Axes) == 2 {
				inner = h.Axes[1].Knots
			}
			var at2 []int
			var by2 []float64
			for b := range at {
				at2 = append(at2, at[b]+cell*inner, at[b]+(cell+1)*inner)
				by2 = append(by2, by[b]*spline.Scale*(1-f), by[b]*spline.Scale*f)
			}
			at, by = at2, by2
		}
		if !known {
			continue
		}
		shift := 0
		if h.Group >= 0 {
			for c, v := range y[groups[h.Group].First:][:groups[h.Group].Width] {
				if v != 0 {
					shift = c * h.Axes[0].Knots
				}
			}
		}
		for b := range at {
			y[at[b]+shift] = float32(by[b])
		}
	}
	sum := vector.Sum(y, func(v float32) float64 { return float64(v) * float64(v) })
	if !(sum <= dataset.NormBound*dataset.NormBound) {
		return bare
	}
	return y
}
