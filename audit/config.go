package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/train"
)

// Options say how much of a configuration's audit is done and who watches it.
// The zero value takes the defaults.
type Options struct {
	// Effort is that of the replays; without climbs nothing is searched for either.
	Effort Effort
	// Records is the largest number of records generated; zero means 1000.
	Records int
	// Runs is how often the attack runs the configuration on each of two tables;
	// zero for no attack.
	Runs int
	// Progress, if not nil, is called after each run with how many were done and
	// how many there will be, about.
	Progress func(done, of int)
}

// Result is what an audit of a configuration found.
type Result struct {
	Report
	Summary optimize.Summary `json:"plan"`
	// Guarantee is the budget's, and its unit that of the configuration.
	Guarantee account.Guarantee `json:"-"`
	// Configured is the number of records that the configuration states; zero if
	// it states none.
	Configured int `json:"configured_records,omitempty"`
	// Chosen is the number of records for which auto chose the algorithm; zero
	// where the configuration names it.
	Chosen int    `json:"chosen_for,omitempty"`
	Loss   string `json:"loss"`
	// Unit says what one record is where it is not a row.
	Unit string `json:"unit,omitempty"`
	// Searched are the forms of question, each asked alone, with the worst that
	// climbing over points and records found for the loss.
	Searched []Finding `json:"searched"`
	// Attack is what the attack on the worst pair of records found; nil if there
	// was none.
	Attack *Attacked `json:"attack,omitempty"`
}

// MarshalJSON writes the guarantee's numbers behind the plan.
func (r Result) MarshalJSON() ([]byte, error) {
	type rest Result
	return json.Marshal(struct {
		Report
		Summary optimize.Summary `json:"plan"`
		Epsilon float64          `json:"epsilon"`
		Delta   float64          `json:"delta"`
		Mu      float64          `json:"mu"`
		rest
	}{r.Report, r.Summary, r.Guarantee.Epsilon, r.Guarantee.Delta, r.Guarantee.Mu, rest(r)})
}

// ErrViolated reports that an audit found what must not be.
var ErrViolated = errors.New("audit: a violation was found")

// Err returns ErrViolated if the audit found a violation.
func (r Result) Err() error {
	if len(r.Violations) > 0 {
		return fmt.Errorf("%w: %v", ErrViolated, r.Violations[0])
	}
	return nil
}

const (
	defaultRecords = 1000
	// mostCells keeps a replay within milliseconds.
	mostCells, leastRecords = 1_000_000, 20
)

// RunConfig audits what a configuration would run: its loss, budget, algorithm and
// settings on a generated table with the columns of its schema. The
// configuration's own table is not opened and need not exist.
//
// The number of records is scaled down, and with it the default number of steps:
// sensitivity and control flow do not depend on it, but a branch that only a
// large table reaches is not reached.
func RunConfig(ctx context.Context, c *train.Config, o Options) (Result, error) {
	small := *c
	most := o.Records
	if most == 0 {
		most = defaultRecords
	}
	if dim := c.Schema.Dim() * max(1, c.Schema.Unit().Rows); most*dim > mostCells {
		most = max(mostCells/dim, leastRecords)
	}
	relation, err := account.ParseRelation(c.Privacy.Relation)
	if err == nil && (relation == account.ReplaceOne && c.Privacy.Records == 0 || c.Privacy.Records > most) {
		small.Privacy.Records = most
	}
	chosen, err := choose(ctx, c)
	if err != nil {
		return Result{}, err
	}
	if chosen != "" {
		small.Train.Algorithm, small.Train.Settings = chosen, nil // auto's
	}
	// With privacy.records the table is not opened.
	planned, err := small.Plan(ctx)
	if err != nil {
		return Result{}, err
	}
	s, err := configured(&small, planned)
	if err != nil {
		return Result{}, err
	}
	e := o.Effort.settled()
	count := counter{of: e.Positions*e.Records + 3*max(e.Climbs, 0)*2 + 4*o.Runs, progress: o.Progress}
	e.Progress = count.next
	report, worst, err := run(ctx, s, e)
	if err != nil {
		return Result{}, err
	}
	if report.Ended != "" {
		return Result{}, fmt.Errorf("audit: the run itself fails on a generated table: %s", report.Ended)
	}
	r := Result{
		Report: report, Summary: planned.Summary, Configured: c.Privacy.Records, Loss: s.Loss.Name(),
		Guarantee: s.Budget.Guarantee(c.Schema.Unit().Column),
	}
	if unit := c.Schema.Unit(); unit != (dataset.Unit{}) {
		r.Unit = planned.Unit.Record()
	}
	if chosen != "" {
		r.Chosen = likely(c)
	}
	for _, known := range forms(s.Loss) {
		form := known.Name
		if e.Climbs < 0 {
			break
		}
		f, err := Search(ctx, s.Loss, s.relation(), form, 100, e.Seed)
		if err != nil {
			return r, err
		}
		r.Searched = append(r.Searched, f)
		if !(f.Ratio <= 1) {
			r.Violations = append(r.Violations, Violation{
				Rule: "sensitivity", Neighbour: f.Neighbour,
				Detail: fmt.Sprintf("%s: one record moves it by %.9g times what was charged for", form, f.Ratio),
			})
		}
	}
	if o.Runs > 0 && len(r.Violations) == 0 {
		if err := r.attack(ctx, s, worst, o.Runs, count.next); err != nil {
			return r, err
		}
	}
	return r, nil
}

// choose returns the algorithm that auto would take for a table of the likely
// size, which a small one need not share; empty where the configuration names it.
func choose(ctx context.Context, c *train.Config) (string, error) {
	if c.Train.Algorithm != "" && c.Train.Algorithm != train.Algorithms()[0] {
		return "", nil
	}
	large := *c
	large.Privacy.Records = likely(c)
	planned, err := large.Plan(ctx)
	return planned.Summary.Algorithm, err
}

// likely is the number of records configured, or what a table may well have.
func likely(c *train.Config) int {
	if c.Privacy.Records > 0 {
		return c.Privacy.Records
	}
	return 30_000
}

// counter counts runs.
type counter struct {
	done, of int
	progress func(done, of int)
}

func (c *counter) next() {
	c.done++
	if c.progress != nil {
		c.progress(c.done, max(c.done, c.of))
	}
}

// configured makes the subject that a configuration describes.
func configured(c *train.Config, planned train.Planned) (Subject, error) {
	p, l, err := c.Problem(planned.Budget, planned.Records)
	if err != nil {
		return Subject{}, err
	}
	people := int(planned.Records)
	table, err := drawn(c.Schema, people*max(1, c.Schema.Unit().Rows), 11)
	if err != nil {
		return Subject{}, err
	}
	if err := table.shorten(c); err != nil {
		return Subject{}, err
	}
	if u, ok := l.(loss.Units); ok {
		table = table.grouped(u, people, 12)
	}
	s := OfPlan(c.Name(), l, planned.Budget, table, planned.Plan)
	if measure := c.Train.Measure; measure > 0 {
		if s.Schedule != nil {
			return Subject{}, fmt.Errorf("train.measure: is not possible with %s, whose whole budget is its schedule's", planned.Summary.Algorithm)
		}
		s = measured(s, p, planned.Budget.Charge()*measure)
	}
	return s, nil
}
