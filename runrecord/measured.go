package runrecord

// Measured is a point's released quality, in the encoded space.
type Measured struct {
	// Loss is the mean loss of the data term with each record's loss clipped to
	// [0, 2 F0], plus the regularizer; LossSigma is the noise in it.
	Loss      float64 `json:"loss"`
	LossSigma float64 `json:"loss_sigma"`
	// LossClip is 2 F0, where each record's loss was clipped.
	LossClip float64 `json:"loss_clip"`
	// GradientNorm is the norm of the mean clipped gradient plus the
	// regularizer's gradient, at least 0; GradientSigma is the noise in it.
	GradientNorm  float64 `json:"gradient_norm"`
	GradientSigma float64 `json:"gradient_sigma"`
}

// Curved is what a run (optimize.ChooseCurved) was told of a candidate: the least of the released
// curvatures v'Hv of the objective along its directions, the regularizer's included, and
// the standard deviation of the noise in each of them; +Inf where there were no
// directions.
type Curved struct {
	Curvature  float64 `json:"least"`
	Sigma      float64 `json:"sigma"`
	Directions int     `json:"directions"`
}

// OrNil is nil where nothing was released.
func (c Curved) OrNil() *Curved {
	if c.Directions == 0 {
		return nil
	}
	return &c
}
