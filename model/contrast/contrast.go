// Package contrast declares the estimates of linear combinations of a model's weights (contrasts) with their
// confidence intervals. Package model makes them: model.Model.Coefficients, Contrast and Joint.
package contrast

// State says whether an interval is stated for a contrast, and if not, why.
type State string

const (
	// Reported means that an interval is stated.
	Reported State = "reported"
	// Unidentified means that the noise of the curvature hides the coefficients.
	Unidentified State = "not identified"
	// Withheld means that the remainder of the Newton step may be larger than the interval.
	Withheld State = "withheld"
	// Absent means that the contrast gives weight to a feature that was dropped from the formula, or to no
	// feature of the formula. The coefficient of a dropped feature is unknown, although the model's weight for
	// the feature is 0. So a difference from such a feature has no interval, either.
	Absent State = "not in the formula"
	// Dependent means that one contrast of a joint region is a linear combination of the other contrasts.
	Dependent State = "dependent"
)

// Interval is the estimate and the interval of a linear combination of the model's weights (a contrast).
type Interval struct {
	State    State   `json:"state"`
	Estimate float64 `json:"estimate,omitempty"`
	Low      float64 `json:"low,omitempty"`
	High     float64 `json:"high,omitempty"`
	// Error is the standard error of Estimate, due to sampling and privacy noise.
	Error float64 `json:"standard_error,omitempty"`
	// Privacy is the share of the interval's width that is due to privacy noise: 1 - w/W, where W
	// is the interval's width and w the width due to sampling alone.
	Privacy float64 `json:"privacy_share,omitempty"`
	// Remainder is the allowance on the scale of the contrast, divided by the half-width that the interval
	// has without it. It is given only where it exceeds .25. Up to 1 the interval and Error are stated, and wider by this
	// share; above it the state is Withheld.
	Remainder float64 `json:"remainder_share,omitempty"`
}

// Contains reports whether an interval is stated and contains v.
func (i Interval) Contains(v float64) bool { return i.State == Reported && i.Low <= v && v <= i.High }

// Joint is a joint confidence region of several contrasts: the vectors v of their values with (v -
// Estimate)' Covariance^-1 (v - Estimate) <= Limit.
type Joint struct {
	State      State       `json:"state"`
	Estimate   []float64   `json:"estimate,omitempty"`
	Covariance [][]float64 `json:"covariance,omitempty"`
	Limit      float64     `json:"limit,omitempty"`
	// Zero reports whether the region contains the point at which all contrasts are 0. It is nil if
	// no region is stated.
	Zero *bool `json:"holds_zero,omitempty"`
	// Reason says in words why no region is stated. It is empty if a region is stated.
	Reason string `json:"reason,omitempty"`
}
