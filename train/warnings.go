package train

import (
	"fmt"

	"github.com/stillpoint-dp/stillpoint/model"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Codes of warnings, for programs.
const (
	// WarnNotBetter: noise explains the difference between the model's loss and the best constant's.
	WarnNotBetter = "not-better-than-constant"
	// WarnWorse: the model's loss is above the best constant's by more than noise explains.
	WarnWorse = "worse-than-constant"
	// WarnEpsilon: epsilon is so large that it guarantees next to nothing.
	WarnEpsilon = "epsilon-large"
	// WarnDelta: delta is so large that publishing somebody's record is not excluded.
	WarnDelta = "delta-large"
	// WarnSmall: the table is too small for the budget.
	WarnSmall = "table-small"
	// WarnRows: many rows are counted but not learned from, by the released second moment.
	WarnRows = "rows-lost"
	// WarnConstant: a column hardly varies, by the released second moment.
	WarnConstant = "column-constant"
	// WarnBounds: nearly all cells of a column are at one of its bounds, by the released second
	// moment.
	WarnBounds = "bounds-clamped"
)

// Warning is a fact about a fit that its user must know.
type Warning = model.Warning

// privacyWarnings returns the warnings about a budget and a number of records.
func privacyWarnings(epsilon, delta, records, effective float64) (list []Warning) {
	if epsilon > 10 {
		list = append(list, Warning{Code: WarnEpsilon, Text: fmt.Sprintf("epsilon %v promises next to nothing: what is published may be e^%v times as likely with a person's record as without", epsilon, epsilon)})
	}
	if delta > 1/records {
		list = append(list, Warning{Code: WarnDelta, Text: fmt.Sprintf("delta %v is above 1/records: it does not exclude that somebody's record is published as it is", delta)})
	}
	if effective < optimize.SmallSize {
		list = append(list, Warning{Code: WarnSmall, Text: fmt.Sprintf("the effective size N = %.2g is below %d: at this budget the table is too small for a useful model", effective, optimize.SmallSize)})
	}
	return list
}

// comparisonWarnings returns the warnings that follow from a released comparison.
func comparisonWarnings(c *optimize.Compared) []Warning {
	if c == nil || c.Verdict() == optimize.Better {
		return nil
	}
	code, how := WarnNotBetter, "is not better than a constant by more than noise"
	if c.Verdict() == optimize.Worse {
		code, how = WarnWorse, "is WORSE than a constant"
	}
	return []Warning{{Code: code, Text: fmt.Sprintf("the model %s: its mean loss less the constant's is %.3g, with noise of %.2g", how, c.Difference, c.Sigma)}}
}

// warnings returns the warnings of a run, the worst first.
func (h Head) warnings(r Released) []Warning {
	list := comparisonWarnings(r.Run.Compared)
	if law := r.Run.Law; law != nil {
		list = append(list, seenWarnings(h.Schema, law.Moment)...)
	}
	return append(list, privacyWarnings(h.Epsilon, h.Delta, float64(h.Records), h.Plan.Effective)...)
}

// Warnings returns the warnings about a plan, before any release.
func (p Planned) Warnings() []Warning {
	return privacyWarnings(p.Budget.Epsilon(), p.Budget.Delta(), p.Records, p.Summary.Effective)
}
