package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/optimize/choose"
	"github.com/stillpoint-dp/stillpoint/optimize/onestep"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Inference requests confidence intervals of the coefficients. The algorithm is then optimize/onestep,
// which divides the budget between the estimate and its standard errors.
type Inference struct {
	// Level is the nominal coverage of an interval, at least .5 and at most .999; zero means .95.
	Level Positive `yaml:"level"`
	// Rows is weighted (the default) or unweighted. A weighted fit gives rows far from the others a weight below 1.
	// This makes the noise smaller. If the model is wrong, its coefficients are those of the best fit to the weighted
	// rows. An unweighted fit gives every row the weight 1. Its noise is in proportion to the length of the farthest
	// row that the schema allows.
	Rows string `yaml:"rows"`
}

// The values of Inference.Rows.
const weightedRows, unweightedRows = "weighted", "unweighted"

// DefaultLevel is the coverage of intervals for which the configuration states no level.
const DefaultLevel = .95

// intervals returns the settings of the algorithm optimize/onestep, which computes confidence intervals. It returns an
// error for a configuration that changes the meaning of a coefficient or for which intervals have not been validated.
func (c *Config) intervals(l loss.Loss) (onestep.Intervals, error) {
	level := cmp.Or(float64(c.Inference.Level), DefaultLevel)
	var none onestep.Intervals
	if err := inference.CheckLevel(level); err != nil {
		return none, fmt.Errorf("inference: %w", err)
	}
	switch {
	case !slices.Contains([]string{"", weightedRows, unweightedRows}, c.Inference.Rows):
		return none, fmt.Errorf("inference: rows = %q: must be %s or %s", c.Inference.Rows, weightedRows, unweightedRows)
	case c.Train.Algorithm != "" && c.Train.Algorithm != algorithms[0].name || len(c.Train.Settings) > 0:
		return none,
			errors.New("inference: train.algorithm and its settings: must be left out: intervals have a plan of their own")
	case c.Model.Regularizer != "":
		return none, errors.New("inference: model.regularizer: must be left out: it moves the coefficients towards 0, " +
			"and no interval of the coefficients covers that")
	case c.Model.Radius != 0:
		return none,
			errors.New("inference: model.radius: must be left out: an estimate on the boundary of a ball has no interval")
	case c.Model.Reduce != "":
		return none, errors.New("inference: model.reduce: must be left out: shortened rows have coefficients of their own")
	case len(c.Model.Weights) > 0:
		return none, errors.New("inference: model.weights: must be left out: intervals with weights of classes are not " +
			"validated")
	case c.Schema.Target().Weight != "" && c.Schema.Unit().Column != "":
		return none, errors.New("inference: schema.target.weight: must be left out beside schema.unit: intervals with " +
			"weights are validated for records of one row")
	case c.Schema.Target().Weight != "" && loss.RowLoss(l).Target() == loss.Classes:
		return none, errors.New("inference: schema.target.weight: must be left out with several classes: their intervals " +
			"with weights are not validated")
	case c.Schema.Norm() != 0:
		return none,
			errors.New("inference: schema.norm: must be left out: it shortens rows, and so changes what a coefficient is")
	}
	curvature, err := curvatureOf(l)
	if err != nil {
		return none, err
	}
	if slices.Contains([]onestep.Curvature{onestep.Relative, onestep.Ordered, onestep.Softmax}, curvature) && c.Train.Base == Off && !c.Model.Start.Given() {
		return none, fmt.Errorf("inference: train.base: must be a share of the budget with loss %s: the estimate begins "+
			"at the base rate", l.Name())
	}
	columns, err := formula(c.Schema)
	if err != nil {
		return none, err
	}
	a := onestep.Intervals{Level: level, Columns: columns, Curvature: curvature, Intercept: 1 / c.Schema.Scale(),
		Features: c.Schema.Dim(), Rows: corners(c.Schema), Unweighted: c.Inference.Rows == unweightedRows}
	switch t := c.Schema.Target(); {
	case curvature == onestep.Softmax:
		a.Known.Shares = t.Share
	case len(t.Share) != 1:
	case t.Event != "":
		a.Known.Events = t.Share[0]
	case curvature == onestep.Logistic:
		a.Known.Curvature = t.Share[0] * (1 - t.Share[0])
		a.Known.Square = a.Known.Curvature
	case curvature == onestep.Exponential && t.Exposure.Column == "":
		a.Known.Curvature, a.Known.Square = t.Share[0]/t.High, t.Share[0]/(t.High*t.High)
	}
	return a, nil
}

// usualEvents is the share of the records with an event that forecasts assume.
const usualEvents = .25

// mostCountClip is the largest clip of a Poisson loss with intervals. The derivative is the rate minus the count,
// both as shares of the largest count, and so above 1 only where the rate exceeds every possible count.
const mostCountClip = 1

// timesLoss is the default loss of the time to an event, whose derivative is the expected number of events minus 0 or
// 1: a record may be expected to have several. groupedLoss and logitLoss are those of times that are known by interval.
const (
	timesLoss   = "poisson-rate" + timesNumbers
	groupedLoss = "cloglog" + timesNumbers
	logitLoss   = "logit-hazard" + timesNumbers

	timesNumbers = "(" + hazardClip + ",1.52587890625e-05)"
)

// curvatureOf returns the form of the second derivative of a loss in the score: Logistic, Flat (constant), Exponential,
// Relative, Ordered or Softmax. The algorithm optimize/onestep needs it for confidence intervals. For a loss whose intervals
// have not been validated (lab/results/inference.md) curvatureOf returns an error.
func curvatureOf(l loss.Loss) (onestep.Curvature, error) {
	row := loss.RowLoss(l)
	if query.Margins(row, 0) != query.Scored {
		row = loss.Unweighted(l) // weights of rows multiply each derivative and change no ratio
	}
	switch {
	case loss.IsLogistic(row):
		return onestep.Logistic, nil
	case loss.IsSquared(row), loss.IsHuber(row):
		return onestep.Flat, nil
	case loss.Counts(row):
		if clip := row.Constants().Lipschitz; clip > mostCountClip && !strings.HasSuffix(row.Name(), timesNumbers) {
			return 0, fmt.Errorf("inference: loss %s: clip = %v: must be at most %d, since the clip is in units of the "+
				"largest count: a larger clip only adds noise", row.Name(), clip, mostCountClip)
		}
		if g, _ := row.(interface{ Grouped() string }); g != nil && g.Grouped() != "" {
			return onestep.Relative, nil // the ratio is below 1
		}
		return onestep.Exponential, nil
	}
	// Capped costs with zeros cover less than their level (lab/coverage/results.md).
	if _, relative := row.(interface{ LeastMean() float64 }); relative && !strings.HasPrefix(row.Name(), "tweedie") {
		return onestep.Relative, nil
	}
	if query.Margins(row, 0) == query.Scored {
		if _, several := l.(loss.Units); several {
			return 0, fmt.Errorf("inference: schema.unit: must be left out with loss %s: the bound on a record's "+
				"curvature is proved for one row only (docs/explanation/decisions/0078)", row.Name())
		}
		return onestep.Ordered, nil
	}
	const losses = "must be logistic, squared(clip), huber(delta), poisson(clip), poisson-rate(clip,least), gamma(clip), " +
		"negbinomial(theta,clip), that of a time to an event, ordered or softmax"
	if loss.Count(row) > 1 {
		if _, several := l.(loss.Units); several {
			return 0, fmt.Errorf("inference: schema.unit: must be left out with loss %s: fit logistic to each class and a reference "+
				"class (docs/how-to/classes.md)", row.Name())
		}
		return onestep.Softmax, nil
	}
	return 0, fmt.Errorf("inference: loss %s: has no validated intervals: %s", row.Name(), losses)
}

// formula returns the columns of the regression formula: one for each number, one for each level of a
// category except the reference level, and one for each knot of a curve except the reference knot. The
// number of a curve and the hat (basis function) of its reference knot have no column, since the other hats
// and the intercept span every such curve. The intercept comes last, and the fit never leaves it out. If
// the schema has an interaction with a number or a hashed column, formula returns an error.
func formula(s *dataset.Schema) ([]inference.Column, error) {
	for _, h := range s.Hats() {
		if !h.Curve() {
			return nil, fmt.Errorf("inference: column %q: has an interaction with a number, whose intervals are not "+
				"validated", h.Axes[0].Column)
		}
	}
	for _, c := range s.Columns() {
		if c.Kind == dataset.Hash {
			return nil, fmt.Errorf("inference: column %q: is hashed: must have a public list of values, since a "+
				"bucket stands for no value", c.Name)
		}
	}
	terms := s.Terms(false)
	references := map[string]int{} // 1 plus the first feature of a column
	for _, r := range s.Ranges() {
		references[strings.Join(r.Columns, "\n")] = r.First + 1
	}
	for _, h := range s.Hats() {
		delete(references, h.Axes[0].Column)
	}
	list := vector.Map(terms[:len(terms)-1], func(t dataset.Term) inference.Column {
		return inference.Column{Feature: t.Parts[0].Feature, Level: t.Reference != "", Reference: references[t.Column]}
	})
	return append(list, inference.Column{Feature: s.Dim() - 1, Kept: true}), nil
}

// corners returns the extreme values of the features of each column and of each interaction, then the intercept.
func corners(s *dataset.Schema) (list []inference.Corners) {
	unit := 1 / s.Scale()
	one := func(feature int, value float64) []inference.Entry {
		return []inference.Entry{{Feature: feature, Value: value * unit}}
	}
	columns := columnsOf(s)
	for _, r := range s.Ranges() {
		c := columns[r.Columns[0]]
		var of inference.Corners
		switch {
		case len(r.Columns) > 1 || c.Kind == dataset.Category:
			of = vector.Make(r.Width, func(j int) []inference.Entry { return one(r.First+j, 1) })
		case c.Curve > 0: // the number of a curve has no coefficient
			of = vector.Make(r.Width-2, func(j int) []inference.Entry { return one(r.First+2+j, math.Sqrt2) }) // > a hat
		default:
			of = inference.Corners{one(r.First, -1), one(r.First, 1)}
		}
		if c.Kind != dataset.Category && c.Indicator {
			of = append(of, one(r.First+1, 1))
		}
		list = append(list, of)
	}
	return append(list, inference.Corners{one(s.Dim()-1, 1)})
}

// plan makes the plan for the problem p: the plan of optimize/onestep if the configuration requests
// intervals, otherwise the plan of the configured algorithm.
func (c *Config) plan(ctx context.Context, p optimize.Problem, l loss.Loss) (optimize.Plan, []choose.Candidate, error) {
	if c.Inference == nil {
		return c.Train.Plan(ctx, p)
	}
	a, err := c.intervals(l)
	if err != nil {
		return nil, nil, err
	}
	plan, err := a.Plan(ctx, p)
	return plan, nil, err
}

// Expected is a forecast of the widths of a fit's confidence intervals, computed from public
// numbers alone.
type Expected struct {
	Level float64 `json:"level"`
	// HalfWidth is the half-width of the interval of a typical column's coefficient, per standard deviation
	// of the column given the other columns, on the scale of the score. Ratio is HalfWidth divided by the
	// half-width without privacy.
	HalfWidth float64 `json:"half_width"`
	Ratio     float64 `json:"over_non_private"`
	// Records and Epsilon each halve HalfWidth. Records is a number of records at this budget. Epsilon is an
	// epsilon for the present number of records. It is 0 if no epsilon halves HalfWidth, because the sampling
	// error alone is larger.
	Records float64 `json:"records_to_halve"`
	Epsilon float64 `json:"epsilon_to_halve,omitempty"`
	// Columns is the number of columns of the formula. A fit may leave some of them out.
	Columns int `json:"columns"`
	// Classes is the number of classes of which each but the first has these coefficients; 0 for other targets.
	Classes int `json:"classes,omitempty"`
	// Reported is the share of the coefficients that had an interval in simulations of this size (onestep.Intervals.Size).
	// Assumed says which base rate that assumes; it is "" if the schema states one.
	Reported float64 `json:"reported_share"`
	Assumed  string  `json:"assumed,omitempty"`
	// Rows says which columns a forecast for unweighted rows assumes; it is "" for weighted rows.
	Rows string `json:"assumed_columns,omitempty"`
}

// expected returns the forecast of the widths of the confidence intervals, for the settings a and the problem
// p. p has the whole budget, and the plan gets the given share of it, above 0 and at most 1. Epsilon in the
// forecast is the epsilon of a whole budget of which the plan gets the same share. times says whether the target is the
// time to an event.
func expected(a onestep.Intervals, p optimize.Problem, share float64, times bool) *Expected {
	e := &Expected{Level: a.Level, Columns: len(a.Columns), Reported: 1}
	if a.Curvature == onestep.Softmax {
		e.Classes = p.Shape.Margins
	}
	if times && a.Known.Events == 0 {
		a.Known.Events, e.Assumed = usualEvents, "an event for a quarter of the records"
	}
	size := a.Size(p, p.Records, p.Mu*math.Sqrt(share))
	for _, m := range measuredReported {
		if size < m.size {
			e.Reported = m.share
		}
	}
	if a.Unweighted {
		e.Rows = "numbers with a standard deviation of a sixth of their range and levels of a tenth of the rows (unweighted rows of " +
			"columns with longer tails or rarer levels have more noise)"
	}
	if a.Known.Curvature == 0 && a.Known.Events == 0 && a.Known.Shares == nil {
		switch a.Curvature {
		case onestep.Logistic, onestep.Softmax:
			e.Assumed = "equally common classes"
		case onestep.Exponential:
			e.Assumed = "a mean count of a third of the largest"
		}
	}
	foresee := func(n, mu float64) (total, sampling float64) { return a.Foresee(p, n, mu*math.Sqrt(share)) }
	half := func(n, mu float64) float64 {
		total, _ := foresee(n, mu)
		return inference.Quantile(a.Level) * total
	}
	total, sampling := foresee(p.Records, p.Mu)
	e.HalfWidth, e.Ratio = half(p.Records, p.Mu), total/sampling
	e.Records = math.Ceil(p.Records * least(func(f float64) bool { return half(p.Records*f, p.Mu) <= e.HalfWidth/2 }))
	if f := least(func(f float64) bool { return half(p.Records, p.Mu*f) <= e.HalfWidth/2 }); !math.IsInf(f, 0) {
		if eps, err := mechanism.GaussianEpsilon(p.Mu*f, p.Budget.Delta()); err == nil {
			e.Epsilon = eps
		}
	}
	return e
}

// measuredReported are shares of the coefficients that had an interval in simulations, for sizes below size
// (lab/results/inference.md, "How much is reported").
var measuredReported = []struct{ size, share float64 }{{100, .95}, {45, .55}, {25, .25}, {12, .1}, {6, 0}}

// least returns the smallest factor f between 1 and 1000 for which enough(f) is true. enough must be false below some
// factor and true above it; least finds that factor by bisection. It returns +Inf if enough(1000) is false.
func least(enough func(f float64) bool) float64 {
	const most = 1000
	if !enough(most) {
		return math.Inf(1)
	}
	return vector.HalveRatio(1, most, 60, enough)
}

// String describes the expected widths of the intervals in one sentence.
func (e *Expected) String() string {
	each := ""
	if e.Classes > 0 {
		each = fmt.Sprintf(" of each of %d classes", e.Classes-1)
	}
	text := fmt.Sprintf("%g%% confidence intervals of up to %d coefficients%s: of a typical column about +-%.2g per "+
		"standard deviation of the column (given the others), %.2g times as wide as without privacy; half as wide with %.0f "+
		"records", 100*e.Level, e.Columns-1, each, e.HalfWidth, e.Ratio, e.Records)
	if e.Epsilon > 0 {
		text += fmt.Sprintf(", or epsilon %.2g", e.Epsilon)
	} else {
		text += " (with no epsilon, since the sampling error alone is larger)"
	}
	if e.Assumed != "" {
		text += "; for " + e.Assumed + " (schema.target.share states others)"
	}
	if e.Rows != "" {
		text += "; for " + e.Rows
	}
	switch {
	case e.Reported == 0:
		text += "; expect NO interval: in simulations of this size no fit had one. More records, a larger epsilon, fewer " +
			"columns or, for counts, a smaller clip help"
	case e.Reported < 1:
		text += fmt.Sprintf("; in simulations of this size about %.0f%% of the coefficients had one", 100*e.Reported)
	}
	return text
}

// inferenceRoom returns an upper bound on the bytes that the confidence intervals take in a model's
// file, so that disk space can be reserved.
func inferenceRoom(features int) int {
	const number, column, rest = 44, 512, 4096
	return 3*number*features*(features+1)/2 + column*features + rest
}

// Codes of the warnings about confidence intervals.
const (
	// WarnFormula: columns were left out of the regression formula to which the intervals belong.
	WarnFormula = "formula"
	// WarnIdentified: no interval of a coefficient can be stated at this budget, since the noise is too
	// large.
	WarnIdentified = "not-identified"
)

// fewRows is the share of the rows below which a class is named where intervals of several classes are lacking.
const fewRows = .03

// rareClass says which of several classes has few rows, if one has: columns are left out of all classes together. The shares
// of the classes are the sums that base released.
func rareClass(s *dataset.Schema, base *Base) string {
	classes := s.Target().Classes
	if base == nil || len(classes) < 3 || len(base.Sums) != len(classes) {
		return ""
	}
	least := slices.Min(base.Sums)
	most := max(least, 0) + 2*base.Sigma
	if most >= fewRows {
		return ""
	}
	return fmt.Sprintf("; class %.80q has at most %.2g%% of the rows: without it in target.classes the other classes may keep "+
		"their columns", classes[slices.Index(base.Sums, least)], 100*most)
}

// inferenceWarnings returns the warnings about the intervals f; nil if f is nil. base is the released base rate or nil.
func inferenceWarnings(s *dataset.Schema, f *inference.Fit, base *Base) (list []Warning) {
	if f == nil {
		return nil
	}
	few := rareClass(s, base)
	if f.Method == inference.NotIdentified {
		list = append(list, Warning{Code: WarnIdentified,
			Text: "no interval is stated, since the noise hides the released curvature at this budget; more records, a larger " +
				"epsilon or fewer columns help" + few})
	}
	var dropped []int
	share := 0.
	for _, j := range f.Dropped {
		at := slices.IndexFunc(f.Gone, func(g inference.Gone) bool { return g.Feature == j })
		if j %= s.Dim(); !s.IsOther(j) && !slices.Contains(dropped, j) { // once for all classes
			if dropped = append(dropped, j); at >= 0 {
				share += f.Gone[at].Share
			}
		}
	}
	if len(dropped) > 0 {
		hides, first, leave, rows := "columns that the noise hides are left out, or are levels that count", "first ", "leave with their", ""
		if len(dropped) == 1 {
			hides, first, leave = "column that the noise hides is left out, or is a level that counts", "", "leaves with its"
		}
		if share > 0 {
			rows = fmt.Sprintf(" or %s rows, about %.1f%% of all", leave, 100*share)
		}
		if len(f.Merged) > 0 {
			few = fmt.Sprintf("; differences from %.80q, as which levels count, have no interval", s.Features()[f.Merged[0]%s.Dim()]) + few
		}
		list = append(list, warn(WarnFormula, "intervals are for a SHORTER formula than was asked for: %d %s as the reference "+
			"level%s (%s%.80q); the intervals do not cover the coefficients of the longer formula%s", len(dropped), hides, rows, first,
			s.Features()[dropped[0]], few)...)
	}
	return list
}
