package stillpoint

import (
	"github.com/stillpoint-dp/stillpoint/report"
)

// Coefficients returns the coefficients with their confidence intervals, as summaries of linear models
// print them. It is empty for a fit without Spec.Inference.
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
