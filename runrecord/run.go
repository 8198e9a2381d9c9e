package runrecord

// Run is the part of a certificate that describes a run to people and reports, apart from its charges:
// the plan and released numbers. In certificates of earlier versions some fields are zero.
type Run struct {
	Plan
	// GradientNorms are the norms of the noisy gradient estimates, one for each step.
	GradientNorms []float64 `json:"gradient_norms,omitempty"`
	Measured      *Measured `json:"measured,omitempty"`
	// Compared is the comparison of the result with the best constant.
	Compared *Compared `json:"compared,omitempty"`
	// Law states how the releases became the result. It is nil for a run recovered from its journal,
	// which does not record it.
	Law *Law `json:"law,omitempty"`
	// Reduce is the public map that shortened rows; empty for none.
	Reduce string `json:"reduce,omitempty"`
	// Seed is the seed of the public random bits, in hexadecimal; empty if none were drawn.
	Seed string `json:"public_seed,omitempty"`
	// Late tells whether more steps would have helped. Arrived says it in words.
	Late    *Late  `json:"late,omitempty"`
	Arrived string `json:"arrived,omitempty"`
	// Foreseen is the gradient norm expected given the run's releases.
	Foreseen float64 `json:"foreseen_gradient_norm,omitempty"`
	// Curvature is the released curvature at the result.
	Curvature *Curved `json:"curvature,omitempty"`

	Recovered *Rebuilt `json:"recovered,omitempty"`
}

// Rebuilt says that a certificate was made from a journal.
type Rebuilt struct {
	// Step is the step whose iterate is the model.
	Step int    `json:"step"`
	Note string `json:"note"`
}
