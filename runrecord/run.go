package runrecord

// Run is what a certificate keeps of a run beside its charges, for people and reports: the
// plan, and released numbers. Of certificates of earlier versions some are zero.
type Run struct {
	Plan
	// GradientNorms are the norms of the noisy gradient estimates, one a step.
	GradientNorms []float64 `json:"gradient_norms,omitempty"`
	Measured      *Measured `json:"measured,omitempty"`
	// Compared is how the result compares with the best constant.
	Compared *Compared `json:"compared,omitempty"`
	// Law is how the releases became the result; nil of a recovered run, whose
	// journal does not tell.
	Law *Law `json:"law,omitempty"`
	// Reduce is the public map that shortened rows; empty for none.
	Reduce string `json:"reduce,omitempty"`
	// Seed is that of the public coins, in hexadecimal; empty where none were drawn.
	Seed string `json:"public_seed,omitempty"`
	// Late says whether more steps would have helped, and Arrived says it in words.
	Late    *Late  `json:"late,omitempty"`
	Arrived string `json:"arrived,omitempty"`
	// Foreseen is the gradient norm to expect after what was released.
	Foreseen float64 `json:"foreseen_gradient_norm,omitempty"`
	// Curvature is what was released of that at the result.
	Curvature *Curved `json:"curvature,omitempty"`

	Recovered *Rebuilt `json:"recovered,omitempty"`
}

// Rebuilt is what a certificate says of having been made from a journal.
type Rebuilt struct {
	// Step is the one whose iterate the model is.
	Step int    `json:"step"`
	Note string `json:"note"`
}
