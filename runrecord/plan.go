package runrecord

// Plan describes a plan to people and to certificates. Norms are in the
// encoded space, where rows have norm at most 1. Nothing is decided by its words.
type Plan struct {
	Algorithm string `json:"algorithm"`
	// Citation says where the algorithm and its guarantee come from.
	Citation string  `json:"citation"`
	Steps    int     `json:"steps"`
	StepSize float64 `json:"step_size"`
	Clip     float64 `json:"clip"`
	// Charges says in words how the budget is divided.
	Charges string `json:"charges"`
	Output  string `json:"output"`
	// Effective is N, Floor is r (optimize.Problem).
	Effective float64 `json:"effective_size"`
	Floor     float64 `json:"floor"`
	// Passes is how many gradients, or numbers as dear, the plan works out of a record,
	// on average over records: a difference is two. Methods that read each record once
	// count that as one, whatever they work out of it.
	Passes float64 `json:"passes"`
	// PairPasses is how many passes more work out a number for each pair of features,
	// at most.
	PairPasses float64 `json:"pair_passes,omitempty"`
	// Predicted is the gradient norm to expect at the output; Population and
	// Excess say the same of the population's gradient norm and of the excess
	// risk (optimize.Forecast).
	Predicted  float64 `json:"predicted_gradient_norm"`
	Population float64 `json:"predicted_population_gradient_norm"`
	Excess     float64 `json:"predicted_excess_risk"`
}
