package model

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/model/contrast"
)

// ContrastOf is the estimate and the interval of a contrast that was given as a text.
type ContrastOf struct {
	Text    string `json:"contrast"`
	Formula string `json:"formula"`
	Short   bool   `json:"short"`
	Unit    string `json:"unit"`
	contrast.Interval
	Multiplied
	// Reason says why no interval is stated, or which columns outside the formula the contrast also carries, and which levels
	// count as a reference level with which it compares.
	Reason string  `json:"reason,omitempty"`
	Level  float64 `json:"level"`
	// Meaning states the estimate and its interval in words: the factor by which the odds or the rate are
	// multiplied, or the amount by which the prediction is higher. If no interval is stated, it says why.
	Meaning string `json:"meaning"`
}

// Contrast returns the estimate and the interval of a linear combination of terms, given as a text such as
// "region=north - region=south" or "10 age + sex=m - sex=f". A level of a category stands for the difference
// between its effect and that of the reference level, and a value of a curve, as age@30, for that from the middle knot. The
// name of a number stands for the effect of one more unit. Signs between terms need spaces on both sides. Contrast returns an error if the text is invalid or
// the model has no intervals.
func (m *Model) Contrast(text string) (*ContrastOf, error) {
	f := m.inference
	if f == nil {
		return nil, errNoIntervals
	}
	weights, err := m.contrast(text)
	if err != nil {
		return nil, err
	}
	out := &ContrastOf{Text: text, Formula: m.formula(f), Short: m.short(), Level: f.Level,
		Interval: m.contrasts()(weights, 0)}
	of := m.quantity()
	if m.several() {
		of = combination(weights).odds(m)
	}
	out.Unit, out.Multiplied = m.unitOf(of), m.multiplied(out.Interval)
	out.Reason = wider(m.reason(out.Interval, func(j int) bool { return weights[j] != 0 }), out.Interval)
	references := m.references()
	for j, w := range weights {
		if w == 0 || out.State != inference.Reported {
			continue
		}
		label := references[m.schema.Features()[m.feature(j)]]
		if label != "" && !strings.Contains(out.Reason, label) { // once for all classes
			out.Reason = strings.TrimPrefix(out.Reason+"; ", "; ") + "the reference level is " + label
		}
	}
	out.Meaning = words(out, of)
	return out, nil
}

// combination holds the factors of a model's weights in a contrast.
type combination []float64

// odds names the odds that a contrast of several classes multiplies: of a class against the first, or against another class
// of which the contrast is the difference.
func (weights combination) odds(m *Model) string {
	const mixed = "the odds of the contrast's classes"
	classes, dim := m.schema.Target().Classes, m.schema.Dim()
	var list []int
	for i := range classes {
		if slices.ContainsFunc(weights[i*dim:(i+1)*dim], func(w float64) bool { return w != 0 }) {
			list = append(list, i)
		}
	}
	against := 0
	switch len(list) {
	case 1:
	case 2:
		a, b := weights[list[0]*dim:][:dim], weights[list[1]*dim:][:dim]
		if !slices.EqualFunc(a, b, func(v, w float64) bool { return v == -w }) {
			return mixed
		}
		first := slices.IndexFunc(m.schema.Terms(m.rates()), func(t dataset.Term) bool { return a[t.Parts[0].Feature] != 0 })
		if p := m.schema.Terms(m.rates())[first].Parts[0]; a[p.Feature]*p.Factor < 0 {
			slices.Reverse(list)
		}
		against = list[1]
	default:
		return mixed
	}
	return fmt.Sprintf("the odds of %q against %q", classes[list[0]], classes[against])
}

// words states the estimate of a contrast and its interval in words, or the reason why no interval is stated. quantity is
// the quantity that a contrast raises or multiplies.
func words(c *ContrastOf, quantity string) string {
	if c.State != inference.Reported {
		return fmt.Sprintf("no interval is stated: %s: %s", c.State, c.Reason)
	}
	with := fmt.Sprintf("(%g%% interval", 100*c.Level)
	if r, _ := c.Ratio(); r != nil {
		verb := "are"
		if c.Rate != nil {
			verb = "is"
		}
		return fmt.Sprintf("%s %s multiplied by %.4g %s %.4g to %.4g)", quantity, verb, r.Estimate, with, r.Low, r.High)
	}
	return fmt.Sprintf("%s is expected to be %.4g higher %s %.4g to %.4g)", quantity, c.Estimate, with, c.Low, c.High)
}

// Joint returns the joint confidence region of several contrasts (linear combinations of terms), given as
// texts. If there is no region, the result states the reason. Joint returns an error if a text is invalid or
// the model has no intervals.
func (m *Model) Joint(texts []string) (contrast.Joint, error) {
	if m.inference == nil {
		return contrast.Joint{}, errNoIntervals
	}
	var all [][]float64
	for _, text := range texts {
		weights, err := m.contrast(text)
		if err != nil {
			return contrast.Joint{}, err
		}
		all = append(all, weights)
	}
	alone := m.contrasts()
	for i, weights := range all {
		if v := alone(weights, 0); v.State == inference.Absent {
			return contrast.Joint{State: v.State, Reason: texts[i] + ": " + m.reason(v, func(j int) bool { return weights[j] != 0 })}, nil
		}
	}
	out, err := m.inference.Joint(all, make([]float64, len(all)))
	if err == nil && out.State != inference.Reported {
		out.Reason = m.unjoined(out.State, texts, all)
	}
	return out, err
}

// unjoined says in words why several contrasts have no joint confidence region. state is the state of the joint region.
// If a contrast alone has no interval, or one that is wider by the error of the last step, unjoined returns the reason
// of the first such contrast. Otherwise it returns the reason why the method states no region.
func (m *Model) unjoined(state inference.State, texts []string, contrasts [][]float64) string {
	if state == inference.Dependent {
		return "one of the contrasts follows from the others in the formula"
	}
	for i, weights := range contrasts {
		if v := m.inference.Contrast(weights, 0); v.State != inference.Reported || state == inference.Withheld && v.Remainder > 0 {
			return texts[i] + ": " + wider(m.reason(v, func(int) bool { return false }), v)
		}
	}
	return m.unidentified()
}

// contrast parses a linear combination of terms, such as "region=north - region=south". It returns the factor
// of each of the model's weights in the combination. Signs between terms are " + " and " - ". The name of a
// level may contain " + " or " - ". contrast therefore takes as a term the shortest text, up to a sign or to
// the end, that is a term of the model. If no such text is a term, the error quotes the shortest one.
func (m *Model) contrast(text string) ([]float64, error) {
	terms := m.terms()
	weights := make([]float64, len(m.weights))
	rest, sign := strings.TrimSpace(text), 1.
	if after, minus := strings.CutPrefix(rest, "- "); minus {
		rest, sign = after, -1
	}
	for {
		var err error
		end, next := 0, 0.
		for {
			var at int
			at, next = nextSign(rest, end)
			if fault := m.part(weights, terms, strings.TrimSpace(rest[:at]), sign); fault == nil {
				end = at
				break
			} else if err == nil {
				err = fault // the error quotes the shortest text, which the user most likely meant
			}
			if next == 0 {
				return nil, err
			}
			end = at + 1
		}
		if next == 0 {
			if !slices.ContainsFunc(weights, func(w float64) bool { return w != 0 }) {
				return nil, fmt.Errorf("contrast: %q: is 0 in every model: a reference level has the coefficient 0", text)
			}
			return weights, nil
		}
		rest, sign = rest[end+3:], next
	}
}

// nextSign finds the first " + " or " - " at or after the byte index from. It returns the byte index of its
// first space, and 1 for plus or -1 for minus. If there is none, it returns the length of the text and 0.
func nextSign(text string, from int) (at int, sign float64) {
	at = len(text)
	for _, s := range []struct {
		text string
		sign float64
	}{{" + ", 1}, {" - ", -1}} {
		if i := strings.Index(text[from:], s.text); i >= 0 && from+i < at {
			at, sign = from+i, s.sign
		}
	}
	return at, sign
}

// part parses one term of a contrast, with an optional number and a space before it. For each weight in the
// term it adds sign, times the number, times the weight's factor in the term, to weights. If the text is the
// reference level of a category, part adds nothing. If the text is no term of the model, part returns an
// error. The intercept is not allowed as a term.
func (m *Model) part(weights []float64, terms []dataset.Term, text string, sign float64) error {
	factor := sign
	if number, name, found := strings.Cut(text, " "); found {
		if v, err := strconv.ParseFloat(number, 64); err == nil && !math.IsInf(v, 0) && !math.IsNaN(v) {
			factor, text = sign*v, strings.TrimSpace(name)
		}
	}
	for _, t := range terms {
		if t.Column == "" {
			continue
		}
		if t.Name == text {
			for _, p := range t.Parts {
				weights[p.Feature] += factor * p.Factor
			}
			return nil
		}
		// The reference level differs from itself by 0, also of a class.
		class, of := strings.CutSuffix(text, t.Reference)
		if text != "" && of && t.Reference != "" && (class == "" || m.several() && strings.HasPrefix(t.Name, class)) {
			return nil
		}
	}
	of := ""
	if m.several() {
		// So do the coefficients of the first class.
		classes := m.schema.Target().Classes
		if name, first := strings.CutPrefix(text, classes[0]+": "); first && slices.ContainsFunc(terms, func(t dataset.Term) bool {
			return t.Column != "" && (t.Name == classes[1]+": "+name || t.Reference == name)
		}) {
			return nil
		}
		of = fmt.Sprintf(" of a class (%s), such as %q", strings.Join(classes, ", "), terms[0].Name)
	}
	if known, err := m.onCurve(weights, terms, text, factor); known {
		return err
	}
	return fmt.Errorf("contrast: %q: must be a number's column or a level such as column=value%s, joined by \" + \" or "+
		"\" - \"", text, of)
}

// onCurve is part for a value of a curve such as age@30, which is linear between its knots. known is false for another text.
func (m *Model) onCurve(weights []float64, terms []dataset.Term, text string, factor float64) (known bool, err error) {
	name, value, features := text, "", m.schema.Features()
	if at := strings.LastIndex(text, "@"); at > 0 {
		name, value = text[:at], text[at+1:]
	}
	for _, h := range m.schema.Hats() {
		prefix, of := strings.CutSuffix(name, h.Axes[0].Column)
		class, classed := strings.CutSuffix(prefix, ": ")
		if !h.Curve() || !of || classed != m.several() || classed && !slices.Contains(m.schema.Target().Classes, class) ||
			!classed && prefix != "" {
			continue
		}
		columns := m.schema.Columns()
		c := columns[slices.IndexFunc(columns, func(c dataset.Column) bool { return c.Name == h.Axes[0].Column })]
		v, err := strconv.ParseFloat(value, 64)
		if c.Kind == dataset.Date {
			v, err = dataset.Day(value)
		}
		if err != nil || !(c.Low <= v && v <= c.High) {
			return true, fmt.Errorf("contrast: %q: must be a value of the curve of %s, from %s to %s", text, c.Name,
				features[h.First], features[h.First+h.Width-1])
		}
		if c.Transform == dataset.Log1p {
			v = math.Log1p(v)
		}
		knots := h.Axes[0].At
		for i := len(knots); i < h.Width; i++ {
			knots = append(knots, 2*float64(i)/float64(h.Width-1)-1)
		}
		from, to := c.Transformed()
		u, i := 2*(v-from)/(to-from)-1, 0
		for i+2 < h.Width && knots[i+1] <= u {
			i++
		}
		share := (u - knots[i]) / (knots[i+1] - knots[i])
		if err = m.part(weights, terms, prefix+features[h.First+i], factor*(1-share)); err == nil {
			err = m.part(weights, terms, prefix+features[h.First+i+1], factor*share)
		}
		return true, err
	}
	return false, nil
}

// Interval is the confidence interval of a prediction. It is an interval for the mean of the target, or for
// the probability of the second class, among rows with the same features. It is no interval for the target of
// a single row, which varies around this mean.
type Interval struct{ Low, High float64 }

// intervals returns a function that computes the interval of an encoded row, on the scale of the prediction.
// The function returns one interval, which is nil for a row without a stated one. Of ordered classes it returns an
// interval for each threshold, of the probability of a class above it. It computes the interval of the row's score,
// a linear combination of the weights, and converts both ends to predictions, since the prediction increases
// with the score. intervals returns an error if the model has no intervals.
func (m *Model) intervals(o Output, l margins, horizons ...float64) (func(x []float32) []*Interval, error) {
	if m.inference == nil {
		return nil, errNoIntervals
	}
	if m.several() {
		return nil, errors.New("intervals: must be left out for several classes: the intervals of their coefficients are stated, and " +
			"those of predictions are not")
	}
	contrast := m.contrasts()
	scale := func(z float64) float64 { return m.inUnits(l, z) }
	doubt := func(float64) float64 { return 0 } // of the baseline hazard, in half-widths of the score
	switch o {
	case Risk:
		by := m.schema.Target().High
		if len(horizons) > 1 {
			return nil, fmt.Errorf("horizon: %d times: must be one time, for which the interval is stated", len(horizons))
		} else if len(horizons) == 1 {
			by = horizons[0]
		}
		if t := m.schema.Target(); t.Changing != "" && by != t.High {
			return nil, fmt.Errorf("horizon = %v: has no interval of predictions before the last cut, since the hazard ratios of %s "+
				"change", by, t.Changing)
		}
		scale = func(z float64) float64 { return risk(m.times(), z, by) }
		quantile := inference.Quantile(m.inference.Level)
		doubt = func(z float64) float64 { return quantile * m.times().Doubt(m.schema.Target().HazardErrors, z, by) }
	case Probability:
		scale = func(z float64) float64 { return probability(l, z) }
	}
	row := make([]float64, len(m.weights))
	cuts := max(len(m.thresholds()), 1)
	if cuts > 1 {
		scale = func(z float64) float64 { return 1 / (1 + math.Exp(-z)) }
	}
	return func(x []float32) []*Interval {
		list := make([]*Interval, cuts)
		for j, v := range x {
			row[j] = float64(v)
		}
		clear(row[len(x):])
		for k := range list {
			if k > 0 {
				row[len(x)+k-1] = -1 // the score minus the threshold
			}
			if i := contrast(row, 0); i.State == inference.Reported {
				more := doubt(i.Estimate)
				list[k] = &Interval{scale(i.Estimate - math.Hypot(i.Estimate-i.Low, more)), scale(i.Estimate + math.Hypot(i.High-i.Estimate, more))}
			}
		}
		return list
	}, nil
}
