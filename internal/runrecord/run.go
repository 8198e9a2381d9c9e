package runrecord

import (
	"fmt"
	"math"
)

// Names of the files in a fit's folder.
const (
	ModelFile       = "model.json"
	CertificateFile = "certificate.json"
	LedgerFile      = "ledger.jsonl"
)

// Run is the part of a certificate that describes a run to people and reports: the plan and the released numbers. It
// does not contain the charges. In certificates of earlier versions some fields are zero.
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
	// Law is the trace of the first stage, without its moment and scales. It is nil in records of earlier versions.
	Law *Trace `json:"law,omitempty"`
}

// Rebuilt states that a certificate was made from a run's journal after the run was killed.
type Rebuilt struct {
	// Step is the number of the step whose iterate became the model.
	Step int    `json:"step"`
	Note string `json:"note"`
}

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
	// in each sum, or for counts in their mean.
	Sums  []float64 `json:"sums,omitempty"`
	Sigma float64   `json:"sigma,omitempty"`
	// Loss is the mean loss of the best constant, and LossSigma the standard deviation of its noise. Loss counts half
	// of Excess, since noise lowers the computed loss. Loss is 0 if the releases do not determine it, as for numbers.
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

// Curved is the released curvature at a candidate point (optimize.ChooseCurved). Curvature is the least of the released
// numbers v'Hv, where H is the Hessian of the objective with its regularizer and v is one of the unit vectors that were
// tried at the candidate. Directions is the number of these vectors. Sigma is the standard deviation of the noise in
// each number. Curvature is +Inf if there were no directions.
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

// Plan describes a run's plan to people and in certificates. Norms are after scaling, where rows
// have norm at most 1. Its texts are for readers: no program makes a decision from them.
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
	// AtRandom says why the run is expected to leave its starting point only at random: the error of all its
	// answers together is above the gradient that is usual at the start. It is empty for all other plans.
	AtRandom string `json:"at_random,omitempty"`
	// Effective is the signal-to-noise size N, records times mu over sqrt(coefficients). Floor is the norm of the noise
	// of one gradient that is released with the whole budget, 2 L0/N for a loss with Lipschitz constant L0.
	Effective float64 `json:"effective_size"`
	Floor     float64 `json:"floor"`
	// Passes is the number of times that the plan computes a record's gradient, or a scalar that
	// costs as much, on average over records. The difference of two gradients counts as two. A
	// method that reads each record once counts 1, whatever it computes from the record.
	Passes float64 `json:"passes"`
	// PairPasses is an upper bound on the number of additional passes over the table that compute a
	// number for each pair of features.
	PairPasses float64 `json:"pair_passes,omitempty"`
	// Predicted is the expected norm of the gradient at the output, for the mean loss over the table. Population is the
	// expected norm for the population that the table was drawn from. Excess is the expected excess risk
	// (optimize.Forecast). A predicted number is 0 if measurements showed that such predictions are too far off
	// (choose.Shown). Population is 0 in all records of present plans.
	Predicted  float64 `json:"predicted_gradient_norm"`
	Population float64 `json:"predicted_population_gradient_norm"`
	Excess     float64 `json:"predicted_excess_risk"`
	// Promise is set for plans with the settings of a theorem.
	Promise Promise `json:"theorem,omitzero"`
}

// Promise is the bound of a theorem for a plan with the theorem's settings. Constants and logarithms that the theorem
// does not state are 1 in it.
type Promise struct {
	// Theorem names the theorem and its paper. Of is the quantity that the theorem bounds.
	Theorem string `json:"name"`
	Of      string `json:"of"`
	// Bound is the theorem's bound, at most math.MaxFloat64. Start is a bound that the starting point satisfies.
	Bound float64 `json:"bound"`
	Start float64 `json:"start"`
	// From is the number of records from which Bound is below Start, to three digits, at the plan's mu. It is 0 if
	// no number up to 1e18 suffices.
	From float64 `json:"records_from"`
}

// String says from which number of records the theorem promises more than the starting point satisfies.
func (p Promise) String() string {
	from := "the start satisfies it for every number of records"
	switch {
	case p.From > 0 && p.Bound < p.Start:
		from = fmt.Sprintf("the theorem promises something from about %.3g records on", p.From)
	case p.From > 0:
		from = fmt.Sprintf("the start satisfies it: the theorem promises nothing below about %.3g records", p.From)
	}
	bound := fmt.Sprintf("%.3g", p.Bound)
	if p.Bound == math.MaxFloat64 {
		bound = "any number"
	}
	return fmt.Sprintf("%s bounds the %s by %s, up to constants, and the start by %.3g: %s", p.Theorem, p.Of,
		bound, p.Start, from)
}
