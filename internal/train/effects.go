package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/firstorder"
)

// A fit with model.features: effects has two stages on one session and one ledger. The first stage fits the
// additive model of the schema. Its released weights and second moment determine the effects of columns and
// the scale of effects, which costs nothing more. The second stage continues from the weights of the first, on rows
// that also have the features of effects (dataset.Effects).
const (
	// firstShare is the share of the first stage in what the comparison and the measurement leave of the budget.
	// With less, effects are mostly noise, and with more, their combinations are (lab/results/accuracy.md).
	firstShare = .3
	// effectsWeight and effectsFeatures are the default norm of the features of effects, before a row is divided,
	// and their default number.
	effectsWeight   = 2
	effectsFeatures = 200
)

// featuresOfEffects is the word for features of effects in model.features.
const featuresOfEffects = "effects"

// FeatureEffects is the meaning of model.features: features of effects with the given norm, before a row is
// divided, and their number.
type FeatureEffects struct {
	Weight   float64
	Features int
}

// ParseFeatures parses effects, effects(WEIGHT) or effects(WEIGHT,FEATURES). It returns nil for the empty text.
func ParseFeatures(text string) (*FeatureEffects, error) {
	if text == "" {
		return nil, nil
	}
	e := &FeatureEffects{effectsWeight, effectsFeatures}
	rule := fmt.Errorf("model.features = %q: must be effects, effects(WEIGHT) with a weight such as 5, or "+
		"effects(WEIGHT,FEATURES)", text)
	rest, ok := strings.CutPrefix(strings.ReplaceAll(text, " ", ""), featuresOfEffects)
	if !ok || rest == "" {
		if !ok {
			return nil, rule
		}
		return e, nil
	}
	inside, opened := strings.CutPrefix(rest, "(")
	inside, closed := strings.CutSuffix(inside, ")")
	if !opened || !closed {
		return nil, rule
	}
	weight, features, counted := strings.Cut(inside, ",")
	var err error
	if e.Weight, err = strconv.ParseFloat(weight, 64); err != nil {
		return nil, rule
	}
	if counted {
		if e.Features, err = strconv.Atoi(features); err != nil {
			return nil, rule
		}
	}
	return e, nil
}

// placeholder returns a schema of the dimension and the scale that s has with features of effects. Its effects
// are zero.
func (e *FeatureEffects) placeholder(s *dataset.Schema) (*dataset.Schema, error) {
	with, err := s.WithEffects(dataset.Effects{Features: e.Features, Weight: e.Weight, Scale: 1,
		Centres: make([]float64, len(s.Ranges())), Weights: make([]float64, s.Dim())})
	if err != nil {
		return nil, fmt.Errorf("model.features: %w", err)
	}
	return with, nil
}

// finds returns the effects that a configuration is to find, or nil if it has no model.features. It returns an error
// for a configuration whose fit cannot have them.
func (c *Config) finds() (*FeatureEffects, error) {
	e, err := ParseFeatures(c.Model.Features)
	if e == nil || err != nil {
		return nil, err
	}
	l, err := c.loss()
	if err != nil {
		return nil, err
	}
	selects := c.Train.Settings["output"] == selected
	switch {
	case loss.Count(loss.RowLoss(l)) != 1:
		return nil, fmt.Errorf("model.features: loss %s: must have one margin: that of a linear model of a number, a "+
			"count or two classes", l.Name())
	case math.IsInf(l.Constants().Curvature.Hi, 1):
		return nil, fmt.Errorf("model.features: loss %s: must have no corners: algorithm preconditioned, which features of "+
			"effects need, is for smooth losses", l.Name())
	case c.Schema.Unit() != (dataset.Unit{}):
		return nil, errors.New("schema.unit: model.features must be left out: algorithm preconditioned, which it needs, is " +
			"for records of one row")
	case c.Inference != nil:
		return nil, errors.New("inference: model.features must be left out: intervals are of a linear model whose " +
			"features are fixed before the fit")
	case c.Model.Reduce != "":
		return nil, errors.New("model.reduce: must be left out where model.features is given: projected rows have no columns")
	case c.Schema.Monotonic():
		return nil, errors.New("model.features: must be left out where a column is monotone: features of effects are not")
	case selects || c.Train.Algorithm != "" && c.Train.Algorithm != "auto" && c.Train.Algorithm != "preconditioned":
		return nil, errors.New("train.algorithm: must be preconditioned where model.features is given, without output: " +
			"selected, or be left out: the scale of effects comes from the second moment that it releases")
	}
	return e, nil
}

// of returns a copy of the configuration with another schema.
func (c *Config) of(s *dataset.Schema) *Config {
	with := *c
	with.Schema = s
	return &with
}

// Stage is the first of two stages of a fit with model.features: effects, in which the additive model is fitted.
type Stage struct {
	// Share is the stage's share of the budget that is left for training, and Second that of the second stage.
	Share  float64 `json:"share"`
	Second float64 `json:"second_share"`
	// Summary describes the first stage alone.
	Summary optimize.Summary `json:"plan"`

	plan optimize.Plan
	// second is the problem of the second stage without its start, and algorithm its algorithm.
	second    optimize.Problem
	algorithm optimize.Algorithm
	effects   FeatureEffects
	steps     int // of both stages
}

// stages plans a fit with features of effects. c is the configuration, and p the problem of the second stage
// with the budget of both. If p has a base rate, which rate releases, the first stage begins there. stages returns
// the first stage and the plan of the second.
func (c *Config) stages(ctx context.Context, p optimize.Problem, e FeatureEffects, rate optimize.BaseRate) (*Stage,
	optimize.Plan, error) {
	t := c.Train
	t.Algorithm = "preconditioned"
	a, err := t.settle()
	if err != nil {
		return nil, nil, err
	}
	s := &Stage{Share: firstShare, Second: 1 - firstShare, algorithm: a, effects: e, second: p}
	first, _, err := c.Problem(p.Budget, p.Records)
	if err != nil {
		return nil, nil, err
	}
	first.Seed, first.Mu = p.Seed, p.Mu*math.Sqrt(firstShare)
	if p.Base != nil {
		first = rate.Begin(first, *p.Base)
		s.second.Constants.InitialGap = first.Constants.InitialGap
	}
	s.second.Mu = p.Mu * math.Sqrt(1-firstShare)
	if firstorder.Diagonal(first) {
		return nil, nil, fmt.Errorf("model.features: rows have %d features: too many for a second moment, from which the "+
			"scale of effects comes", first.Shape.Features)
	}
	if err := (firstorder.Preconditioned{}).Serves(s.second); err != nil && firstorder.Diagonal(s.second) {
		return nil, nil, fmt.Errorf("model.features: %d features of rows and %d of effects: must be fewer: %w",
			first.Shape.Features, e.Features, err)
	}
	if s.plan, err = a.Plan(ctx, first); err != nil {
		return nil, nil, err
	}
	s.Summary = s.plan.Summary()
	plan, err := a.Plan(ctx, s.second)
	if err == nil {
		s.steps = s.Summary.Steps + plan.Summary().Steps
	}
	return s, plan, err
}

// Features returns the number of features of effects of the second stage.
func (s *Stage) Features() int { return s.effects.Features }

// both returns the summary of both stages together. o is the summary of the second stage.
func (s *Stage) both(o optimize.Summary) optimize.Summary {
	o.Charges = fmt.Sprintf("%.3g to the additive model in %d steps (of it %s), %.3g to the features of effects with it "+
		"(of it %s)", s.Share, s.Summary.Steps, s.Summary.Charges, s.Second, o.Charges)
	o.Steps += s.Summary.Steps
	o.Passes += s.Summary.Passes
	o.PairPasses += s.Summary.PairPasses
	return o
}

// found returns the schema with features of the effects that the first stage found, and the weights with which
// rows of this schema have the scores of the first stage. r is the result of that stage.
func (s *Stage) found(base *dataset.Schema, r optimize.Result, seed uint64) (*dataset.Schema, []float64, error) {
	if r.Rows == nil {
		return nil, nil, errors.New("model.features: the first stage released no second moment")
	}
	e := dataset.Effects{Seed: seed, Features: s.effects.Features, Weight: s.effects.Weight, Weights: r.W}
	means := r.Rows.Means(1 / base.Scale())
	variance := 0.
	for _, of := range base.Ranges() {
		v := make([]float64, len(r.W))
		copy(v[of.First:of.First+of.Width], r.W[of.First:])
		centre := 0.
		for j, m := range means {
			centre += float64(m * v[j])
		}
		square := r.Rows.Square(v)
		if r.Rows.Mean == nil { // the second moment is about 0
			square -= float64(centre * centre)
		}
		e.Centres = append(e.Centres, centre)
		variance += max(square, 0)
	}
	// Without effects, any scale gives the same features.
	if e.Scale = math.Sqrt(variance); !(e.Scale > leastScale) {
		e.Scale = 1
	}
	with, err := base.WithEffects(e)
	if err != nil {
		return nil, nil, fmt.Errorf("model.features: %w", err)
	}
	return with, Header{Schema: with}.Begins(r.W), nil
}

// leastScale is the least scale of effects. Below it effects are no more than rounding.
const leastScale = 1e-9

// Run makes both stages. base is the schema of the rows in the oracle, without features of effects, and seed the
// seed of the plan. Run calls refine between the stages, with the schema of the rows about which the second stage
// makes its queries. It returns the result of the second stage and that schema. If the run ends before
// refine returned nil, it returns the result of the first stage, and base. observe may be nil.
func (s *Stage) Run(ctx context.Context, o optimize.Oracle, base *dataset.Schema, seed uint64,
	refine func(*dataset.Schema) error, observe func(Step)) (optimize.Result, *dataset.Schema, error) {
	var before int
	var charged, last float64
	shown := func(step Step) {
		step.Number, step.Charged = step.Number+before, step.Charged+charged
		step.Of, last = s.steps, step.Charged
		if observe != nil {
			observe(step)
		}
	}
	first, err := s.plan.Run(ctx, o, shown)
	var schema *dataset.Schema
	var start []float64
	if err == nil {
		schema, start, err = s.found(base, first, seed)
	}
	if err == nil {
		err = refine(schema)
	}
	if err != nil {
		first.Complete = false
		return first, base, err
	}
	problem := s.second
	problem.Start = start
	plan, err := s.algorithm.Plan(ctx, problem)
	if err != nil {
		first.Complete = false
		return first, base, err
	}
	before, charged = first.Steps, last
	result, err := plan.Run(ctx, o, shown)
	result.Steps += first.Steps
	// The law states the noise of the second stage alone, and its start is noisy, too.
	result.Trace.Unstated = true
	return result, schema, err
}

// run runs the plan of a fit, in two stages if the plan has two. It returns the result, and the schema of the rows to
// whose features the result's weights belong.
func (c *Config) run(ctx context.Context, p *prepared, o *recorder, observe func(Step)) (optimize.Result,
	*dataset.Schema, error) {
	if s := p.planned.First; s != nil {
		return s.Run(ctx, o, c.Schema, p.planned.Seed, func(schema *dataset.Schema) error {
			if err := p.session.Refine(schema); err != nil {
				return err
			}
			return o.found(schema)
		}, observe)
	}
	result, err := p.plan.Run(ctx, o, observe)
	return result, c.Schema, err
}

// foundIn says in a run's record how the features of effects of a schema were found; nil if it has none.
func foundIn(s *dataset.Schema) *runrecord.Effects {
	e, ok := s.Effects()
	if !ok {
		return nil
	}
	return &runrecord.Effects{Features: e.Features, Weight: e.Weight, Scale: e.Scale}
}
