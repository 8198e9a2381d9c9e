package report

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/model"
)

// coefficient is one term of the sum from which the prediction is computed. Its numbers refer to the units
// of the table's columns.
type coefficient struct {
	name   string
	column string
	// against is the reference level with which the coefficient compares a level of a category. It is ""
	// for other coefficients.
	against string
	// per says for which change of the column the effect is, for example "one unit more".
	per string
	// class is the class to which the coefficient belongs if the target has more than two classes,
	// otherwise "". The effect is then on the log-odds of this class against the mean of all classes.
	class string
	// effect is the change of the sum for the change of the column that per states. effectSD is the
	// standard deviation of the privacy noise in effect, 0 if it is unknown, with that of the rest of the way where it is
	// known. noiseSD is that of the noise alone. span is the change of the sum from a number's lower bound to its upper
	// bound, and spanSD is effectSD of span.
	effect, effectSD, noiseSD float64
	span, spanSD              float64
	intercept                 bool
	// share is the share of the way to the minimum that reached the effect; nil if it is unknown. bias is the expected
	// length of the rest, and late reports that the steps hardly moved the effect. clipped reports that the clip may move it.
	share   *float64
	late    bool
	bias    float64
	clipped bool
	// units is the number of units between the bounds of a number or date: span = units effect. It is 1 for
	// other coefficients.
	units float64
	// parts define the effect as a linear function of the model's weights: the sum over the parts of factor times
	// weight, plus a constant. With several classes, the weights of a class follow the weights of the class before it.
	parts []dataset.Part
}

// within reports whether its error alone may explain the coefficient: the absolute value of its span is below
// twice spanSD, or its error is not stated. It returns false if spanSD is unknown.
func (c coefficient) within() bool {
	return c.hidden() || c.spanSD > 0 && math.Abs(c.span) < 2*c.spanSD
}

// hidden reports whether no error of the coefficient is stated where those of others are.
func (c coefficient) hidden() bool { return c.late || c.clipped }

// label returns a name for the coefficient that no other coefficient has.
func (c coefficient) label() string {
	name := c.name
	if c.class != "" {
		name += " for “" + c.class + "”"
	}
	if c.against != "" {
		name += " (against " + c.against + ")"
	}
	return name
}

// certainty says what is known about the standard deviations of the noise.
type certainty uint8

const (
	unstated  certainty = iota // no standard deviation is known
	bounded                    // upper bounds on the standard deviations are known
	estimated                  // the standard deviations are estimated from the released second moment
)

// explanation is the list of the model's coefficients, with what is known about their noise.
type explanation struct {
	list []coefficient
	how  certainty
	// why is the reason why no standard deviation is known. If upper bounds are known, why is the reason
	// why they are loose, or "".
	why string
	// covariance is the covariance of the noise in the effects of list, in this order. It is nil unless how
	// is estimated.
	covariance *mat.SymDense
	noise      carried
	// hashed are the names of the hashed columns. Several values of a hashed column share a weight, so the
	// column has no coefficients.
	hashed []string
}

// explained returns the model's coefficients. ok is false if the model is not a sum of terms over the
// features.
//
// With several classes, adding the same vector to the weights of every class changes no probability.
// Therefore the coefficients are computed from the weights minus their mean over the classes.
func (f *Fit) explained(n runNoise) (e explanation, ok bool) {
	s, w := f.Model.Schema(), f.Model.Weights()
	d := s.Dim()
	classes, ordered := s.Target().Classes, f.thresholds() != nil
	if !ordered && (!f.Model.Linear() || len(w)%d != 0) {
		return e, false
	}
	k := len(w) / d
	if ordered {
		k = 1 // the other weights are those of thresholds
	}
	if k > 1 && k != len(classes) {
		return e, false
	}
	columns := make(map[string]dataset.Column)
	for _, c := range s.Columns() {
		columns[c.Name] = c
		if c.Kind == dataset.Hash {
			e.hashed = append(e.hashed, c.Name)
		}
	}
	first := f.firstClass()
	for _, t := range s.Terms(rates(f.Model)) {
		for i := first; i < k; i++ {
			c := newCoefficient(t, columns[t.Column])
			if first > 0 {
				c.class, c.parts = classes[i], ofClass(c.parts, i, d)
			} else if k > 1 {
				c.class, c.parts = classes[i], centred(c.parts, i, k, d)
			}
			c.effect += partsOf(c.parts, w)
			c.span = c.units * c.effect
			e.list = append(e.list, c)
		}
	}
	e.noise = f.carried(n)
	var sd []float64
	sd, e.covariance, e.how, e.why = e.noise.deviations(e.list)
	for j, v := range sd {
		c := &e.list[j]
		c.effectSD, c.noiseSD, c.spanSD = v, v, c.units*v
	}
	e.arrive(f.means())
	e.hold()
	return e, true
}

// firstClass returns the first class with coefficients of its own: 1 in a fit of several classes with intervals, whose
// coefficients are those of each class against the first, with weights of 0; otherwise 0.
func (f *Fit) firstClass() int {
	if f.Model.Inference() != nil && f.thresholds() == nil && len(f.Model.Weights()) > f.Model.Schema().Dim() {
		return 1
	}
	return 0
}

// ofClass returns parts that define a term by the weights of a class, d for each, from those that do so by the first.
func ofClass(parts []dataset.Part, class, d int) []dataset.Part {
	return vector.Map(parts, func(p dataset.Part) dataset.Part {
		return dataset.Part{Feature: class*d + p.Feature, Factor: p.Factor}
	})
}

// newCoefficient converts a term of the prediction to a coefficient in the table's units. It sets effect to
// the constant part only. The caller adds the part that depends on the weights.
func newCoefficient(t dataset.Term, column dataset.Column) coefficient {
	c := coefficient{name: t.Name, column: t.Column, against: t.Reference, effect: t.Constant, units: 1, parts: t.Parts}
	switch {
	case t.Column == "":
		c.name, c.intercept = "intercept", true
	case t.Per == "":
		c.per = "against " + t.Reference
	default:
		low, high := bounds(column)
		unit := 1. // the change of the column for which the effect is stated, in units of the encoded column
		switch {
		case column.Kind == dataset.Date:
			unit, c.per = year, "one year more, from "+dataset.ShowDay(column.Low)
		case column.Transform == dataset.Log1p:
			unit, c.per = math.Ln2, "each doubling of 1 + x"
		default:
			c.per = "one unit more"
		}
		c.parts, c.units = scaled(t.Parts, unit), (high-low)/unit
	}
	return c
}

func scaled(parts []dataset.Part, by float64) []dataset.Part {
	return vector.Map(parts, func(p dataset.Part) dataset.Part { return dataset.Part{Feature: p.Feature, Factor: p.Factor * by} })
}

// centred returns parts (factors of weights) that define a term of the prediction for one class, minus the
// mean of this term over all k classes. parts define the term by the weights of the first class. d is the
// number of weights of a class.
func centred(parts []dataset.Part, class, k, d int) []dataset.Part {
	var out []dataset.Part
	for other := range k {
		share := -1 / float64(k)
		if other == class {
			share++
		}
		for _, p := range parts {
			out = append(out, dataset.Part{Feature: other*d + p.Feature, Factor: share * p.Factor})
		}
	}
	return out
}

func partsOf(parts []dataset.Part, w []float64) float64 {
	return vector.Sum(parts, func(p dataset.Part) float64 { return p.Factor * w[p.Feature] })
}

// carried holds the numbers that determine the noise of the releases in linear functions of the model's weights.
type carried struct {
	how certainty
	// why is the reason why no standard deviation is stated, or the basis of a bound.
	why string
	// kept is the noise of the published model divided by the noise of the fit. It is 1, or less if the
	// model lies between the fit and the best constant.
	kept float64
	// away are changes of the run's weights by one standard deviation of noise that is not that of the steps. One is by
	// the position between fit and constant that the comparison chose, and one for each margin by the noise in the
	// constant. It is nil for a model that is its fit.
	away [][]float64
	lift lifted
	// covariance is the covariance of the noise in the run's weights. It is set only if how is estimated.
	covariance *covariance
	moves      []float64 // by how much the clip may move each weight of the model; nil if the releases do not tell
	// weight is the upper bound on the standard deviation of the noise in each weight, and absolute says that the
	// noises of the weights may be correlated (see the type noise). They are set only if how is bounded.
	weight   float64
	absolute bool
}

// carried returns what is known about the noise in the model's weights. For a preconditioned run whose second moment
// was released, the covariance of the noise is estimated. For a run without a preconditioner on a convex objective, the
// noise is bounded by the noise that the run would have on a flat objective. For other runs nothing is stated.
func (f *Fit) carried(n runNoise) carried {
	unknown := func(why string) carried { return carried{how: unstated, why: why} }
	if n.why != nil {
		return unknown(n.why.Error())
	}
	// A model shrunk from its fit towards a constant keeps the share 1 - Shrunk of the fit's noise.
	k := carried{kept: 1}
	if c := f.plan.Compared; c != nil {
		k.kept = 1 - c.Shrunk
	}
	if !(k.kept > 0) {
		return unknown("the model is the constant that the fit was compared with, and has no other terms")
	}
	var err error
	if k.lift, err = f.lift(); err != nil {
		return unknown(err.Error())
	}
	if c := f.plan.Compared; c != nil && c.ShrunkSigma > 0 {
		fit, constant, err := f.ends(k.lift)
		if err != nil {
			return unknown(err.Error())
		}
		apart := make([]float64, len(fit))
		for j, v := range c.Calibrated(fit, constant) {
			apart[j] = c.ShrunkSigma * (v - constant[j])
		}
		k.away = append(k.away, apart)
	}
	if b, c := f.plan.Base, f.plan.Compared; b != nil && c != nil && c.Shrunk+c.ShiftSigma > 0 && k.lift.size == 0 {
		constant, ok := f.Model.Constant(b.Margins)
		for m, sigma := range b.MarginSigma {
			margins := slices.Clone(b.Margins)
			margins[m]++
			above, known := f.Model.Constant(margins)
			if !ok || !known {
				break
			}
			for j := range above {
				moved := math.Hypot(c.Shrunk*sigma, k.kept*c.ShiftSigma)
				if c.Counts { // both have the noise of the mean count
					moved = c.Shrunk*sigma + k.kept*c.ShiftSigma
				}
				above[j] = moved * (above[j] - constant[j])
			}
			k.away = append(k.away, above)
		}
	}
	if l := f.plan.Trace; l != nil && (len(l.Scales) > 0 || l.Curvature != nil) {
		k.how = estimated
		if k.covariance, err = f.covariance(k.lift); err != nil {
			return unknown(err.Error())
		}
		k.moves = f.clipMoves()
		return k
	}
	if !n.convex {
		return unknown("this loss is not convex, so that the steps may increase the noise of the releases")
	}
	k.how, k.why, k.weight, k.absolute = bounded, n.loose, n.weight, n.absolute
	return k
}

// of returns the standard deviations of the privacy noise in linear functions of the model's weights, each
// given by its parts. covariance is the covariance of this noise, nil unless it is estimated. sd is nil if
// nothing is known. ok is false if a variance is negative, at least 1e200 or not a number.
func (k carried) of(list [][]dataset.Part) (sd []float64, covariance *mat.SymDense, ok bool) {
	switch k.how {
	case unstated:
		return nil, nil, true
	case bounded:
		for _, parts := range list {
			v := k.kept * k.weight * length(k.lift.of(parts), k.absolute)
			for _, by := range k.away {
				v = math.Hypot(v, k.moved(parts, by))
			}
			sd = append(sd, v)
		}
		return sd, nil, true
	}
	if len(list) == 0 {
		return nil, nil, true
	}
	covariance = k.covariance.of(k.rows(list))
	covariance.ScaleSym(k.kept*k.kept, covariance)
	for _, by := range k.away {
		moved := mat.NewVecDense(len(list), nil)
		for i, parts := range list {
			moved.SetVec(i, k.moved(parts, by))
		}
		covariance.SymRankOne(covariance, 1, moved)
	}
	for j := range list {
		v := covariance.At(j, j)
		if !(v >= 0 && v < 1e200) {
			return nil, nil, false
		}
		sd = append(sd, math.Sqrt(v))
	}
	return sd, covariance, true
}

// rows returns the factors of all weights of the run in linear functions of the model's weights.
func (k carried) rows(list [][]dataset.Part) [][]float64 {
	rows := make([][]float64, len(list))
	for i, parts := range list {
		rows[i] = make([]float64, len(k.covariance.ways)*len(k.covariance.ways[0].noise))
		for _, p := range k.lift.of(parts) {
			rows[i][p.Feature] += p.Factor
		}
	}
	return rows
}

// moved returns the change of a linear function of the model's weights if the run's weights change by the given vector.
func (k carried) moved(parts []dataset.Part, by []float64) float64 {
	return partsOf(k.lift.of(parts), by)
}

// deviations returns the standard deviations of the privacy noise in the coefficients of list, and their
// covariance. Both are nil if unknown. how says whether the standard deviations are estimated, bounded or
// unstated, and why gives the reason.
func (k carried) deviations(list []coefficient) (sd []float64, covariance *mat.SymDense, how certainty, why string) {
	if k.how == estimated && len(list) > 2*mostCovariance {
		return nil, nil, unstated, "there are too many coefficients for a covariance"
	}
	sd, covariance, ok := k.of(partsIn(list))
	if k.how == estimated {
		ok = ok && !slices.Contains(sd, 0)
	}
	if !ok {
		return nil, nil, unstated, "it is too large or too small to compute with"
	}
	return sd, covariance, k.how, k.why
}

// partsIn returns the parts of each coefficient.
func partsIn(list []coefficient) [][]dataset.Part {
	return vector.Map(list, func(c coefficient) []dataset.Part { return c.parts })
}

// length returns the standard deviation of a linear function of the weights, given by its parts, if the noise of each
// weight has standard deviation 1. If absolute is false, the noises of the weights are independent. If absolute is
// true, they may be correlated in any way, and length returns the largest possible value.
func length(parts []dataset.Part, absolute bool) float64 {
	sum := 0.
	for _, p := range parts {
		if absolute {
			sum += math.Abs(p.Factor)
		} else {
			sum = math.Hypot(sum, p.Factor)
		}
	}
	return sum
}

// lifted is the public linear map from the size weights of a run to the dim weights of the model, for one
// margin of a run whose rows were projected to fewer features. The zero value is the identity.
type lifted struct {
	size, dim int
	columns   [][]float64 // column i is the image of the run's weight i
}

// mostLift is the largest number of entries of the projection's matrix. For a larger matrix the noise of
// the weights is not computed.
const mostLift = 1 << 24

// lift returns the map from the run's weights to the model's weights, computed from the fit's projection of
// rows. It returns the identity if rows were not projected.
func (f *Fit) lift() (lifted, error) {
	if f.plan.Reduce == "" {
		return lifted{}, nil
	}
	d := f.Model.Schema().Dim()
	p, err := dataset.ParseProjection(f.plan.Reduce, d)
	if err != nil {
		return lifted{}, errors.New("the random map of model.reduce is not known")
	}
	if p.Size()*d > mostLift {
		return lifted{}, errors.New("the random map of model.reduce is too large to follow noise through it")
	}
	l := lifted{size: p.Size(), dim: d}
	for i := range l.size {
		one := make([]float64, l.size)
		one[i] = 1
		l.columns = append(l.columns, p.Lift(one))
	}
	return l, nil
}

// of converts a linear function of the model's weights, given by its parts, to the same function of the
// run's weights. If rows were projected, the result has at most one factor for each weight.
func (l lifted) of(parts []dataset.Part) []dataset.Part {
	if l.size == 0 {
		return parts
	}
	sums := make(map[int][]float64)
	margins := 0
	for _, p := range parts {
		k := p.Feature / l.dim
		margins = max(margins, k+1)
		if sums[k] == nil {
			sums[k] = make([]float64, l.size)
		}
		for i, column := range l.columns {
			sums[k][i] += p.Factor * column[p.Feature%l.dim]
		}
	}
	var out []dataset.Part
	for k := range margins {
		for i, v := range sums[k] { // sums[k] is nil if margin k has no part
			out = append(out, dataset.Part{Feature: k*l.size + i, Factor: v})
		}
	}
	return out
}

// weights returns the weights of the run that the map takes to the model's weights w. It solves the linear
// equations by least squares.
func (l lifted) weights(w []float64) ([]float64, error) {
	if l.size == 0 {
		return w, nil
	}
	by := mat.NewDense(l.dim, l.size, nil)
	for i, column := range l.columns {
		by.SetCol(i, column)
	}
	k := len(w) / l.dim
	var v mat.Dense
	if err := v.Solve(by, mat.NewDense(k, l.dim, w).T()); err != nil {
		return nil, errors.New("the random map of model.reduce has no inverse")
	}
	var out mat.Dense
	out.CloneFrom(v.T())
	return out.RawMatrix().Data, nil
}

// ends returns the run's weights of the fit and of the constant that it was compared with, between which the model
// lies. The constant is nil if the fit was not compared.
func (f *Fit) ends(lift lifted) (fit, constant []float64, err error) {
	if fit, err = lift.weights(f.Model.Weights()); err != nil || f.plan.Compared == nil {
		return fit, nil, err
	}
	c := f.plan.Compared
	constant, ok := f.Model.Constant(c.Margins)
	if !ok || lift.size > 0 {
		constant = make([]float64, len(fit))
	}
	if c.Shrunk > 0 || c.Shift != 0 {
		if fit, ok = c.Fit(fit, constant); !ok {
			return nil, nil, errors.New("the model is the constant that the fit was compared with")
		}
	}
	return fit, constant, nil
}

// covariance returns the covariance of the noise in the run's weights. It returns an error with the reason
// if the certificate and the model do not determine it.
func (f *Fit) covariance(lift lifted) (*covariance, error) {
	l, s := f.plan.Trace, f.Model.Schema()
	if l.Moment == nil && l.Curvature == nil {
		return nil, errors.New("the certificate is of an earlier version and does not have the second moment of the " +
			"metric in which the steps were taken")
	}
	weights, _, err := f.ends(lift)
	if err != nil {
		return nil, err
	}
	start := make([]float64, len(weights))
	if b := f.plan.Base; b != nil && lift.size == 0 {
		if at, ok := f.Model.Constant(b.Margins); ok {
			start = at
		}
	}
	features, shared := s.Dim(), 1/s.Scale()
	if lift.size > 0 {
		features, shared = lift.size, 0
	}
	if m := cmp.Or(l.Moment, l.Curvature); m.Features != features {
		return nil, errors.New("the second moment is of other features than those of the model")
	}
	var known *structure
	if x, ok := structureOf(s); ok && lift.size == 0 {
		known = &x
	}
	return (*trace)(l).covariance(f.Model, weights, start, shared, f.meanLoss(), known)
}

// meanLoss returns the released mean loss of the fit. It returns 0 if the mean loss was not released or is
// at most four standard deviations of its noise.
func (f *Fit) meanLoss() float64 {
	c := f.plan.Compared
	if c == nil {
		return 0
	}
	if v := c.Constant + c.Difference; v > 4*math.Hypot(c.Sigma, c.ConstantSigma) {
		return v
	}
	return 0
}

// rates reports whether a model predicts rates. Its terms then add to the logarithm of the rate.
func rates(m *model.Model) bool {
	o, err := m.Output()
	return err == nil && (o == model.Rate || o == model.Risk)
}

// ratesOf names the quantity that a model of rates predicts: the expected value of the target column, per
// unit of the exposure if the target has an exposure column.
func ratesOf(t dataset.Target) string {
	switch {
	case t.Grouped == targetpair.Logit:
		return "the odds of " + t.Event + " in an interval"
	case t.Event != "":
		return "the hazard of " + t.Event
	}
	return targetpair.Expected(t.Column, t.Exposure.Column, t.Offset)
}

// year is the mean number of days of a year in the Gregorian calendar.
const year = 365.2425

// bounds returns the bounds of a number after its transformation, or the bounds of a date in days since its
// lower bound.
func bounds(c dataset.Column) (low, high float64) {
	if c.Kind == dataset.Date {
		return 0, c.High - c.Low
	}
	if c.Transform == dataset.Log1p {
		return math.Log1p(c.Low), math.Log1p(c.High)
	}
	return c.Low, c.High
}
