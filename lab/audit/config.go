package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Options are the options of RunConfig. The zero value means the defaults.
type Options struct {
	// Effort is the amount of work for the replays on neighbouring tables. If Effort.Climbs is below zero, the
	// search by Search over points and records is left out, too.
	Effort Effort
	// Records is the largest number of generated records; zero means 1000.
	Records int
	// Runs is the number of times that the attack runs the configuration on each of two neighbouring tables. The attack
	// is a test that guesses from the releases which of the two tables was used. Zero means no attack.
	Runs int
	// Progress, if not nil, is called after each run with the number of runs done and the
	// approximate total.
	Progress func(done, of int)
}

// Result is the result of an audit of a configuration.
type Result struct {
	Report
	Summary optimize.Summary `json:"plan"`
	// Guarantee is the privacy guarantee of the budget, for the privacy unit that the configuration states.
	Guarantee account.Guarantee `json:"-"`
	// Configured is the number of records in the configuration; zero if it gives none.
	Configured int `json:"configured_records,omitempty"`
	// Chosen is the number of records for which the setting "algorithm: auto" chose the algorithm;
	// zero if the configuration names the algorithm.
	Chosen int    `json:"chosen_for,omitempty"`
	Loss   string `json:"loss"`
	// Unit describes what a record is if it is not a row, such as all rows of one person.
	Unit string `json:"unit,omitempty"`
	// Searched has an entry for each form of query. Its Ratio is the largest that Search found for the loss. A
	// ratio is the movement of the exact answer when one record changes, divided by the charged sensitivity.
	Searched []Finding `json:"searched"`
	// Attack is the result of the attack on the pair of records that is easiest to tell apart; nil
	// if no attack was requested.
	Attack *Attacked `json:"attack,omitempty"`
}

// MarshalJSON writes the result as JSON. It inserts epsilon, delta and mu of the guarantee after
// the member "plan".
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

// ErrViolated reports that an audit found a violation of the privacy guarantee.
var ErrViolated = errors.New("audit: a violation was found")

// Err returns an error that wraps ErrViolated and states the first violation, or nil if the audit found
// none.
func (r Result) Err() error {
	if len(r.Violations) > 0 {
		return fmt.Errorf("%w: %v", ErrViolated, r.Violations[0])
	}
	return nil
}

const (
	defaultRecords = 1000
	// mostCells limits the number of records times the number of features of the generated table, so that a
	// replay takes milliseconds. leastRecords is the least number of records of the generated table for any
	// number of features.
	mostCells, leastRecords = 1_000_000, 20
)

// RunConfig audits the run that a configuration describes. It generates a table with the columns of
// the configuration's schema and runs the loss, budget, algorithm and settings on it. The
// configuration's own table is not opened and need not exist.
//
// The generated table usually has fewer records than the configuration, and the default number of steps is
// then smaller. Sensitivity and control flow do not depend on the number of records. But branches of the
// code that only a large table reaches are not audited. Spline features (curves) have the numbers of knots that
// follow from the configuration's own number of records, and get their knots by released ranks if a fit of that
// number releases them. RunConfig returns an error if the configuration cannot be
// run or the run fails on the generated table. Violations are in the Result.
func RunConfig(ctx context.Context, c *train.Config, o Options) (Result, error) {
	c, err := c.For(likely(c)) // fixes the spline features for the configuration's own number of records
	if err != nil {
		return Result{}, err
	}
	small := *c.Kept()
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
	chosen, ranks, err := choose(ctx, c)
	if err != nil {
		return Result{}, err
	}
	if chosen != "" {
		small.Train.Algorithm, small.Train.Settings = chosen, nil // the settings were auto's
	}
	small.Train.Ranks = ranks
	// With privacy.records set, Plan does not open the table.
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

// choose returns what a fit of likely(c) records chooses by itself, which it could choose otherwise for the smaller
// generated table: the name of the algorithm that the setting "algorithm: auto" chooses, and the setting of the share
// of the budget for released ranks. The name is empty if the configuration names an algorithm, or if it requests
// confidence intervals, for which the algorithm is fixed. Nothing is planned where the configuration leaves no choice.
func choose(ctx context.Context, c *train.Config) (algorithm string, ranks float64, err error) {
	named := c.Train.Algorithm != "" && c.Train.Algorithm != train.Algorithms()[0]
	if c.Inference != nil || named && (c.Train.Ranks != 0 || len(c.Schema.Hats()) == 0) {
		return "", c.Train.Ranks, nil
	}
	large := *c
	large.Privacy.Records = likely(c)
	planned, err := large.Plan(ctx)
	if err != nil {
		return "", 0, err
	}
	if ranks = train.Off; planned.Ranks != nil {
		ranks = planned.Ranks.Charge / planned.Budget.Charge()
	}
	if !named {
		algorithm = planned.Summary.Algorithm
	}
	return algorithm, ranks, nil
}

// likely returns the configured number of records, or 30,000 if the configuration gives no number.
func likely(c *train.Config) int {
	if c.Privacy.Records > 0 {
		return c.Privacy.Records
	}
	return 30_000
}

// counter counts the runs of an audit and reports its progress.
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

// staged returns the run of a fit that releases a base rate, from which its plan follows, or that refines its schema: by
// knots that follow from released ranks, by features of effects that its first stage finds, or by both. schema is the
// schema of the rows of its sessions, and problem the problem of the fit.
func staged(p train.Planned, problem optimize.Problem, schema *dataset.Schema, l loss.Loss) func(context.Context, Oracle,
	func(optimize.Step)) (any, error) {
	const seed = 7
	return func(ctx context.Context, o Oracle, observe func(optimize.Step)) (any, error) {
		w, ok := o.(*witness)
		if !ok {
			return nil, errors.New("audit: a schema that is refined: must be run by an audit")
		}
		now := schema
		refine := func(next *dataset.Schema) error {
			err := w.refine(next, refinedRow(now, next, l))
			now = next
			return err
		}
		p := p
		begin := func() error {
			base, err := p.Base.Ask(ctx, o, problem)
			if err != nil {
				return err
			}
			if p, err = p.Begin(ctx, base); err == nil && p.Straightens(now) {
				err = refine(p.Schema)
			}
			return err
		}
		early := p.BeginsEarly(l)
		if early {
			if err := begin(); err != nil {
				return nil, err
			}
		}
		if p.Ranks != nil {
			if _, err := p.Ranks.Run(ctx, o, now, l, refine); err != nil {
				return nil, err
			}
		}
		if p.Base != nil && !early {
			if err := begin(); err != nil {
				return nil, err
			}
		}
		if p.First != nil {
			result, _, err := p.First.Run(ctx, o, now, seed, refine, observe)
			return result, err
		}
		return p.Plan.Run(ctx, o, observe)
	}
}

// configured returns the subject of the audit: the run that a configuration describes, on a generated table
// of planned.Records records. It returns an error if the configuration asks for a final measurement that
// the algorithm's schedule leaves no budget for.
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
	if planned.First != nil || planned.Ranks != nil || planned.Base != nil {
		s.Run = staged(planned, p, c.Schema, l)
	}
	if measure := c.Train.Measure; measure > 0 {
		if s.Schedule != nil {
			return Subject{}, fmt.Errorf("train.measure: is not possible with %s, whose whole budget is its schedule's",
				planned.Summary.Algorithm)
		}
		s = measured(s, p, planned.Budget.Charge()*measure)
	}
	return s, nil
}

// measured returns the subject with one more query: after the run it privately measures the quality of the
// result ([optimize.Measure]) at the given charge.
func measured(s Subject, p optimize.Problem, charge float64) Subject {
	run := s.Run
	s.Run = func(ctx context.Context, o Oracle, observe func(optimize.Step)) (any, error) {
		result, err := run(ctx, o, observe)
		if err != nil {
			return result, err
		}
		m, err := optimize.Measure{Charge: charge}.Ask(ctx, o, p, result.(optimize.Result).W)
		return [2]any{result, m}, err
	}
	return s
}

// String describes the audit and its findings in plain words, for people.
func (r Result) String() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-13s%s\n", name, fmt.Sprintf(format, args...))
	}
	if len(r.Violations) == 0 {
		line("result", "no violation found")
	}
	for i, v := range r.Violations {
		name := ""
		if i == 0 {
			name = "VIOLATION"
		}
		line(name, "%v", v)
	}
	line("run", "%s with loss %s, %d steps, %d answers; epsilon %v, delta %v (mu %.5g)", r.Summary.Algorithm, r.Loss,
		r.Summary.Steps, r.Answers, r.Guarantee.Epsilon, r.Guarantee.Delta, r.Guarantee.Mu)
	if r.Chosen > 0 {
		line("", "the algorithm is what auto chooses for %d records", r.Chosen)
	}
	if r.Ended != "" {
		line("", "it ended with: %s", r.Ended)
	}
	switch {
	case r.Configured == 0:
		line("table", "generated: %d records, %d features of the schema; the configuration's own was not opened", r.Records,
			r.Dim)
	case r.Configured == r.Records:
		line("table",
			"generated: %d records as configured, %d features of the schema; the configuration's own was not opened", r.Records,
			r.Dim)
	default:
		line("table",
			"generated: %d records (of the %d configured, for speed), %d features of the schema; the configuration's own was "+
				"not opened", r.Records, r.Configured, r.Dim)
	}
	unit := ""
	if r.Unit != "" {
		unit = ", " + r.Unit
	}
	line("tried",
		"%d replays with every released value frozen, %d pairs of tables that differ in one record%s (%v): random, built "+
			"to be worst, faulty, and climbed to", r.Replays, r.Pairs, unit, r.Relation)
	line("repeated", "%s", repeated(r))
	width := 0
	for _, f := range slices.Concat(r.Findings, r.Searched) {
		width = max(width, len(f.Kind))
	}
	for i, f := range r.Findings {
		name := ""
		if i == 0 {
			name = "worst"
		}
		line(name, "%-*s  %s of the charged sensitivity, answers: %d (%s)", width, f.Kind, part(f.Ratio), f.Answers,
			f.Neighbour)
	}
	for i, f := range r.Searched {
		name := ""
		if i == 0 {
			name = "searched"
		}
		line(name, "%-*s  %s, over all points and records", width, f.Kind, part(f.Ratio))
	}
	if r.Attack != nil {
		line("attack", "%s", r.Attack)
	}
	line("shows", "of the records tried none moves an answer by more than it was charged for, if every figure")
	line("", "above is at most 1; figures close to 1 say that the search came close to the worst there is")
	line("shows not", "that no record can; that the machine's secret coins are secret; nor anything about the")
	line("", "table you will train on, or about branches that only a larger table or another answer reaches")
	return b.String()
}

// part formats a ratio of movement to charged sensitivity to four digits. It rounds away from 1: a ratio
// above 1, a violation, is never shown as 1, and neither is a ratio below 1.
func part(x float64) string {
	if x <= 1 {
		x = math.Floor(x*1e4) / 1e4
	} else {
		x = math.Ceil(x*1e4) / 1e4
	}
	return fmt.Sprintf("%.4f", x)
}

func repeated(r Result) string {
	for _, v := range r.Violations {
		if v.Rule != "sensitivity" {
			return "no: see above"
		}
	}
	same := "questions, points, cohorts, charges, errors, steps and result were the same on every table, bit by bit"
	if r.Relation == account.AddOrRemove {
		same += ", also on tables of one record more and less"
	}
	return same
}
