package nonsmooth_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/nonsmooth"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestSampledOraclesByThePage recomputes a run from the sentences of Kornowski, Liu and Talwar 2024.
// Algorithm 4: at the first step of each period, (t-1) mod Sigma = 0, gradients of all records from m
// pairs of values on the sphere of radius alpha, and differences at the other steps. Section 5.2:
// values are clipped at 2 L0, gradients at L0, and differences at min(M_alpha ||z_t - z_{t-1}||, 2 C)
// around zero, with the same directions at both points. The test fails for values clipped at L0, for
// directions from the ball, and for differences of the unsmoothed loss.
func TestSampledOraclesByThePage(t *testing.T) {
	const alpha, period = .2, 4
	for order, want := range map[nonsmooth.Order]struct {
		by   query.Smoother
		clip float64
		m    int
	}{
		// sqrt 2 D/alpha with D = 2 alpha/3 is .94, and 4/.94 = 4.2 is rounded up to 5.
		nonsmooth.FirstOrder: {query.Gradients, .8, 5},
		nonsmooth.ZeroOrder:  {query.Values, 1.6, 2},
	} {
		c := quantile(.8, 500)
		c.Budget = budget(t)
		o := optimizetest.New(c)
		p := problem(t, o, c.Loss)
		plan, err := nonsmooth.O2NC{Oracle: nonsmooth.MultiPass, Order: order, Radius: 2 * alpha, Steps: 11,
			Period: period}.Plan(ctx, p)
		if r := run(t, resolve(t, plan, err), o); !r.Complete || len(o.Asked) != 11 {
			t.Fatalf("%v: %d questions, %+v", order, len(o.Asked), r)
		}
		for k, a := range o.Asked {
			term := a.Question.Terms()[0]
			s := term.Smoothing()
			if s.By != want.by || s.Radius != alpha || s.Directions != want.m {
				t.Errorf("%v: step %d looks around by %+v", order, k+1, s)
			}
			radius, kind := want.clip, query.Gradient
			if k%period != 0 {
				// In two dimensions M_alpha is (4/pi) L0/alpha.
				radius, kind = min(4/math.Pi*.8/alpha*term.Distance(), 2*want.clip), query.Difference
			}
			if b := term.Ball(); term.Kind() != kind || b.Centre != 0 || !(math.Abs(b.Radius-radius) <= 1e-9*radius) {
				t.Errorf("%v: step %d asks for a %v within %+v: want a %v within %v", order, k+1, term.Kind(), b, kind, radius)
			}
		}
		_, charged := charges(o.Asked)
		withinBudget(t, p.Mu, charged)
	}
}

// TestSinglePassByValues (Kornowski, Liu and Talwar 2024, Algorithm 3): each record must be in one
// item, which may be charged the whole budget. The prefix sums must declare the sensitivity max(2
// C/B1, 2 c/B2), under both relations.
func TestSinglePassByValues(t *testing.T) {
	for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
		for _, order := range []nonsmooth.Order{nonsmooth.FirstOrder, nonsmooth.ZeroOrder} {
			config := quantile(.5, 1)
			b, err := account.NewBudget(3, 1e-6, relation)
			if err != nil {
				t.Fatal(err)
			}
			if config.Budget = b; relation == account.AddOrRemove {
				config.Declared = 400
			}
			o := optimizetest.New(config)
			p, err := optimize.NewProblem(config.Loss, b, o)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := nonsmooth.O2NC{Oracle: nonsmooth.SinglePass, Order: order, Steps: 11, Period: 4, Radius: .4}.Plan(ctx,
				p)
			if r := run(t, resolve(t, plan, err), o); !r.Complete || r.Steps != 11 {
				t.Fatalf("%v, %v: %+v", relation, order, r)
			}
			if got := o.Charged(); !(math.Abs(got/p.Charge()-1) <= 1e-6) {
				t.Errorf("%v, %v: charged %v of %v", relation, order, got, p.Charge())
			}
		}
	}
}

// TestOrdersFindTheMedian: without noise, O2NC with order first and with order zero must find the known
// median, with fresh gradients and with differences. Smoothed with sampled gradients must find it, too. The
// test fails if the two points of a difference have different directions, which makes the estimate drift,
// and for d/alpha in place of d/(2 alpha).
func TestOrdersFindTheMedian(t *testing.T) {
	if testing.Short() {
		t.Skip("a second")
	}
	for _, of := range []optimize.Algorithm{
		nonsmooth.O2NC{Steps: 400, Radius: .1, Order: nonsmooth.FirstOrder},
		nonsmooth.O2NC{Steps: 400, Radius: .1, Order: nonsmooth.ZeroOrder},
		nonsmooth.O2NC{Steps: 400, Radius: .1, Order: nonsmooth.FirstOrder, Oracle: nonsmooth.MultiPass},
		nonsmooth.O2NC{Steps: 400, Radius: .1, Order: nonsmooth.ZeroOrder, Oracle: nonsmooth.MultiPass},
		nonsmooth.Smoothed{Steps: 400, Radius: .1, Smoothing: nonsmooth.Smoothing(query.Gradients), Space: nonsmooth.Plain},
	} {
		c := quantile(.5, 500)
		c.Noiseless, c.Budget = true, budget(t)
		o := optimizetest.New(c)
		plan, err := of.Plan(ctx, problem(t, o, c.Loss))
		r := run(t, resolve(t, plan, err), o)
		if at, slope := r.W[0]/math.Sqrt2, r.W[1]/math.Sqrt2; !(math.Abs(at) <= .06) || !(math.Abs(slope-.3) <= .12) {
			t.Errorf("%+v: line %v + %v u: want .3 u", of, at, slope)
		}
	}
}

// TestOrderRules compares the default orders and numbers of directions with their rules, and tests that
// invalid settings are refused.
func TestOrderRules(t *testing.T) {
	of := func(name string) optimize.Problem {
		l, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := optimize.NewProblem(l, budget(t), optimize.Stated(5, 40000))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	hinge, net, relu := of("hinge"), of("network(4,tanh,hinge)"), of("network(4,relu,logistic)")
	for _, c := range []struct {
		of   optimize.Algorithm
		p    optimize.Problem
		says string
	}{
		{nonsmooth.Smoothed{}, net, "on the smoothed loss, by gradients at 1 points around each"},
		{nonsmooth.O2NC{}, hinge, "oracle fresh"},
		{nonsmooth.O2NC{}, net, "oracle fresh, by gradients at 1 points around each"},
		{nonsmooth.O2NC{}, relu, "by gradients at 1 points around each"},
		{nonsmooth.O2NC{Order: nonsmooth.ZeroOrder}, net, fmt.Sprintf("by values at %d pairs", net.Dim())},
		{nonsmooth.O2NC{Order: nonsmooth.ZeroOrder, Directions: 7}, net, "by values at 7 pairs"},
	} {
		s := resolve(t, must(c.of.Plan(ctx, c.p)), nil).Summary()
		if !strings.Contains(s.Citation, c.says) {
			t.Errorf("%+v: %q: want %q", c.of, s.Citation, c.says)
		}
	}
	for _, c := range []struct {
		of   optimize.Algorithm
		p    optimize.Problem
		want string
	}{
		{nonsmooth.O2NC{Order: nonsmooth.Exact}, net, "order = exact: must be first or zero"},
		{nonsmooth.O2NC{Directions: 3}, hinge, "directions = 3: must be with order first or zero"},
		{nonsmooth.O2NC{Directions: 1 << 20, Order: nonsmooth.ZeroOrder}, hinge,
			"directions = 1048576: must be at most 4096"},
		{nonsmooth.O2NC{Directions: -1, Order: nonsmooth.ZeroOrder}, hinge, "directions = -1"},
		{nonsmooth.Smoothed{Directions: 3}, hinge, "directions = 3: must be between 1 and 4096 with smoothing sampled"},
		{nonsmooth.Smoothed{Smoothing: nonsmooth.Smoothing(query.Gradients), Space: nonsmooth.InMetric}, hinge,
			"space = metric: must be plain"},
	} {
		if _, err := c.of.Plan(ctx, c.p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v: want %q", c.of, err, c.want)
		}
	}
}
