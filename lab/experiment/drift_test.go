//go:build results

package experiment_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/lab/experiment"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// drift leaves saddles by perturbed steps alone, without Hessian-vector products (after Tao et al. 2025,
// arXiv 2505.15647, Gauss-PSGD). At a point with a small gradient estimate, the anchor, it makes up to
// Tries escapes of up to Gamma perturbed steps each, all from the anchor. If an escape reaches the distance
// Radius from the anchor, the anchor counts as a saddle, and the descent continues from the escape's last
// point. If no escape reaches this distance, the anchor counts as a second-order point.
//
// Gradient estimates and charges are the same as in the algorithm second-order without products: six prefix
// sums, each of a gradient over a cohort and of differences over cohorts whose sizes are proportional to
// the distance moved. The two algorithms therefore differ only in how they leave saddles. In place of the
// paper's constants, drift uses the rules of second-order for the norm that counts as small, and for the
// number and size of the steps of an escape.
type drift struct {
	// Gap defines a saddle: a point where the Hessian has an eigenvalue below -Gap.
	Gap float64 `yaml:"gap"`
	// Radius is the distance from the anchor, in units of L0/L1, at which a saddle counts as left. Zero means
	// 1, as in the algorithm second-order.
	Radius float64 `yaml:"radius"`
	// Perturb is the standard deviation of the perturbation that each step of an escape adds, divided by the
	// standard deviation of the gradient estimate's noise. Zero means 1.
	Perturb float64 `yaml:"perturb"`
	// Tries is the number of escapes from an anchor. Zero means 1.
	Tries int `yaml:"tries"`
	// GoesOn makes the descent continue from an anchor that no escape has left, until all records are used.
	// The result is then an average: over the points at which the last third of the records was used, after
	// the last saddle. If GoesOn is false, the run ends at such an anchor, which is the result, as in the
	// paper.
	GoesOn bool `yaml:"goes_on"`
}

const (
	driftRounds, driftPath = 6, 2  // number of prefix sums; records of differences per record of the gradient
	driftSteps             = 10000 // largest number of steps of a run
)

type driftPlan struct {
	optimize.Settled
	drift
	eta, short, root float64
	// gamma is the largest number of steps of an escape, and items the largest number of items of a prefix
	// sum.
	gamma, items int
}

func (c drift) Plan(_ context.Context, p optimize.Problem) (optimize.Plan, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if !(c.Gap > 0) {
		return nil, fmt.Errorf("drift: gap = %v: must be > 0", c.Gap)
	}
	for _, v := range []*float64{&c.Radius, &c.Perturb} {
		if *v == 0 {
			*v = 1
		}
	}
	c.Tries = max(c.Tries, 1)
	plan := &driftPlan{drift: c, eta: p.StepSize(4 * p.StepScale()), short: p.StepSize(p.StepScale())}
	plan.root = math.Ceil(p.Records / (driftRounds * (1 + driftPath)))
	plan.items = int(min(max(math.Ceil(32/(plan.eta*c.Gap)/(driftRounds*(1+driftPath))), 64), 128))
	plan.gamma = int(min(math.Ceil(8/(plan.short*c.Gap)), 60))
	var err error
	plan.Settled, err = optimize.Settle(optimize.Draft{
		Problem: p,
		Summary: optimize.Summary{Algorithm: "drift", Citation: "after Tao et al. 2025", Steps: driftSteps, StepSize: plan.eta,
			Charges: "the whole budget to each record's item of a prefix sum", Output: "by drift", Passes: 1},
		Needs:      optimize.Needs{Cohorts: true, PrefixSums: true, Seed: true},
		Properties: optimize.Properties{OnePass: true},
		UpdateRule: optimize.UpdateRule{OnePass: true,
			Answer: func(int, float64, float64) (float64, optimize.Variance) { return 1, optimize.Variance{} }},
		Output: optimize.Last,
	})
	return plan, err
}

// driftRun is the state of a run.
type driftRun struct {
	*optimize.Run
	*driftPlan
	coins            *optimize.Coins
	sum              *optimize.PrefixSum
	taken            int // number of items of the current prefix sum
	unused, path     float64
	sigma            float64
	estimate, before []float64
}

// errUsed ends a run when too few unused records are left for the next cohort.
var errUsed = errors.New("the records are used")

func (s *driftPlan) Run(ctx context.Context, o optimize.Oracle, observe func(optimize.Step)) (optimize.Result, error) {
	r := &driftRun{Run: s.Begin(ctx, o, observe), driftPlan: s, unused: o.All().Size()}
	r.coins = s.Problem().PublicCoins(0xd21f7, uint64(len(r.W)))
	w, err := r.descend()
	if errors.Is(err, errUsed) {
		err = nil
	}
	return r.ResultAt(w, err == nil), r.Failed(err)
}

// descend makes the steps of the run and returns its result.
func (r *driftRun) descend() ([]float64, error) {
	p := r.Problem()
	pace := optimize.NewPace(r.eta, min(r.eta, 1/p.Smoothness()))
	sum, count, frozen := make([]float64, len(r.W)), 0., 0
	result := func() []float64 {
		w := slices.Clone(r.W)
		for j := range w {
			if count > 0 {
				w[j] = sum[j] / count
			}
		}
		return w
	}
	for r.Taken() < driftSteps {
		if err := r.ask(); err != nil {
			return result(), err
		}
		g := r.Regularized(r.estimate)
		if frozen--; frozen < 0 && optimize.Norm(g) <= 1.5*r.scatter() {
			anchor := slices.Clone(r.W)
			left, err := r.escape(g)
			switch {
			case err != nil && !r.GoesOn:
				return anchor, err // no escape has shown that the anchor is a saddle
			case err != nil:
				return result(), err
			case left:
				sum, count = make([]float64, len(r.W)), 0
			case !r.GoesOn:
				return anchor, nil
			}
			frozen = r.gamma
			continue
		}
		if 3*r.unused <= p.Records {
			count++
			optimize.Descend(sum, r.W, -1)
		}
		r.step(g, pace.Next(g, r.sigma))
	}
	return result(), nil
}

// escape makes up to Tries escapes from the current iterate, the anchor. g is the gradient estimate there
// plus the regularizer's gradient. escape reports whether one of them reached the distance Radius. If none
// did, the iterate is the anchor again.
func (r *driftRun) escape(g []float64) (left bool, err error) {
	anchor, at := slices.Clone(r.W), slices.Clone(g)
	far := r.Radius * r.Problem().Constants.Lipschitz / r.Problem().Smoothness()
	for range r.Tries {
		g = slices.Clone(at)
		for range r.gamma {
			for j := range g {
				g[j] += r.Perturb * r.sigma * r.coins.NormFloat64()
			}
			if r.step(g, r.short); optimize.Apart(r.W, anchor) >= far {
				return true, nil
			}
			if err := r.ask(); err != nil {
				return false, err
			}
			g = r.Regularized(r.estimate)
		}
		r.Reach(anchor, optimize.Norm(at), r.sigma, 0)
	}
	return false, nil
}

// ask releases the gradient estimate at the iterate. At the start, after a path of 2 L0/L1 and after the
// last item of a prefix sum, it opens a new prefix sum with a gradient. Otherwise it adds the difference
// since the last estimate.
func (r *driftRun) ask() (err error) {
	p := r.Problem()
	if r.sum == nil || r.taken == r.items || r.path*p.Smoothness() >= driftPath*p.Constants.Lipschitz {
		if r.unused < r.root {
			return errUsed
		}
		r.path, r.taken = 0, 0
		r.sum, err = r.OpenPrefix(query.Prefix{Factorization: query.Toeplitz, Items: r.items, Charge: p.Charge(),
			Sensitivity: p.Neighbours() * p.Constants.Lipschitz / r.root * (1 + 0x1p-40)})
		if err != nil {
			return err
		}
		return r.add(r.root, func(c query.Cohort) query.Term { return query.GradientAt(c, r.W, p.Constants.Lipschitz) })
	}
	lo, hi := p.Curvature()
	change := query.DifferenceByCurvature(query.Cohort{}, r.W, r.before, lo, hi)
	size := max(math.Ceil(r.root*change.Ball().Radius/p.Constants.Lipschitz), 1)
	if size > r.unused {
		return errUsed
	}
	if change.Distance() == 0 {
		return nil
	}
	return r.add(size, change.Over)
}

func (r *driftRun) add(size float64, term func(query.Cohort) query.Term) error {
	c, err := r.Draw(size)
	if err != nil {
		return err
	}
	r.unused -= c.Size()
	a, err := r.sum.Add(term(c))
	r.estimate, r.sigma, r.before = a.Mean, a.Sigma, slices.Clone(r.W)
	r.taken++
	return err
}

// scatter returns the root mean square norm of an estimate's error, as the algorithm second-order computes
// it.
func (r *driftRun) scatter() float64 {
	p := r.Problem()
	G := p.Constants.Lipschitz
	return math.Sqrt(float64(len(r.W))*r.sigma*r.sigma + G*(G+r.path*p.Smoothness())/r.root)
}

func (r *driftRun) step(g []float64, eta float64) {
	w := slices.Clone(r.W)
	optimize.Descend(w, g, eta)
	r.Problem().Project(w)
	r.path += optimize.Apart(w, r.W)
	r.Reach(w, optimize.Norm(g), r.sigma, eta)
}

// TestDrift compares drift with the algorithms of a single pass, at the same budget. It prints the tables
// of docs/explanation/papers/second-order.md. It fails if the gradient norm of drift is below .8 times the
// smaller gradient norm of second-order, because the page says that drift never helps.
func TestDrift(t *testing.T) {
	for _, c := range []struct {
		family  string
		d, rows int
		gap     float64
		seeds   int
	}{
		{"saddle(0.15)", 100, 400, .15, 7},
		{"saddle(0.05)", 100, 400, .05, 7},
		{"autoencoder(3)", 20, 400, .2, 7},
		{"factorization(3)", 20, 400, .1, 7},
	} {
		t.Run(c.family, func(t *testing.T) {
			spec, err := experiment.ParseSpec(fmt.Appendf(nil, `name: drift
question: Does drift leave saddles as products do?
families: [%q]
dimensions: [%d]
rows: %d
records: [100000]
epsilons: [1]
seeds: %d
gap: %[5]v
workers: 1
algorithms:
  - {name: one-pass-sgd}
  - {name: second-order, label: prefix sums alone, settings: {gap: %[5]v, without_products: true}}
  - {name: second-order, label: with products, settings: {gap: %[5]v}}
  - {name: drift, label: "drift, ends at an anchor", settings: {gap: %[5]v}}
  - {name: drift, label: "drift, goes on, perturbation .1", settings: {gap: %[5]v, goes_on: true, perturb: 0.1}}
  - {name: drift, label: "drift, goes on", settings: {gap: %[5]v, goes_on: true}}
  - {name: drift, label: "drift, goes on, radius .3", settings: {gap: %[5]v, goes_on: true, radius: 0.3}}
`, c.family, c.d, c.rows, c.seeds, c.gap))
			if err != nil {
				t.Fatal(err)
			}
			summary, err := spec.Run(t.Context(), t.TempDir(),
				experiment.Options{Algorithms: map[string]optimize.Algorithm{"drift": drift{}}})
			if err != nil {
				t.Fatal(err)
			}
			if err := summary.WriteMarkdown(os.Stdout); err != nil {
				t.Fatal(err)
			}
			best := min(summary.Cells[1].GradientNorm.Median, summary.Cells[2].GradientNorm.Median)
			for _, cell := range summary.Cells[3:] {
				if got := cell.GradientNorm.Median; got < .8*best {
					t.Errorf("%s has a gradient of %v, and second-order of %v: drift helps here", cell.Label, got, best)
				}
			}
		})
	}
}
