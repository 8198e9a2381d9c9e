package runrecord

import "math"

// Compared is the released comparison of a fit with the best constant: the best model that gives
// every row the same prediction. Losses are computed on scaled rows, without the regularizer.
type Compared struct {
	// Difference is the mean loss of the fit minus the mean loss of the constant. Each record's
	// difference is clipped to [-Clip, Clip]. Sigma is the standard deviation of the noise in
	// Difference.
	Difference float64 `json:"difference"`
	Sigma      float64 `json:"sigma"`
	Clip       float64 `json:"clip"`
	// Constant is the mean loss of the constant model. Each record's loss is clipped to [0, 2 F0]. F0
	// (loss.Constants.InitialGap) bounds the difference between the mean loss at weights 0 and its infimum.
	// ConstantSigma is the standard deviation of the noise in Constant.
	Constant      float64 `json:"constant"`
	ConstantSigma float64 `json:"constant_sigma"`
	// Margins are the margins (linear predictors) that the constant model gives every row.
	Margins []float64 `json:"margins"`
	// Shrunk is the position of the published model on the line from the fit (0) to the constant
	// (1). Difference is the difference for the fit, whatever Shrunk is.
	Shrunk float64 `json:"shrunk,omitempty"`
}

// halfway is the value of Shrunk if the comparison of the fit with the constant is unclear. The
// published model is then the mean of the fit and the constant.
const halfway = .5

// Decide sets Shrunk, the position of the published model on the line from the fit (0) to the
// constant (1). If the Verdict is Worse, Decide sets 1. Otherwise it sets 1/2 if the loss is convex
// in the weights and the fit is not better than the constant by at least one standard deviation of
// the noise. It sets 0 in all other cases. At 1/2 a convex loss is at most the mean of the losses
// of the fit and of the constant. On a quadratic loss, 1/2 is the best point of the line if the fit
// and the constant are equally good: the noise has then cost the fit as much as the fit has gained.
func (c *Compared) Decide(convex bool) {
	switch c.Shrunk = 0; {
	case c.Verdict() == Worse:
		c.Shrunk = 1
	case !(c.Difference <= -c.Sigma) && convex:
		c.Shrunk = halfway
	}
}

// Model returns the weights of the published model, between the fit and the constant. w are the weights of
// the fit, and constant are the weights of the constant model.
func (c *Compared) Model(w, constant []float64) []float64 {
	out := append([]float64(nil), w...)
	if c.Shrunk == 0 {
		return out
	}
	for j, v := range constant {
		out[j] = float64((1-c.Shrunk)*w[j]) + float64(c.Shrunk*v)
	}
	return out
}

// Fit returns the weights of the fit, given the weights that Model returned for the same constant.
// It returns nil and false if Shrunk is 1: the published model is then the constant, from which the
// fit cannot be computed.
func (c *Compared) Fit(model, constant []float64) ([]float64, bool) {
	if c.Shrunk >= 1 {
		return nil, false
	}
	out := append([]float64(nil), model...)
	for j, v := range constant {
		out[j] = (model[j] - c.Shrunk*v) / (1 - c.Shrunk)
	}
	return out, true
}

// Verdict is the conclusion of the comparison of a fit with the best constant.
type Verdict int

const (
	// Unclear means that the difference of the losses is at most two standard deviations of its
	// noise.
	Unclear Verdict = iota
	// Better means that the fit's loss is below the constant's loss by more than two standard
	// deviations of the noise.
	Better
	// Worse means that the fit's loss is above the constant's loss by more than two standard
	// deviations of the noise.
	Worse
)

func (v Verdict) String() string {
	return [...]string{"not better than a constant by more than noise", "better than the best constant",
		"WORSE than a constant"}[v]
}

// Code returns the name of the verdict for programs: better, worse or unclear.
func (v Verdict) Code() string { return [...]string{"unclear", "better", "worse"}[v] }

// Verdict returns the conclusion of the comparison of the fit with the best constant. A fit that is
// exactly as good as the constant is called Better in one of 44 comparisons by chance, and Worse in
// one of 44.
func (c Compared) Verdict() Verdict {
	switch {
	case c.Difference < -2*c.Sigma:
		return Better
	case c.Difference > 2*c.Sigma:
		return Worse
	}
	return Unclear
}

// Explained returns the share by which the fit's loss is below the constant's loss, as a fraction
// of the constant's loss, and the standard deviation of the noise in this share. ok is false unless
// the constant's loss is positive and above three standard deviations of its own noise.
func (c Compared) Explained() (share, sigma float64, ok bool) {
	if !(c.Constant > 3*c.ConstantSigma) || c.Constant <= 0 {
		return 0, 0, false
	}
	share = -c.Difference / c.Constant
	return share, math.Hypot(c.Sigma, share*c.ConstantSigma) / c.Constant, true
}
