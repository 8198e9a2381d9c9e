package train

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/model"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Codes of warnings, by which programs tell them apart.
const (
	// WarnNotBetter: the difference between the loss of the fit and the loss of the best constant is within
	// the noise. If the objective is convex, the published model is then halfway between the fit and the
	// constant, unless the fit has confidence intervals.
	WarnNotBetter = "not-better-than-constant"
	// WarnWorse: the loss of the fit is larger than the loss of the best constant by more than the noise
	// explains. The published model is then the constant, unless the fit has confidence intervals.
	WarnWorse = "worse-than-constant"
	// WarnEpsilon: epsilon is so large (above 10) that it guarantees next to nothing.
	WarnEpsilon = "epsilon-large"
	// WarnDelta: delta is above 1/records. The guarantee then does not exclude that one record is published
	// as it is.
	WarnDelta = "delta-large"
	// WarnSmall: the effective size, n mu/sqrt(d) for n records and d weights, is below
	// optimize.SmallSize: the table is too small for the budget.
	WarnSmall = "table-small"
	// WarnAtRandom: the error of all answers of the run together is above the gradient that is usual at the
	// start, so that the run leaves its start only at random. Settings that were stated make such a plan;
	// default rules refuse it.
	WarnAtRandom = "start-left-at-random"
	// WarnRows: by the released second moment, many rows are counted but not learned from, since they are
	// malformed.
	WarnRows = "rows-lost"
	// WarnTarget: the released loss of the best constant is 0 within noise. No row has a target that can be
	// read, or nearly all have the same.
	WarnTarget = "target-unusable"
	// WarnClamped: the released best constant is at a bound of a real target, so that half of the targets or
	// more are at this bound or beyond it.
	WarnClamped = "target-clamped"
	// WarnConstant: by the released second moment, a column hardly varies.
	WarnConstant = "column-constant"
	// WarnCurves: columns with curve: auto stay linear, since the table is too small for a curve at this
	// budget.
	WarnCurves = "curves-left-out"
	// WarnPairs: interactions with numbers are left out, since the table is too small for them at this
	// budget.
	WarnPairs = "interactions-left-out"
	// WarnWhole: reduce: jl(auto) keeps all features, since the rows have no more features than its rule
	// keeps.
	WarnWhole = "rows-not-reduced"
	// WarnBounds: by the released second moment, nearly all cells of a column are at one of its bounds or
	// beyond it.
	WarnBounds = "bounds-clamped"
	// WarnClip: by releases at the result, the clip of gradients holds back more than noise explains. Coefficients may be
	// off by more than their stated noise.
	WarnClip = "clip-holds-back"
)

// Warning is a fact about a fit that the user of its model must know.
type Warning = model.Warning

// warn returns a list of one warning.
func warn(code, format string, args ...any) []Warning {
	return []Warning{{Code: code, Text: fmt.Sprintf(format, args...)}}
}

// privacyWarnings returns the warnings that follow from a budget, a number of records, and an
// effective size, n mu/sqrt(d) for n records and d weights.
func privacyWarnings(epsilon, delta, records, effective float64) (list []Warning) {
	if epsilon > 10 {
		list = append(list, warn(WarnEpsilon, "epsilon %v promises next to nothing: a publication may be e^%v times as "+
			"likely with a person's record as without", epsilon, epsilon)...)
	}
	if delta > 1/records {
		list = append(list, warn(WarnDelta, "delta %v is above 1/records: it does not exclude that somebody's record is "+
			"published as it is", delta)...)
	}
	if effective < optimize.SmallSize {
		list = append(list, warn(WarnSmall, "too few rows for this budget: a model is almost all noise, and should not "+
			"be used (effective size N = %.2g, below %d)", effective, optimize.SmallSize)...)
	}
	return list
}

// startWarnings returns the warning that a run leaves its start only at random; nil if the plan has none.
func startWarnings(plan optimize.Summary) []Warning {
	if plan.AtRandom == "" {
		return nil
	}
	return []Warning{{Code: WarnAtRandom, Text: plan.AtRandom}}
}

// comparisonWarnings returns the warning that follows from the released comparison with the best constant;
// nil if no comparison was made or the fit was better than the constant.
func comparisonWarnings(c *optimize.Compared) []Warning {
	if c == nil || c.Verdict() == optimize.Better {
		return nil
	}
	code, text := WarnNotBetter, "the model is "+c.Conclusion()
	switch {
	case c.Unresolved:
		return []Warning{{Code: code, Text: text}}
	case c.Verdict() == optimize.Worse && c.Shrunk > 0:
		code, text = WarnWorse, "the fit is WORSE than a constant, and the model is the constant, the same for every row"
	case c.Verdict() == optimize.Worse:
		code = WarnWorse
	case c.Shrunk > 0:
		text = fmt.Sprintf("the fit is %s, and the model goes %.0f%% of the way from the constant to the fit", c.Conclusion(),
			100*(1-c.Shrunk))
	}
	return []Warning{{Code: code, Text: text + ": the fit's " + c.Text()}}
}

// preciselyKnown is a limit on the noise in the released loss of the best constant, as a share of F0
// (loss.Constants.InitialGap), or of 1 if that is less. With more noise that loss gives no warning. atBound is the
// smallest distance of the best constant from the middle of a real target's bounds, in half widths of the bounds,
// that gives the warning WarnClamped.
const (
	preciselyKnown = 1. / 30
	// The loss of a number's best constant where the targets' standard deviation is a twentieth of the width of their bounds.
	leastVaried = .005
	atBound     = .97
)

// targetWarnings returns the warning about the target that follows from the released comparison c with the
// best constant. name is the name of the fit's loss. It returns nil if there was no comparison, or if the
// released loss of the constant is too noisy (preciselyKnown). It makes no query.
func targetWarnings(name string, c *optimize.Compared) []Warning {
	l, err := loss.Parse(name)
	if c == nil || err != nil {
		return nil
	}
	row := loss.RowLoss(l)
	_, relative := loss.Unweighted(row).(interface{ LeastMean() float64 })
	// Near the best constant the loss is of the order of 1 at most, however far the start is.
	precise := c.ConstantSigma <= preciselyKnown*min(l.Constants().InitialGap, 1)
	if !c.Unresolved && !precise {
		return nil
	}
	number := row.Target() == loss.Real && !loss.Counts(row) && !relative
	switch {
	case c.Unresolved && len(c.Margins) == 1 && !loss.Counts(row):
		return []Warning{{Code: WarnTarget,
			Text: "the released share of one class is 0 within noise: no row has a target that can be read, nearly all " +
				"have the same, or the noise hides the others; stillpoint check shows which, on rows that may be looked at"}}
	case number && c.Constant+clearly*c.ConstantSigma > leastVaried && math.Abs(c.Constant) <= clearly*c.ConstantSigma:
		return nil // as of targets that are read, and vary by a small part of their range
	case precise && !c.IsBetter() && c.ConstantSigma > 0 && math.Abs(c.Constant) <= clearly*c.ConstantSigma:
		wide := ""
		if number {
			wide = "its bounds are far too wide, "
		}
		return warn(WarnTarget, "the mean loss of the best constant is 0 within noise (%.2g, noise %.2g): no row has a "+
			"target that can be read, nearly all have the same, %sor the noise hides the others; stillpoint check shows which, "+
			"on rows that may be looked at", c.Constant, c.ConstantSigma, wide)
	case number && !strings.HasPrefix(row.Name(), "pinball") &&
		len(c.Margins) == 1 && math.Abs(c.Margins[0]) >= atBound:
		bound := "upper"
		if c.Margins[0] < 0 {
			bound = "lower"
		}
		return warn(WarnClamped, "the best constant is the target's %s bound: half of the targets or more are at this "+
			"bound or beyond it, where they count as the bound", bound)
	}
	return nil
}

// warnings returns all warnings of a run. Warnings about the result come first, warnings about the budget and
// the schema last.
func (h Header) warnings(r Released) []Warning {
	list := append(comparisonWarnings(r.Run.Compared), targetWarnings(h.Loss, r.Run.Compared)...)
	list = append(list, inferenceWarnings(h.Schema, r.Inference, r.Run.Base)...)
	if law := r.Run.Trace; law != nil && !h.unlikeRows(r) {
		list = append(list, qualityWarnings(h.Schema, law.Moment)...)
	}
	list = append(list, clipWarnings(r.Run.Trace)...)
	list = append(list, startWarnings(h.Plan)...)
	list = append(list, privacyWarnings(h.Epsilon, h.Delta, float64(h.Records), h.Plan.Effective)...)
	return append(list, h.Adapted...)
}

// clipWarnings returns the warning about what the clip of gradients holds back at the result; nil if it tells of none.
func clipWarnings(law *optimize.Trace) []Warning {
	if law == nil || !law.Pulled() {
		return nil
	}
	return warn(WarnClip, "coefficients may be off by more than their stated noise, since the clip holds back long gradients: at "+
		"the result, squared gradient norms exceed the squared clip norm by %.2g of it on average (noise %.2g). Far values of a "+
		"column, or an effect that is no line, are the usual cause, and narrower bounds or a curve for the column help. Gradients "+
		"may also cancel, and no coefficient moves", law.Clipped, law.ClippedSigma)
}

// unlikeRows reports whether the released second moment counts rows unlike: a fit of counts that begins at a base rate
// releases the curvature there, in which a row counts by its exposure and weight.
func (h Header) unlikeRows(r Released) bool {
	l, err := loss.Parse(h.Loss)
	t := h.Schema.Target()
	return err == nil && loss.Counts(l) && cmp.Or(r.Run.Base, h.Start) != nil && (t.Least() > 0 || t.Weight != "")
}

// Warnings returns the warnings about a plan, before any release.
func (p Planned) Warnings() []Warning {
	list := append(startWarnings(p.Summary),
		privacyWarnings(p.Budget.Epsilon(), p.Budget.Delta(), p.Records, p.signal())...)
	return append(list, p.Adapted...)
}
