package runrecord

// Plan describes a plan to people and to certificates. Norms are after scaling, where rows have norm at
// most 1. No program decides by the words in it.
type Plan struct {
	Algorithm string `json:"algorithm"`
	// Citation names the papers of the algorithm and of its guarantee.
	Citation string  `json:"citation"`
	Steps    int     `json:"steps"`
	StepSize float64 `json:"step_size"`
	Clip     float64 `json:"clip"`
	// Charges describes in words how the budget is divided among releases.
	Charges string `json:"charges"`
	Output  string `json:"output"`
	// Effective is N, the signal-to-noise size, and Floor is r = 2 L0/N (optimize.Problem).
	Effective float64 `json:"effective_size"`
	Floor     float64 `json:"floor"`
	// Passes is the number of gradients, or of numbers as costly as a gradient, that the plan computes
	// for a record, on average over records. A gradient difference counts as two. Methods that read
	// each record once count 1, whatever they compute from it.
	Passes float64 `json:"passes"`
	// PairPasses is an upper bound on the number of additional passes that compute a number for each
	// pair of features.
	PairPasses float64 `json:"pair_passes,omitempty"`
	// Predicted is the gradient norm expected at the output. Population is the expected norm of the
	// population's gradient, and Excess the expected excess risk (optimize.Forecast).
	Predicted  float64 `json:"predicted_gradient_norm"`
	Population float64 `json:"predicted_population_gradient_norm"`
	Excess     float64 `json:"predicted_excess_risk"`
}
