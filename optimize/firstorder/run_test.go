package firstorder_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/convex"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/choose"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
)

// TestConvergesWithoutNoise: without noise, every method must reach the known minimum of every shared
// problem. The test fails for a wrong sign, step or estimate.
func TestConvergesWithoutNoise(t *testing.T) {
	for _, p := range optimizetest.Problems() {
		for _, rule := range []optimize.Output{optimize.Last, optimize.TailAverage, optimize.Smallest} {
			for _, m := range methods(settings{steps: 800, scale: 1, output: rule}) {
				c := p.Config(budget(t), 50, 0)
				c.Noiseless = true
				o := optimizetest.New(c)
				plan, err := m.plan(p.Public, o.Size())
				r := run(t, resolve(t, plan, err), o)
				gap, slope := p.Objective(r.W)-p.Minimum, length(p.Gradient(r.W))
				if !(math.Abs(gap) <= 1e-9 && slope <= 1e-6) {
					t.Errorf("%s, %s, %v: gradient %.2g, %.2g above the minimum, at %v: want %v", p.Name, m.name, rule, slope, gap,
						r.W, p.Minimiser)
				}
			}
		}
	}
}

// TestStopsAndHandsBack: if an error ends a run at query k, the caller must get an error that wraps it,
// and a result that says it is not complete. The result must equal the result of the queries before k
// alone.
func TestStopsAndHandsBack(t *testing.T) {
	broken := errors.New("broken")
	const T = 12
	for _, p := range optimizetest.Problems()[1:3] {
		for rule := optimize.TailAverage; rule <= optimize.Random; rule++ {
			for _, m := range methods(settings{steps: T, scale: .5, output: rule}) {
				for _, stop := range []int{0, 1, 5, 9} {
					ctx, cancel := context.WithCancel(context.Background())
					cancelled := stop == 5
					c := p.Config(budget(t), 100, 6)
					c.Script = func(k int) error {
						switch {
						case k == stop && cancelled:
							cancel()
						case k == stop:
							return broken
						}
						return nil
					}
					o := optimizetest.New(c)
					plan, err := m.plan(p.Public, o.Size())
					if err != nil {
						t.Fatal(err)
					}
					steps := 0
					r, err := plan.Run(ctx, o, func(optimize.Step) { steps++ })
					want := broken
					if cancelled {
						want = context.Canceled
					}
					if !errors.Is(err, want) || !strings.Contains(err.Error(), m.name) {
						t.Errorf("%s at %d: error %v: want one that wraps %v and names the method", m.name, stop, err, want)
					}
					if r.Complete || r.Steps != stop || steps != stop || len(o.Asked) != stop+1 || len(r.W) != p.Public.Dim() {
						t.Errorf("%s at %d: %+v after %d steps and %d questions", m.name, stop, r, steps, len(o.Asked))
					}
					points, _ := visited(o)
					reached := points[stop]
					if tail := rule == optimize.TailAverage && 2*stop >= T; !tail && rule <= optimize.Last && !same(r.W, reached) {
						t.Errorf("%s at %d, %v: %v: want the iterate reached, %v", m.name, stop, rule, r.W, reached)
					} else if tail && same(r.W, reached) {
						t.Errorf("%s at %d: the average is the last iterate", m.name, stop)
					}
					cancel()
				}
			}
		}
	}
}

// TestOverBudget: if a plan was made for a larger budget than the oracle has, the privacy filter must stop
// the run, with an error that states the charge of the query and the charge that is left.
func TestOverBudget(t *testing.T) {
	p := optimizetest.Problems()[2]
	for _, m := range methods(settings{steps: 20}) {
		o := optimizetest.New(p.Config(budget(t), 100, 6))
		size := o.Size()
		size.Mu *= 1.2
		plan, err := m.plan(p.Public, size)
		if err != nil {
			t.Fatal(err)
		}
		r, err := plan.Run(context.Background(), o, nil)
		var over *account.BudgetError
		if !errors.As(err, &over) || !(over.Want > over.Have && over.Have >= 0) || r.Complete || r.W == nil {
			t.Errorf("%s: %+v, %v", m.name, r, err)
		}
		if spent, mu := o.Charged(), o.Size().Mu; spent > mu*mu {
			t.Errorf("%s: charged %v of %v", m.name, spent, mu*mu)
		}
	}
}

// TestObserve: the observer must be called once a step, numbered from 1, with the charge so far and the
// norm of the gradient estimate. The norm must be computed from released answers only.
func TestObserve(t *testing.T) {
	const T = 9
	p := optimizetest.Problems()[3]
	for _, m := range methods(settings{steps: T}) {
		o := optimizetest.New(p.Config(budget(t), 100, 6))
		plan, err := m.plan(p.Public, o.Size())
		if err != nil {
			t.Fatal(err)
		}
		var seen []optimize.Step
		if _, err := plan.Run(context.Background(), o, func(s optimize.Step) {
			seen = append(seen, s)
			var charged float64
			for _, a := range o.Asked {
				charged += a.Answer.Charge
			}
			if s.Number != len(seen) || s.Number != len(o.Asked) || s.Of != T || s.Charged != charged {
				t.Errorf("%s: %+v after %d questions, %v charged", m.name, s, len(o.Asked), charged)
			}
		}); err != nil {
			t.Fatal(err)
		}
		first := add(o.Asked[0].Answer.Mean, 1, make([]float64, p.Public.Dim()))
		p.Public.Regularizer.AddGradient(first, make([]float64, p.Public.Dim()))
		if len(seen) != T || !close(seen[0].GradientNorm, length(first), 1e-12) {
			t.Errorf("%s: %d steps, the first %+v: want norm %v", m.name, len(seen), seen[0], length(first))
		}
	}
}

// TestPlansArePure: the same configuration must give the same summary twice, a run must not change its
// plan, and two runs of a plan must be independent.
func TestPlansArePure(t *testing.T) {
	for _, p := range optimizetest.Problems() {
		for rule := optimize.TailAverage; rule <= optimize.Random; rule++ {
			for _, m := range methods(settings{steps: 8, output: rule}) {
				config := p.Config(budget(t), 100, 6)
				o := optimizetest.New(config)
				a, err := m.plan(p.Public, o.Size())
				resolve(t, a, err)
				b, err := m.plan(p.Public, o.Size())
				x, y := resolve(t, b, err).Summary(), a.Summary()
				if rule == optimize.Random {
					x.Output, y.Output = "", "" // the name of a random iterate differs
					for _, o := range []*optimize.Summary{&x, &y} {
						o.Predicted, o.Population, o.Excess = 0, 0, 0
					}
				}
				if x != y {
					t.Errorf("%s: outlines %+v and %+v", m.name, x, y)
				}
				before := a.Summary()
				first := run(t, a, o)
				again := run(t, a, optimizetest.New(config))
				if a.Summary() != before || !reflect.DeepEqual(first, again) {
					t.Errorf("%s: %+v and %+v from one plan and the same coins", m.name, first, again)
				}
			}
		}
	}
}

// TestStartIsNotTheirs: neither the problem's starting point nor a result may share memory with a run.
func TestStartIsNotTheirs(t *testing.T) {
	p := optimizetest.Problems()[0]
	p.Public.Start = []float64{1, 1, 1}
	for rule := optimize.TailAverage; rule <= optimize.Random; rule++ {
		for _, m := range methods(settings{steps: 4, output: rule}) {
			o := optimizetest.New(p.Config(budget(t), 100, 6))
			plan, err := m.plan(p.Public, o.Size())
			r := run(t, resolve(t, plan, err), o)
			r.W[0] = 77
			if p.Public.Start[0] != 1 || o.Asked[0].Question.Terms()[0].Point()[0] != 1 {
				t.Errorf("%s: the start is %v", m.name, p.Public.Start)
			}
		}
	}
}

// TestInvalidSettings: for each invalid setting, Plan must return no plan and an error that names the
// field, its value and the rule.
func TestInvalidSettings(t *testing.T) {
	good := optimizetest.Problems()[2].Public
	given := size{Records: 1000, Mu: .5}
	gd := func(c firstorder.GD) (optimize.Plan, error) { return c.Plan(ctx, with(good, given)) }
	boost := func(c firstorder.SpiderBoost) (optimize.Plan, error) { return c.Plan(ctx, with(good, given)) }
	storm := func(c firstorder.STORM) (optimize.Plan, error) { return c.Plan(ctx, with(good, given)) }
	unknown := optimize.Output(9)
	nan, inf := math.NaN(), math.Inf(1)
	for want, plan := range map[string]func() (optimize.Plan, error){
		"gd: steps = -1: must be": func() (optimize.Plan, error) { return gd(firstorder.GD{Steps: -1}) },
		"gd: steps = 1000001: must be": func() (optimize.Plan,
			error) {
			return gd(firstorder.GD{Steps: 1_000_001})
		},
		"gd: step scale = -1: must be finite": func() (optimize.Plan, error) { return gd(firstorder.GD{StepScale: -1}) },
		"gd: step scale = NaN: must be finite": func() (optimize.Plan,
			error) {
			return gd(firstorder.GD{StepScale: nan})
		},
		"gd: multiplier = +Inf: must be finite": func() (optimize.Plan,
			error) {
			return gd(firstorder.GD{Multiplier: inf})
		},
		"gd: multiplier = -2: must be finite": func() (optimize.Plan,
			error) {
			return gd(firstorder.GD{Multiplier: -2})
		},
		"output = output(9): must be one of": func() (optimize.Plan,
			error) {
			return gd(firstorder.GD{Output: unknown})
		},
		"spiderboost: steps = -3: must be": func() (optimize.Plan,
			error) {
			return boost(firstorder.SpiderBoost{Steps: -3})
		},
		"spiderboost: steps = 1000001: must": func() (optimize.Plan,
			error) {
			return boost(firstorder.SpiderBoost{Steps: 1_000_001})
		},
		"spiderboost: period = -1: must be": func() (optimize.Plan,
			error) {
			return boost(firstorder.SpiderBoost{Period: -1})
		},
		"spiderboost: anchor share = 1: must": func() (optimize.Plan,
			error) {
			return boost(firstorder.SpiderBoost{AnchorShare: 1})
		},
		"spiderboost: anchor share = NaN: must": func() (optimize.Plan,
			error) {
			return boost(firstorder.SpiderBoost{AnchorShare: nan})
		},
		"spiderboost: anchor share = -0.1: must": func() (optimize.Plan,
			error) {
			return boost(firstorder.SpiderBoost{AnchorShare: -.1})
		},
		"spiderboost: step scale = +Inf: must": func() (optimize.Plan,
			error) {
			return boost(firstorder.SpiderBoost{StepScale: inf})
		},
		"output = output(9): must be one of [tail": func() (optimize.Plan,
			error) {
			return boost(firstorder.SpiderBoost{Output: unknown})
		},
		"ball fraction = 1.5: must be 0": func() (optimize.Plan, error) {
			return boost(firstorder.SpiderBoost{Ball: optimize.DifferenceBall{Fraction: 1.5}})
		},
		"ball fraction = -0.5: must be 0": func() (optimize.Plan, error) {
			return storm(firstorder.STORM{Ball: optimize.DifferenceBall{Fraction: -.5}})
		},
		"ball fraction = NaN: must be 0": func() (optimize.Plan, error) {
			return storm(firstorder.STORM{Ball: optimize.DifferenceBall{Fraction: nan}})
		},
		"storm: steps = -1: must be": func() (optimize.Plan,
			error) {
			return storm(firstorder.STORM{Steps: -1})
		},
		"storm: steps = 1000001: must be": func() (optimize.Plan,
			error) {
			return storm(firstorder.STORM{Steps: 1_000_001})
		},
		"storm: step scale = NaN: must be": func() (optimize.Plan,
			error) {
			return storm(firstorder.STORM{StepScale: nan})
		},
		"storm: step scale = -4: must be": func() (optimize.Plan,
			error) {
			return storm(firstorder.STORM{StepScale: -4})
		},
		"storm: front load = 1.01: must be": func() (optimize.Plan,
			error) {
			return storm(firstorder.STORM{FrontLoad: 1.01})
		},
		"storm: front load = NaN: must be": func() (optimize.Plan,
			error) {
			return storm(firstorder.STORM{FrontLoad: nan})
		},
		"output = output(9): must be one of [tail-": func() (optimize.Plan,
			error) {
			return storm(firstorder.STORM{Output: unknown})
		},
	} {
		p, err := plan()
		if err == nil || !strings.Contains(err.Error(), "optimize: "+want) {
			t.Errorf("error %v: want %q", err, want)
		}
		if err != nil && p != nil {
			t.Errorf("%s: a plan beside the error", want)
		}
	}
}

func TestInvalidProblems(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	given := size{Records: 1000, Mu: .5}
	for want, change := range map[string]func(p *optimize.Problem, s *size){
		"dimension = 0: must be >= 1": func(p *optimize.Problem,
			_ *size) {
			p.Shape = optimize.Vector(0)
		},
		"start has 1 coordinates: must have 3":      func(p *optimize.Problem, _ *size) { p.Start = []float64{1} },
		"Lipschitz constant = 0: must be finite":    func(p *optimize.Problem, _ *size) { p.Constants.Lipschitz = 0 },
		"Lipschitz constant = +Inf: must be finite": func(p *optimize.Problem, _ *size) { p.Constants.Lipschitz = inf },
		"curvature = [1, 0]: must be a finite interval": func(p *optimize.Problem,
			_ *size) {
			p.Constants.Curvature = loss.CurvatureInterval{Lo: 1}
		},
		"curvature = [NaN, 1]: must be a finite interval": func(p *optimize.Problem,
			_ *size) {
			p.Constants.Curvature = loss.CurvatureInterval{Lo: nan, Hi: 1}
		},
		"curvature = [0, +Inf]: must be a finite": func(p *optimize.Problem,
			_ *size) {
			p.Constants.Curvature.Hi = inf
		},
		"curvature = [0, 0]: must hold more than 0": func(p *optimize.Problem,
			_ *size) {
			p.Constants.Curvature = loss.CurvatureInterval{}
		},
		"initial gap F0 = NaN: must be finite": func(p *optimize.Problem,
			_ *size) {
			p.Constants.InitialGap = nan
		},
		"initial gap F0 = 0: must be finite": func(p *optimize.Problem, _ *size) { p.Constants.InitialGap = 0 },
		"records = 0: must be finite":        func(_ *optimize.Problem, s *size) { s.Records = 0 },
		"records = +Inf: must be finite":     func(_ *optimize.Problem, s *size) { s.Records = inf },
		"mu = -1: must be finite":            func(_ *optimize.Problem, s *size) { s.Mu = -1 },
		"mu = NaN: must be finite":           func(_ *optimize.Problem, s *size) { s.Mu = nan },
		"relation = relation(3): must be":    func(_ *optimize.Problem, s *size) { s.Neighbours = 3 },
	} {
		p, s := optimizetest.Problems()[2].Public, given
		change(&p, &s)
		for _, m := range methods(settings{}) {
			if _, err := m.plan(p, s); err == nil || !strings.Contains(err.Error(), "optimize: "+want) {
				t.Errorf("%s: error %v: want %q", m.name, err, want)
			}
		}
		if _, err := (choose.Auto{}).Plan(ctx, with(p, s)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("auto: error %v: want %q", err, want)
		}
	}
}

// TestZeroValuesMeanWhatTheySay: a zero setting must give the same plan as the default value written
// out.
func TestZeroValuesMeanWhatTheySay(t *testing.T) {
	p := optimizetest.Problems()[2]
	s := size{Records: 30000, Mu: .25}
	last := optimize.Last
	outline := func(plan optimize.Plan, err error) optimize.Summary { return resolve(t, plan, err).Summary() }
	gd := func(c firstorder.GD) optimize.Summary {
		plan, err := c.Plan(ctx, with(p.Public, s))
		return outline(plan, err)
	}
	boost := func(c firstorder.SpiderBoost) optimize.Summary {
		plan, err := c.Plan(ctx, with(p.Public, s))
		return outline(plan, err)
	}
	storm := func(c firstorder.STORM) optimize.Summary {
		plan, err := c.Plan(ctx, with(p.Public, s))
		return outline(plan, err)
	}
	if a, b := gd(firstorder.GD{}), gd(firstorder.GD{Multiplier: 4, StepScale: 4, Output: optimize.TailAverage}); a != b {
		t.Errorf("gd: %+v and %+v", a, b)
	}
	if a, b := boost(firstorder.SpiderBoost{}),
		boost(firstorder.SpiderBoost{StepScale: 4, AnchorShare: .8, Output: optimize.TailAverage}); a != b {
		t.Errorf("spiderboost: %+v and %+v", a, b)
	}
	if a, b := storm(firstorder.STORM{}), storm(firstorder.STORM{StepScale: 4, Output: last}); a != b {
		t.Errorf("storm: %+v and %+v", a, b)
	}
	// A nil set means the whole space, and a nil regularizer means no regularizer.
	same := p.Public
	same.Set, same.Regularizer, same.Start = convex.Whole{}, loss.None(), make([]float64, p.Public.Dim())
	plan, err := firstorder.GD{}.Plan(ctx, with(same, s))
	if a, b := gd(firstorder.GD{}), outline(plan, err); a != b {
		t.Errorf("problem: %+v and %+v", a, b)
	}
}
