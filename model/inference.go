package model

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/model/contrast"
)

// checkInference returns an error if the released numbers for intervals do not belong to the model. The loss
// must have one margin, the numbers must fit the number of features, and their coefficients must be the
// model's weights. A model without intervals passes.
func (m *Model) checkInference() error {
	if m.inference == nil {
		return nil
	}
	if loss.Count(m.loss) == 0 && m.thresholds() == nil {
		return fmt.Errorf("model: inference: loss %s: must have margins, or be of ordered classes", m.loss.Name())
	}
	if err := m.inference.Check(len(m.weights)); err != nil {
		return fmt.Errorf("model: %w", err)
	}
	weights := slices.Clone(m.weights)
	for j, t := range m.thresholds() {
		if j > 0 { // intervals are of the gaps in place of their parameters
			weights[m.schema.Dim()+j-1] = t - m.thresholds()[j-1]
		}
	}
	if !m.inference.Belongs(weights) {
		return errors.New("model: inference: the coefficients must be the model's weights, and weights of no column must " +
			"be 0: intervals of other weights say nothing of this model")
	}
	return nil
}

// thresholds returns those between ordered classes, of which the first is 0, or nil for another model.
func (m *Model) thresholds() []float64 {
	return targetpair.Thresholds(m.loss, m.weights, m.schema.Dim())
}

// Inference returns the released numbers from which confidence intervals are computed, as the member inference of
// the model's file states them; nil for a fit without intervals.
func (m *Model) Inference() json.RawMessage { return bytes.Clone(m.written) }

// Coefficient is a coefficient with its confidence interval, in the user's units.
type Coefficient struct {
	// Term is the name of the term, Column its column, Reference the level with which a level is compared,
	// and Per the quantity that a slope multiplies. All four are as in dataset.Term, but Reference also names the levels
	// that were dropped from the fit and count as the reference level: "region=north or west".
	Term      string `json:"term"`
	Column    string `json:"column,omitempty"`
	Reference string `json:"reference,omitempty"`
	Per       string `json:"per,omitempty"`
	contrast.Interval
	Multiplied
	// Reason says why no interval is stated, or which columns outside the formula the term also carries.
	Reason string `json:"reason,omitempty"`
	// Span is the range from the lower to the upper public bound of a number, in its units; 1 for
	// other terms.
	Span float64 `json:"span"`
	// Intercept reports whether the term is the intercept.
	Intercept bool `json:"intercept,omitempty"`
}

// Multiplied holds e to the power of an estimate and of the ends of its interval. This is the factor by which
// the odds (two classes), the rate (counts) or the mean (losses with a logarithmic link) are multiplied. Both fields are
// nil for other numeric targets, for the intercept, and if no interval is stated.
type Multiplied struct {
	Odds *Ratio `json:"odds_ratio,omitempty"`
	Rate *Ratio `json:"rate_ratio,omitempty"`
}

// Ratio returns the odds ratio or the rate ratio that is not nil, and its name. If both are nil, r is nil.
func (m Multiplied) Ratio() (r *Ratio, name string) {
	if m.Rate != nil {
		return m.Rate, "rate ratio"
	}
	return m.Odds, "odds ratio"
}

// Ratio is an odds ratio or a rate ratio with its interval.
type Ratio struct {
	Estimate float64 `json:"estimate"`
	Low      float64 `json:"low,omitempty"`
	High     float64 `json:"high,omitempty"`
}

// Coefficients is the list of coefficients of a fit with intervals.
type Coefficients struct {
	// Asked is the formula that the configuration requested. Formula is the formula of the fit, to which the
	// intervals belong. Short is true if Formula lacks a term of Asked; levels for missing or unlisted cells
	// do not count. Changes lists all terms that Formula lacks.
	Asked   string   `json:"asked"`
	Formula string   `json:"formula"`
	Short   bool     `json:"short"`
	Changes []string `json:"changes,omitempty"`
	Level   float64  `json:"level"`
	Method  string   `json:"method"`
	// Unit is the unit of estimates and intervals.
	Unit string        `json:"unit"`
	List []Coefficient `json:"coefficients"`
	// Thresholds are those between ordered classes but the first, which is 0: differences of log-odds.
	Thresholds []Coefficient `json:"thresholds,omitempty"`
	// Reasons say why coefficients have no interval, one for each state.
	Reasons []Reason `json:"reasons,omitempty"`
	// Meaning explains in words what the intervals cover.
	Meaning string `json:"meaning"`
	// Allowance bounds the error that remains after the last Newton step, on the scale of the score.
	// Intervals are widened for it.
	Allowance float64 `json:"allowance"`
	// Reported is the number of coefficients with a reported interval, and Counted the number of
	// all coefficients. Neither includes the intercept.
	Reported int `json:"reported"`
	Counted  int `json:"counted"`
}

var errNoIntervals = errors.New("the model has no confidence intervals: the configuration's inference: {level: " +
	"0.95} asks for them")

// Coefficients returns the coefficients with their intervals, or an error if the model has none.
func (m *Model) Coefficients() (*Coefficients, error) {
	f := m.inference
	if f == nil {
		return nil, errNoIntervals
	}
	terms := m.terms()
	out := &Coefficients{Level: f.Level, Method: string(f.Method), Allowance: f.Allowance, Short: m.short()}
	out.Unit = m.unit()
	out.Asked, out.Formula = m.formula(nil), m.formula(f)
	out.Changes = m.changes()
	contrast, references := m.contrasts(), m.references()
	unit := terms[len(terms)-1].Parts[0].Factor // the factor of the intercept, which levels have too
	for _, t := range terms {
		weights := make([]float64, len(m.weights))
		for _, p := range t.Parts {
			weights[p.Feature] += p.Factor
		}
		c := Coefficient{Term: t.Name, Column: t.Column, Reference: cmp.Or(references[t.Reference], t.Reference), Per: t.Per,
			Span: 1, Intercept: t.Column == ""}
		if !c.Intercept && t.Reference == "" {
			c.Span = 2 * unit / t.Parts[0].Factor
		}
		c.Interval = contrast(weights, t.Constant)
		if !c.Intercept {
			out.Counted++
			if c.State == inference.Reported {
				out.Reported++
			}
			c.Multiplied = m.multiplied(c.Interval)
		}
		// The midpoints of numbers are a part of the intercept.
		c.Reason = m.reason(c.Interval, func(j int) bool {
			return weights[j] != 0 && (!c.Intercept || slices.Contains(f.Merged, j))
		})
		out.List = append(out.List, c)
	}
	for j := 1; j < len(m.thresholds()); j++ {
		weights := make([]float64, len(m.weights))
		for k := range j {
			weights[m.schema.Dim()+k] = 1
		}
		c := Coefficient{Term: fmt.Sprintf("threshold %d", j+1), Span: 1, Interval: contrast(weights, 0)}
		c.Reason = m.reason(c.Interval, func(int) bool { return false })
		out.Thresholds = append(out.Thresholds, c)
	}
	out.Meaning, out.Reasons = m.meaning(), m.reasons(out.List)
	return out, nil
}

// rates reports whether the model's score is the logarithm of a rate or of the mean of a positive number.
func (m *Model) rates() bool { return hasRate(loss.Unweighted(m.loss)) }

// logit reports whether the score is the log-odds of an event in an interval of the time.
func (m *Model) logit() bool { return m.schema.Target().Grouped == targetpair.Logit }

// terms returns the terms of the score, the intercept last. The score is a prediction in the target's units,
// a log-odds or the logarithm of a rate. Of several classes each term is one of every class against the first, whose weights
// are 0.
func (m *Model) terms() (list []dataset.Term) {
	of := m.schema.Terms(m.rates())
	if !m.several() {
		return of
	}
	for _, t := range of {
		for i, class := range m.schema.Target().Classes[1:] {
			each := t
			each.Name = class + ": " + t.Name
			each.Parts = vector.Map(t.Parts, func(p dataset.Part) dataset.Part {
				return dataset.Part{Feature: p.Feature + (i+1)*m.schema.Dim(), Factor: p.Factor}
			})
			list = append(list, each)
		}
	}
	return list
}

// several reports whether the model has the margin of each of several classes.
func (m *Model) several() bool { return loss.Count(m.loss) > 1 }

// feature returns the feature of a row that the weight has.
func (m *Model) feature(weight int) int {
	if m.several() {
		return weight % m.schema.Dim()
	}
	return weight
}

// quantity names the predicted quantity: the odds of the last class, the expected count, or the target's
// column.
func (m *Model) quantity() string {
	target := m.schema.Target()
	switch {
	case m.logit():
		return "the odds of " + target.Event + " in an interval"
	case target.Event != "":
		return "the hazard of " + target.Event
	case m.rates():
		return targetpair.Expected(target.Column, target.Exposure.Column, target.Offset)
	case target.Kind == dataset.Number:
		return target.Column
	}
	if m.thresholds() != nil {
		return "the odds of a higher class"
	}
	if m.several() {
		return "the odds of each class against " + strconv.Quote(target.Classes[0])
	}
	return "the odds of " + strconv.Quote(target.Classes[len(target.Classes)-1])
}

// unit returns the unit of the model's estimates in words.
func (m *Model) unit() string { return m.unitOf(m.quantity()) }

// unitOf returns the unit of estimates of the quantity of in words.
func (m *Model) unitOf(of string) string {
	switch {
	case m.logit():
		return "log-" + strings.TrimPrefix(of, "the ")
	case m.rates():
		return "the logarithm of " + of
	case m.schema.Target().Kind == dataset.Number:
		return "units of " + of
	}
	return "log-" + strings.TrimPrefix(of, "the ")
}

// multiplied returns the odds ratio or the rate ratio with its interval: e to the power of the estimate and
// of both ends of i. It returns none if i is not stated or the target is a number.
func (m *Model) multiplied(i inference.Interval) (out Multiplied) {
	if i.State != inference.Reported {
		return out
	}
	r := &Ratio{math.Exp(i.Estimate), math.Exp(i.Low), math.Exp(i.High)}
	switch {
	case m.rates() && !m.logit():
		out.Rate = r
	case m.logit() || m.schema.Target().Kind != dataset.Number:
		out.Odds = r
	}
	return out
}

// contrasts returns the function that computes the interval of a linear combination of the weights (see
// [inference.Fit.Contrasts]). A knot of a curve that noise hides has no column in the formula: it counts as
// the middle knot, which bends the curve between its neighbours and changes their coefficients. A combination
// that involves such a curve therefore has no interval. Nor has a combination that involves missing numbers of
// a curve, if the formula has no column for them.
func (m *Model) contrasts() func(weights []float64, constant float64) inference.Interval {
	var hidden []int                                         // features of which no combination has an interval
	for at := 0; at < len(m.weights); at += m.schema.Dim() { // of each class
		if m.several() && at == 0 || !m.several() && at > 0 {
			continue
		}
		for _, h := range m.schema.Hats() {
			if h.Curve() {
				hidden = append(hidden, m.inference.Unknown(at+h.Axes[0].Missing, at+h.First, h.Width, at+h.Reference())...)
			}
		}
	}
	of := m.inference.Contrasts()
	return func(weights []float64, constant float64) inference.Interval {
		if slices.ContainsFunc(hidden, func(feature int) bool { return weights[feature] != 0 }) {
			return inference.Interval{State: inference.Absent}
		}
		i := of(weights, constant)
		if i.State == inference.Absent { // the estimate of a part of the combination is no estimate of the whole
			i.Estimate = 0
		}
		return i
	}
}

// short reports whether the fit's formula lacks terms that the configuration requested. The level for missing
// or unlisted cells does not count, because many tables have no such cell.
func (m *Model) short() bool {
	return slices.ContainsFunc(m.inference.Dropped, func(j int) bool { return !m.schema.IsOther(m.feature(j)) })
}

// changes says in words of all terms outside the fit's formula how they count, and of reference levels that others count as.
func (m *Model) changes() (list []string) {
	add := func(text string) {
		if !slices.Contains(list, text) { // it says the same of each class
			list = append(list, text)
		}
	}
	for _, j := range m.inference.Dropped {
		add(m.changed(j))
	}
	for _, j := range m.inference.Merged {
		add("differences from " + m.schema.Features()[m.feature(j)] + " have no interval, since these levels count as it")
	}
	return list
}

// changed says in words how the feature of a weight that was dropped from the fit counts.
func (m *Model) changed(weight int) string {
	names, feature, terms := m.schema.Features(), m.feature(weight), m.terms()
	for _, h := range m.schema.Hats() {
		if h.Curve() && (feature == h.Axes[0].Missing || feature >= h.First && feature < h.First+h.Width) {
			return names[feature] + " counts as " + names[h.Reference()]
		}
	}
	if g := m.gone(weight); g != nil && g.Share < .0005 {
		return names[feature] + " is left out: the noise shows no rows with it"
	} else if g != nil {
		return fmt.Sprintf("%s is left out with its rows (about %.1f%% of all)", names[feature], 100*g.Share)
	}
	text := " is left out"
	switch at := slices.IndexFunc(terms, func(t dataset.Term) bool { return t.Parts[0].Feature == weight }); {
	case at < 0 || terms[at].Reference == "" || len(terms[at].Parts) == 1:
	case terms[at].Column == "(interactions)":
		text = " counts as no interaction"
	default:
		text = " counts as the reference level"
	}
	for _, a := range m.inference.Absorbed {
		if a.Feature == weight {
			text += fmt.Sprintf("; %s also carries it (%s), and noise may decide which of the two stays",
				names[m.feature(a.By)], correlation(a))
		}
	}
	return names[feature] + text
}

// gone returns the dropped level of a weight whose rows leave the estimate; nil for other weights.
func (m *Model) gone(weight int) *inference.Gone {
	for _, g := range m.inference.Gone {
		if g.Feature == weight {
			return &g
		}
	}
	return nil
}

// references returns the label of each reference level as which dropped levels count: its feature and those levels in the
// schema's order, or their number if they are more than 2. The level of missing or unlisted cells is not named: many tables
// have no such cell.
func (m *Model) references() map[string]string {
	names, dropped, labels := m.schema.Features(), map[string]bool{}, map[string]string{}
	for _, j := range m.inference.Dropped {
		dropped[names[m.feature(j)]] = m.gone(j) == nil
	}
	for _, c := range m.schema.Columns() {
		merged := slices.DeleteFunc(slices.Clone(c.Categories), func(v string) bool { return !dropped[c.Name+"="+v] })
		if len(merged) > 2 {
			merged = []string{fmt.Sprintf("%d others", len(merged))}
		}
		if len(merged) > 0 {
			first := c.Name + "=" + c.Categories[0]
			labels[first] = first + " or " + strings.Join(merged, " or ")
		}
	}
	return labels
}

// formula describes the fit's formula; if f is nil, the formula that was requested. If only some levels of a category
// have a coefficient of their own, the text states how many. The level for missing or unlisted cells is not counted.
func (m *Model) formula(f *inference.Fit) string {
	kept := map[int]bool{}
	if f != nil {
		for _, c := range f.Columns {
			kept[m.feature(c.Feature)] = true
		}
	}
	var list, order []string
	counts, all := map[string]int{}, map[string]int{}
	terms := m.schema.Terms(m.rates())
	for _, t := range terms[:len(terms)-1] {
		if m.schema.IsOther(t.Parts[0].Feature) {
			continue
		}
		name := t.Column
		if t.Reference == "" && t.Per != "" {
			name = t.Per
		}
		if all[name]++; all[name] == 1 {
			order = append(order, name)
		}
		if f == nil || kept[t.Parts[0].Feature] {
			counts[name]++
		}
	}
	for _, name := range order {
		switch n := counts[name]; {
		case n == 0:
		case n == all[name]:
			list = append(list, name)
		default:
			list = append(list, fmt.Sprintf("%s (%d of %d differences)", name, n, all[name]))
		}
	}
	if len(list) == 0 {
		list = []string{"1"}
	}
	return m.schema.Target().Column + " ~ " + strings.Join(list, " + ")
}

func (m *Model) meaning() string {
	f := m.inference
	of := "the formula"
	if m.short() {
		of = "the SHORT formula"
	}
	clip := ""
	switch row := loss.Unweighted(m.loss); {
	case loss.IsSquared(row), loss.IsHuber(row):
		clip = " Residuals beyond the clip of " + row.Name() + " count as the clip, in the target's range of [-1, 1]: " +
			"the coefficient is that of the mean where residuals beyond it are rare or as many on both sides."
	case m.schema.Target().Event != "":
		clip = " A person who was expected to have more events than the clip of " + row.Name() + ", its first number, above " +
			"those that occurred counts with the clip."
	case loss.Counts(row):
		clip = " Residuals beyond the clip of " + row.Name() +
			", in units of the largest count, count as the clip: of counts with a long tail the rate is that without it."
	case m.rates():
		clip = " Slopes beyond the clip of " + row.Name() + " count as the clip: where they are not rare, the intercept is that " +
			"of a lower mean, and ratios are those of the mean if the relative residuals of all rows are alike."
	}
	if m.schema.Target().Weight != "" {
		clip += " With the weights of " + m.schema.Target().Weight + " the population is the one that the weights stand for, if a " +
			"row's weight is in proportion to one over the probability with which the row was drawn. Strata and clusters of a survey are not counted."
	}
	return fmt.Sprintf("Over tables and coins %g%% of such intervals hold the population's coefficient of %s, sampling "+
		"and privacy noise together, by simulation. %s%s Coefficients are associations in the table's population, not causes. "+
		"Intervals are one by one: with many, some miss.", 100*f.Level, of, m.estimand(), clip)
}
