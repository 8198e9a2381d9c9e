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
	// left is the problem at which the fit begins at 0, with the budget that the releases beside the algorithm leave.
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

// Ranked returns the plans that the setting "algorithm: auto" compared, the chosen one first, or
// the plan of the configured algorithm alone.
func (p Planned) Ranked() []choose.Candidate {
	if p.Candidates != nil {
		return p.Candidates
	}
	return []choose.Candidate{{Plan: p.Plan, Summary: p.Summary, Predicted: p.Summary.Predicted}}
}

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
	_, planned, _, err := c.settle(ctx, budget, float64(n), 0)
	if err == nil && !given.settled {
		planned.Families = given.compared(budget, n)
	}
	if err != nil || planned.Candidates == nil || c.Train.Measure > 0 {
		return planned, err
	}
	// settle leaves out algorithms on Poisson samples if auto may not choose them (see Train.settle). The
	// list that Plan returns includes them.
	a, err := c.Train.settle()
	if err != nil {
		return Planned{}, err
	}
	auto := a.(choose.Auto)
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
	cost, err := c.costs(rowsOf(p, c.Schema), c.workload(planned), planned.Features, l)
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

// settle makes the plan for a public number of records and a public seed. It first reserves the share of the budget for
// the comparison with the best constant. A plan on Poisson samples needs the whole budget. For such a plan, settle
// drops the comparison if it is the default, and returns an error if the configuration requests the comparison.
func (c *Config) settle(ctx context.Context, budget account.Budget, records float64, seed uint64) (optimize.Plan,
	Planned, loss.Loss, error) {
	base := c
	effects, err := c.findsAt(sizeOf(budget, records))
	if err != nil {
		return nil, Planned{}, nil, err
	}
	if effects != nil {
		schema, err := effects.placeholder(c.Schema)
		if err != nil {
			return nil, Planned{}, nil, err
		}
		c = c.of(schema)
	}
	problem, l, err := c.Problem(budget, records)
	if err != nil {
		return nil, Planned{}, nil, err
	}
	problem.Seed = seed
	ranks, left, err := base.ranking(problem, l)
	if err != nil {
		return nil, Planned{}, nil, err
	}
	hazards, left, err := base.hazards(left, l)
	if err != nil {
		return nil, Planned{}, nil, err
	}
	rate, left, err := base.baseRate(left, l)
	if err != nil {
		return nil, Planned{}, nil, err
	}
	compare, left, err := c.comparison(left, l)
	if err != nil {
		return nil, Planned{}, nil, err
	}
	why := ""
	if compare == nil && c.Train.Compare == 0 {
		why = "at this budget the noise of a comparison would be as large as the difference that it measures"
	}
	whole := problem
	problem = left
	if inner := c.Train.Settings["inner"]; inner == recursive.PhasedSGD.String() {
		if err := curator.TakesStable(l); err != nil {
			return nil, Planned{}, nil, fmt.Errorf("train.inner = %s: %w", inner, err)
		}
	}
	stated, err := base.stated(l)
	if err != nil {
		return nil, Planned{}, nil, err
	}
	begins := func(b Base) optimize.Problem {
		if effects == nil {
			p := base.rate(l).Begin(left, b)
			if c.Model.Radius != 0 {
				p.Set = nil                                                        // the ball is around the start
				p.Set, _ = convex.NewBall(p.StartPoint(), float64(c.Model.Radius)) // no error: Problem made one
			}
			return p
		}
		p := left // the second stage starts where the first ends
		p.Base = &b
		return p
	}
	if stated != nil {
		problem = begins(*stated)
	} else if assumed, ok := base.rate(l).Assumed(); ok && rate != nil {
		problem = begins(assumed)
	}
	var first *Stage
	var plan optimize.Plan
	var candidates []choose.Candidate
	if effects != nil {
		if first, plan, err = base.stages(ctx, problem, *effects, base.rate(l)); err == nil {
			problem = first.second
		}
	} else {
		plan, candidates, err = c.plan(ctx, problem, l)
	}
	if err != nil {
		return nil, Planned{}, nil, err
	}
	// A plan on Poisson samples spends the whole budget.
	if hazards != nil && plan.Needs().Schedule != nil {
		return nil, Planned{}, nil, fmt.Errorf("train.algorithm: %s: spends the whole budget on Poisson samples, and "+
			"leaves none for the baseline hazard of the time to an event: choose another algorithm, such as auto", plan.Summary().Algorithm)
	}
	if (compare != nil || ranks != nil || rate != nil) && plan.Needs().Schedule != nil {
		for _, key := range []string{"ranks", "base", "compare"} {
			if *c.Train.shared()[key] > 0 {
				return nil, Planned{}, nil,
					fmt.Errorf("train.%s: is not possible with %s, whose whole budget is its schedule's", key,
						plan.Summary().Algorithm)
			}
		}
		if compare != nil {
			why = "the whole budget is its schedule's"
		}
		ranks, rate, compare, problem, left = nil, nil, nil, whole, whole
		if plan, candidates, err = c.plan(ctx, problem, l); err != nil {
			return nil, Planned{}, nil, err
		}
	}
	o := plan.Summary()
	if first != nil {
		o = first.both(o)
	}
	if c.Shards != nil && plan.Needs().Stable {
		return nil, Planned{}, nil,
			fmt.Errorf("train.algorithm = %s with phased-sgd: is not possible where shards hold the table: each step of a "+
				"pass depends on the step before it, in another shard", o.Algorithm)
	}
	if n := plan.Needs(); records > math.MaxInt32 && (n.Cohorts || n.Schedule != nil) {
		return nil, Planned{}, nil,
			fmt.Errorf("train.algorithm = %s: draws among the records: must be one that asks about all of them, such as gd, "+
				"where a table has more than %d", o.Algorithm, math.MaxInt32)
	}
	for _, x := range []float64{o.StepSize, o.Effective, o.Floor, o.Predicted} {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, Planned{}, nil,
				fmt.Errorf("privacy: epsilon = %v, delta = %v: too extreme: the plan's figures leave the range of float64",
					budget.Epsilon(), budget.Delta())
		}
	}
	features, err := c.features(l)
	if err != nil {
		return nil, Planned{}, nil, err
	}
	planned := Planned{
		LowerBound: problem.LowerBound(), Seed: seed,
		Records: records, Dim: problem.Dim(), Features: features, Budget: budget, Summary: o, Candidates: candidates,
		Plan:  plan,
		Ranks: ranks, Hazards: hazards, Base: rate, Start: stated, Compare: compare, NotCompared: why, Schema: base.Schema, Adapted: c.adapted,
		First: first, Family: c.chosen,
		Filter: account.Filter(c.Schema.Filter()),
		Unit:   unitOf(c.Schema, l),
		chosen: c.Train.Settings["steps"] != nil,

		unmeasured: c.Train.unmeasured(),
		again: func(records, epsilon float64) (Planned, error) {
			b, err := account.NewBudget(epsilon, budget.Delta(), budget.Relation())
			if err != nil {
				return Planned{}, err
			}
			_, planned, _, err := base.settle(ctx, b, records, seed)
			return planned, err
		},
	}
	if planned.costs, err = c.costsOf(planned, base.Schema, problem, l); err != nil {
		return nil, Planned{}, nil, err
	}
	planned.left, planned.Estimate = left, planned.costs.estimate()
	planned.left.Seed = 0 // nothing is drawn from it
	if c.Inference != nil {
		a, err := c.intervals(l)
		if err != nil {
			return nil, Planned{}, nil, err
		}
		planned.Intervals = expected(a, whole, problem.Mu*problem.Mu/(whole.Mu*whole.Mu), c.Schema.Target().Event != "")
	}
	if candidates != nil {
		a, err := c.Train.settle()
		if err != nil {
			return nil, Planned{}, nil, err
		}
		auto := a.(choose.Auto)
		planned.Criterion, planned.Why = auto.Goal, auto.Why(candidates)
	}
	planned.Candidates = shown(problem, planned.Criterion, candidates)
	planned.Summary = choose.Shown(problem, o)
	planned.foresees, planned.convex = choose.Foreseen(problem), problem.Convex()
	if rate == nil {
		return plan, planned, l, nil
	}
	planned.begin = func(ctx context.Context, p Planned, released Base) (Planned, error) {
		begins := begins(released)
		less, err := base.simpler(o.Effective, begins.Signal()/begins.Effective(), l)
		if err != nil {
			return p, err
		}
		if less != nil {
			_, next, _, err := less.settle(ctx, budget, records, seed)
			if err != nil {
				return p, err
			}
			return next.Begin(ctx, released)
		}
		if effects == nil {
			var list []choose.Candidate
			p.Plan, list, err = c.again(ctx, begins, l, plan)
			p.Candidates = shown(begins, p.Criterion, list)
		} else {
			p.First, p.Plan, err = base.stages(ctx, begins, *effects, base.rate(l))
		}
		if err != nil {
			return p, err
		}
		if p.costs, err = c.costsOf(p, base.Schema, begins, l); err != nil {
			return p, err
		}
		if p.Summary = p.Plan.Summary(); p.First != nil {
			p.Summary = p.First.both(p.Summary)
		}
		p.Summary = choose.Shown(begins, p.Summary)
		return p, nil
	}
	return plan, planned, l, nil
}
