package runrecord

// Measured is the released quality of a point, after scaling.
type Measured struct {
	// Loss is the mean loss of the data term plus the regularizer. Each record's loss is clipped to [0,
	// 2 F0]. LossSigma is the standard deviation of the noise in it.
	Loss      float64 `json:"loss"`
	LossSigma float64 `json:"loss_sigma"`
	// LossClip is 2 F0, the value at which each record's loss was clipped.
	LossClip float64 `json:"loss_clip"`
	// GradientNorm is the norm of the mean clipped gradient plus the regularizer's gradient, at least
	// 0. GradientSigma is the standard deviation of the noise in it.
	GradientNorm  float64 `json:"gradient_norm"`
	GradientSigma float64 `json:"gradient_sigma"`
}

// Curved is the released curvature at a candidate (optimize.ChooseCurved): the least of the released
// numbers v'Hv of the objective, regularizer included, along the candidate's directions v, and the
// standard deviation of the noise in each number. The curvature is +Inf if there were no directions.
type Curved struct {
	Curvature  float64 `json:"least"`
	Sigma      float64 `json:"sigma"`
	Directions int     `json:"directions"`
}

// OrNil returns nil if no curvature was released.
func (c Curved) OrNil() *Curved {
	if c.Directions == 0 {
		return nil
	}
	return &c
}
