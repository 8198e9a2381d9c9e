package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/internal/synthetic"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
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
	// and their default number; of numbers it follows from the size (see usual). boughtWeight and boughtFeatures are those
	// of fits whose second stage releases a second moment of its own (see transfers).
	effectsWeight   = 3
	effectsFeatures = 700
	boughtWeight    = 2
	boughtFeatures  = 200
)

// deviations are those of the frequencies of features of effects where the metric costs nothing.
var deviations = []float64{4, 2, 1}

// featuresOfEffects is the word for features of effects in model.features.
const featuresOfEffects = "effects"

// FeatureEffects is the meaning of model.features: features of effects with the given norm, before a row is
// divided, and their number.
type FeatureEffects struct {
	Weight   float64
	Features int
}

// String returns the text that ParseFeatures parses as e.
func (e FeatureEffects) String() string {
	return fmt.Sprintf("%s(%s,%d)", featuresOfEffects, strconv.FormatFloat(e.Weight, 'g', -1, 64), e.Features)
}

// ParseFeatures parses effects, effects(WEIGHT) or effects(WEIGHT,FEATURES). A number that the text leaves out is that of
// usual. It returns nil for the empty text.
func ParseFeatures(text string, usual FeatureEffects) (*FeatureEffects, error) {
	if text == "" {
		return nil, nil
	}
	e := &usual
	given := featuresText.FindStringSubmatch(strings.ReplaceAll(text, " ", ""))
	ok := given != nil
	var err error
	if ok && given[1] != "" {
		e.Weight, err = strconv.ParseFloat(given[1], 64)
	}
	if ok && err == nil && given[2] != "" {
		e.Features, err = strconv.Atoi(given[2])
	}
	if !ok || err != nil {
		return nil, fmt.Errorf("model.features = %q: must be effects, effects(WEIGHT) with a weight such as 5, or "+
			"effects(WEIGHT,FEATURES)", text)
	}
	return e, nil
}

// featuresText matches a text of model.features.
var featuresText = regexp.MustCompile("^" + featuresOfEffects + `(?:\(([^,]+)(?:,(.+))?\))?$`)

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
func (c *Config) finds() (*FeatureEffects, error) { return c.findsAt(math.Inf(1), 1) }

// findsAt is finds for a fit of a given size (sizeOf) and number of records, on which the numbers that model.features
// leaves out depend.
func (c *Config) findsAt(size, records float64) (*FeatureEffects, error) {
	e, err := ParseFeatures(c.Model.Features, bought)
	if e == nil || err != nil {
		return nil, err
	}
	l, err := c.loss()
	if err != nil {
		return nil, err
	}
	if transfers(c.Schema, l, size) {
		if e, err = ParseFeatures(c.Model.Features, usual(l, size, records)); err != nil {
			return nil, err
		}
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
		return nil, errors.New("model.features: must be left out where a column is monotone, since features of effects are not monotone")
	case selects || c.Train.Algorithm != "" && c.Train.Algorithm != "auto" && c.Train.Algorithm != "preconditioned":
		return nil, errors.New("train.algorithm: must be preconditioned where model.features is given, without output: " +
			"selected, or be left out: the scale of effects comes from the second moment that it releases")
	}
	return e, nil
}

// bought are the features of effects that a text without numbers means where the second stage releases a second moment,
// and in journals of versions that knew no other.
var bought = FeatureEffects{boughtWeight, boughtFeatures}

// usual returns the features of effects that a text without numbers means where the metric costs nothing. For numbers
// more features gain as the size grows (lab/results/families.md). The time of a fit grows with the records and the
// square of the features, so beyond 250,000 records they are fewer, but at least 700.
func usual(l loss.Loss, size, records float64) FeatureEffects {
	e := FeatureEffects{effectsWeight, effectsFeatures}
	if kindOf(l) == "numbers" {
		most := max(effectsFeatures, 700_000/math.Sqrt(records))
		e.Features = 2 * int(min(max(11*math.Pow(size, .4), 100), 700, most/2))
	}
	return e
}

// transfers reports whether the metric of the second stage is computed from the releases of the first, through a
// synthetic table, so that it costs no budget. It is public. s is the schema without features of effects, and l the
// loss. The certificate must hold the second moment of the first stage, from which the metric can be computed again. The
// curvature of counts has no useful bound, and for classes small fits lose (lab/results/accuracy.md).
func transfers(s *dataset.Schema, l loss.Loss, size float64) bool {
	glm, ok := l.(loss.RankOne)
	return ok && s.Dim() <= runrecord.MostMoment && !loss.Counts(l) && (glm.Target() == loss.Real || size >= leastClasses)
}

// leastClasses is the least size of a fit of classes whose metric costs nothing.
const leastClasses = 6000

// knots returns the configuration's schema with its knots for a fit of the given size (dataset.Schema.Resolve). With
// features of effects it takes the largest size, of at least leastKnots, for which the certificate can hold the second
// moment of the first stage, if there is such a size: finer curves would cost the metric of the second stage.
func (c *Config) knots(size float64) (*dataset.Schema, dataset.Resolved, error) {
	schema, choices, err := c.Schema.Resolve(size)
	if c.Inference != nil && len(choices.Curves) > 0 {
		schema, choices, err = c.Schema.Resolve(c.inferable(size))
	}
	if err != nil || c.Model.Features == "" || schema.Dim() <= runrecord.MostMoment {
		return schema, choices, err
	}
	for less := size * .9; less >= leastKnots; less *= .9 {
		if s, r, err := c.Schema.Resolve(less); err == nil && s.Dim() <= runrecord.MostMoment {
			return s, r, nil
		}
	}
	return schema, choices, nil
}

// inferable returns the size, at most the given one, whose curves have few enough knots for confidence intervals: about
// .135 sqrt(size)/max(3, columns), between 3 and 11. With more knots, noise hides the rows near one of them, and then the
// whole curve has no interval (lab/coverage/results.md). The knots of a size are .42 times its cube root, below 20,000
// (dataset.Schema.Resolve). Interactions with numbers need a size of 1500, which is kept for them.
func (c *Config) inferable(size float64) float64 {
	least := 300.
	if len(c.Schema.Interactions()) > 0 {
		least = 1500
	}
	each := size / float64(max(1, len(c.Schema.Target().Classes)-1))
	knots := .135 * math.Sqrt(each) / float64(max(3, len(c.Schema.Columns())))
	return min(size, max(least, math.Pow(knots/.42, 3)), 19_999)
}

// leastKnots is the least size to which knots reduces a size. Below it curves lose their knots and interactions.
const leastKnots = 2000

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
	// transferred says that the metric of the second stage costs nothing (see transfers). metric has its certificate's
	// facts after the run.
	transferred bool
	metric      *runrecord.Synthetic
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
	a, err := t.algorithm()
	if err != nil {
		return nil, nil, err
	}
	l, err := c.loss()
	if err != nil {
		return nil, nil, err
	}
	s := &Stage{Share: firstShare, Second: 1 - firstShare, algorithm: a, effects: e, second: p, transferred: transfers(c.Schema, l, sizeOf(p.Budget, p.Records))}
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
	if s.transferred {
		with, err := e.placeholder(c.Schema)
		if err != nil {
			return nil, nil, err
		}
		s.algorithm = firstorder.Transferred{Preconditioned: a.(firstorder.Preconditioned), Intercept: 1 / with.Scale()}
	}
	plan, err := s.algorithm.Plan(ctx, s.second)
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
	if s.transferred {
		e.Deviations = deviations
	}
	means := r.Rows.Means(1 / base.Scale())
	variance := 0.
	for _, of := range base.Ranges() {
		v := make([]float64, len(r.W))
		copy(v[of.First:of.First+of.Width], r.W[of.First:])
		centre := vector.Dot(means, v)
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

// synthesised returns the second moment of the features of the schema with, by a synthetic table that has the second
// moment that the first stage released. base is the schema without features of effects, and first the result of the
// first stage.
func synthesised(base, with *dataset.Schema, first optimize.Result, seed uint64) ([]float64, *runrecord.Synthetic, error) {
	m := first.Trace.Moment
	if m == nil {
		return nil, nil, errors.New("model.features: the first stage released no second moment")
	}
	moment, err := m.About0()
	if err != nil {
		return nil, nil, fmt.Errorf("model.features: %w", err)
	}
	population, err := synthetic.New(base, moment, first.W, seed, synthetic.Rows)
	if err != nil {
		return nil, nil, fmt.Errorf("model.features: %w", err)
	}
	out, err := population.Moment(with)
	law := first.Trace.Compact()
	law.Moment, law.Scales = nil, nil
	return out, &runrecord.Synthetic{Rows: synthetic.Rows, Moment: m, Distance: population.Error, Law: &law}, err
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
	problem, algorithm := s.second, s.algorithm
	problem.Start = start
	if t, ok := algorithm.(firstorder.Transferred); ok && err == nil {
		t.Moment, s.metric, err = synthesised(base, schema, first, seed)
		algorithm = t
	}
	var plan optimize.Plan
	if err == nil {
		plan, err = algorithm.Plan(ctx, problem)
	}
	if err != nil {
		first.Complete = false
		return first, base, err
	}
	before, charged = first.Steps, last
	result, err := plan.Run(ctx, o, shown)
	result.Steps += first.Steps
	// The trace has the noise of the second stage alone, and its start is noisy, too.
	result.Trace = result.Trace.WithoutNoise()
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
			e, _ := schema.Effects()
			return o.write(Line{Found: &e})
		}, observe)
	}
	result, err := p.plan.Run(ctx, o, observe)
	return result, c.Schema, err
}

// foundIn says in a run's record how the features of effects of a schema were found; nil if it has none. had has the
// synthetic table of the run.
func foundIn(s *dataset.Schema, had *runrecord.Effects) *runrecord.Effects {
	e, ok := s.Effects()
	if !ok {
		return nil
	}
	found := &runrecord.Effects{Features: e.Features, Weight: e.Weight, Scale: e.Scale}
	if had != nil {
		found.Synthetic = had.Synthetic
	}
	return found
}
