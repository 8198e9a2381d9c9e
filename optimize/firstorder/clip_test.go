package firstorder_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestClipIsSeen runs fits of numbers of which a column has far values, and computes from the rows what the last clip norm
// holds back at the result. The trace must state it within five deviations of its noise, and the noise must be that of two
// answers whose limits are the squared clip norm and three times it. Other problems must not release it, and each run
// charges the budget.
func TestClipIsSeen(t *testing.T) {
	huber, err := loss.Huber(.3)
	if err != nil {
		t.Fatal(err)
	}
	squared, err := loss.Squared(.5)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		loss   loss.RankOne
		change func(*optimize.Problem)
		want   bool
	}{
		"huber":      {huber, func(*optimize.Problem) {}, true},
		"squared":    {squared, func(*optimize.Problem) {}, true},
		"logistic":   {loss.Logistic(), func(*optimize.Problem) {}, false},
		"not stated": {huber, func(p *optimize.Problem) { p.Explained = false }, false},
		"small":      {huber, func(p *optimize.Problem) { p.Mu /= 30 }, false},
	} {
		r := rand.New(rand.NewPCG(7, 8))
		var rows [][]float32
		var targets []float64
		for range 400 {
			far := min(math.Exp(.9*r.NormFloat64())/20, 1)
			rows = append(rows, []float32{float32(.577 * (2*far - 1)), float32(.577 * (2*r.Float64() - 1)), .577})
			y := min(max(2*math.Sqrt(far)-.8+.1*r.NormFloat64(), -1), 1)
			if !loss.IsHuber(c.loss) && c.loss.Name() != "squared(0.5)" {
				y = math.Copysign(1, y)
			}
			targets = append(targets, y)
		}
		b, err := account.NewBudget(4, 1e-6, account.ReplaceOne)
		if err != nil {
			t.Fatal(err)
		}
		o := optimizetest.New(optimizetest.Config{Rows: rows, Targets: targets, Repeat: 100, Loss: c.loss, Budget: b, Seed: 5,
			Declared: 40_000})
		p, err := optimize.NewProblem(c.loss, b, o)
		if err != nil {
			t.Fatal(err)
		}
		p.Explained = true
		c.change(&p)
		plan, err := firstorder.Preconditioned{}.Plan(ctx, p)
		result := run(t, resolve(t, plan, err), o)
		if got := result.Trace.ClippedSigma > 0; got != c.want {
			t.Errorf("%s: what the clip holds back has noise %v", name, result.Trace.ClippedSigma)
			continue
		}
		_, charged := charges(o.Asked)
		sum := 0.
		for _, v := range charged {
			sum += v
		}
		if !(math.Abs(sum/p.Charge()-1) <= 1e-6) {
			t.Errorf("%s: charges of %v: must be %v", name, sum, p.Charge())
		}
		if !c.want {
			continue
		}
		var clip, spent float64
		var sigmas, costs []float64
		var metric query.Metric
		for _, a := range o.Asked {
			term := a.Question.Term(0)
			switch {
			case term.Kind() == query.MetricGradient:
				clip, metric = term.Ball().Radius, term.Metric()
			case term.Kind() == query.SquaredSlope:
				sigmas, costs = append(sigmas, a.Answer.Sigma), append(costs, a.Question.Charge())
			}
		}
		sigmas, costs = sigmas[len(sigmas)-2:], costs[len(costs)-2:]
		if spent = (costs[0] + costs[1]) / (p.Charge() * .9); !(math.Abs(spent/.03-1) <= .05) {
			t.Errorf("%s: the last two mean squares cost %v of the steps' budget", name, spent)
		}
		if ratio := costs[0] / costs[1]; !(math.Abs(ratio/3-1) <= 1e-6) { // in proportion to their limits
			t.Errorf("%s: the first of them costs %v times the second: must be 3", name, ratio)
		}
		held := 0.
		for i, x := range rows {
			z, slope := 0., []float64{0}
			for j, v := range x {
				z += float64(v) * result.W[j]
			}
			c.loss.Slopes(slope, []float64{z}, []float64{targets[i]})
			square := 0.
			for _, v := range metric.Times([]float64{float64(x[0]), float64(x[1]), float64(x[2])}) {
				square += v * v * slope[0] * slope[0]
			}
			over := square/(clip*clip) - 1
			held += min(max(over, 0), 2) / float64(len(rows))
		}
		got, noise := result.Trace.Clipped, result.Trace.ClippedSigma
		if want := math.Hypot(sigmas[0], sigmas[1]) / (clip * clip); !(math.Abs(noise/want-1) <= 1e-3) {
			t.Errorf("%s: noise of %v is stated: that of the two means is %v", name, noise, want)
		}
		if !(math.Abs(got-held) <= 5*noise) || !(noise < held/3) {
			t.Errorf("%s: %v with noise of %v: must be near %v", name, got, noise, held)
		}
	}
}

// TestUsualClipOfWeights tests the default ratio of the clip norm to the root mean square gradient: 1.4 log10 N up to 4.667
// for two classes of rows with weights, .9 log10 N up to 4 for other rows and for numbers.
func TestUsualClipOfWeights(t *testing.T) {
	squared, err := loss.Squared(.5)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		loss     loss.Loss
		weighted bool
		N, want  float64
	}{
		{loss.Logistic(), true, 1000, 4.2}, {loss.Logistic(), true, 1e4, 1.4 / .3}, {loss.Logistic(), false, 1000, 2.7},
		{squared, true, 1000, 2.7}, {loss.Logistic(), false, 1e6, 4}, {loss.Logistic(), true, 5, 1.2},
	} {
		b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
		if err != nil {
			t.Fatal(err)
		}
		p, err := optimize.NewProblem(c.loss, b, optimize.Stated(8, 10_000))
		if err != nil {
			t.Fatal(err)
		}
		p.Weighted = c.weighted
		if got := firstorder.UsualClip(p, c.N); !(math.Abs(got-c.want) <= 1e-9) {
			t.Errorf("%s, weighted %v, N %v: %v: must be %v", c.loss.Name(), c.weighted, c.N, got, c.want)
		}
	}
}

// TestWhoseClipIsSeen tests, with one change a case, that a run releases what the clip holds back for numbers of one margin
// with a smooth loss, from an effective size of 1000 on.
func TestWhoseClipIsSeen(t *testing.T) {
	huber, err := loss.Huber(.3)
	if err != nil {
		t.Fatal(err)
	}
	b, err := account.NewBudget(4, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	sized := func(p *optimize.Problem, size float64) { p.Records *= size / p.Effective() }
	for name, c := range map[string]struct {
		change func(*optimize.Problem)
		want   bool
	}{
		"as it is":                {func(*optimize.Problem) {}, true},
		"size 1000":               {func(p *optimize.Problem) { sized(p, 1000.001) }, true},
		"size below it":           {func(p *optimize.Problem) { sized(p, 999.999) }, false},
		"classes":                 {func(p *optimize.Problem) { p.Real = false }, false},
		"not explained":           {func(p *optimize.Problem) { p.Explained = false }, false},
		"several margins":         {func(p *optimize.Problem) { p.Shape.Margins = 2 }, false},
		"several records":         {func(p *optimize.Problem) { p.RankOne = false }, false},
		"a slope that jumps":      {func(p *optimize.Problem) { p.Kinked = loss.Hinge() }, false},
		"a curvature of any size": {func(p *optimize.Problem) { p.Constants.Curvature.Hi = math.Inf(1) }, false},
		"too many features":       {func(p *optimize.Problem) { p.Shape.Features = query.MaxPairs + 1; sized(p, 2000) }, false},
		"counts from a base rate": {func(p *optimize.Problem) {
			p.Counts, p.Base = true, &optimize.Base{Margins: []float64{-1}, Curvature: .3}
		}, false},
		"counts without base rate": {func(p *optimize.Problem) { p.Counts = true }, true},
	} {
		p, err := optimize.NewProblem(huber, b, optimize.Stated(3, 40_000))
		if err != nil {
			t.Fatal(err)
		}
		p.Explained = true
		if c.change(&p); firstorder.SeesClip(p) != c.want {
			t.Errorf("%s: %v", name, !c.want)
		}
	}
}

// TestClipHoldsUncommonLevels runs fits of two classes of which one is uncommon, with a level that 5% of the rows have. Where
// noise allows, the last clip norm must be that of the longest gradient of a row of the level, L0 sqrt(d_eff + 20) with two
// directions of the rows (levels below 1.5% count as none), and for counts 1.5 times that: within 3%, for noise in the share.
// Where noise does not allow it, or a clip scale is set, it must be less by a fifth.
func TestClipHoldsUncommonLevels(t *testing.T) {
	for name, c := range map[string]struct {
		scale  float64
		every  int // one row in so many has the level
		change func(*optimize.Problem)
		holds  bool
	}{
		"level":           {0, 20, func(*optimize.Problem) {}, true},
		"a level of 2%":   {0, 50, func(*optimize.Problem) {}, true},
		"a level of 1%":   {0, 100, func(*optimize.Problem) {}, false},
		"just affordable": {0, 20, func(p *optimize.Problem) { p.Mu /= 3.4 }, true},
		"hardly":          {0, 20, func(p *optimize.Problem) { p.Mu /= 4.7 }, false},
		"counts":          {0, 20, func(p *optimize.Problem) { p.Counts = true }, true},
		"set":             {4, 20, func(*optimize.Problem) {}, false},
		"no level":        {0, 20, func(p *optimize.Problem) { p.Groups = nil }, false},
		"not stated":      {0, 20, func(p *optimize.Problem) { p.Explained = false }, false},
		"small":           {0, 20, func(p *optimize.Problem) { p.Mu /= 20 }, false},
	} {
		r := rand.New(rand.NewPCG(3, 9))
		var rows [][]float32
		var targets []float64
		for i := range 400 {
			row, y := []float32{0, .577, .577}, -1.
			if i%c.every == 0 {
				row = []float32{.577, 0, .577}
			}
			if r.Float64() < .1 {
				y = 1
			}
			rows, targets = append(rows, row), append(targets, y)
		}
		b, err := account.NewBudget(4, 1e-6, account.ReplaceOne)
		if err != nil {
			t.Fatal(err)
		}
		o := optimizetest.New(optimizetest.Config{Rows: rows, Targets: targets, Repeat: 100, Loss: loss.Logistic(), Budget: b,
			Seed: 5, Declared: 40_000})
		p, err := optimize.NewProblem(loss.Logistic(), b, o)
		if err != nil {
			t.Fatal(err)
		}
		p.Explained, p.Groups = true, [][2]int{{0, 2}}
		c.change(&p)
		plan, err := firstorder.Preconditioned{ClipScale: c.scale}.Plan(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		result, err := plan.Run(t.Context(), o, nil)
		if err != nil {
			t.Fatal(err)
		}
		ratio := result.Trace.Moment.Clip / math.Sqrt(2+float64(c.every))
		if p.Counts {
			ratio /= 1.5
		}
		if c.holds && !(math.Abs(ratio-1) < .03) || !c.holds && !(ratio < .8) {
			t.Errorf("%s: the last clip norm is %.3f of the longest gradient of the level", name, ratio)
		}
	}
}
