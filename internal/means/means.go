// Package means computes answers from a model and a reference population: adjusted means, which are the means of
// predictions if every row of the population had one value of a category, and average marginal effects of numbers.
//
// The population must be public, or stated by the user: nothing of a private table is read, and the answers cost no
// privacy. For a model with confidence intervals each answer has one, by the delta method: the answer's gradient in
// the weights is a contrast of them, whose released standard error has sampling and privacy noise. An interval of a
// mean is made on the scale of the score, the log-odds or the logarithm of a rate, and so stays in its range.
package means

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/model"
)

// Answer is an adjusted mean, a difference of two of them, or an average marginal effect.
type Answer struct {
	Column string `json:"column"`
	// Level is the value of a category, and Against the value whose mean was subtracted; empty for a mean. Both are
	// empty for a number, whose effect is of one unit more.
	Level   string `json:"level,omitempty"`
	Against string `json:"against,omitempty"`
	// Estimate is nil if the fit's formula lacks the level or the number, and Reason says so.
	Estimate *float64 `json:"estimate"`
	// Low and High are the ends of the interval. They are nil without one, and Reason says why. With one it says which columns
	// that the formula lacks the effect or the difference also carries.
	Low    *float64 `json:"low,omitempty"`
	High   *float64 `json:"high,omitempty"`
	Reason string   `json:"reason,omitempty"`
}

// Answers are the answers of a model over a population.
type Answers struct {
	// Of is the predicted quantity, such as the probability of "yes".
	Of string `json:"of"`
	// Rows is the number of rows of the population. Rows that cannot be read do not count.
	Rows  int     `json:"rows"`
	Level float64 `json:"level,omitempty"`
	// Short is true if rows of the population have levels or columns that the formula of the fit lacks. In estimates they count
	// as the reference level or are left out. The interval of a mean holds for all predictions that such rows may have.
	Short bool `json:"short,omitempty"`
	// Mean is the mean prediction over the population as it is.
	Mean Answer   `json:"mean"`
	List []Answer `json:"answers"`
}

// Population is a public population: the names of its columns and its rows.
type Population struct {
	Header []string
	Rows   [][]string
}

// asker answers questions of one model over one population.
type asker struct {
	m       *model.Model
	output  model.Output
	of      *dataset.Map
	people  Population
	at      map[string]int
	fit     *inference.Fit
	along   func(weights []float64, constant float64) inference.Interval
	hidden  []int
	rare    []bool // the dropped levels that no column carries, by feature
	said    *model.Coefficients
	weights []float64
	// thresholds are those between ordered classes, nil for others. Gradients go on with the gaps between them.
	thresholds []float64
}

// Of returns the adjusted means of the levels of categories, their differences from the first level, and the average
// marginal effects of numbers, for the named columns; for all categories and numbers if none is named.
func Of(ctx context.Context, m *model.Model, people Population, columns []string) (*Answers, error) {
	a, err := newAsker(m, people)
	if err != nil {
		return nil, err
	}
	out := &Answers{Of: a.quantity()}
	whole, rows, err := a.mean(ctx, nil)
	if err != nil {
		return nil, err
	}
	if out.Rows = rows; rows == 0 {
		return nil, errors.New("means: population: must have a row that the model can read")
	}
	if a.fit != nil {
		out.Level = a.fit.Level
	}
	out.Mean = a.answer(Answer{}, whole, true, "")
	out.Short = a.fit != nil && slices.ContainsFunc(a.fit.Dropped, func(j int) bool { return whole.gradient[j] != 0 })
	schema := m.Schema()
	if len(columns) == 0 {
		for _, c := range schema.Columns() {
			if c.Kind == dataset.Category || c.Kind == dataset.Number {
				columns = append(columns, c.Name)
			}
		}
	}
	for _, name := range columns {
		i := slices.IndexFunc(schema.Columns(), func(c dataset.Column) bool { return c.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("means: %s: must be a column of the model", strconv.Quote(name))
		}
		var list []Answer
		switch c := schema.Columns()[i]; c.Kind {
		case dataset.Category:
			list, err = a.levels(ctx, c)
		case dataset.Number:
			list, err = a.slope(ctx, c)
		default:
			err = fmt.Errorf("means: %s: must be a category or a number, and is a column of kind %v", strconv.Quote(name), c.Kind)
		}
		if err != nil {
			return nil, err
		}
		out.List = append(out.List, list...)
	}
	return out, nil
}

func newAsker(m *model.Model, people Population) (*asker, error) {
	output, err := m.Output()
	if err != nil {
		return nil, err
	}
	thresholds := targetpair.Thresholds(m.Loss(), m.Weights(), m.Schema().Dim())
	ordered := thresholds != nil
	if !m.Linear() && !ordered || !ordered && (output == model.Score || output == model.Probabilities) {
		return nil, fmt.Errorf("means: loss %s: must be that of a linear model of a number, a count, the probability of two "+
			"classes, ordered classes or the time to an event", m.Loss().Name())
	}
	a := &asker{m: m, output: output, people: people, at: map[string]int{}, weights: m.Weights(), thresholds: thresholds}
	if a.of, err = m.Schema().BindUnlabelled(people.Header); err != nil {
		return nil, err
	}
	for i, name := range people.Header {
		a.at[strings.TrimSpace(name)] = i
	}
	if text := m.Inference(); text != nil {
		if a.fit, err = inference.Parse(text); err != nil {
			return nil, err
		}
		if a.said, err = m.Coefficients(); err != nil {
			return nil, err
		}
		a.along, a.hidden, a.rare = a.fit.Contrasts(), hidden(m.Schema(), a.fit), make([]bool, len(a.weights))
		for _, j := range a.fit.Dropped {
			a.rare[j] = !slices.ContainsFunc(a.fit.Absorbed, func(of inference.Absorbed) bool { return of.Feature == j }) &&
				!slices.ContainsFunc(m.Schema().Columns(), func(c dataset.Column) bool { return c.Name == m.Schema().Features()[j] })
		}
	}
	return a, nil
}

// hidden returns the features of curves of which no combination has an interval.
func hidden(s *dataset.Schema, f *inference.Fit) (list []int) {
	for _, h := range s.Hats() {
		if h.Curve() {
			list = append(list, f.Unknown(h.Axes[0].Missing, h.First, h.Width, h.Reference())...)
		}
	}
	return list
}

// quantity names what the model predicts.
func (a *asker) quantity() string {
	target := a.m.Schema().Target()
	switch {
	case a.thresholds != nil:
		return fmt.Sprintf("the expected number of the class of %s, from 0 for %s to %d for %s", target.Column, target.Classes[0],
			len(target.Classes)-1, target.Classes[len(target.Classes)-1])
	case a.output == model.Probability:
		return "the probability of " + target.Column + " = " + target.Classes[1]
	case a.output == model.Risk:
		return fmt.Sprintf("the risk of %s by %s %v", target.Event, target.Column, target.High)
	case a.output == model.Rate:
		return targetpair.Expected(target.Column, target.Exposure.Column, target.Offset)
	}
	return "the expected " + target.Column
}

// mean is the mean of predictions with its gradient in the model's weights. lacking are the rows that have a level or a number
// that the fit's formula lacks, and hidden are those with a level that no column of the formula carries. The table has few such
// rows, and the population may have many.
type mean struct {
	value           float64
	gradient        []float64
	lacking, hidden part
}

// part is a part of the rows: their share, and what they add to the mean and to the mean score.
type part struct{ share, value, score float64 }

// add adds a row.
func (p *part) add(value, score float64) {
	p.share, p.value, p.score = p.share+1, p.value+value, p.score+score
}

// over divides the part by the number of all rows.
func (p *part) over(rows float64) {
	p.share, p.value, p.score = p.share/rows, p.value/rows, p.score/rows
}

// mostLacking is the largest share of such rows at which an answer has an interval. The interval of a mean is wider by this share
// of the range of predictions at most.
const mostLacking = .1

// minus returns the difference of two means times a factor.
func (m mean) minus(other mean, factor float64) mean {
	d := mean{value: factor * (m.value - other.value), gradient: make([]float64, len(m.gradient))}
	for j := range d.gradient {
		d.gradient[j] = factor * (m.gradient[j] - other.gradient[j])
	}
	d.hidden = part{m.hidden.share, factor * (m.hidden.value - other.hidden.value), factor * (m.hidden.score - other.hidden.score)}
	return d
}

// mean returns the mean prediction over the population's rows, each changed by change, which says whether the row
// counts. A nil change leaves rows as they are.
func (a *asker) mean(ctx context.Context, change func(cells []string) bool) (out mean, rows int, err error) {
	out.gradient = make([]float64, a.of.Dim()+max(len(a.thresholds)-1, 0))
	x := make([]float32, a.of.Dim())
	changed := make([]string, len(a.people.Header))
	for _, cells := range a.people.Rows {
		if err := ctx.Err(); err != nil {
			return out, 0, err
		}
		copy(changed, cells)
		if len(cells) != len(changed) || change != nil && !change(changed) {
			continue
		}
		if _, ok := a.of.Encode(x, changed); !ok {
			continue
		}
		var z float64
		for j, v := range x {
			z += float64(v) * a.weights[j]
		}
		var value, slope float64
		if rows++; a.thresholds != nil {
			value, slope = a.expected(out.gradient[len(x):], z)
		} else {
			value, slope = a.predicted(z)
		}
		out.value += value
		if lacks, hides := a.unknown(x); lacks {
			if out.lacking.add(value, z); hides {
				out.hidden.add(value, z)
			}
		}
		for j, v := range x {
			out.gradient[j] += slope * float64(v)
		}
	}
	for j := range out.gradient {
		out.gradient[j] /= float64(max(rows, 1))
	}
	out.value /= float64(max(rows, 1))
	out.lacking.over(float64(max(rows, 1)))
	out.hidden.over(float64(max(rows, 1)))
	return out, rows, nil
}

// unknown reports whether a row has a feature that the fit's formula lacks or a reference level that others count as, and a level that no column of the formula carries.
func (a *asker) unknown(x []float32) (lacks, hides bool) {
	if a.fit == nil {
		return false, false
	}
	for _, j := range slices.Concat(a.fit.Dropped, a.fit.Merged) {
		if x[j] != 0 {
			lacks = true
			hides = hides || a.rare[j]
		}
	}
	return lacks, hides
}

// expected returns the expected number of an ordered class for a score and its derivative in the score, and adds those in
// the gaps between thresholds to gaps.
func (a *asker) expected(gaps []float64, z float64) (value, slope float64) {
	for k, t := range a.thresholds {
		p := 1 / (1 + math.Exp(t-z))
		value += p
		slope += p * (1 - p)
		for j := range k {
			gaps[j] -= p * (1 - p)
		}
	}
	return value, slope
}

// predicted returns the prediction for a margin and its derivative.
func (a *asker) predicted(z float64) (value, slope float64) {
	schema := a.m.Schema()
	target := schema.Target()
	switch a.output {
	case model.Probability:
		p := 1 / (1 + math.Exp(-z))
		return p, p * (1 - p)
	case model.Risk:
		if target.Grouped == targetpair.Logit {
			times := targetpair.Times{Cuts: target.Cuts, Increments: target.Hazards, Grouped: target.Grouped}
			value = -math.Expm1(-times.Cumulative(z, target.High))
			for _, h := range times.Shares() {
				slope += (1 - value) / (1 + 1/(h*math.Exp(z)))
			}
			return value, slope
		}
		e := math.Exp(z)
		return -math.Expm1(-e), e * math.Exp(-e)
	case model.Rate:
		value = math.Exp(z) * target.Rate()
		slope = value
	default:
		value = schema.TargetFromUnit(z)
		slope = schema.TargetFromUnit(1)/2 - schema.TargetFromUnit(-1)/2
	}
	if a.m.Clamped() && !(value >= target.Low && value <= target.High) {
		return min(max(value, target.Low), target.High), 0
	}
	return value, slope
}

// levels returns the adjusted means of a category's values, and their differences from that of the first.
func (a *asker) levels(ctx context.Context, c dataset.Column) (list []Answer, err error) {
	var first mean
	var differences []Answer
	for i, level := range c.Categories {
		m, _, err := a.mean(ctx, func(cells []string) bool {
			cells[a.at[c.Name]] = level
			return true
		})
		if err != nil {
			return nil, err
		}
		list = append(list, a.answer(Answer{Column: c.Name, Level: level}, m, true, c.Name+"="+level))
		if i == 0 {
			first = m
			continue
		}
		differences = append(differences,
			a.answer(Answer{Column: c.Name, Level: level, Against: c.Categories[0]}, m.minus(first, 1), false,
				c.Name+"="+level))
	}
	return append(list, differences...), nil
}

// slope returns the average marginal effect of a number: the mean derivative of the prediction in it, over the rows in
// which it is known. Derivatives are differences over a thousandth of the range between its bounds, within them.
func (a *asker) slope(ctx context.Context, c dataset.Column) ([]Answer, error) {
	step := (c.High - c.Low) / 1000
	at := func(share float64) (mean, error) {
		m, _, err := a.mean(ctx, func(cells []string) bool {
			x, err := strconv.ParseFloat(strings.TrimSpace(cells[a.at[c.Name]]), 64)
			if err != nil || math.IsNaN(x) {
				return false
			}
			from := min(max(x-step/2, c.Low), c.High-step)
			cells[a.at[c.Name]] = strconv.FormatFloat(from+share*step, 'g', -1, 64)
			return true
		})
		return m, err
	}
	low, err := at(0)
	if err != nil {
		return nil, err
	}
	high, err := at(1)
	if err != nil {
		return nil, err
	}
	return []Answer{a.answer(Answer{Column: c.Name}, high.minus(low, 1/step), false, c.Name)}, nil
}

// answer completes an answer by its estimate and, if the model has intervals, its interval. link is true for a mean,
// whose interval is made on the scale of the score. feature names the feature or the number that the answer is about, or
// is empty: nothing is known of a feature that the fit's formula lacks, and such an answer has no estimate.
func (a *asker) answer(out Answer, m mean, link bool, feature string) Answer {
	if a.lacks(feature) {
		out.Reason = a.reason(inference.Absent, feature)
		return out
	}
	reference := out.Column + "=" + cmp.Or(out.Against, out.Level)
	if a.fit != nil && slices.ContainsFunc(a.fit.Merged, func(j int) bool { return a.m.Schema().Features()[j] == reference }) {
		out.Reason = "levels that noise hides count as " + reference
		return out
	}
	out.Estimate = &m.value
	if a.fit == nil {
		out.Reason = "the fit has no intervals (inference: {level: 0.95} asks for them)"
		return out
	}
	var curves []string
	for _, h := range a.m.Schema().Hats() {
		if slices.ContainsFunc(a.hidden, func(j int) bool {
			return m.gradient[j] != 0 && (j == h.Axes[0].Missing || j >= h.First && j < h.First+h.Width)
		}) {
			curves = append(curves, h.Axes[0].Column)
		}
	}
	if len(curves) > 0 {
		out.Reason = "noise hides a part of the curve of " + strings.Join(curves, ", ")
		return out
	}
	unknown := m.hidden
	if link {
		unknown = m.lacking
	}
	if unknown.share > mostLacking && (link || a.steepest() > 0) {
		out.Reason = "more than a tenth of the population's rows have a level or a number that the fit's formula lacks"
		return out
	}
	gradient := slices.Clone(m.gradient)
	for _, j := range slices.Concat(a.fit.Dropped, a.fit.Merged) { // the weights of these features are 0 in the fit's formula
		gradient[j] = 0
	}
	i := a.along(gradient, 0)
	if i.State != inference.Reported {
		if out.Reason = a.reason(i.State, feature); i.State == inference.Withheld {
			out.Reason = fmt.Sprintf("withheld: the last Newton step may leave out %.0f%% of the half-width", 100*i.Remainder)
		}
		return out
	} else if !link {
		out.Reason = a.reason(i.State, feature)
	}
	if target := a.m.Schema().Target(); a.output == model.Risk && m.value < 1 { // by a shift of the score, as of the intercept
		times := targetpair.Times{Cuts: target.Cuts, Increments: target.Hazards, Grouped: target.Grouped}
		at := math.Log(max(-math.Log1p(-math.Abs(m.value)), 1e-9))
		i.Error = math.Hypot(i.Error, gradient[a.of.Dim()-1]*a.m.Schema().Scale()*times.Doubt(target.HazardErrors, at, target.High))
	}
	half := inference.Quantile(a.fit.Level) * i.Error
	low, high := m.value-half, m.value+half
	most := float64(max(len(a.thresholds), 1)) // the largest value of a probability or of a class's number
	switch {
	case link && (a.output == model.Probability || a.output == model.Risk || most > 1) && m.value > 0 && m.value < most:
		p := m.value / most
		z, d := math.Log(p/(1-p)), half/most/(p*(1-p))
		low, high = most/(1+math.Exp(d-z)), most/(1+math.Exp(-d-z))
	case link && a.output == model.Rate && m.value > 0:
		low, high = m.value*math.Exp(-half/m.value), m.value*math.Exp(half/m.value)
	}
	if unknown.share > 0 && (link || a.steepest() > 0) { // such rows may add any possible value
		least, most := a.bounds()
		from, to := unknown.share*least, unknown.share*most
		if !link {
			from, to = min(unknown.score*a.steepest(), 0), max(unknown.score*a.steepest(), 0)
		}
		low, high = low-max(unknown.value-from, 0), high+max(to-unknown.value, 0)
		if link {
			low, high = max(low, min(*out.Estimate, least)), min(high, max(*out.Estimate, most))
		}
	}
	out.Low, out.High = &low, &high
	return out
}

// reason says why a feature has no interval, or which columns its effect also carries.
func (a *asker) reason(state inference.State, feature string) string {
	for _, c := range a.said.List {
		if c.State != state || c.Term != feature && (c.Column != feature || state != inference.Absent) {
			continue
		}
		if state == inference.Reported {
			return c.Reason
		}
		return string(state) + ": " + c.Reason
	}
	for _, r := range a.said.Reasons {
		if r.State == state && state == inference.Unidentified {
			return string(state) + ": " + r.Text
		}
	}
	if state == inference.Reported {
		return ""
	}
	return string(state)
}

// bounds returns the least and the largest mean that the target can have.
func (a *asker) bounds() (least, most float64) {
	switch target := a.m.Schema().Target(); {
	case a.output == model.Rate && target.Least() > 0:
		return 0, target.Rate() / target.Least()
	case a.output == model.Rate:
		return 0, target.High
	case target.Kind == dataset.Number && a.output != model.Risk:
		return target.Low, target.High
	}
	return 0, float64(max(len(a.thresholds), 1))
}

// steepest returns the largest derivative of a prediction in its score, and 0 if all are the same: by the mean value theorem, a
// change of the score changes the prediction by at most this factor of it. That of a risk is u e^-u for a cumulative hazard u.
func (a *asker) steepest() float64 {
	_, most := a.bounds()
	switch {
	case a.output == model.Risk:
		return 1 / math.E
	case a.output == model.Rate:
		return most
	case a.output == model.Probability || a.thresholds != nil:
		return most / 4
	case a.m.Clamped():
		return a.m.Schema().TargetFromUnit(1)/2 - a.m.Schema().TargetFromUnit(-1)/2
	}
	return 0
}

// lacks reports whether the fit's formula lacks the named feature, or a knot of the curve of the named number.
func (a *asker) lacks(feature string) bool {
	schema := a.m.Schema()
	return a.fit != nil && (slices.Contains(a.fit.Dropped, slices.Index(schema.Features(), feature)) ||
		slices.ContainsFunc(schema.Hats(), func(h dataset.Hats) bool {
			return h.Curve() && h.Axes[0].Column == feature && slices.Contains(a.hidden, h.First)
		}))
}
