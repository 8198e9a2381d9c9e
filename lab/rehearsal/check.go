package rehearsal

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/lab/measure"
	"github.com/stillpoint-dp/stillpoint/lab/order"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/choose"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// Check runs plans on generated rows in place of a table. The rows are drawn as in the population [GLM], with
// about as many records as the table and with the table's number of features. The loss and the budget are
// those for the table. The results compare plans on generated rows and show how far forecasts can be
// trusted. Check uses no more knowledge of the table than a plan does.
type Check struct {
	Problem   optimize.Problem
	Loss      loss.Loss
	Features  int
	Records   float64
	Budget    account.Budget
	Criterion choose.Criterion
	// Seeds is the number of runs of each plan; zero means 5.
	Seeds int
	// Workers is the number of runs at a time; zero means one.
	Workers int
}

// Checked has the results of the runs of one plan.
type Checked struct {
	// Reached holds, for each seed, the value of the criterion at the run's result.
	Reached []float64
	// Predicted is the plan's forecast of the criterion.
	Predicted float64
}

// Median returns the median of Reached.
func (c Checked) Median() float64 { return order.Median(c.Reached) }

// Run runs every candidate plan and returns the results in the order of the list. After each
// candidate it calls done, if not nil, with the number of candidates that have been run.
func (c Check) Run(ctx context.Context, list []choose.Candidate, done func(int)) ([]Checked, error) {
	rows, err := c.rows()
	if err != nil {
		return nil, err
	}
	return c.RunOn(ctx, rows, list, done)
}

// RunOn is [Check.Run] on given rows, whose loss must be the check's loss.
func (c Check) RunOn(ctx context.Context, rows Rows, list []choose.Candidate, done func(int)) ([]Checked, error) {
	c.Seeds = cmp.Or(c.Seeds, 5)
	repeat := int(math.Ceil(c.Records / float64(len(rows.Sample.Rows))))
	measure, err := c.measure(rows)
	if err != nil {
		return nil, err
	}
	out := make([]Checked, len(list))
	for i, candidate := range list {
		out[i] = Checked{Reached: make([]float64, c.Seeds), Predicted: candidate.Predicted}
		if err := c.repeat(ctx, func(seed int) error {
			session, err := Open(rows, repeat, c.Budget, candidate.Plan, uint64(seed)+1)
			if err != nil {
				return err
			}
			result, err := candidate.Plan.Run(ctx, session, nil)
			if err != nil {
				return fmt.Errorf("rehearsal: %w", err)
			}
			out[i].Reached[seed], err = measure(result.W)
			return err
		}); err != nil {
			return nil, err
		}
		if done != nil {
			done(i + 1)
		}
	}
	return out, nil
}

// repeat calls run for every seed, Workers at a time, and returns the error of the first seed that
// failed.
func (c Check) repeat(ctx context.Context, run func(seed int) error) error {
	slots := make(chan struct{}, max(c.Workers, 1))
	errs := make([]error, c.Seeds)
	var wg sync.WaitGroup
	for seed := range c.Seeds {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if errs[seed] = ctx.Err(); errs[seed] == nil {
				errs[seed] = run(seed)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// mostCells limits the number of distinct rows of a check times the number of features; at least 200 rows
// are allowed. mostFeatures limits the number of features, because rows are rotated by a random square
// matrix with as many lines as there are features.
const (
	mostCells    = 1 << 19
	mostFeatures = 2000
)

// rows draws the rows of the check. If the table has more records than the check may have rows, each distinct row
// stands for several records. There are then about as many records as in the table. For the criterion Population, 64
// times as many distinct rows are allowed, because the sampling error depends on their number.
func (c Check) rows() (Rows, error) {
	d := c.Features
	if d < 1 || d > mostFeatures {
		return Rows{}, fmt.Errorf("rehearsal: %d features: must be between 1 and %d", d, mostFeatures)
	}
	unit, united := c.Loss.(loss.Units)
	most := float64(max(mostCells/loss.RecordFeatures(c.Loss, d), 200))
	repeat := math.Ceil(c.Records / most)
	if c.Criterion == choose.Population {
		repeat = math.Ceil(c.Records / (64 * most))
	}
	n := max(int(math.Ceil(c.Records/repeat)), 2)
	r := rand.New(rand.NewPCG(1, 0xc4ec))
	var p Population
	switch c.Loss.Target() {
	case loss.Binary:
		p = GLM(r, d)
	case loss.Real:
		p = linear(GLM(r, d), d)
	case loss.Classes:
		p = classed(GLM(r, d), d, loss.ClassCount(loss.RowLoss(c.Loss)))
	default:
		return Rows{}, fmt.Errorf("rehearsal: loss = %s: has no rows to try it on", c.Loss.Name())
	}
	if united {
		p = joined(p, unit)
	}
	return Rows{
		Sample: p(r, n), Loss: c.Loss, Regularizer: c.Problem.Regularizer,
		Fresh: func(n int, seed uint64) (stationarity.Sample, error) {
			return p(rand.New(rand.NewPCG(1, seed^0xf7e5)), n), nil
		},
	}, nil
}

// joined returns the population of persons with 1 to u.Rows() rows of p each, all numbers alike.
func joined(p Population, u loss.Units) Population {
	return func(r *rand.Rand, n int) stationarity.Sample {
		s := NewSample(n)
		for range n {
			rows := p(r, 1+r.IntN(u.Rows()))
			x, count := loss.JoinRows(u, rows.Rows, rows.Targets)
			s.Rows, s.Targets = append(s.Rows, x), append(s.Targets, count)
		}
		return s
	}
}

// classed returns the population p with labels replaced by one of k classes. The class is the index of the
// largest of k random linear functions <x, v> of the row. With probability .1 it is a random class instead.
func classed(p Population, d, k int) Population {
	return func(r *rand.Rand, n int) stationarity.Sample {
		s := p(r, n)
		coin := rand.New(rand.NewPCG(7, 8)) // the same directions for every sample
		v := make([]float64, k*d)
		for j := range v {
			v[j] = coin.NormFloat64()
		}
		for i, x := range s.Rows {
			z := loss.MarginsAt(v, x)
			best := slices.Index(z, slices.Max(z))
			if r.Float64() < .1 {
				best = r.IntN(k)
			}
			s.Targets[i] = float64(best)
		}
		return s
	}
}

// linear returns the population p with labels replaced by real targets .5 <x, v> + .1 z, clamped to [-1,
// 1], where z is standard normal. The vector v is such that <x, v> has a mean square of about 1.
func linear(p Population, d int) Population {
	return func(r *rand.Rand, n int) stationarity.Sample {
		s := p(r, n)
		v := make([]float64, d)
		coin := rand.New(rand.NewPCG(7, 7)) // the same direction for every sample
		for j := range v {
			v[j] = coin.NormFloat64()
		}
		for i, x := range s.Rows {
			var z float64
			for j := range x {
				z += v[j] * float64(x[j])
			}
			s.Targets[i] = min(max(.5*z+.1*r.NormFloat64(), -1), 1)
		}
		return s
	}
}

// measure returns the function that computes the check's criterion at a point. For the criterion Population
// it is the gradient norm on fresh rows. Otherwise it is the excess risk or the gradient norm on the sample.
func (c Check) measure(rows Rows) (func(w []float64) (float64, error), error) {
	switch c.Criterion {
	case choose.Population:
		fresh, err := rows.Fresh(max(len(rows.Sample.Rows), 20_000), 1)
		return func(w []float64) (float64, error) {
			g, err := stationarity.Gradient(rows.Loss, rows.Regularizer, fresh, w)
			return stationarity.Norm(g), err
		}, err
	case choose.ExcessRisk:
		best, err := measure.Minimise(rows.Loss, rows.Regularizer, rows.Sample)
		return func(w []float64) (float64, error) {
			return measure.ExcessRisk(rows.Loss, rows.Regularizer, rows.Sample, w, best)
		}, err
	}
	return rows.gradientNorm, nil
}
