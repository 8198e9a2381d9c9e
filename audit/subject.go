package audit

import (
	"context"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Record is a row of the encoded space and its target. One whose row is longer
// than 1 or not finite, or whose target is infinite, is faulty. A target of NaN
// says that there is no record in this place.
type Record struct {
	Row    []float32
	Target float64
}

// Table is a generated table.
type Table struct {
	Rows    [][]float32
	Targets []float64
}

// Record returns record i.
func (t Table) Record(i int) Record { return Record{t.Rows[i], t.Targets[i]} }

// With returns the table with record i replaced.
func (t Table) With(i int, r Record) Table {
	t = Table{slices.Clone(t.Rows), slices.Clone(t.Targets)}
	t.Rows[i], t.Targets[i] = r.Row, r.Target
	return t
}

// Without returns the table without record i.
func (t Table) Without(i int) Table {
	return Table{slices.Delete(slices.Clone(t.Rows), i, i+1), slices.Delete(slices.Clone(t.Targets), i, i+1)}
}

// And returns the table with one record more.
func (t Table) And(r Record) Table {
	return Table{append(slices.Clone(t.Rows), r.Row), append(slices.Clone(t.Targets), r.Target)}
}

// Oracle is all that a subject may ask of.
type Oracle = optimize.Oracle

// Session is an oracle that shows what passed. *simulate.Recording is one.
type Session interface {
	Oracle
	Exchanges() []simulate.Exchange
	Ledger() account.View
}

// Subject is what is audited: a run of questions on a table.
type Subject struct {
	Name   string
	Loss   loss.Loss
	Budget account.Budget
	// Table is the table that the run is recorded on. Under add-or-remove its
	// length is also the declared number of records.
	Table Table
	// Schedule, if not nil, is what the session follows.
	Schedule *account.Schedule
	// Run asks the questions. It must depend on nothing but the oracle's answers;
	// what it returns and every step it shows are compared.
	Run func(ctx context.Context, o Oracle, observe func(optimize.Step)) (any, error)
	// Seed settles the coins of the sessions.
	Seed uint64
	// Open, if not nil, opens the sessions in place of package simulate: recording
	// if frozen is nil, else replaying it.
	Open func(c simulate.Config, frozen []simulate.Exchange) (Session, error)
}

// Dim is the number of features.
func (s Subject) Dim() int { return len(s.Table.Rows[0]) }

func (s Subject) relation() account.Relation { return s.Budget.Relation() }

// open opens a session over a table of the subject's; declared is the subject's
// own number of records, whatever the table's is.
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
		return simulate.Record(c)
	}
	return simulate.Replay(c, frozen)
}

// OfPlan returns the subject that runs a plan.
func OfPlan(name string, l loss.Loss, b account.Budget, t Table, p optimize.Plan) Subject {
	s := Subject{Name: name, Loss: l, Budget: b, Table: t, Seed: 1, Schedule: p.Needs().Schedule}
	s.Run = func(ctx context.Context, o Oracle, observe func(optimize.Step)) (any, error) {
		return p.Run(ctx, o, observe)
	}
	return s
}
