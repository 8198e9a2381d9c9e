package nonsmooth_test

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/nonsmooth"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

var (
	ctx          = context.Background()
	budget       = optimizetest.Budget
	run          = optimizetest.RunPlan
	resolve      = optimizetest.Resolve
	charges      = optimizetest.Charges
	withinBudget = optimizetest.WithinBudget
)

// quantile returns a table of rows (1, u)/sqrt 2 with targets .3 u + noise, the noise uniform in [-.5,
// .5], and the pinball loss for tau. The tau-quantile of the targets is the line .3 u + tau - .5.
func quantile(tau float64, repeat int) optimizetest.Config {
	l, err := loss.Pinball(tau)
	if err != nil {
		panic(err)
	}
	r := rand.New(rand.NewPCG(5, 5))
	c := optimizetest.Config{Loss: l, Repeat: repeat, Seed: 3}
	for range 400 {
		u := 2*r.Float64() - 1
		c.Rows = append(c.Rows, []float32{math.Sqrt2 / 2, float32(u / math.Sqrt2)})
		c.Targets = append(c.Targets, .3*u+r.Float64()-.5)
	}
	return c
}

// methods lists the methods, each with settings that find the quantile in a table of the function quantile.
var methods = []struct {
	name string
	of   optimize.Algorithm
}{
	{"smoothed", nonsmooth.Smoothed{Radius: .05}},
	{"smoothed, plain", nonsmooth.Smoothed{Radius: .05, Space: nonsmooth.Plain, Steps: 400}},
	{"smoothed by lasry-lions", nonsmooth.Smoothed{Radius: .05, Smoothing: nonsmooth.Smoothing(query.LasryLions)}},
	{"subgradient", nonsmooth.Subgradient{Steps: 400, StepScale: .3}},
	{"o2nc", nonsmooth.O2NC{Steps: 400, Radius: .05}},
	{"o2nc, multi-pass", nonsmooth.O2NC{Steps: 400, Radius: .05, Oracle: nonsmooth.MultiPass}},
}

func problem(t *testing.T, o *optimizetest.Oracle, l loss.Loss) optimize.Problem {
	t.Helper()
	p, err := optimize.NewProblem(l, budget(t), o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestFindsTheQuantile: without noise every method must find the known quantile, up to the table's sampling
// error and the smoothing. The share of targets below the fitted line must be the level tau of the
// quantile, and the line must be the known one. The test fails for the quantile 1 - tau, and if the plan's
// constants are those of the smoothed loss but its queries are not.
func TestFindsTheQuantile(t *testing.T) {
	if testing.Short() {
		t.Skip("a second")
	}
	for _, m := range methods {
		c := quantile(.8, 500)
		c.Noiseless, c.Budget = true, budget(t)
		o := optimizetest.New(c)
		plan, err := m.of.Plan(ctx, problem(t, o, c.Loss))
		r := run(t, resolve(t, plan, err), o)
		below := 0
		for i, x := range c.Rows {
			if r.W[0]*float64(x[0])+r.W[1]*float64(x[1]) > c.Targets[i] {
				below++
			}
		}
		if share := float64(below) / 400; !(math.Abs(share-.8) <= .02) || !r.Complete {
			t.Errorf("%s: share below %v: want .8", m.name, share)
		}
		if at, slope := r.W[0]/math.Sqrt2, r.W[1]/math.Sqrt2; !(math.Abs(at-.3) <= .06) || !(math.Abs(slope-.3) <= .12) {
			t.Errorf("%s: line %v + %v u: want .3 + .3 u", m.name, at, slope)
		}
	}
}

// TestWholeBudget: each plan must charge the whole budget and no more, and smoothed must make queries
// on the smoothed loss only.
func TestWholeBudget(t *testing.T) {
	for _, m := range append(methods, struct {
		name string
		of   optimize.Algorithm
	}{"one pass", nonsmooth.Subgradient{OnePass: true}}, struct {
		name string
		of   optimize.Algorithm
	}{"o2nc, one pass", nonsmooth.O2NC{Oracle: nonsmooth.SinglePass, Steps: 20}}) {
		repeat, pass := 500, strings.HasSuffix(m.name, "one pass")
		if pass {
			repeat = 1
		}
		c := quantile(.5, repeat)
		c.Budget = budget(t)
		o := optimizetest.New(c)
		p := problem(t, o, c.Loss)
		plan, err := m.of.Plan(ctx, p)
		r := run(t, resolve(t, plan, err), o)
		if !pass {
			_, charged := charges(o.Asked)
			withinBudget(t, p.Mu, charged)
		} else if charged := o.Charged(); charged > p.Mu*p.Mu || charged < .999*p.Mu*p.Mu {
			t.Errorf("%s: charged %v of %v", m.name, charged, p.Mu*p.Mu)
		}
		if !r.Complete || r.Steps == 0 {
			t.Errorf("%s: %d steps, complete %t", m.name, r.Steps, r.Complete)
		}
		for _, a := range o.Asked {
			for _, term := range a.Question.Terms() {
				if on := term.Smoothing().On(); on != (m.name != "subgradient" && m.name != "one pass" &&
					term.Kind().Facts().Smooths) {
					t.Fatalf("%s: %v: smoothing is on: %v", m.name, term.Kind(), on)
				}
			}
		}
	}
}

// TestRules compares the default smoothing radii and numbers of steps with their formulas, which use
// the effective size N.
func TestRules(t *testing.T) {
	p, err := optimize.NewProblem(loss.Hinge(), budget(t), optimize.Stated(50, 4000))
	if err != nil {
		t.Fatal(err)
	}
	N := p.Effective()
	if got, want := nonsmooth.DefaultRadius(p), 50/N; !(math.Abs(got-want) <= 1e-12) {
		t.Errorf("radius %v, want %v", got, want)
	}
	plain := resolve(t, must(nonsmooth.Smoothed{Space: nonsmooth.Plain}.Plan(ctx, p)), nil)
	smooth, err := p.Smoothed(query.Smoothing{Radius: nonsmooth.DefaultRadius(p)})
	if err != nil {
		t.Fatal(err)
	}
	T := math.Ceil(2 * N)
	if s := plain.Summary(); float64(s.Steps) != T ||
		!(math.Abs(s.StepSize-4*smooth.Constants.InitialGap*min(N/T, 2)) <= 1e-9) {
		t.Errorf("%d steps of %v, N = %v", s.Steps, s.StepSize, N)
	}
	sub := resolve(t, must(nonsmooth.Subgradient{}.Plan(ctx, p)), nil)
	if s := sub.Summary(); float64(s.Steps) != math.Ceil(3*N) || !(math.Abs(s.StepSize-min(3*N/math.Ceil(3*N), 1)) <= 1e-12) {
		t.Errorf("subgradient: %d steps of %v, N = %v", s.Steps, s.StepSize, N)
	}
	pass := resolve(t, must(nonsmooth.Subgradient{OnePass: true}.Plan(ctx, p)), nil)
	if s := pass.Summary(); float64(s.Steps) != math.Ceil(math.Sqrt(N)) || s.StepSize != 8 || s.Passes != 1 {
		t.Errorf("one pass: %+v", s)
	}
	// In space metric, the default radius for two classes is at least the radius for N = 400.
	for space, want := range map[nonsmooth.Space]string{nonsmooth.RuleSpace: "radius 0.125, which is d/400",
		nonsmooth.Plain: "which is d/N"} {
		many, err := optimize.NewProblem(loss.Hinge(), budget(t), optimize.Stated(50, 1e6))
		if err != nil {
			t.Fatal(err)
		}
		if s := must(nonsmooth.Smoothed{Space: space}.Plan(ctx, many)).Summary(); !strings.Contains(s.Charges, want) {
			t.Errorf("space %v: %q: must say %q", space, s.Charges, want)
		}
	}
	// For large N only convex losses have space metric by default.
	for _, c := range []struct {
		l       loss.Loss
		records float64
		metric  bool
	}{{loss.Hinge(), 4000, true}, {loss.Ramp(), 4000, true}, {loss.Hinge(), 1e7, true}, {loss.Ramp(), 1e7, false},
		{loss.Hinge(), 50, false}} {
		p, err := optimize.NewProblem(c.l, budget(t), optimize.Stated(50, c.records))
		if err != nil {
			t.Fatal(err)
		}
		s := resolve(t, must(nonsmooth.Smoothed{}.Plan(ctx, p)), nil).Summary()
		if metric := strings.Contains(s.Citation, "preconditioner"); metric != c.metric {
			t.Errorf("%s, %v records, N = %.0f: in the metric: %v", c.l.Name(), c.records, s.Effective, metric)
		}
	}
	// The hinge's slope has a single jump, of size 1.
	if b := smooth.DataSmoothness(); !(math.Abs(b*nonsmooth.DefaultRadius(p)/math.Sqrt(50)-.4) <= .01) {
		t.Errorf("curvature %v: want about .4 sqrt(d)/r", b)
	}
}

func must(p optimize.Plan, err error) optimize.Plan {
	if err != nil {
		panic(err)
	}
	return p
}

// TestRefusals: each impossible setting must be refused with an error that names it.
func TestRefusals(t *testing.T) {
	smooth, err := optimize.NewProblem(loss.Logistic(), budget(t), optimize.Stated(5, 4000))
	if err != nil {
		t.Fatal(err)
	}
	kinked, err := optimize.NewProblem(loss.Ramp(), budget(t), optimize.Stated(5, 4000))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		of   optimize.Algorithm
		p    optimize.Problem
		want string
	}{
		{nonsmooth.Smoothed{Radius: .1}, smooth, "radius = 0.1, smoothing = ball: must be left out"},
		{nonsmooth.Smoothed{Radius: -1}, kinked, "radius = -1: must be > 0"},
		{nonsmooth.Smoothed{Steps: -1}, kinked, "steps = -1"},
		{nonsmooth.Smoothed{Radius: 3, Smoothing: nonsmooth.Smoothing(query.LasryLions)}, kinked, "must be smaller"},
		{nonsmooth.O2NC{Theorem: true}, kinked, "theorem: must be with oracle multi-pass or single-pass"},
		{nonsmooth.O2NC{Period: 3}, kinked, "period = 3: must be 0"},
		{nonsmooth.O2NC{Prefix: 1}, kinked, "prefix = tree: is of oracle single-pass"},
		{nonsmooth.O2NC{Prefix: 1, Oracle: nonsmooth.MultiPass}, kinked, "prefix = tree: is of oracle single-pass"},
		{nonsmooth.O2NC{Radius: 10, Theorem: true, Oracle: nonsmooth.SinglePass}, kinked, "must be at most F0/L0"},
		{nonsmooth.Subgradient{StepScale: -1}, smooth, "step scale = -1"},
		{nonsmooth.Subgradient{Steps: 5000, OnePass: true}, kinked, "must leave every cohort"},
	} {
		if _, err := c.of.Plan(ctx, c.p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v: want %q", c.of, err, c.want)
		}
	}
	if err := kinked.Validate(); err == nil ||
		!strings.Contains(err.Error(), "smoothed and subgradient serve such losses") {
		t.Errorf("unbounded curvature: %v", err)
	}
}
