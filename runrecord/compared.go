package runrecord

import "math"

// Compared is the released comparison of a model with the best constant, after scaling and without the
// regularizer.
type Compared struct {
	// Difference is the mean loss of the model minus the mean loss of the constant. Each record's
	// difference is clipped to [-Clip, Clip]. Sigma is the standard deviation of the noise in it.
	Difference float64 `json:"difference"`
	Sigma      float64 `json:"sigma"`
	Clip       float64 `json:"clip"`
	// Constant is the mean loss of the constant. Each record's loss is clipped to [0, 2 F0].
	// ConstantSigma is the standard deviation of the noise in it.
	Constant      float64 `json:"constant"`
	ConstantSigma float64 `json:"constant_sigma"`
	// Margins are the margins that the constant gives every row.
	Margins []float64 `json:"margins"`
}

// Verdict is the conclusion of a comparison.
type Verdict int

const (
	// Unclear: the difference is within two standard deviations of the noise.
	Unclear Verdict = iota
	// Better: the model's loss is below the constant's by more than two standard deviations of the
	// noise.
	Better
	// Worse: the model's loss is above the constant's by more than two standard deviations of the
	// noise.
	Worse
)

func (v Verdict) String() string {
	return [...]string{"not better than a constant by more than noise", "better than the best constant", "WORSE than a constant"}[v]
}

// Code returns the name of the verdict for programs: better, worse or unclear.
func (v Verdict) Code() string { return [...]string{"unclear", "better", "worse"}[v] }

// Verdict returns the conclusion. A model that is exactly as good as the constant is called better in
// one comparison of 44 by chance, and worse in another.
func (c Compared) Verdict() Verdict {
	switch {
	case c.Difference < -2*c.Sigma:
		return Better
	case c.Difference > 2*c.Sigma:
		return Worse
	}
	return Unclear
}

// Explained returns the share of the constant's loss that the model saves, and the standard deviation
// of its noise. ok is false unless the constant's loss is above three standard deviations of its noise.
func (c Compared) Explained() (share, sigma float64, ok bool) {
	if !(c.Constant > 3*c.ConstantSigma) || c.Constant <= 0 {
		return 0, 0, false
	}
	share = -c.Difference / c.Constant
	return share, math.Hypot(c.Sigma, share*c.ConstantSigma) / c.Constant, true
}
