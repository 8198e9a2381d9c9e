package experiment

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/lab/measure"
	"github.com/stillpoint-dp/stillpoint/lab/order"
	"github.com/stillpoint-dp/stillpoint/lab/rehearsal"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/stationarity"
)

// Instance is a family with a number of records and a budget.
type Instance struct {
	Family *Family
	// Repeat is the number of records that each distinct row stands for.
	Repeat int
	Budget account.Budget
	// Fresh, if it has rows, is a second sample on which the gradient is measured (see
	// Family.Fresh).
	Fresh stationarity.Sample
	// Gap, if > 0, requests that the smallest eigenvalue of the Hessian be computed at the result.
	Gap float64
}

// NewInstance returns an instance of the family f. Its number of records is chosen so that the effective
// size n mu/sqrt(d) is as close as possible to the parameter effective. Its budget has the given epsilon
// and delta = n^-1.5, under replace-one.
func NewInstance(f *Family, effective, epsilon float64) (Instance, error) {
	rows := len(f.Sample.Rows)
	repeat, b, err := repeatFor(f.Dim(), rows, effective, epsilon, Delta{Power: -1.5}, account.ReplaceOne)
	return Instance{Family: f, Repeat: repeat, Budget: b}, err
}

// repeatFor returns the number of records that each distinct row stands for, chosen so that the effective
// size is as close as possible to the parameter effective, and the budget for the total number of records.
// It returns an error if the total exceeds mostRecords.
func repeatFor(d, rows int, effective, epsilon float64, delta Delta, r account.Relation) (repeat int, b account.Budget,
	err error) {
	repeat = 1
	for range 30 {
		n := float64(rows) * float64(repeat)
		if b, err = account.NewBudget(epsilon, delta.at(n), r); err != nil {
			return 0, b, err
		}
		next := max(math.Round(effective/effectiveSize(d, n, b)*float64(repeat)), 1)
		if !(next*float64(rows) <= mostRecords) {
			return 0, b, fmt.Errorf("experiment: effective size = %v: needs %.3g records: must be at most %d", effective,
				next*float64(rows), int64(mostRecords))
		}
		if int(next) == repeat {
			break
		}
		repeat = int(next)
	}
	b, err = account.NewBudget(epsilon, delta.at(float64(rows)*float64(repeat)), r)
	return repeat, b, err
}

// mostRecords is the largest number of records of a session.
const mostRecords = math.MaxInt32

// Records is the number of records.
func (s Instance) Records() int { return len(s.Family.Sample.Rows) * s.Repeat }

// Problem returns the public facts about the instance.
func (s Instance) Problem() (optimize.Problem, error) {
	return s.Family.Problem(float64(s.Records()), s.Budget)
}

// effectiveSize returns the effective size N = n mu/sqrt(d) for d dimensions, the given number of
// records n and the budget b.
func effectiveSize(d int, records float64, b account.Budget) float64 {
	return optimize.Problem{Shape: optimize.Vector(d), Records: records, Relation: b.Relation(), Mu: b.Mu()}.Effective()
}

// Outcome is the measured result of a run. Norms are for encoded rows, which have norm at most 1.
type Outcome struct {
	// GradientNorm is the true gradient norm at the result, on all rows. In GradientNorm,
	// Population and Loss, a value that JSON cannot represent is stored as the largest float64.
	GradientNorm float64 `json:"gradient_norm"`
	// Population is the gradient norm on fresh rows. It is 0 if there are no fresh rows.
	Population float64 `json:"population_gradient_norm,omitempty"`
	// Loss is the objective on all rows.
	Loss float64 `json:"loss"`
	// Curvature is the smallest eigenvalue of the objective's Hessian at the result, on all rows; nil
	// if it was not computed.
	Curvature *Eigenvalue `json:"least_eigenvalue,omitempty"`
	// Excess is Loss minus the infimum of the objective. It is nil if the infimum is not known.
	Excess *float64 `json:"excess_risk,omitempty"`
	// Rise has the constants kappa and gamma of the KL condition, as estimated from the points of the
	// run. It is nil if the infimum is not known, or if the run has too few points for an estimate.
	Rise *measure.Rise `json:"rise,omitempty"`
	// Effective is the effective size N = n mu/sqrt(d), a signal-to-noise ratio (see
	// optimize.Problem).
	Effective float64 `json:"effective_size"`
	// Floor is the noise level, the norm of the noise in one gradient that costs the whole budget
	// (see optimize.Problem).
	Floor float64 `json:"floor"`
	// LowerBound is the lower bound on the gradient norm that any private algorithm can reach in the
	// worst case (see optimize.Problem.LowerBound).
	LowerBound float64 `json:"lower_bound"`
	// Predicted is the plan's forecast of the gradient norm.
	Predicted float64 `json:"predicted_gradient_norm"`
	Steps     int     `json:"steps"`
	// Passes is the number of records read divided by the number of records. A query about two points, such as
	// a gradient difference, counts as one read of each record.
	Passes float64 `json:"passes"`
	// Charged is the privacy budget spent, in units of mu^2. It is 0 for a schedule of Poisson
	// samples, which is charged as a whole before the run.
	Charged float64 `json:"charged"`
	// Series holds some of the run's steps, evenly spaced and at most mostPoints, with the last step.
	Series []Point `json:"series"`
}

// Point holds a step's number, the budget charged up to this step (in units of mu^2), and the norm of the
// released gradient estimate.
type Point struct {
	Step         int     `json:"step"`
	Charged      float64 `json:"charged"`
	GradientNorm float64 `json:"gradient_norm"`
}

// mostPoints is the greatest length of [Outcome].Series.
const mostPoints = 64

// score is the number by which the settings of a cell are chosen from its tuning runs: the excess risk, or
// the gradient norm if the minimum is not known. Smaller is better.
func (o Outcome) score() float64 {
	if o.Excess != nil {
		return *o.Excess
	}
	return o.GradientNorm
}

// Ratio is the gradient norm divided by the noise level (see optimize.Problem.Floor).
func (o Outcome) Ratio() float64 { return o.GradientNorm / o.Floor }

// Run runs a plan with simulated noise of the given seed and measures its result on all rows.
func (s Instance) Run(ctx context.Context, plan optimize.Plan, seed uint64) (Outcome, error) {
	return s.run(ctx, plan, false, seed)
}

// run runs a plan with simulated noise of the given seed and measures its result on all rows. If random is
// true, it measures an iterate that the seed draws uniformly, instead of the plan's result. If the run ends
// before this iterate, it measures the plan's result.
func (s Instance) run(ctx context.Context, plan optimize.Plan, random bool, seed uint64) (Outcome, error) {
	session, err := s.open(plan, seed)
	if err != nil {
		return Outcome{}, err
	}
	summary := plan.Summary()
	stride := max((summary.Steps+mostPoints-1)/mostPoints, 1)
	var series []Point
	var path [][]float64
	w := make([]float64, s.Family.Dim())
	pick := -1
	if random {
		pick = rand.New(rand.NewPCG(seed, 0x0a17)).IntN(max(summary.Steps, 1))
	}
	result, err := plan.Run(ctx, session, func(step optimize.Step) {
		if step.Number%stride == 0 || step.Number == step.Of {
			if len(series) == mostPoints {
				series = series[:mostPoints-1]
				path = path[:min(len(path), mostPoints-1)]
			}
			if s.Family.Minimum != nil {
				path = append(path, append([]float64(nil), step.W...))
			}
			series = append(series, Point{step.Number, finite(step.Charged), finite(step.GradientNorm)})
		}
		// Iterate 0 is the start; iterate t is the point that step t reached.
		if step.Number == pick {
			copy(w, step.W)
		}
	})
	if err != nil {
		return Outcome{}, err
	}
	if !random || pick > result.Steps { // the run may have ended before step pick
		w = result.W
	}
	problem, err := s.Problem()
	if err != nil {
		return Outcome{}, err
	}
	o := Outcome{
		Effective: summary.Effective, Floor: summary.Floor, Predicted: finite(summary.Predicted),
		LowerBound: problem.LowerBound(),
		Steps:      result.Steps, Passes: session.read / float64(s.Records()), Charged: session.Ledger().Charged(),
		Series: series,
	}
	if err := s.measure(&o, w); err != nil || s.Family.Minimum == nil {
		return o, err
	}
	return o, s.rise(&o, path)
}

// rise sets the excess risk and the estimate of the KL condition in o, for a family with a known minimum,
// from the points of the run in path. The estimate stays nil if the run has too few points.
func (s Instance) rise(o *Outcome, path [][]float64) error {
	f := s.Family
	excess := make([]float64, len(path))
	norms := make([]float64, len(path))
	for i, w := range path {
		value, err := stationarity.Objective(f.Loss, f.Regularizer, f.Sample, w)
		if err != nil {
			return err
		}
		excess[i] = value - *f.Minimum
		if norms[i], err = f.GradientNorm(w); err != nil {
			return err
		}
	}
	above := finite(o.Loss - *f.Minimum)
	o.Excess = &above
	if r, err := measure.EstimateRise(excess, norms); err == nil {
		r.Kappa, r.Gamma = finite(r.Kappa), finite(r.Gamma)
		o.Rise = &r
	}
	return nil
}

// measure sets the fields of o that are computed from the rows at the point w: GradientNorm, Loss,
// Population and Curvature.
func (s Instance) measure(o *Outcome, w []float64) error {
	f := s.Family
	g, err := f.GradientNorm(w)
	if err != nil {
		return err
	}
	value, err := stationarity.Objective(f.Loss, f.Regularizer, f.Sample, w)
	if err != nil {
		return err
	}
	o.GradientNorm, o.Loss = finite(g), finite(value)
	if len(s.Fresh.Rows) > 0 {
		g, err := f.gradient(s.Fresh, w)
		if err != nil {
			return err
		}
		o.Population = finite(stationarity.Norm(g))
	}
	if s.Gap > 0 {
		o.Curvature, err = leastEigenvalue(f, w)
	}
	return err
}

// open returns a simulated session that counts the records its queries read, for a run of the plan.
func (s Instance) open(plan optimize.Plan, seed uint64) (*counted, error) {
	session, err := rehearsal.Open(s.Family.Rows(), s.Repeat, s.Budget, plan, seed)
	if err != nil {
		return nil, err
	}
	return &counted{Session: session}, nil
}

// finite replaces NaN and infinite numbers, which JSON cannot write, by the largest float64 of
// their sign.
func finite(x float64) float64 {
	if x != x || x > math.MaxFloat64 {
		return math.MaxFloat64
	}
	return max(x, -math.MaxFloat64)
}

// Median returns the median of at least one number.
func Median(v []float64) float64 { return order.Median(v) }
