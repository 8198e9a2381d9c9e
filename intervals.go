package stillpoint

import (
	"github.com/stillpoint-dp/stillpoint/internal/report"
)

// Coefficients returns a table of the coefficients with their confidence intervals, as text. It returns ""
// for a fit without Spec.Inference or without a model.
func (r *Result) Coefficients() string {
	if r.Model == nil || r.Model.Inference() == nil {
		return ""
	}
	list, err := r.Model.Coefficients()
	if err != nil {
		return ""
	}
	return report.CoefficientText(list)
}
