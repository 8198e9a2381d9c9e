package runrecord

import "math"

// Compared is what was released about a model beside the best constant, in the encoded
// space and without the regularizer.
type Compared struct {
	// Difference is the mean loss of the model less the mean loss of the constant, each
	// record's difference clipped to [-Clip, Clip]; Sigma is the noise in it.
	Difference float64 `json:"difference"`
	Sigma      float64 `json:"sigma"`
	Clip       float64 `json:"clip"`
	// Constant is the mean loss of the constant, each record's clipped to [0, 2 F0];
	// ConstantSigma is the noise in it.
	Constant      float64 `json:"constant"`
	ConstantSigma float64 `json:"constant_sigma"`
	// Margins are those which the constant gives every row.
	Margins []float64 `json:"margins"`
}

// Verdict is what a comparison says of a model.
type Verdict int

const (
	// Unclear: noise explains the difference.
	Unclear Verdict = iota
	// Better: the model's loss is less than the constant's by more than two deviations of
	// the noise.
	Better
	// Worse: it is more, by more than two deviations.
	Worse
)

func (v Verdict) String() string {
	return [...]string{"not better than a constant by more than noise", "better than the best constant", "WORSE than a constant"}[v]
}

// Code names the verdict for programs: better, worse or unclear.
func (v Verdict) Code() string { return [...]string{"unclear", "better", "worse"}[v] }

// Verdict reads the comparison: by chance alone a model as good as the constant is called
// better, or worse, once in 44 comparisons each.
func (c Compared) Verdict() Verdict {
	switch {
	case c.Difference < -2*c.Sigma:
		return Better
	case c.Difference > 2*c.Sigma:
		return Worse
	}
	return Unclear
}

// Explained is the share of the constant's loss that the model saves, and its noise; ok is
// false where the constant's loss is not known to a third of itself.
func (c Compared) Explained() (share, sigma float64, ok bool) {
	if !(c.Constant > 3*c.ConstantSigma) || c.Constant <= 0 {
		return 0, 0, false
	}
	share = -c.Difference / c.Constant
	return share, math.Hypot(c.Sigma, share*c.ConstantSigma) / c.Constant, true
}
