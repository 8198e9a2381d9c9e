package firstorder_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
	"github.com/stillpoint-dp/stillpoint/optimizetest"
	"github.com/stillpoint-dp/stillpoint/query"
)

// alike is an oracle that answers queries about a loss of several margins as if every margin were the
// same: each margin gets the answer of a loss with one margin. The answers are random numbers, not
// computed from records.
type alike struct {
	*optimizetest.Oracle
	margins int
	random  *rand.Rand
	clips   []float64
}

func (o *alike) Ask(_ context.Context, q query.Question) (query.Release, error) {
	term := q.Terms()[0]
	features := len(term.Point()) / o.margins
	answer := query.Release{Sigma: 1e-3, Charge: q.Charge()}
	switch term.Kind() {
	case query.SecondMoment:
		features = len(term.Point())
		for j := range features {
			for k := j; k < features; k++ {
				v := .02 * o.random.NormFloat64()
				if j == k {
					v += .5 / float64(j+1)
				}
				answer.Mean = append(answer.Mean, v)
			}
		}
		return answer, nil
	case query.SquaredSlope:
		answer.Mean = []float64{.3 + .2*o.random.Float64()}
		return answer, nil
	}
	o.clips = append(o.clips, q.Clip())
	for range features {
		answer.Mean = append(answer.Mean, .1*o.random.NormFloat64())
	}
	answer.Mean = slices.Repeat(answer.Mean, o.margins)
	return answer, nil
}

// TestPreconditionedOfSeveralMargins: one metric, with as many features as rows have, must serve every
// margin. If all margins get equal answers, each margin's weights must equal the weights of a run with
// a single margin, with a regularizer or without, and clip norms and scales must be the same. The test
// fails if the metric is for all parameters together, or is applied to the first margin only.
func TestPreconditionedOfSeveralMargins(t *testing.T) {
	const margins = 3
	for _, regularized := range []bool{false, true} {
		var one optimize.Result
		var clips []float64
		for _, k := range []int{1, margins} {
			p := with(optimizetest.Problems()[2].Public, size{Records: 1e4, Mu: .3})
			p.Set, p.Regularizer, p.Start = nil, nil, nil
			p.Shape = optimize.Shape{Margins: k, Features: 4}
			if regularized {
				p.Regularizer = optimizetest.L2(t, .1)
			}
			plan, err := firstorder.Preconditioned{Steps: 9, ClipScale: 2}.Plan(ctx, p)
			if err != nil {
				t.Fatal(err)
			}
			inner := optimizetest.New(optimizetest.Problems()[2].Config(budget(t), 500, 1))
			o := &alike{Oracle: inner, margins: k, random: rand.New(rand.NewPCG(7, 7))}
			result, err := plan.Run(ctx, o, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(result.Trace.Scales) != 4 {
				t.Errorf("%d margins: %d scales: want one a feature", k, len(result.Trace.Scales))
			}
			if f := result.Foreseen; !(f > 0 && f < 10) {
				t.Errorf("%d margins: foreseen %v", k, f)
			}
			if k == 1 {
				one, clips = result, o.clips
				continue
			}
			if !slices.Equal(clips, o.clips) {
				t.Errorf("clips %v: want %v", o.clips, clips)
			}
			if !slices.Equal(result.W, slices.Repeat(one.W, margins)) {
				t.Errorf("weights %v: want %v for each margin", result.W, one.W)
			}
		}
	}
}

// TestPreconditionedClipScale: kappa, the default ratio of the clip norm to the root mean square
// gradient, must be .9 log10 N for the effective size N. It must be .6 log10 N for several margins
// and for losses with b F0 > 2 L0^2, where b bounds the curvature. The test fails if both cases have
// the same kappa.
func TestPreconditionedClipScale(t *testing.T) {
	for _, c := range []struct {
		margins     int
		gap, growth float64
	}{{1, .7, .9}, {3, .7, .6}, {1, 10, .6}} {
		p := with(optimizetest.Problems()[2].Public, size{Records: 1e4, Mu: .3})
		p.Set, p.Regularizer, p.Start = nil, nil, nil
		p.Shape, p.Constants.InitialGap = optimize.Shape{Margins: c.margins, Features: 4}, c.gap
		var clips [2][]float64
		for i, kappa := range []float64{0, c.growth * math.Log10(p.Effective())} {
			plan, err := firstorder.Preconditioned{Steps: 9, ClipScale: kappa}.Plan(ctx, p)
			if err != nil {
				t.Fatal(err)
			}
			o := &alike{Oracle: optimizetest.New(optimizetest.Problems()[2].Config(budget(t), 500, 1)), margins: c.margins,
				random: rand.New(rand.NewPCG(7, 7))}
			if _, err = plan.Run(ctx, o, nil); err != nil {
				t.Fatal(err)
			}
			clips[i] = o.clips
		}
		if !slices.Equal(clips[0], clips[1]) {
			t.Errorf("%+v: clips %v: want %v", c, clips[0], clips[1])
		}
	}
}

// TestPreconditionedForesees: the gradient norm that a result states (Foreseen) must be within a factor
// 2 of the true gradient norm, in the median over seeds. One case has converged. In the other, rows are
// so short along a feature that its weight has hardly begun to move. The test fails if the gradient
// that answers show beyond noise is left out, or is measured in the metric.
func TestPreconditionedForesees(t *testing.T) {
	problem := optimizetest.Problems()[2]
	for name, c := range map[string]struct {
		short float32
		start float64
		steps int
	}{"converged": {.7, 0, 30}, "begun": {.03, 60, 8}} {
		rows, targets := [][]float32{{.7, c.short}, {.7, -c.short}, {-.7, c.short}, {.7, c.short}}, []float64{1, -1, 1, -1}
		var ratios []float64
		for seed := range uint64(9) {
			o := optimizetest.New(optimizetest.Config{Rows: rows, Targets: targets, Repeat: 50_000, Loss: problem.Loss,
				Budget: budget(t), Seed: seed})
			p := optimize.Problem{Shape: optimize.Vector(2), RankOne: true, Constants: problem.Public.Constants,
				Start: []float64{0, c.start}}
			plan, err := firstorder.Preconditioned{Steps: c.steps}.Plan(ctx, with(p, o.Size()))
			if err != nil {
				t.Fatal(err)
			}
			result := run(t, plan, o)
			family := optimizetest.Problem{Public: p, Loss: problem.Loss, Rows: rows, Targets: targets}
			ratios = append(ratios, length(family.Gradient(result.W))/result.Foreseen)
		}
		slices.Sort(ratios)
		if m := ratios[len(ratios)/2]; !(m > .5 && m < 2) {
			t.Errorf("%s: gradients over foreseen %v", name, ratios)
		}
	}
}
