package runrecord

import (
	"fmt"
	"math"
)

// Compared is the released comparison of a fit with the best constant: the best model that gives
// every row the same prediction. Losses are computed on scaled rows, without the regularizer.
type Compared struct {
	// Difference is the mean loss of the fit minus the mean loss of the best constant, over all records of the fit.
	// Sigma is the standard deviation of the noise in Difference, including the noise in the constant itself. Clip
	// is half of the length of the interval to which each record's difference was clipped.
	Difference float64 `json:"difference"`
	Sigma      float64 `json:"sigma"`
	Clip       float64 `json:"clip"`
	// Least and Most are the ends of that interval. No legal record's difference is outside of it, so that the clip
	// changed none, unless LowerBound or Cut is set. Both are 0 in files of earlier versions, which clipped to [-Clip, Clip],
	// where differences could be larger.
	Least float64 `json:"least,omitempty"`
	Most  float64 `json:"most,omitempty"`
	// LowerBound means that the mean difference is at least Difference, apart from noise. It can then show that the fit
	// is worse than the constant, but not that it is better. That is so if a record's difference above Most was counted
	// as Most, since with all of each difference the noise would have been too large. It is also so if the base rate is
	// not released: the constant is then the one that the configuration states, or margin 0, and another may be better.
	LowerBound bool `json:"lower_bound,omitempty"`
	// Cut means that differences beyond Least and Most were counted as these, on both sides: those of a few records with
	// numbers far above their mean, which the cap of a loss lets through.
	Cut bool `json:"cut,omitempty"`
	// Clamped means that expected counts above the largest count were taken as that. Predictions of numbers, and of
	// counts without exposures, are clamped anyway, and need no such statement.
	Clamped bool `json:"clamped,omitempty"`
	// Events means that the target is the time to an event: the largest count is one event.
	Events bool `json:"events,omitempty"`
	// Counts means that the loss is that of counts or events. It is then minus a log-likelihood up to a number that
	// depends on the target's bounds, so that no share of it means anything.
	Counts bool `json:"counts,omitempty"`
	// Happened is the released mean number of events of a record, of the time to an event, and HappenedSigma the standard
	// deviation of its noise. Both are 0 if they are unknown.
	Happened      float64 `json:"happened,omitempty"`
	HappenedSigma float64 `json:"happened_sigma,omitempty"`
	// Unresolved means that the base rate is below three standard deviations of its noise. The constant may then
	// be far from the best one, and the comparison has no verdict.
	Unresolved bool `json:"unresolved,omitempty"`
	// Constant is the mean loss of the best constant, and ConstantSigma the standard deviation of the noise in it.
	// Both are 0 if they are unknown. ConstantSigma alone is 0 if the loss is public.
	Constant      float64 `json:"constant"`
	ConstantSigma float64 `json:"constant_sigma"`
	// Margins are the margins (linear predictors) that the constant model gives every row.
	Margins []float64 `json:"margins"`
	// Residual is the mean difference between the prediction of the fit and the outcome, as released, and ResidualSigma the
	// standard deviation of the noise in it. Shift was then added to all margins of the fit, so that its mean prediction is
	// about the base rate. Difference is that of the fit with Shift. ShiftSigma is the part of the noise in Shift that
	// comes from Residual. All four are 0 if the fit was not calibrated. For counts Residual is a share of the mean count,
	// and its noise includes that of the mean count.
	Residual      float64 `json:"residual,omitempty"`
	ResidualSigma float64 `json:"residual_sigma,omitempty"`
	Shift         float64 `json:"shift,omitempty"`
	ShiftSigma    float64 `json:"shift_sigma,omitempty"`
	// Shrunk is the position of the published model on the line from the fit (0) to the constant
	// (1). Difference is the difference for the fit, whatever Shrunk is.
	Shrunk float64 `json:"shrunk,omitempty"`
	// ShrunkSigma is the standard deviation of the part of the noise in Difference that is in Shrunk; 0 if Shrunk is
	// 0 or 1, or a rule that does not use Difference set it.
	ShrunkSigma float64 `json:"shrunk_sigma,omitempty"`
	// Lift is added to all margins of a model of counts between the fit and the constant, which would predict less than both.
	Lift float64 `json:"lift,omitempty"`
}

const (
	// halfway is the value of Shrunk for a fit that is not better than the constant, if the forecast of its
	// noise is unknown.
	halfway = .5
	// leastShrunk is the least value of Shrunk above 0: a smaller shift would change the loss by less than 1% of the
	// fit's gain.
	leastShrunk = .05
	// tooNoisy is the share of the constant's loss that two deviations of the noise may have in a comparison that could
	// show what a good fit saves.
	tooNoisy = .05
	// mostResidual is the largest residual that is made good, as a share of the rare class or of the mean count.
	mostResidual = .75
	// usualResidual is the standard deviation that Calibrate assumes for the error of the mean prediction of counts.
	usualResidual = .08
	// doubtShare and doubtLeast are the standard deviation that Decide assumes for the shift that follows from the
	// forecast: doubtShare times the shift, plus doubtLeast.
	doubtShare, doubtLeast = .5, .1
)

// Decide sets Shrunk, the position of the published model on the line from the fit (0) to the constant (1). curvature is
// the second derivative of the mean loss along the whole line from the constant to the fit, and rise the forecast of
// the first derivative at the fit. curvature is 0 if they are unknown. convex says that the objective is convex.
//
// If the verdict is Worse, Decide sets 1. If the constant is unresolved, or the fit is better or not convex, it
// sets 0. Otherwise let t be the share of the way from the fit to the constant. To second order, the loss there minus
// the constant's loss is D - (D + h/2) t + h t^2/2 for the difference D and h = curvature. It is least at
//
//	t = 1/2 + D/h
//
// The same t is rise/h. Decide takes the mean of both numbers, weighted by their precisions: Sigma/h is the standard
// deviation of the noise in the first. The second is uncertain by doubtShare of itself. If curvature is unknown, Decide
// sets 1/2 for a fit that appears worse by one deviation, which by convexity is at most the mean of the losses of
// the fit and the constant.
func (c *Compared) Decide(convex bool, curvature, rise float64) {
	c.Shrunk, c.ShrunkSigma = 0, 0
	switch {
	case c.Unresolved:
	case c.Verdict() == Worse:
		c.Shrunk = 1
	case !convex || c.Verdict() == Better:
	case curvature > 0:
		forecast := min(max(rise/curvature, 0), 1)
		doubt, noise := doubtShare*forecast+doubtLeast, c.Sigma/curvature
		a, b := 1/(doubt*doubt), 1/(noise*noise)
		if t := (a*forecast + b*(.5+c.Difference/curvature)) / (a + b); t >= leastShrunk {
			if c.Shrunk = min(t, 1); t < 1 {
				c.ShrunkSigma = b / (a + b) * noise
			}
		}
	case c.Difference > c.Sigma:
		c.Shrunk = halfway
	}
}

// Calibrate sets Shift for a fit of two classes or of counts. Residual and ResidualSigma must be set. The share of the
// second class by the constant is p, and the fit's mean prediction is p + Residual. Shift is the difference of their log
// odds. It is exact if all predictions are equal; otherwise the mean curvature is lower, and Shift goes most of the way.
// For counts the mean prediction is 1 + Residual of the mean count. Shift is the posterior mean of a normal error whose
// deviation is usualResidual, or what the log ratio shows beyond two deviations of its noise. The noise is relative to the
// lower mean: noise that raises the mean count would otherwise look small itself.
func (c *Compared) Calibrate() {
	if c.Counts {
		predicted := 1 + min(max(c.Residual, -mostResidual), mostResidual)
		shift, noise := -math.Log(predicted), c.ResidualSigma/min(predicted, 1)
		wide := max(usualResidual*usualResidual, shift*shift-4*noise*noise)
		along := wide / (wide + noise*noise)
		c.Shift, c.ShiftSigma = along*shift, along*noise
		return
	}
	p := 1 / (1 + math.Exp(-c.Margins[0]))
	rare := min(p, 1-p)
	predicted := p + min(max(c.Residual, -mostResidual*rare), mostResidual*rare)
	c.Shift = c.Margins[0] - math.Log(predicted/(1-predicted))
	c.ShiftSigma = c.ResidualSigma / (predicted * (1 - predicted))
}

// Calibrated returns the weights of the fit with weights w, with Shift added to all of its margins. constant are the
// weights of the constant model.
func (c *Compared) Calibrated(w, constant []float64) []float64 {
	out := append([]float64(nil), w...)
	for j, v := range constant {
		out[j] += float64(c.along(c.Shift) * v)
	}
	return out
}

// along returns the multiple of the constant's weights that adds shift to all margins; 0 if they have not one margin, or 0.
func (c *Compared) along(shift float64) float64 {
	if len(c.Margins) != 1 || c.Margins[0] == 0 {
		return 0
	}
	return shift / c.Margins[0]
}

// Raise sets Lift from the mean square of the fit's margins minus the constant's. For equal means and normal margins of
// variance V it is V + V^2/4, and the logarithm of the mean prediction is lower by t(1-t)V/2 at the share t of the way.
func (c *Compared) Raise(square float64) {
	c.Lift = c.Shrunk * (1 - c.Shrunk) * (math.Sqrt(1+square) - 1)
}

// Model returns the weights of the published model, between the calibrated fit and the constant. w are the weights of
// the fit, and constant are the weights of the constant model.
func (c *Compared) Model(w, constant []float64) []float64 {
	w = c.Calibrated(w, constant)
	out := append([]float64(nil), w...)
	if c.Shrunk == 0 {
		return out
	}
	for j, v := range constant {
		out[j] = float64((1-c.Shrunk)*w[j]) + float64((c.Shrunk+c.along(c.Lift))*v)
	}
	return out
}

// Fit returns the weights of the fit, given the weights that Model returned for the same constant. It returns nil and
// false if Shrunk is 1: the published model is then the constant, from which the fit cannot be computed.
func (c *Compared) Fit(model, constant []float64) ([]float64, bool) {
	if c.Shrunk >= 1 {
		return nil, false
	}
	out := append([]float64(nil), model...)
	for j, v := range constant {
		out[j] = (model[j]-(c.Shrunk+c.along(c.Lift))*v)/(1-c.Shrunk) - c.along(c.Shift)*v
	}
	return out, true
}

// Verdict is the conclusion of the comparison of a fit with the best constant.
type Verdict int

const (
	// Unclear means that the difference of the losses is at most two standard deviations of its
	// noise, or that the comparison cannot show it (Compared.LowerBound, Compared.Unresolved).
	Unclear Verdict = iota
	// Better means that the fit's loss is below the constant's loss by more than two standard
	// deviations of the noise.
	Better
	// Worse means that the fit's loss is above the constant's loss by more than two standard
	// deviations of the noise.
	Worse
)

func (v Verdict) String() string {
	return [...]string{"not better than a constant by more than noise", "better than the best constant",
		"WORSE than a constant"}[v]
}

// Code returns the name of the verdict for programs: better, worse or unclear.
func (v Verdict) Code() string { return [...]string{"unclear", "better", "worse"}[v] }

// Earlier reports whether an earlier version of the program made the comparison. It clipped differences, and did
// not count the constant's noise, so that its verdict is wrong more often than in one of 40 comparisons.
func (c Compared) Earlier() bool { return c.Least == 0 && c.Most == 0 }

// Verdict returns the conclusion of the comparison of the fit with the best constant. A fit that is exactly as good as
// the best constant is called Better in at most one of 40 comparisons by chance, and Worse in at most one of 40.
func (c Compared) Verdict() Verdict {
	switch {
	case c.Unresolved:
	case c.Difference < -2*c.Sigma && !c.LowerBound:
		return Better
	case c.Difference > 2*c.Sigma:
		return Worse
	}
	return Unclear
}

// IsBetter reports whether there is a comparison and its conclusion is that the fit is better.
func (c *Compared) IsBetter() bool { return c != nil && c.Verdict() == Better }

// Conclusion says in words what the comparison shows of the fit.
func (c Compared) Conclusion() string {
	switch {
	case c.Unresolved:
		return "not known to be better than a constant, since the best constant is not known: the base rate is below three " +
			"standard deviations of its noise"
	case c.Verdict() != Unclear:
	case c.LowerBound:
		return "not known to be better than a constant"
	case !c.Earlier() && 2*c.Sigma > tooNoisy*c.Constant:
		return fmt.Sprintf("not known to be better than a constant (the noise of the comparison hides differences below "+
			"%.2g)", 2*c.Sigma)
	}
	return c.Verdict().String()
}

// Text says in words by how much the mean loss of the fit differs from the constant's. It begins after the word "its".
func (c Compared) Text() string {
	how, where := "", "below"
	if c.LowerBound {
		how = "at most "
	}
	if c.Difference > 0 {
		where = "above"
		if c.LowerBound {
			how = "at least "
		}
	}
	text := fmt.Sprintf("mean loss is %s%.3g %s the constant's, with noise of %.2g", how, math.Abs(c.Difference), where,
		c.Sigma)
	switch {
	case c.Cut:
		text += fmt.Sprintf(" (a record's difference is capped at %.3g)", c.Most)
	case c.Clamped && c.Events:
		text += " (a record's expected number of events is capped at 1)"
	case c.Clamped:
		text += " (expected counts are capped at the largest count)"
	}
	return text
}

// Sentence says in one sentence what the comparison shows and which model is published.
func (c Compared) Sentence() string {
	text := c.Conclusion()
	if c.Unresolved {
		return text
	}
	text += ": its " + c.Text()
	switch {
	case c.Shrunk >= 1:
		text = "the fit is " + text + "; the model is the constant"
	case c.Shrunk > 0:
		text = fmt.Sprintf("the fit is %s; the model goes %.0f%% of the way from the constant to the fit", text, 100*(1-c.Shrunk))
	}
	if share, low, high, ok := c.Explained(); ok {
		of := fmt.Sprintf("saves %.0f%% of the constant's loss, %.3g", 100*share, c.Constant)
		if c.Events {
			of = fmt.Sprintf("explains %.0f%% of the randomness of the times", 100*share)
		}
		text += fmt.Sprintf("; it %s (95%% interval: %.0f%% to %.0f%%)", of, 100*low, 100*high)
	}
	return text
}

// Calibration says in words how the fit was calibrated. It returns "" if it was not.
func (c Compared) Calibration() string {
	if !(c.ResidualSigma > 0 && c.ResidualSigma < 1e99 && math.Abs(c.Shift) < 99) || len(c.Margins) != 1 {
		return ""
	}
	where, way := "below", "raised"
	if c.Residual > 0 {
		where, way = "above", "lowered"
	}
	if c.Counts {
		return fmt.Sprintf("the fit's mean prediction was %.2g%% (noise %.2g%%) %s the mean outcome, so its predictions were %s by "+
			"%.2g%%", 100*math.Abs(c.Residual), 100*c.ResidualSigma, where, way, 100*math.Abs(math.Expm1(c.Shift)))
	}
	return fmt.Sprintf("the fit's mean prediction was %.2g (noise %.2g) %s the mean outcome, which is about %.3g, so its intercept "+
		"was %s by %.2g log-odds", math.Abs(c.Residual), c.ResidualSigma, where, 1/(1+math.Exp(-c.Margins[0])), way, math.Abs(c.Shift))
}

// Counted says in words how much of the records' differences the comparison counted.
func (c Compared) Counted() string {
	switch {
	case c.Earlier():
		return fmt.Sprintf("an earlier version of the program clipped each record's difference at %.3g", c.Clip)
	case c.Cut:
		return fmt.Sprintf("records far above the mean may have differences below %.3g or above %.3g, which count as these "+
			"numbers", c.Least, c.Most)
	case c.LowerBound:
		return fmt.Sprintf("a record's difference above %.3g counts as this number, so that the mean is a lower bound", c.Most)
	}
	return fmt.Sprintf("no record's difference is clipped, as it must lie between %.3g and %.3g", c.Least, c.Most)
}

// Explained returns the share of the constant's loss by which the fit's loss is below it, and the ends of an interval
// that contains this share in 95 of 100 fits. All three are at most 1. ok is false unless the verdict is Better and
// the constant's loss is above three standard deviations of its own noise. It is false for counts.
//
// For the time to an event the share is the explained randomness, 1 - exp(-2 g) for the gain g in log-likelihood per
// event (O'Quigley, Xu and Stare 2005, Statistics in Medicine 24, 479-489), if the mean number of events is known.
func (c Compared) Explained() (share, low, high float64, ok bool) {
	if c.Events && c.Happened > 3*c.HappenedSigma && c.Happened > 0 && c.Verdict() == Better {
		gain := -c.Difference / c.Happened
		noise := 1.96 * math.Hypot(c.Sigma, gain*c.HappenedSigma) / c.Happened
		of := func(gain float64) float64 { return -math.Expm1(-2 * max(gain, 0)) }
		return of(gain), of(gain - noise), of(gain + noise), true
	}
	if c.Counts || c.Events || c.Cut || !(c.Constant > 3*c.ConstantSigma) || !(c.Constant > 0) || c.Verdict() != Better {
		return 0, 0, 0, false
	}
	share = -c.Difference / c.Constant
	noise := 1.96 * math.Hypot(c.Sigma, share*c.ConstantSigma) / c.Constant
	return min(share, 1), min(max(share-noise, 0), 1), min(share+noise, 1), true
}
