package runrecord

import "math"

// Compared is the released comparison of a model with the best constant, the best model that gives every row
// the same prediction. Losses are after scaling and without the regularizer.
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
	// Shrunk is how far the published model is from the fit towards the constant: 0 means the fit, 1 the
	// constant. Difference is always measured for the fit, whatever Shrunk is.
	Shrunk float64 `json:"shrunk,omitempty"`
}

// halfway is the value of Shrunk for a model whose comparison with the constant is unclear: the model goes
// half the way to the constant.
const halfway = .5

// Decide sets Shrunk: how far the published model is on the way from the fit (0) to the constant
// (1). If the fit is worse than the constant (see Verdict), the model is the constant. Otherwise,
// if the fit is not better by at least one standard deviation of the noise and the loss is convex
// in the weights, the model is halfway between the two. There its loss is at most the mean of the
// two losses. On a quadratic loss, halfway is the best point of the line if the fit and the
// constant are equally good, since noise then costs the fit as much as it has gained.
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

// Fit returns the weights of the fit, given the weights that Model returned for the same constant. It returns
// false if the model is the constant, since the fit's weights are then lost.
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

// Verdict is the conclusion of the comparison of a model with the best constant.
type Verdict int

const (
	// Unclear: the difference of the losses is within two standard deviations of its noise.
	Unclear Verdict = iota
	// Better: the model's loss is below the constant's by more than two standard deviations of the
	// noise.
	Better
	// Worse: the model's loss is above the constant's by more than two standard deviations of the
	// noise.
	Worse
)

func (v Verdict) String() string {
	return [...]string{"not better than a constant by more than noise", "better than the best constant",
		"WORSE than a constant"}[v]
}

// Code returns the name of the verdict for programs: better, worse or unclear.
func (v Verdict) Code() string { return [...]string{"unclear", "better", "worse"}[v] }

// Verdict returns the conclusion of the comparison with the best constant. A model that is exactly
// as good as the constant is called better in one of 44 comparisons by chance, and worse in one of
// 44.
func (c Compared) Verdict() Verdict {
	switch {
	case c.Difference < -2*c.Sigma:
		return Better
	case c.Difference > 2*c.Sigma:
		return Worse
	}
	return Unclear
}

// Explained returns the share of the constant's loss that the fit saves, and the standard deviation of the
// noise in this share. ok is false unless the constant's loss is positive and above three standard deviations
// of its own noise.
func (c Compared) Explained() (share, sigma float64, ok bool) {
	if !(c.Constant > 3*c.ConstantSigma) || c.Constant <= 0 {
		return 0, 0, false
	}
	share = -c.Difference / c.Constant
	return share, math.Hypot(c.Sigma, share*c.ConstantSigma) / c.Constant, true
}
