package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/convex"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/synthetic"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/choose"
	"github.com/stillpoint-dp/stillpoint/optimize/recursive"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Planned describes a planned fit, before any release.
type Planned struct {
	// Records is the public number of records, Dim the number of weights that are trained, and Features the
	// number of a row's features.
	Records  float64
	Dim      int
	Features int
	Budget   account.Budget
	// Filter is the row filter. Only rows that pass it are records; the zero Filter lets all rows pass.
	Filter account.Filter
	// Unit says which rows form one record; the zero Unit means that each row is a record.
	Unit    account.Unit
	Summary optimize.Summary
	// Seed is the seed of the public random bits that the plan draws; 0 in a plan from Config.Plan, which is
	// not run.
	Seed uint64
	// LowerBound is, up to a constant factor, a lower bound on the gradient norm that a private algorithm
	// can guarantee on all problems with these constants (optimize.Problem.LowerBound).
	LowerBound float64
	// Candidates are the plans of all algorithms that the setting "algorithm: auto" compared, the
	// chosen one first; nil if the configuration names an algorithm.
	Candidates []choose.Candidate
	// Plan is the plan that will run.
	Plan optimize.Plan
	// Criterion is the quantity by which the setting "algorithm: auto" compared the plans in
	// Candidates. Why explains the choice in words.
	Criterion choose.Criterion
	Why       string
	// Estimate is the approximate time and memory of the fit on the machine of lab/results/speed.md.
	Estimate Estimate
	// Ranks is the planned release by which curves get their knots; nil if their knots are equally spaced
	// or listed.
	Ranks *Ranks
	// Hazards is the planned release of the baseline hazard of the time to an event; nil for another target.
	Hazards *Hazards
	// Base is the planned release of the base rate, at which the fit begins; nil if none is released. Plan and Summary
	// are then those of a fit whose classes have equal shares, or that begins at 0, until Begin gets the released
	// base rate. Start is the public constant at which the fit begins, if the configuration states it.
	Base  *optimize.BaseRate
	Start *Base
	// Compare is the planned comparison of the result with the best constant; nil if the fit will not make
	// this comparison.
	Compare *optimize.Compare
	// Calibrates says when the fit is calibrated, too (Config.calibrates); "" if it never is.
	Calibrates string
	// NotCompared says why the fit will not make the comparison. It is empty if the fit will make it, and if
	// the configuration turned it off.
	NotCompared string
	// First is the first of two stages of a fit with features of effects; nil for any other fit. Dim, Features and
	// Plan are those of the second stage then, and Summary counts the steps of both.
	First *Stage
	// Family is the family of the model. Families compares it with the others; it is nil in a plan that is not from
	// Config.Plan.
	Family   Family
	Families []FamilyPlan
	// Intervals is the forecast of the confidence intervals; nil if the configuration requests none.
	Intervals *Expected
	// Schema is the final schema: the configuration's schema, with the knots of its curves.
	Schema *dataset.Schema
	// Adapted has the warnings about curves, interactions and the projection jl(auto) that were left out
	// because the table is too small (see Config.For).
	Adapted []Warning

	// chosen is true if the configuration states the number of steps. foresees is true if the fit may state
	// optimize.Result.Foreseen, the gradient norm expected at the result given the releases
	// (choose.Foreseen). convex is true if the objective is convex (optimize.Problem.Convex).
	chosen, foresees, convex bool
	// unmeasured is the stated algorithm if no outlook was measured with it; empty otherwise.
	unmeasured string
	// again makes the plan for another number of records or epsilon.
	again func(records, epsilon float64) (Planned, error)
	costs costs
	// begin plans the fit again, for the released base rate.
	begin func(context.Context, Planned, Base) (Planned, error)
	// left is the problem with the budget that the releases beside the algorithm leave. Its fit begins at 0.
	left optimize.Problem
}

// Useless returns an error if the plan is certain to return its starting point, whatever is released. If the
// configuration states the number of steps, Useless returns nil. Fit returns this error before it charges anything.
func (p Planned) Useless() error {
	if p.moves() {
		return nil
	}
	records, epsilon := p.enough()
	return fmt.Errorf("train: too few rows for this budget, no step is worth its noise with %.0f records, epsilon %v and %d "+
		"weights, and %s would return its start%s; an algorithm with a number of steps, such as {algorithm: gd, steps: 8}, "+
		"runs all the same", p.Records, p.Budget.Epsilon(), p.Dim, p.Summary.Algorithm, advice(records, epsilon, ""))
}

// moves reports whether the plan leaves its start, or makes a number of steps that the configuration states.
func (p Planned) moves() bool { return p.chosen || !p.Plan.Properties().Unmoved }

// records returns the number of records. It is the number that the configuration states or that was counted
// before. Otherwise records reads the table and counts its records; if there are none, it returns an error.
// Under add-or-remove, and if shards hold the table, the configuration must state the number: records then
// returns an error instead of reading the table.
func (c *Config) records(ctx context.Context, budget account.Budget) (int, error) {
	if n := max(c.Privacy.Records, c.counted); n != 0 {
		return n, nil
	}
	if _, err := c.declared(budget.Relation()); err != nil {
		return 0, err
	}
	paths, err := c.DataPaths()
	if err != nil {
		return 0, err
	}
	if c.Shards != nil {
		return 0, errors.New("privacy.records: must be given where shards hold the table, which a plan does not read")
	}
	n, err := curator.Count(ctx, curator.Config{Paths: paths, Rows: c.Rows, Reader: c.Reader, CSV: c.CSV,
		Schema: c.Schema})
	if err == nil && n == 0 {
		err = fmt.Errorf("%s: there is no row", c.DataPath())
		if c.Schema.Filter() != (dataset.Filter{}) {
			err = fmt.Errorf("%s: no row is left after the public filter", c.DataPath())
		}
	}
	return n, err
}

// Plan returns the plan that Fit would run. It makes no query about records. It opens the table only to
// count its records, and does not open it if the configuration states privacy.records.
func (c *Config) Plan(ctx context.Context) (Planned, error) {
	given := c
	c, err := c.resolved(ctx)
	if err != nil {
		return Planned{}, err
	}
	budget, err := c.budget()
	if err != nil {
		return Planned{}, err
	}
	n, err := c.records(ctx, budget)
	if err != nil {
		return Planned{}, err
	}
	_, planned, _, err := c.planFor(ctx, budget, float64(n), 0)
	if err == nil && !given.settled {
		planned.Families = given.compared(budget, n)
	}
	if err != nil || planned.Candidates == nil || c.Train.Measure > 0 {
		return planned, err
	}
	// The list that Plan returns includes algorithms on Poisson samples, which auto may not choose (see Train.algorithm).
	auto, err := c.Train.auto()
	if err != nil {
		return Planned{}, err
	}
	auto.WithoutSamples = false
	if planned.Candidates, err = auto.Candidates(ctx, planned.left); err != nil {
		return planned, err
	}
	planned.Why = auto.Why(planned.Candidates)
	planned.Candidates = shown(planned.left, planned.Criterion, planned.Candidates)
	return planned, nil
}

// shown returns a copy of a list of compared plans. In the copy a forecast is 0 if it is not reliable enough
// to be stated (choose.Stated, choose.Shown). Predicted, the forecast by which the plans were compared, is
// also 0 if the goal is choose.Population.
func shown(p optimize.Problem, goal choose.Criterion, list []choose.Candidate) []choose.Candidate {
	list = slices.Clone(list) // nil stays nil
	for i := range list {
		c := &list[i]
		if !choose.Stated(p, c.Summary) || goal == choose.Population {
			c.Predicted = 0
		}
		c.Summary = choose.Shown(p, c.Summary)
	}
	return list
}

// costs returns the numbers from which the time and the memory of a plan are estimated.
func (c *Config) costs(p optimize.Problem, work optimize.Workload, features int, l loss.Loss) (costs, error) {
	reduce, err := c.Reduction()
	if err != nil {
		return costs{}, err
	}
	cost := costs{
		rows: p.Records, cells: 1, row: rowBytes(c.Schema, reduce), memory: float64(c.Memory.bytes()),
		stages: []stage{{work: work, features: features, weights: float64(p.Dim()), schema: c.Schema, reduce: reduce, loss: l}},
	}
	keeps := cost.memory == 0 && c.Shards == nil && p.Relation == account.ReplaceOne && c.Schema.Unit() == (dataset.Unit{})
	if e, ok := c.Schema.Effects(); ok {
		cost.waves = float64(e.Features)
		if keeps {
			cost.kept = curator.KeptEffects(p.Records, e.Features)
		}
	}
	for _, h := range c.Schema.Hats() {
		if keeps {
			cost.edges += float64(len(h.Axes))
		}
	}
	for _, column := range c.Schema.Columns() {
		if column.Kind != dataset.Ignore {
			cost.cells++
		}
	}
	for _, path := range c.Data {
		cost.typed = cost.typed || strings.HasSuffix(path, ".parquet")
		cost.zipped = cost.zipped || strings.HasSuffix(path, ".gz") || strings.HasSuffix(path, ".zst")
	}
	return cost, nil
}

// costsOf returns the numbers from which the time and the memory of a planned fit are estimated. p is its problem, and
// first the schema of the rows of its first stage, if it has two.
func (c *Config) costsOf(planned Planned, first *dataset.Schema, p optimize.Problem, l loss.Loss) (costs, error) {
	p.Records *= float64(max(1, c.Schema.Unit().Rows)) // the largest possible number of rows, for passes over the table
	cost, err := c.costs(p, c.workload(planned), planned.Features, l)
	if err != nil {
		return cost, err
	}
	cost.chosen = planned.Candidates != nil
	if planned.First != nil {
		if planned.First.transferred {
			cost.synthetic = synthetic.Nonzero(first)
		}
		of := cost.stages[0]
		of.work, of.schema, of.features, of.weights = planned.First.plan.Workload(), first, first.Dim(), float64(first.Dim())
		cost.stages = append([]stage{of}, cost.stages...)
	}
	return cost, nil
}

// workload returns the queries of a plan, and those of the releases before and after its run.
func (c *Config) workload(p Planned) optimize.Workload {
	work := p.Plan.Workload()
	if p.Ranks != nil {
		work = work.Count(query.RowMean, 1, 1)
	}
	if p.Hazards != nil {
		work = work.Plus(p.Hazards.Workload(optimize.Problem{Relation: p.Budget.Relation()}, c.cells()))
	}
	if p.Base != nil {
		work = work.Plus(p.Base.Workload(p.Budget.Relation()))
	}
	if p.Compare != nil {
		work = work.Plus(p.Compare.Workload())
	}
	if c.Train.Measure > 0 {
		work = work.Plus(optimize.Measure{}.Workload())
	}
	return work
}

// planFor makes the plan for a public number of records and a public seed.
func (c *Config) planFor(ctx context.Context, budget account.Budget, records float64, seed uint64) (optimize.Plan,
	Planned, loss.Loss, error) {
	d := &draft{given: c, c: c, Planned: Planned{Records: records, Budget: budget, Seed: seed, Schema: c.Schema}}
	for _, step := range []func(context.Context) error{d.divide, d.choose, d.check, d.describe} {
		if err := step(ctx); err != nil {
			return nil, Planned{}, nil, err
		}
	}
	return d.Plan, d.Planned, d.loss, nil
}

// draft is a plan in the making. Its methods divide, choose, check and describe fill it, in this order.
type draft struct {
	// given is the configuration. c is the same configuration, with placeholders for features of effects if it has any.
	given, c *Config
	effects  *FeatureEffects // nil without features of effects
	loss     loss.Loss
	// whole is the problem with the whole budget. problem has the budget that is left for the algorithm beside the other
	// releases, and starts where the fit begins.
	whole, problem optimize.Problem
	Planned
}

// divide makes the problem and reserves the shares of the budget for the releases beside the algorithm.
func (d *draft) divide(context.Context) (err error) {
	if d.effects, err = d.given.findsAt(sizeOf(d.Budget, d.Records), d.Records); err != nil {
		return err
	}
	if d.effects != nil {
		schema, err := d.effects.placeholder(d.given.Schema)
		if err != nil {
			return err
		}
		d.c = d.given.of(schema)
	}
	if d.whole, d.loss, err = d.c.Problem(d.Budget, d.Records); err != nil {
		return err
	}
	d.whole.Seed = d.Seed
	if d.Ranks, d.left, err = d.given.ranking(d.whole, d.loss); err != nil {
		return err
	}
	if d.Hazards, d.left, err = d.given.hazards(d.left, d.loss); err != nil {
		return err
	}
	if d.Base, d.left, err = d.given.baseRate(d.left, d.loss); err != nil {
		return err
	}
	if d.Compare, d.left, err = d.c.comparison(d.left, d.loss); d.Compare == nil && d.c.Train.Compare == 0 {
		d.NotCompared = "at this budget the noise of a comparison would be as large as the difference that it measures"
	}
	return err
}

// startingAt returns the problem left, with the base rate b at the start of the fit.
func (d *draft) startingAt(b Base) optimize.Problem {
	if d.effects != nil {
		p := d.left // the second stage starts where the first ends
		p.Base = &b
		return p
	}
	p := d.given.rate(d.loss).Begin(d.left, b)
	if radius := float64(d.c.Model.Radius); radius != 0 {
		p.Set = nil                                       // the ball is around the start
		p.Set, _ = convex.NewBall(p.StartPoint(), radius) // no error: Problem made one
	}
	return p
}

// choose makes the plan of the algorithm. The fit begins at the stated constant, or as if the base rate that the plan
// assumes were released.
func (d *draft) choose(ctx context.Context) (err error) {
	if inner := d.c.Train.Settings["inner"]; inner == recursive.PhasedSGD.String() {
		if err := curator.TakesStable(d.loss); err != nil {
			return fmt.Errorf("train.inner = %s: %w", inner, err)
		}
	}
	if d.Start, err = d.given.stated(d.loss); err != nil {
		return err
	}
	d.problem = d.left
	if d.Start != nil {
		d.problem = d.startingAt(*d.Start)
	} else if assumed, ok := d.given.rate(d.loss).Assumed(); ok && d.Base != nil {
		d.problem = d.startingAt(assumed)
	}
	if d.effects == nil {
		d.Plan, d.Candidates, err = d.c.plan(ctx, d.problem, d.loss)
	} else if d.First, d.Plan, err = d.given.stages(ctx, d.problem, *d.effects, d.given.rate(d.loss)); err == nil {
		d.problem = d.First.second
	}
	if err != nil || d.Plan.Needs().Schedule == nil {
		return err
	}
	return d.undivide(ctx)
}

// undivide plans again without the other releases, since a plan on Poisson samples spends the whole budget. It returns
// an error if the configuration requests one of these releases.
func (d *draft) undivide(ctx context.Context) (err error) {
	name := d.Plan.Summary().Algorithm
	switch {
	case d.Hazards != nil:
		return fmt.Errorf("train.algorithm: %s: spends the whole budget on Poisson samples, and leaves none for the "+
			"baseline hazard of the time to an event: choose another algorithm, such as auto", name)
	case d.Compare == nil && d.Ranks == nil && d.Base == nil:
		return nil
	}
	for _, key := range []string{"ranks", "base", "compare"} {
		if *d.c.Train.shared()[key] > 0 {
			return fmt.Errorf("train.%s: is not possible with %s, whose whole budget is its schedule's", key, name)
		}
	}
	if d.Compare != nil {
		d.NotCompared = "the whole budget is its schedule's"
	}
	d.Ranks, d.Base, d.Compare, d.problem, d.left = nil, nil, nil, d.whole, d.whole
	d.Plan, d.Candidates, err = d.c.plan(ctx, d.problem, d.loss)
	return err
}

// summary returns the summary of the plan, of both stages if it has two.
func (p Planned) summary() optimize.Summary {
	if p.First != nil {
		return p.First.both(p.Plan.Summary())
	}
	return p.Plan.Summary()
}

// check returns an error if the plan does not suit the place of the table or its size, or if its numbers overflow.
func (d *draft) check(context.Context) error {
	o, needs := d.summary(), d.Plan.Needs()
	switch {
	case d.c.Shards != nil && needs.Stable:
		return fmt.Errorf("train.algorithm = %s with phased-sgd: is not possible where shards hold the table: each step of "+
			"a pass depends on the step before it, in another shard", o.Algorithm)
	case d.Records > math.MaxInt32 && (needs.Cohorts || needs.Schedule != nil):
		return fmt.Errorf("train.algorithm = %s: draws among the records: must be one that asks about all of them, such as "+
			"gd, where a table has more than %d", o.Algorithm, math.MaxInt32)
	}
	for _, x := range []float64{o.StepSize, o.Effective, o.Floor, o.Predicted} {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("privacy: epsilon = %v, delta = %v: too extreme: the plan's figures leave the range of float64",
				d.Budget.Epsilon(), d.Budget.Delta())
		}
	}
	return nil
}

// describe sets the fields of Planned that follow from the plan, the problem and the configuration.
func (d *draft) describe(ctx context.Context) (err error) {
	if d.Features, err = d.c.features(d.loss); err != nil {
		return err
	}
	d.LowerBound, d.Dim = d.problem.LowerBound(), d.problem.Dim()
	d.Filter, d.Unit = account.Filter(d.c.Schema.Filter()), unitOf(d.c.Schema, d.loss)
	d.Adapted, d.Family = d.c.adapted, d.c.chosen
	d.chosen, d.unmeasured = d.c.Train.Settings["steps"] != nil, d.c.Train.unmeasured()
	d.foresees, d.convex = choose.Foreseen(d.problem), d.problem.Convex()
	if d.Base != nil {
		d.Calibrates = d.c.calibrates(d.Compare)
	}
	if d.costs, err = d.c.costsOf(d.Planned, d.given.Schema, d.problem, d.loss); err != nil {
		return err
	}
	d.Estimate = d.costs.estimate()
	if d.c.Inference != nil {
		a, err := d.c.intervals(d.loss)
		if err != nil {
			return err
		}
		d.Intervals = expected(a, d.whole, d.problem.Mu*d.problem.Mu/(d.whole.Mu*d.whole.Mu), d.c.Schema.Target().Event != "")
	}
	if d.Candidates != nil {
		auto, err := d.c.Train.auto()
		if err != nil {
			return err
		}
		d.Criterion, d.Why = auto.Goal, auto.Why(d.Candidates)
	}
	d.Candidates = shown(d.problem, d.Criterion, d.Candidates)
	d.Summary = choose.Shown(d.problem, d.summary())
	d.again = func(records, epsilon float64) (Planned, error) {
		b, err := account.NewBudget(epsilon, d.Budget.Delta(), d.Budget.Relation())
		if err != nil {
			return Planned{}, err
		}
		_, planned, _, err := d.given.planFor(ctx, b, records, d.Seed)
		return planned, err
	}
	if d.Base != nil {
		d.begin = d.planAt
	}
	return nil
}

// planAt returns the plan p, made again for the released base rate: with a simpler family if p's has too little signal.
func (d *draft) planAt(ctx context.Context, p Planned, released Base) (Planned, error) {
	calibrated := *d
	d = &calibrated
	p.Compare, d.left = d.c.calibrated(p.Compare, d.left, released)
	problem := d.startingAt(released)
	less, err := d.given.simpler(d.summary().Effective, problem.Signal()/problem.Effective(), d.loss)
	if err != nil {
		return p, err
	}
	if less != nil {
		_, next, _, err := less.planFor(ctx, d.Budget, d.Records, d.Seed)
		if err != nil {
			return p, err
		}
		return next.Begin(ctx, released)
	}
	if d.effects == nil {
		var list []choose.Candidate
		p.Plan, list, err = d.c.again(ctx, problem, d.loss, d.Plan)
		p.Candidates = shown(problem, p.Criterion, list)
	} else {
		p.First, p.Plan, err = d.given.stages(ctx, problem, *d.effects, d.given.rate(d.loss))
	}
	if err != nil {
		return p, err
	}
	if p.costs, err = d.c.costsOf(p, d.given.Schema, problem, d.loss); err != nil {
		return p, err
	}
	p.Summary = choose.Shown(problem, p.summary())
	return p, nil
}
