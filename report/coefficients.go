package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/model"
)

// coefficient is one in the user's units.
type coefficient struct {
	name string
	per  string
	// class is whose it is, where there are several; the effect is then on its
	// log-odds against the mean of all classes.
	class string
	// effect is that of one unit, span that between a number's bounds; sd are the
	// standard deviations of their noise, 0 where unknown.
	effect, effectSD float64
	span, spanSD     float64
	intercept        bool
}

// within reports whether noise alone explains the coefficient: less than two
// standard deviations.
func (c coefficient) within() bool { return c.spanSD > 0 && math.Abs(c.span) < 2*c.spanSD }

// label names the coefficient among all.
func (c coefficient) label() string {
	if c.class == "" {
		return c.name
	}
	return c.name + " for “" + c.class + "”"
}

// explained are the model's coefficients; ok is false if weights are no sum's.
//
// Probabilities of classes stay what they are when the same is added to the weights of
// every class, so weights less their mean over the classes are explained, and their
// noise, which is sqrt(1 - 1/K) times that of a weight.
func (f *Fit) explained(n noise) (list []coefficient, ok bool) {
	s, w := f.Model.Schema(), f.Model.Weights()
	classes, d := s.Target().Classes, s.Dim()
	if !f.Model.Linear() {
		return nil, false
	}
	if len(w) == d {
		return explain(s, w, n, rates(f.Model)), true
	}
	if len(w) != d*len(classes) {
		return nil, false
	}
	k := float64(len(classes))
	less := n
	less.weight *= math.Sqrt(1 - 1/k)
	byClass := make([][]coefficient, len(classes))
	for i, class := range classes {
		own := make([]float64, d)
		for j := range own {
			mean := 0.0
			for c := range classes {
				mean += w[c*d+j] / k
			}
			own[j] = w[i*d+j] - mean
		}
		byClass[i] = explain(s, own, less, false)
		for j := range byClass[i] {
			byClass[i][j].class = class
		}
	}
	for j := range d {
		for i := range classes {
			list = append(list, byClass[i][j])
		}
	}
	return list, true
}

// explain restates the weights and the noise in them in the user's units. Both
// are linear but for a constant, so the scale of each feature is that of a weight
// of one. The noise of the intercept is put together as if that of the weights were
// independent, as it is without a metric.
func explain(s *dataset.Schema, weights []float64, n noise, rates bool) []coefficient {
	one := make([]float64, len(weights))
	for j := range one {
		one[j] = 1
	}
	values, scales := s.Explain(weights), s.Explain(one)
	if rates {
		values, scales = s.ExplainRate(weights), s.ExplainRate(one)
	}
	columns := make(map[string]dataset.Column)
	for _, c := range s.Columns() {
		columns[c.Name] = c
	}
	list := make([]coefficient, len(values))
	variance := 0.0 // of the intercept
	for j, v := range values {
		sd := n.in(j)
		k := coefficient{name: v.Feature, per: "this value", effect: v.Value, effectSD: math.Abs(scales[j].Value) * sd}
		c := columns[v.Column]
		low, high := bounds(c)
		switch {
		case v.Column == "":
			unit := 1 / s.Scale()
			if t := s.Target(); t.Kind == dataset.Number && !rates {
				unit *= t.High/2 - t.Low/2
			}
			k.name, k.per, k.intercept = "intercept", "", true
			k.effectSD = math.Sqrt(variance + math.Pow(unit*sd, 2))
		case v.Per != "":
			// A number is encoded around its midpoint, whose part goes to the
			// intercept.
			variance += math.Pow(k.effectSD*(low+high)/2, 2)
		}
		k.span, k.spanSD = k.effect, k.effectSD
		if v.Per != "" {
			k.per, k.span, k.spanSD = "one unit more", k.effect*(high-low), k.effectSD*(high-low)
			if c.Transform == dataset.Log1p {
				k.per, k.effect, k.effectSD = "each doubling of 1 + x", k.effect*math.Ln2, k.effectSD*math.Ln2
			}
			if c.Kind == dataset.Date {
				k.per, k.effect, k.effectSD = "one year more, from "+dataset.ShowDay(c.Low), k.effect*year, k.effectSD*year
			}
		}
		list[j] = k
	}
	return list
}

// rates reports whether a model predicts rates, of which weights add to the logarithm.
func rates(m *model.Model) bool {
	o, err := m.Output()
	return err == nil && o == model.Rate
}

// ratesOf says of what.
func ratesOf(t dataset.Target) string {
	if t.Exposure.Column == "" {
		return "the expected " + t.Column
	}
	return "the expected " + t.Column + " per unit of " + t.Exposure.Column
}

// year is its mean number of days in the Gregorian calendar.
const year = 365.2425

// bounds are a number's, transformed, or a date's, in days from the first.
func bounds(c dataset.Column) (low, high float64) {
	if c.Kind == dataset.Date {
		return 0, c.High - c.Low
	}
	if c.Transform == dataset.Log1p {
		return math.Log1p(c.Low), math.Log1p(c.High)
	}
	return c.Low, c.High
}

// score says in what unit coefficients are.
func (f *Fit) score() (unit string, odds bool) {
	target := f.Model.Schema().Target()
	if rates(f.Model) {
		return "the logarithm of " + ratesOf(target), false
	}
	if target.Kind == dataset.Number {
		return "units of " + target.Column, false
	}
	if len(target.Classes) > 2 {
		return "log-odds against the mean of all classes", false
	}
	if o, err := f.Model.Output(); err == nil && o == model.Probability {
		return "log-odds of “" + target.Classes[1] + "”", true
	}
	return "score for “" + target.Classes[1] + "”", false
}

// coefficients says what the model says, and how sure the noise lets one be.
func (f *Fit) coefficients(n runNoise) Section {
	s := Section{Title: "What the model says"}
	list, ok := f.explained(n.noise)
	if !ok {
		s.Parts = append(s.Parts, Text(fmt.Sprintf("The model has %s weights, which are no terms of a sum over features: what they mean is said by its loss, %s.", Number(float64(f.Model.Dim())), f.Model.Loss().Name())))
		return s
	}
	unit, odds := f.score()
	what := "The prediction is a sum"
	if len(f.Model.Schema().Target().Classes) > 2 {
		what = "The prediction is the class with the largest sum"
	}
	s.Parts = append(s.Parts,
		Text(what+": one term for each number or date, one for the value of each category, and the intercept, in "+unit+". Coefficients describe the model and its table, not causes. Of the values of one category only differences mean something."),
		f.certainty(n, list))
	if b := f.bars(list, n, unit); b.check() == nil { // not so if weights near the end of the float64 range
		s.Parts = append(s.Parts, b)
	}
	s.Parts = append(s.Parts, f.table(list, n, odds))
	return s
}

// certainty says how much of the coefficients is noise.
func (f *Fit) certainty(n runNoise, list []coefficient) Part {
	if n.why != nil {
		return Note("How much of each coefficient is noise is not stated here: " + n.why.Error() + ". Small coefficients may be noise alone.")
	}
	beyond := 0
	for _, c := range list {
		if !c.within() {
			beyond++
		}
	}
	how := "It is the noise of the certificate’s releases carried through the steps, to first order: exact for features that hardly any row has, less for the others, whose data pull the weights back."
	if n.loose != "" {
		how = "It is a bound on the noise of the certificate’s releases carried through the steps, to first order: " + n.loose + "."
	} else if !n.convex {
		how = "It is the noise of the certificate’s releases carried through the steps, to first order and as if the loss were flat: exact for features that hardly any row has. This loss is not convex, so that for others it may be less or more."
	}
	extra := ""
	if f.Certificate.Algorithm().Name == "dp-sgd" {
		extra = " The randomness of which rows were sampled comes on top."
	}
	return Note(fmt.Sprintf("%d of %d coefficients differ from 0 by more than two standard deviations of the noise; if all were 0, noise alone would show about %s. %s%s It is no confidence interval: that a table holds only some of the people there are comes on top.",
		beyond, len(list), Number(math.Round(10*.0455*float64(len(list)))/10), how, extra))
}

// ranked sorts the coefficients, but for the intercept, by their size.
func ranked(list []coefficient) []coefficient {
	list = slices.DeleteFunc(slices.Clone(list), func(c coefficient) bool { return c.intercept })
	slices.SortStableFunc(list, func(a, b coefficient) int { return cmp.Compare(math.Abs(b.span), math.Abs(a.span)) })
	return list
}

const mostCoefficients = 20

func (f *Fit) bars(list []coefficient, n runNoise, unit string) Bars {
	b := Bars{
		Title:   "The largest coefficients",
		Caption: "For a number or date, the difference between its upper and its lower bound; for a value of a category or for a missing cell, its own term.",
		X:       Axis{Label: "effect (" + unit + ")"},
	}
	if n.why == nil {
		b.Caption += " Lines with ends are two standard deviations of the noise either way, at most; hollow bars are within it."
	}
	list = ranked(list)
	if len(list) > mostCoefficients {
		b.Title = fmt.Sprintf("The %d largest of %s coefficients", mostCoefficients, Number(float64(len(list))))
		list = list[:mostCoefficients]
	}
	for _, c := range list {
		bar := Bar{Name: c.label(), Value: c.span, Faint: c.within()}
		if c.spanSD > 0 {
			bar.Interval = Interval{c.span - 2*c.spanSD, c.span + 2*c.spanSD}
		}
		b.Items = append(b.Items, bar)
	}
	return b
}

// table lists the coefficients, or the largest of many, in the schema's order.
func (f *Fit) table(list []coefficient, n runNoise, odds bool) Table {
	t := Table{
		Title:   "Coefficients",
		Columns: []Column{{"Feature", false}, {"Per", false}, {"Effect", true}},
		Caption: "A number counts within its bounds. Values are in " + modelFile + " to the last bit, for the encoded columns.",
	}
	classes := len(list) > 0 && list[0].class != ""
	if classes {
		t.Columns = slices.Insert(t.Columns, 1, Column{"Class", false})
	}
	if n.why == nil {
		t.Columns = append(t.Columns, Column{"Noise (sd)", true}, Column{"|Effect| / noise", true})
		t.Caption += " Noise is one standard deviation, at most; coefficients within two of them are printed faint."
	}
	if odds {
		t.Columns = append(t.Columns, Column{"Odds ×", true})
	}
	least := 0.0
	if len(list) > mostRows {
		least = math.Abs(ranked(list)[mostRows-2].span)
		t.Caption += fmt.Sprintf(" The largest of %s are shown.", Number(float64(len(list))))
	}
	for _, c := range list {
		if !c.intercept && (math.Abs(c.span) < least || len(t.Rows) >= mostRows-1) {
			continue
		}
		row := Row{Cells: []string{c.name, c.per, Number(c.effect)}, Faint: c.within()}
		if classes {
			row.Cells = slices.Insert(row.Cells, 1, c.class)
		}
		if n.why == nil {
			row.Cells = append(row.Cells, digits(c.effectSD, 2), digits(math.Abs(c.effect)/c.effectSD, 2))
		}
		if odds {
			row.Cells = append(row.Cells, Number(math.Exp(c.effect)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
