package report

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/model"
)

// coefficient is one term of the model's sum, in the table's units.
type coefficient struct {
	name   string
	column string
	// against is the reference level of a difference; "" if the term is no difference.
	against string
	per     string
	// class is the class of the term if there are several classes. The effect is then on the log-odds of this
	// class against the mean of all classes.
	class string
	// effect is the effect of one unit, and effectSD the standard deviation of its privacy noise, 0 if
	// unknown. span is the effect of the way between a number's bounds, and spanSD its standard deviation.
	effect, effectSD float64
	span, spanSD     float64
	intercept        bool
	// units is the number of units between a number's bounds; 1 if the term is no number.
	units float64
	// parts express the effect in all weights of the model, one class after the other.
	parts []dataset.Part
}

// within reports whether noise alone explains the coefficient: whether its size is less than two standard
// deviations.
func (c coefficient) within() bool { return c.spanSD > 0 && math.Abs(c.span) < 2*c.spanSD }

// label returns a name that is unique among all coefficients.
func (c coefficient) label() string {
	name := c.name
	if c.class != "" {
		name += " for “" + c.class + "”"
	}
	if c.against != "" {
		name += ", against " + c.against
	}
	return name
}

// certainty says how the standard deviations of noise are known.
type certainty uint8

const (
	unstated  certainty = iota // nothing
	bounded                    // they are at most this
	estimated                  // they follow from the second moment that was released
)

// explanation is the list of the model's coefficients with the certainty of their noise.
type explanation struct {
	list []coefficient
	how  certainty
	// why is the reason why no standard deviation is stated, or the basis of a bound.
	why string
	// covariance is the covariance of the noise in the list's effects. It is nil unless it is estimated.
	covariance *mat.SymDense
	// hashed are the columns for which no coefficient can be stated.
	hashed []string
}

// explained returns the model's coefficients. ok is false if the weights are not the weights of a sum.
//
// The probabilities of classes do not change if the same vector is added to the weights of every class. The
// weights minus their mean over the classes are therefore explained.
func (f *Fit) explained(n runNoise) (e explanation, ok bool) {
	s, w := f.Model.Schema(), f.Model.Weights()
	d := s.Dim()
	if !f.Model.Linear() || len(w)%d != 0 {
		return e, false
	}
	classes := s.Target().Classes
	k := len(w) / d
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
	for _, t := range s.Terms(rates(f.Model)) {
		for i := range k {
			c := newCoefficient(t, columns[t.Column])
			if k > 1 {
				c.class, c.parts = classes[i], centred(c.parts, i, k, d)
			}
			c.effect += partsOf(c.parts, w)
			c.span = c.units * c.effect
			e.list = append(e.list, c)
		}
	}
	var sd []float64
	sd, e.covariance, e.how, e.why = f.deviations(e.list, n)
	for j, v := range sd {
		c := &e.list[j]
		c.effectSD, c.spanSD = v, c.units*v
	}
	return e, true
}

// newCoefficient returns a term in the table's units, without its value: effect is the term's constant.
func newCoefficient(t dataset.Term, column dataset.Column) coefficient {
	c := coefficient{name: t.Name, column: t.Column, against: t.Reference, effect: t.Constant, units: 1, parts: t.Parts}
	switch {
	case t.Column == "":
		c.name, c.intercept = "intercept", true
	case t.Per == "":
		c.per = "against " + t.Reference
	default:
		low, high := bounds(column)
		unit := unitOf(column)
		c.parts, c.units = scaled(t.Parts, unit), (high-low)/unit
		switch {
		case column.Kind == dataset.Date:
			c.per = "one year more, from " + dataset.ShowDay(column.Low)
		case column.Transform == dataset.Log1p:
			c.per = "each doubling of 1 + x"
		default:
			c.per = "one unit more"
		}
	}
	return c
}

// unitOf returns the unit of a slope, in units of the encoded column: a doubling for a column under a
// logarithm, a year in days for a date.
func unitOf(c dataset.Column) float64 {
	switch {
	case c.Kind == dataset.Date:
		return year
	case c.Transform == dataset.Log1p:
		return math.Ln2
	}
	return 1
}

func scaled(parts []dataset.Part, by float64) []dataset.Part {
	out := make([]dataset.Part, len(parts))
	for i, p := range parts {
		out[i] = dataset.Part{Feature: p.Feature, Factor: p.Factor * by}
	}
	return out
}

// centred returns the parts of one class's term minus the mean of all k classes' terms.
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
	sum := 0.
	for _, p := range parts {
		sum += p.Factor * w[p.Feature]
	}
	return sum
}

// deviations returns the standard deviations of privacy noise in coefficients, nil if none are known, and how
// they are known. For a preconditioned run whose second moment was released, they follow from the covariance.
// For a run without a preconditioner on a convex objective, they are at most the standard deviations for a
// flat objective.
func (f *Fit) deviations(list []coefficient, n runNoise) (sd []float64, covariance *mat.SymDense, how certainty, why string) {
	if n.why != nil {
		return nil, nil, unstated, n.why.Error()
	}
	lift, err := f.lift()
	if err != nil {
		return nil, nil, unstated, err.Error()
	}
	if l := f.plan.Law; l != nil && len(l.Scales) > 0 {
		if covariance, err = f.covarianceOf(list, lift); err != nil {
			return nil, nil, unstated, err.Error()
		}
		for j := range list {
			v := covariance.At(j, j)
			if !(v > 0 && v < 1e200) {
				return nil, nil, unstated, "it is out of all proportion"
			}
			sd = append(sd, math.Sqrt(v))
		}
		return sd, covariance, estimated, ""
	}
	if !n.convex {
		return nil, nil, unstated, "this loss is not convex, so that steps may make noise larger than the releases had it"
	}
	for _, c := range list {
		sd = append(sd, n.weight*length(lift.of(c.parts), n.absolute))
	}
	return sd, nil, bounded, n.loose
}

// length returns the greatest standard deviation of a term if each weight has noise of standard deviation 1.
// The noise of the weights is independent or, if absolute is true, correlated in any way.
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

// lifted is the public linear map from a run's weights to the model's, for runs whose rows were mapped to
// fewer features. The zero value is no map.
type lifted struct {
	size, dim int
	columns   [][]float64 // the model's weights for each of the run's
}

// mostLift is the largest number of entries of such a map for which the map is used.
const mostLift = 1 << 24

// lift returns the map of the fit.
func (f *Fit) lift() (lifted, error) {
	if f.plan.Reduce == "" {
		return lifted{}, nil
	}
	d := f.Model.Schema().Dim()
	p, err := dataset.ParseProjection(f.plan.Reduce, d)
	if err != nil {
		return lifted{}, errors.New("the map that shortened rows is not known")
	}
	if p.Size()*d > mostLift {
		return lifted{}, errors.New("the map that shortened rows is too large to follow noise through")
	}
	l := lifted{size: p.Size(), dim: d}
	for i := range l.size {
		one := make([]float64, l.size)
		one[i] = 1
		l.columns = append(l.columns, p.Lift(one))
	}
	return l, nil
}

// of returns the factors in the run's weights that correspond to the parts, factors in the model's weights.
// There is one factor for each place.
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
		for i, v := range sums[k] { // nil where it has no part
			out = append(out, dataset.Part{Feature: k*l.size + i, Factor: v})
		}
	}
	return out
}

// weights returns weights of the run that the map takes to the model's weights w.
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
		return nil, errors.New("the map that shortened rows has no inverse")
	}
	var out mat.Dense
	out.CloneFrom(v.T())
	return out.RawMatrix().Data, nil
}

// covarianceOf returns the covariance of the coefficients' effects.
func (f *Fit) covarianceOf(list []coefficient, lift lifted) (*mat.SymDense, error) {
	l, s := f.plan.Law, f.Model.Schema()
	if l.Moment == nil {
		return nil, errors.New("the certificate is of an earlier version and does not hold the second moment of the metric that steps were taken in")
	}
	weights, err := lift.weights(f.Model.Weights())
	if err != nil {
		return nil, err
	}
	features, shared := s.Dim(), 1/s.Scale()
	if lift.size > 0 {
		features, shared = lift.size, 0
	}
	if l.Moment.Features != features {
		return nil, errors.New("the second moment is of other features than the model")
	}
	if len(list) > 2*mostCovariance {
		return nil, errors.New("there are too many coefficients for a covariance")
	}
	var impose func(*mat.SymDense, float64)
	if x, ok := structureOf(s); ok && lift.size == 0 {
		impose = x.impose
	}
	c, err := (*law)(l).covariance(f.Model, weights, shared, f.meanLoss(), impose)
	if err != nil {
		return nil, err
	}
	rows := make([][]float64, len(list))
	for i, c := range list {
		rows[i] = make([]float64, len(weights))
		for _, p := range lift.of(c.parts) {
			rows[i][p.Feature] += p.Factor
		}
	}
	return c.of(rows), nil
}

// meanLoss returns the model's released mean loss. It returns 0 if the mean loss was not released or is
// mostly noise.
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

// rates reports whether a model predicts rates: its weights then add to the logarithm of the rate.
func rates(m *model.Model) bool {
	o, err := m.Output()
	return err == nil && o == model.Rate
}

// ratesOf names the quantity whose rate the model predicts.
func ratesOf(t dataset.Target) string {
	if t.Exposure.Column == "" {
		return "the expected " + t.Column
	}
	return "the expected " + t.Column + " per unit of " + t.Exposure.Column
}

// year is the mean number of days of a year in the Gregorian calendar.
const year = 365.2425

// bounds returns the bounds of a number after its transformation, or of a date in days from the first date.
func bounds(c dataset.Column) (low, high float64) {
	if c.Kind == dataset.Date {
		return 0, c.High - c.Low
	}
	if c.Transform == dataset.Log1p {
		return math.Log1p(c.Low), math.Log1p(c.High)
	}
	return c.Low, c.High
}
