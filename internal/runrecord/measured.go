package runrecord

// Measured is the released quality of a point (a vector of weights), after scaling.
type Measured struct {
	// Loss is the mean loss of the records plus the regularizer. Each record's loss is clipped to [0,
	// LossClip]. LossSigma is the standard deviation of the noise in Loss.
	Loss      float64 `json:"loss"`
	LossSigma float64 `json:"loss_sigma"`
	// LossClip is the value at which each record's loss was clipped. It is 2 F0, where F0 is an
	// upper bound on the mean loss at weights 0 minus the infimum of the mean loss.
	LossClip float64 `json:"loss_clip"`
	// GradientNorm is the norm of the mean clipped gradient plus the regularizer's gradient. It is
	// at least 0. GradientSigma is the standard deviation of the noise in GradientNorm.
	GradientNorm  float64 `json:"gradient_norm"`
	GradientSigma float64 `json:"gradient_sigma"`
}

// Curved is the released curvature at a candidate point (optimize.ChooseCurved). Curvature is the
// least of the released numbers v'Hv, where H is the Hessian of the objective with its regularizer
// and v is one of the unit vectors that were tried at the candidate. Directions is the number of
// these vectors. Sigma is the standard deviation of the noise in each number. Curvature is +Inf if
// there were no directions.
type Curved struct {
	Curvature  float64 `json:"least"`
	Sigma      float64 `json:"sigma"`
	Directions int     `json:"directions"`
}

// SelectedNorm is the gradient norm that a run released at its result. The result was chosen privately
// among several released points, as a point with a short gradient (optimize.NormSelection).
type SelectedNorm struct {
	// GradientNorm is the norm of the mean clipped gradient plus the regularizer's gradient. It is
	// at least 0. Sigma is the standard deviation of the noise in GradientNorm.
	GradientNorm float64 `json:"gradient_norm"`
	Sigma        float64 `json:"sigma"`
	// Radius is the radius over which the loss is smoothed. It is 0 if the loss is not smoothed.
	Radius float64 `json:"radius,omitempty"`
	// Among is the number of points among which the result was chosen.
	Among int `json:"among"`
}

// OrNil returns a pointer to a copy of c, or nil if no curvature was released (Directions is 0).
func (c Curved) OrNil() *Curved {
	if c.Directions == 0 {
		return nil
	}
	return &c
}
