package train

import (
	"context"
	"math"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Compare is the plan of a private comparison of two losses: the loss of a fitted model and the loss of the
// best constant. The best constant is the model that predicts the same for every row and has the smallest
// loss. Compared is the released result of the comparison.
type (
	Compared = optimize.Compared
	Compare  = optimize.Compare
)

// comparison returns the plan of the private comparison of the fit with the best constant (the model that
// predicts the same for every row), and the problem with the budget that remains for training. In two cases
// the comparison is nil and the problem keeps its whole budget. First, the configuration turns the comparison
// off. Second, the configuration states no share of the budget for the comparison, and the default share is
// too small to show a difference above the noise.
func (c *Config) comparison(p optimize.Problem, l loss.Loss) (*optimize.Compare, optimize.Problem, error) {
	share := c.Train.Compare
	switch {
	case share == Off:
		return nil, p, nil
	case share == 0:
		share = CompareShare(p)
	}
	features, err := c.features(l)
	if err != nil {
		return nil, p, err
	}
	compare := comparing(l, features, c.Model.Reduce, c.Schema)
	compare.Charge, compare.Keep = share*p.Budget.Charge(), c.Inference != nil
	if c.Train.Compare == 0 && (compare.Charge >= p.Mu*p.Mu || !compare.Resolves(p)) {
		return nil, p, nil
	}
	return &compare, c.without(p, compare.Charge), nil
}

// A fit is calibrated if its rare class has at most the share rareShare, and the noise of a mean of numbers in [-1, 1] is
// at most calibrateNoise of that share. A fit of counts is if the noise of the mean prediction and of the mean count, for
// the smallest cap, is at most countNoise of the mean count. The charge is CalibrateCharge of the comparison's, and at most
// calibrateMost of the steps'.
const (
	rareShare       = .2
	calibrateNoise  = .5
	countNoise      = .2
	smallestCap     = 5 // optimize.calibrateCap
	CalibrateCharge = .5
	calibrateMost   = .1
)

// calibrates says when a fit is calibrated, of two classes or counts that are neither weighted nor summed; "" for others.
func (c *Config) calibrates(compare *optimize.Compare) string {
	if compare == nil || compare.Keep || compare.Intercept == 0 || c.Model.Radius != 0 {
		return ""
	}
	if u, ok := compare.Loss.(loss.Units); ok && u.Summed() {
		return ""
	}
	of := loss.RowLoss(compare.Loss)
	if link, ok := of.(interface{ Grouped() string }); ok && link.Grouped() == "" {
		return "if noise is at most a fifth of the mean outcome"
	} else if loss.IsLogistic(of) {
		return "if a class has at most 20% of the rows"
	}
	return ""
}

// calibrated returns the comparison with the charge of a calibration (see optimize.Compare), and p without that charge, if
// the released base rate allows one. It returns others unchanged.
func (c *Config) calibrated(compare *optimize.Compare, p optimize.Problem, base Base) (*optimize.Compare,
	optimize.Problem) {
	if c.calibrates(compare) == "" || !base.Resolved {
		return compare, p
	}
	with := *compare
	with.Calibrate = min(CalibrateCharge*compare.Charge, calibrateMost*p.Mu*p.Mu)
	with.Charge += with.Calibrate
	alone := 1 / (p.Records * math.Sqrt(with.Calibrate)) // the noise of a mean of numbers in [0, 1]
	if loss.Counts(compare.Loss) {
		if len(base.Sums) == 0 || math.Hypot(smallestCap*alone, base.Sigma/base.Sums[0]) > countNoise {
			return compare, p
		}
	} else if rare := 1 / (1 + math.Exp(math.Abs(base.Margins[0]))); rare > rareShare ||
		query.ValueChange.Facts().Moves(p.Relation)*alone > calibrateNoise*rare {
		return compare, p
	}
	return &with, c.without(p, with.Calibrate)
}

// Decides says in words what the planned comparison with the best constant decides about the published model
// (see runrecord.Compared.Decide). It returns "" if the fit will not make the comparison.
func (p Planned) Decides() string {
	switch {
	case p.Compare == nil:
		return ""
	case p.Compare.Keep:
		return "a fit with intervals is published whatever the result is"
	case p.convex:
		return "the constant replaces a fit that is worse; if noise hides which is better, the fit moves toward the constant"
	}
	return "the constant replaces a fit that is worse; if noise hides which is better, the fit is published"
}

// Follows says what follows from the released base rate. Of two classes p (1-p) < .18 (optimize/firstorder) is p < .24.
func (p Planned) Follows() string {
	switch classes := len(p.Schema.Target().Classes); {
	case p.Summary.Algorithm != "preconditioned" || classes == 0 && !p.left.Counts:
		return "Steps and charges follow from it"
	case classes == 2:
		return "Steps and charges follow from it, and for a class of less than 24% of the rows a larger clip of gradients"
	}
	return "Steps, charges and the clip of gradients follow from it"
}

// without returns the problem p with its budget p.Mu^2 reduced by charge, which must be less than p.Mu^2.
func (c *Config) without(p optimize.Problem, charge float64) optimize.Problem {
	p.Mu *= math.Sqrt(1 - charge/(p.Mu*p.Mu))
	return p
}

// compare releases the comparison of the fitted model with the best constant (the model that predicts the
// same for every row), and pays for it with the share of the budget reserved for it. It returns the weights
// to publish (see [Header.published]).
func (c *Config) compare(ctx context.Context, r *recorder, f *Fitted, h Header, result optimize.Result) ([]float64,
	error) {
	p, _, err := c.Problem(f.Budget, f.Records)
	if err != nil {
		return nil, err
	}
	plan := *f.Compare
	plan.Loss = withOdds(plan.Loss, h.Schema.Target())
	if h.Reduce == "" {
		plan.Reach = h.Schema.MarginRange // the schema with its knots and effects, which the plan did not know
	}
	found := optimize.Found{Square: result.Rows.Square, Excess: result.Excess}
	compared, err := plan.Ask(ctx, r, f.with(p), result.W, found)
	if err != nil {
		return nil, err
	}
	f.Compared = &compared
	compared.Events = h.Schema.Target().Event != ""
	if compared.Events && f.Base != nil && len(f.Base.Sums) > 0 {
		compared.Happened, compared.HappenedSigma = f.Base.Sums[0], f.Base.Sigma
	}
	if err := r.write(Line{Compared: &compared}); err != nil {
		return nil, err
	}
	return h.published(&compared, result.W)
}

// published returns the weights to publish. w are the weights of the fit, and c is the released comparison
// with the best constant. If there was no comparison (c is nil), or it changed nothing, published returns w.
// Otherwise it returns the calibrated weights w, the weights of the best constant, or a point between these.
func (h Header) published(c *Compared, w []float64) ([]float64, error) {
	if c == nil || c.Shrunk == 0 && c.Shift == 0 {
		return w, nil
	}
	l, err := loss.Parse(h.Loss)
	if err != nil {
		return nil, err
	}
	return c.Model(w, comparing(l, h.features(), h.Reduce, h.Schema).Constant(c.Margins, len(w))), nil
}

// comparing returns the plan of the comparison with the best constant, for a fit with loss l and the given number of
// features per row. The plan's charge is not set. If no projection shortens the rows (reduce is empty), the last
// feature is the intercept, and its value is 1/s.Scale() in every row. Rows after a projection have no intercept.
func comparing(l loss.Loss, features int, reduce string, s *dataset.Schema) optimize.Compare {
	return optimize.Compare{Loss: withOdds(l, s.Target()), Features: features, Intercept: intercept(reduce, s)}
}

// intercept returns the value of the last feature of every row, or 0 if a projection shortens the rows.
func intercept(reduce string, s *dataset.Schema) float64 {
	if reduce != "" {
		return 0
	}
	return 1 / s.Scale()
}

// Constant describes the loss of the model whose weights are all 0. The fit's measured loss can be compared
// with it. This model gives every record the score 0. For classes it makes all classes equally likely; for a
// number it predicts the middle of the bounds. If all records have the same loss under this model, the loss
// is public. Otherwise (for numbers, and for weights of rows or classes) the loss depends on the targets, and
// only bounds on it are public. The model with weights 0 is not the best constant. The best constant depends
// on the shares of the classes, which are not released.
type Constant struct {
	// Least and Most are public bounds on the loss. They are equal if the loss is the same for every
	// record.
	Least float64 `json:"least"`
	Most  float64 `json:"most"`
	// Regularizer is the part of the fit's measured loss that is due to the regularizer. The loss of the
	// constant model has no such part, since its weights are 0.
	Regularizer float64 `json:"regularizer,omitempty"`
}

func constant(l loss.Loss, p optimize.Problem, w []float64) *Constant {
	least, most, ok := loss.AtZero(l)
	if !ok {
		return nil
	}
	return &Constant{Least: least, Most: most, Regularizer: p.Penalty().Value(w)}
}
