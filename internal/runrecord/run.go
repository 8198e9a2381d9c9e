package runrecord

// Run is the part of a certificate that describes a run to people and reports: the plan and the
// released numbers. It does not contain the charges. In certificates of earlier versions some fields
// are zero.
type Run struct {
	Plan
	// GradientNorms are the norms of the noisy gradient estimates, one for each step.
	GradientNorms []float64 `json:"gradient_norms,omitempty"`
	Measured      *Measured `json:"measured,omitempty"`
	// Base is the base rate at which the run began; nil if none was released or stated.
	Base *Base `json:"base,omitempty"`
	// Compared is the comparison of the result with the best constant, the best model that gives every
	// row the same prediction.
	Compared *Compared `json:"compared,omitempty"`
	// Trace states how the releases became the result. It is nil for a run that was recovered from
	// its journal, because a journal does not record the law.
	Trace *Trace `json:"law,omitempty"`
	// Monotone lists the columns that were made monotone after the last release, from released numbers alone.
	Monotone []Monotone `json:"monotone,omitempty"`
	// Family is the family of the model: lines, curves or effects. It is nil in records of earlier versions.
	Family *Family `json:"family,omitempty"`
	// Reduce names the public map that reduced rows to fewer features. It is empty if rows were not
	// reduced.
	Reduce string `json:"reduce,omitempty"`
	// Ranks are the columns whose curves got their knots by released ranks: from the first release, a mean
	// row with 65 hats for each of them.
	Ranks []string `json:"ranks,omitempty"`
	// Described names the description whose released quantiles are bounds of columns; nil if there is none.
	Described *Described `json:"described,omitempty"`
	// Effects describes the features of effects that the first stage of the run found. It is nil if there are
	// none.
	Effects *Effects `json:"effects,omitempty"`
	// Seed is the seed of the run's public random bits, in hexadecimal. It is empty if the run drew
	// no public random bits.
	Seed string `json:"public_seed,omitempty"`
	// Late compares the gradients of the last steps with their noise. Arrived says in words whether more
	// steps would have helped.
	Late    *Late  `json:"late,omitempty"`
	Arrived string `json:"arrived,omitempty"`
	// Foreseen is the gradient norm that is expected at the output, given the numbers that the run
	// released.
	Foreseen float64 `json:"foreseen_gradient_norm,omitempty"`
	// Curvature is the released curvature at the result.
	Curvature *Curved `json:"curvature,omitempty"`
	// SelectedNorm is the released gradient norm at the result. The result was chosen among several
	// points by their gradient norms.
	SelectedNorm *SelectedNorm `json:"looked,omitempty"`

	Recovered *Rebuilt `json:"recovered,omitempty"`
}

// Described is a description of the table, made before the run. Its budget is its own: the costs add up.
type Described struct {
	// SHA256 is that of the description's file, which its certificate states as the model's.
	SHA256 string `json:"sha256"`
	// Columns are the columns whose bounds follow from its released quantiles.
	Columns []string `json:"columns"`
	Epsilon float64  `json:"epsilon"`
	Delta   float64  `json:"delta"`
}

// Family is the family of a fit's model.
type Family struct {
	Name string `json:"name"`
	// Why says who chose the family: the configuration, or a rule from public numbers.
	Why string `json:"why"`
	// Chosen is true if the rule chose the family.
	Chosen bool `json:"chosen,omitempty"`
}

// Monotone states that the part of the score that depends on one column was replaced by the nearest
// monotone function of this column.
type Monotone struct {
	Column string `json:"column"`
	// Way is "up" for an increasing function and "down" for a decreasing one.
	Way string `json:"way"`
	// Moved is the greatest change of a row's margin (its linear predictor) by this replacement.
	Moved float64 `json:"moved"`
}

// Effects describes features of effects, by which a model has interactions of columns: cosines and sines of random
// combinations of the columns' effects on the score of the run's first stage. The model's file has their definition.
type Effects struct {
	Features int `json:"features"`
	// Weight is the norm of a row's features of effects, before the row is divided. Scale is the scale of effects:
	// the root of the sum of their released variances.
	Weight float64 `json:"weight"`
	Scale  float64 `json:"scale"`
	// Synthetic describes the synthetic table from which the metric of the second stage was computed; nil if that
	// stage released a second moment of its own.
	Synthetic *Synthetic `json:"synthetic,omitempty"`
}

// Synthetic describes a synthetic table. It follows from Moment, from the weights of the first stage, which are in the
// model's file, and from the public seed, and nothing else.
type Synthetic struct {
	Rows int `json:"rows"`
	// Moment is the second moment that the first stage released. Distance is the distance, in the Frobenius norm,
	// of the second moment of the synthetic rows from it.
	Moment   *Moment `json:"moment"`
	Distance float64 `json:"distance"`
}

// Rebuilt states that a certificate was made from a run's journal after the run was killed.
type Rebuilt struct {
	// Step is the number of the step whose iterate became the model.
	Step int    `json:"step"`
	Note string `json:"note"`
}
