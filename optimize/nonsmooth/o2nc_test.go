package nonsmooth_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/nonsmooth"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestO2NCByThePage recomputes a run by Algorithm 2 of Kornowski, Liu and Talwar 2024 from its
// released answers. Each move must be clipped to length D, the point z of a gradient must lie between
// the ends of its move, and the result must be the mean of the second half of the points z.
func TestO2NCByThePage(t *testing.T) {
	c := quantile(.5, 500)
	c.Budget = budget(t)
	o := optimizetest.New(c)
	const T = 41
	p := problem(t, o, c.Loss)
	plan, err := nonsmooth.O2NC{Steps: T, Radius: .3, Block: 2}.Plan(ctx, p)
	r := run(t, resolve(t, plan, err), o)
	D, eta := .15, plan.Summary().StepSize
	x, delta, sum := []float64{0, 0}, []float64{0, 0}, []float64{0, 0}
	var shares []float64
	for k, a := range o.Asked {
		z := a.Question.Terms()[0].Point()
		// z = x + s delta with the same s in [0, 1] for all coordinates
		for j := range z {
			along, move := z[j]-x[j], delta[j]
			if s := along / move; k > 0 && !(s >= -1e-9 && s <= 1+1e-9) {
				t.Fatalf("step %d: z is %v of the move along %v", k+1, along, move)
			}
			if k > 0 && j == 0 {
				shares = append(shares, along/move)
			}
			x[j] += move
			delta[j] -= eta * a.Answer.Mean[j]
			if 2*(k+1) >= T {
				sum[j] += z[j] / 21
			}
		}
		if long := math.Hypot(delta[0], delta[1]); long > D {
			delta[0], delta[1] = delta[0]*D/long, delta[1]*D/long
		}
	}
	if len(o.Asked) != T || math.Hypot(sum[0]-r.W[0], sum[1]-r.W[1]) > 1e-12 {
		t.Errorf("%d questions, result %v: want %v", len(o.Asked), r.W, sum)
	}
	// The numbers s must be uniform on [0, 1]. By Massart's inequality the empirical distribution function of
	// 40 uniform numbers deviates from the uniform one by more than .35 with probability 1.1e-4. The seed is
	// fixed.
	slices.Sort(shares)
	for i, s := range shares {
		if above := float64(i+1)/float64(len(shares)) - s; !(math.Abs(above) <= .35) {
			t.Errorf("%d of %d shares of the move are at most %v: they must be uniform", i+1, len(shares), s)
			break
		}
	}
	if r.Trace.Move != D {
		t.Errorf("moves of %v are told: want %v", r.Trace.Move, D)
	}
}

// TestOraclesByThePage: a gradient must be released at the first step of each period, and differences at
// the other steps (Kornowski, Liu and Talwar 2024, Algorithms 4 and 5). With single-pass each item of the
// prefix sum must have records of its own, and the first item of a period must have period times as many
// records as a difference. Both relations and both factorizations are run.
func TestOraclesByThePage(t *testing.T) {
	for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
		for _, c := range []nonsmooth.O2NC{{Oracle: nonsmooth.MultiPass}, {Oracle: nonsmooth.SinglePass},
			{Oracle: nonsmooth.SinglePass, Prefix: 1}} {
			c.Steps, c.Period, c.Radius = 11, 4, .4
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
			plan, err := c.Plan(ctx, p)
			if r := run(t, resolve(t, plan, err), o); !r.Complete || r.Steps != 11 {
				t.Fatalf("%v, %+v: %+v", relation, c, r)
			}
			if c.Oracle == nonsmooth.SinglePass {
				if got := o.Charged(); !(math.Abs(got/p.Charge()-1) <= 1e-6) {
					t.Errorf("%v: charged %v of %v", relation, got, p.Charge())
				}
				continue // items of prefix sums are recorded separately
			}
			for k, a := range o.Asked {
				want := query.Difference
				if k%4 == 0 {
					want = query.Gradient
				}
				if got := a.Question.Terms()[0].Kind(); got != want {
					t.Errorf("%v: step %d asks for a %v: want a %v", relation, k+1, got, want)
				}
			}
		}
	}
}

// TestTheoremSettings: the M moves of a block, each of length at most D, must stay within alpha (M D
// <= alpha), no more records may be used than there are, and the result must be the mean over a block
// drawn before the run. The D of Theorem 6.1 (Kornowski, Liu and Talwar 2024) must fall as n^(-3/5)
// or faster, since the run has n/2 steps.
func TestTheoremSettings(t *testing.T) {
	last := 0.
	for _, n := range []int{400, 4000} {
		c := quantile(.5, n/400)
		c.Budget = budget(t)
		p := problem(t, optimizetest.New(c), c.Loss)
		for _, oracle := range []nonsmooth.Oracle{nonsmooth.MultiPass, nonsmooth.SinglePass} {
			plan, err := nonsmooth.O2NC{Oracle: oracle, Theorem: true, Radius: .4}.Plan(ctx, p)
			s := resolve(t, plan, err).Summary()
			if !strings.HasPrefix(s.Output, "random: average over block") || !plan.Needs().PublicCoins {
				t.Errorf("%v: output %q", oracle, s.Output)
			}
			var most float64
			_, far, _ := strings.Cut(s.Output, "and at most ")
			if _, err := fmt.Sscanf(far, "%g from the start", &most); err != nil || !(most > 0) {
				t.Errorf("%v: output %q: states no distance", oracle, s.Output)
			}
			if n == 400 && oracle == nonsmooth.SinglePass { // few steps
				if far := optimize.Norm(run(t, plan, optimizetest.New(c)).W); !(far > 0 && far <= most*1.01) {
					t.Errorf("the result is %v from the start: at most %v is stated", far, most)
				}
			}
			if oracle == nonsmooth.SinglePass {
				if s.Steps > n/2 || s.Steps < n/3 {
					t.Errorf("%d steps of %d records", s.Steps, n)
				}
				if fall := last / s.StepSize; last > 0 && fall < 2 {
					t.Errorf("eta falls by %v from 400 records to 4000", fall)
				}
				last = s.StepSize
			}
		}
	}
}
