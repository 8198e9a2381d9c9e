package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/model"
)

// score returns the unit of the model's coefficients in words. odds reports that the target has two classes and that
// coefficients are log-odds of the second class, or those of an event in an interval: the exponential of a coefficient
// is then an odds ratio.
func (f *Fit) score() (unit string, odds bool) {
	target := f.Model.Schema().Target()
	if rates(f.Model) {
		if of, odds := strings.CutPrefix(ratesOf(target), "the odds of "); odds {
			return "log-odds of " + of, true
		}
		return "the logarithm of " + ratesOf(target), false
	}
	if target.Kind == dataset.Number {
		return "units of " + target.Column, false
	}
	if f.thresholds() != nil {
		return "log-odds of a higher class", true
	}
	switch {
	case len(target.Classes) > 2 && f.Model.Inference() != nil:
		return "log-odds of each class against “" + target.Classes[0] + "”", true
	case len(target.Classes) > 2:
		return "log-odds against the mean of all classes", false
	}
	if o, err := f.Model.Output(); err == nil && o == model.Probability {
		return "log-odds of “" + target.Classes[1] + "”", true
	}
	return "score for “" + target.Classes[1] + "”", false
}

// thresholds returns the thresholds between ordered classes; nil for a model of another loss.
func (f *Fit) thresholds() []float64 {
	return targetpair.Thresholds(f.Model.Loss(), f.Model.Weights(), f.Model.Schema().Dim())
}

// ordering says how classes follow from the score of a model of ordered classes; "" for another model.
func (f *Fit) ordering() string {
	var list []string
	for k, t := range f.thresholds() {
		list = append(list, Number(t)+" from "+f.Model.Schema().Target().Classes[k+1])
	}
	if list == nil {
		return ""
	}
	return " The log-odds of a class or a higher class are the score minus the threshold of the class. The thresholds are " +
		strings.Join(list, ", ") + " on. They are in order in every model of this loss."
}

// coefficients makes the section of the page about the model's coefficients and their noise.
func (f *Fit) coefficients(n runNoise) Section {
	s := Section{Title: "What the model says"}
	e, ok := f.explained(n)
	if !ok {
		s.Parts = append(s.Parts, Text(fmt.Sprintf("The model has %s weights, which are not the terms of a sum over "+
			"features. The loss %s defines their meaning.", Number(float64(len(f.Model.Weights()))), f.Model.Loss().Name())))
		return s
	}
	unit, odds := f.score()
	what := "The prediction is the sum"
	if f.thresholds() != nil {
		what = "The score is the sum"
	} else if len(f.Model.Schema().Target().Classes) > 2 {
		what = "The prediction is the class with the largest sum"
	}
	hashed := ""
	if len(e.hashed) > 0 {
		hashed = " The buckets of hashed columns (" + listed(e.hashed,
			160) + ") are part of the sum. They have no readable coefficient, since the values in a bucket are not known."
	}
	s.Parts = append(s.Parts, Text(what+" of the intercept, a term for each number or date, and for each category the "+
		"difference from its reference level, in "+unit+". The intercept is for numbers of 0, dates at their first day, "+
		"curves at their middle knot and categories at their reference level. Coefficients describe the model and its "+
		"table, not causes."+hashed+f.additive()+f.ordering()), f.certainty(e))
	s.draw(f.bars(e, unit))
	s.Parts = append(s.Parts, f.table(e, odds))
	return s
}

// additive says that the model's coefficients and curves are a part of its score alone, if it has features of
// effects; otherwise it returns "".
func (f *Fit) additive() string {
	e, ok := f.Model.Schema().Effects()
	if !ok {
		return ""
	}
	return fmt.Sprintf(" A part of the score is interactions of the columns. The fit describes them by a function of all "+
		"columns together, with %d weights that cannot be interpreted one by one. Coefficients and curves describe the "+
		"additive part alone. A column may have an effect in both parts, so a prediction may change by more or by less "+
		"than its coefficient.", e.Features)
}

// beyond returns the number of coefficients that noise alone does not explain (their method within returns
// false), and the number of all coefficients. Neither number counts intercepts.
func (e explanation) beyond() (beyond, all int) {
	for _, c := range e.list {
		if c.intercept {
			continue
		}
		all++
		if !c.within() {
			beyond++
		}
	}
	return beyond, all
}

// certainty makes the part of the page that says how much of the coefficients is noise.
func (f *Fit) certainty(e explanation) Part {
	if e.how == unstated {
		return Note("How much of each coefficient is noise is not stated here: " + e.why +
			". Small coefficients may be noise alone.")
	}
	return Note(f.meaning(e))
}

// meaning explains to readers how the standard deviations of the coefficients' noise were computed, and
// which errors the standard deviations do not include.
func (f *Fit) meaning(e explanation) string {
	how := passage("estimated deviations")
	how += f.clipped()
	if e.how == bounded {
		how = passage("bounded deviations")
		if e.why != "" {
			how += " They may be much too large: " + e.why + "."
		}
		if f.overshoots() {
			how += " " + passage("long steps")
		}
		how += " " + passage("distance left out") + " "
		if f.thresholds() != nil || f.Model.Schema().Unit().Column != "" {
			how += passage("no second moment")
		} else {
			how += passage("preconditioned fits")
		}
	}
	if e.list[0].share != nil {
		how += " The deviations include the expected distance from the end of the steps to the coefficient without privacy."
	}
	if slices.ContainsFunc(e.list, coefficient.part) {
		how += " " + passage("part of the way")
	}
	var names, clipped []string
	for _, c := range e.list {
		if c.late {
			names = append(names, c.label())
		} else if c.clipped {
			clipped = append(clipped, c.label())
		}
	}
	if len(clipped) > 0 {
		how += fmt.Sprintf(" Not stated, since the clip may move the coefficient too far: %s.", listed(clipped, 200))
	}
	if len(names) > 0 {
		how += fmt.Sprintf(" Not arrived: %s. The noise hides how many rows have these features, or the reference level with "+
			"which they are compared, so that their values are noise.", listed(names, 200))
	}
	if f.Certificate.Algorithm().Name == "dp-sgd" {
		how += " The deviations leave out the randomness of the samples of rows."
	}
	if c := f.plan.Compared; c != nil && c.Shrunk > 0 {
		how += " " + passage("weighted mean")
	}
	return how + " " + passage("no intervals")
}

// clipped says what the clip of gradients may move in this fit, of which the stated deviations know nothing.
func (f *Fit) clipped() string {
	switch l := f.plan.Trace; {
	case l != nil && l.ClippedSigma > 0:
		told := "This shows no bias by the clip"
		if l.Pulled() {
			told = "The clip may therefore move coefficients by more than their deviation"
		}
		return fmt.Sprintf(" At the result, squared gradient norms exceed the squared clip norm by %s of it on average "+
			"(noise %s). %s.",
			Number(l.Clipped), Number(l.ClippedSigma), told)
	case strings.HasPrefix(f.Model.Loss().Name(), "huber"):
		return " " + passage("huber clip")
	case len(f.Model.Schema().Target().Classes) > 1, strings.HasPrefix(f.Model.Loss().Name(), "poisson"):
		if f.holding() == nil {
			return " " + passage("clip unknown")
		}
		return " " + passage("clip counted")
	}
	return ""
}

// overshoots reports whether some step size of the run is larger than 2/L or, with momentum, than 1/L,
// where L is the largest curvature of loss plus regularizer. Along a direction with curvature L, a longer
// step increases the noise. overshoots returns false if the step sizes are unknown or L is infinite.
func (f *Fit) overshoots() bool {
	l := f.plan.Trace
	if l == nil {
		return false
	}
	most := 2.
	if len(l.Momentum) > 0 {
		most = 1
	}
	curvature := f.Model.Loss().Constants().Curvature.Hi + f.Model.Regularizer().Smoothness()
	return !math.IsInf(curvature, 0) &&
		slices.ContainsFunc(l.StepSizes, func(eta float64) bool { return eta*curvature > most*(1+1e-4) })
}

// ranked returns the coefficients without the intercepts, in decreasing order of the absolute value of
// their span. The span is the effect of going from a number's lower to its upper bound.
func ranked(list []coefficient) []coefficient {
	list = slices.DeleteFunc(slices.Clone(list), func(c coefficient) bool { return c.intercept })
	slices.SortStableFunc(list, func(a, b coefficient) int { return cmp.Compare(math.Abs(b.span), math.Abs(a.span)) })
	return list
}

// mostCoefficients is the largest number of coefficients in the chart.
const mostCoefficients = 20

func (f *Fit) bars(e explanation, unit string) Bars {
	b := Bars{
		Title:   "The largest coefficients",
		Caption: passage("bars of coefficients"),
		X:       Axis{Label: "effect (" + unit + ")"},
	}
	switch e.how {
	case bounded:
		b.Caption += " Whiskers reach at most two standard deviations of the noise to both sides. A bar within its " +
			"whisker's length is hollow."
	case estimated:
		b.Caption += " Whiskers reach two standard deviations of the noise to both sides. A shorter bar is hollow."
	}
	list := ranked(e.list)
	if len(list) > mostCoefficients {
		b.Title = fmt.Sprintf("The %d largest of %s coefficients", mostCoefficients, Number(float64(len(list))))
		list = list[:mostCoefficients]
	}
	for _, c := range list {
		bar := Bar{Name: c.label(), Value: c.span, Faint: c.within()}
		if c.spanSD > 0 && !c.hidden() {
			bar.Interval = Interval{c.span - 2*c.spanSD, c.span + 2*c.spanSD}
		}
		b.Items = append(b.Items, bar)
	}
	return b
}

// table lists the coefficients in the schema's order. If there are more than mostRows, it lists only the
// mostRows-1 coefficients with the largest spans, and the intercepts.
func (f *Fit) table(e explanation, odds bool) Table {
	list := e.list
	t := Table{
		Title:   "Coefficients",
		Columns: []Column{{"Feature", false}, {"Per", false}, {"Effect", true}},
		Caption: "A number beyond a bound counts as the bound. " + runrecord.ModelFile +
			" has the exact values, for scaled columns.",
	}
	classes := len(list) > 0 && list[0].class != ""
	if classes {
		t.Columns = slices.Insert(t.Columns, 1, Column{"Class", false})
	}
	if e.how != unstated {
		t.Columns = append(t.Columns, Column{"Noise (sd)", true}, Column{"|Effect| / noise", true})
		most := ""
		if e.how == bounded {
			most = ", at most"
		}
		t.Caption += " Noise is one standard deviation" + most + ". Coefficients within two of them are printed faint."
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
		switch {
		case c.hidden():
			row.Cells = append(row.Cells, c.term(e.how).Noise(), "-")
		case e.how != unstated:
			row.Cells = append(row.Cells, c.term(e.how).Noise(), digits(math.Abs(c.effect)/c.effectSD, 2))
		}
		if odds {
			row.Cells = append(row.Cells, Number(math.Exp(c.effect)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
