package runrecord

// Base is the released base rate of a fit: the margins (linear predictors) of the best constant, which is the best
// model that gives every row the same prediction. It is released once, before the fit, which begins there. The
// comparison of the fit with the best constant uses the same numbers.
type Base struct {
	// Margins are the margins of the constant: the log odds of the second of two classes, a margin for each of
	// several classes, the logarithm of the rate of counts, or the predicted number.
	// MarginSigma are the standard deviations of the noise in the margins.
	Margins     []float64 `json:"margins"`
	MarginSigma []float64 `json:"margin_sigma,omitempty"`
	// Public means that the configuration stated the margins. Nothing was then released: all standard deviations
	// and Excess are zero.
	Public bool `json:"public,omitempty"`
	// Sums are the released means over records from which the margins were computed. For classes they are the mean
	// weights of each class (the shares, if records have weight 1), in the order of class numbers. For counts they
	// are the mean count as a share of the largest count and, with exposures, the mean exposure as a share of the
	// largest exposure. For numbers they are empty, or the mean target. Sigma is the standard deviation of the noise
	// in each sum.
	Sums  []float64 `json:"sums,omitempty"`
	Sigma float64   `json:"sigma,omitempty"`
	// Loss is the mean loss of the best constant, and LossSigma the standard deviation of its noise. Loss counts
	// half of Excess, since noise lowers the computed loss. Loss is 0 if the releases do not determine it, as for
	// numbers.
	Loss      float64 `json:"loss,omitempty"`
	LossSigma float64 `json:"loss_sigma,omitempty"`
	// Excess is twice the expected difference between the mean loss of the constant at Margins and the mean loss of
	// the best constant. This difference is Excess/2 times the square of a standard normal variate for one margin.
	Excess float64 `json:"excess,omitempty"`
	// Gap is a bound on the initial gap for a fit that begins at the constant: the mean loss there minus its
	// infimum. Curvature is the mean second derivative of the loss in the margin there; for several margins it is the
	// largest eigenvalue of the mean matrix of second derivatives. Both are 0 if the releases do not determine them.
	Gap       float64 `json:"gap,omitempty"`
	Curvature float64 `json:"curvature,omitempty"`
	// Resolved means that the margins are more than three standard deviations of the noise inside their range: every
	// released sum is above three times Sigma. If it is false, noise may have chosen the constant.
	Resolved bool `json:"resolved"`
}
