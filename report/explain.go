package report

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/model"
)

// coefficient is a term of the model's sum in the user's units.
type coefficient struct {
	name   string
	column string
	// against is the level of reference of a difference; "" for what is none.
	against string
	per     string
	// class is whose it is, where there are several; the effect is then on its
	// log-odds against the mean of all classes.
	class string
	// effect is that of one unit, span that between a number's bounds; sd are the
	// standard deviations of their noise, 0 where unknown.
	effect, effectSD float64
	span, spanSD     float64
	intercept        bool
	// units is how many units lie between a number's bounds, 1 for what is no number.
	units float64
	// parts are the effect's in all weights of the model, one class after the other.
	parts []dataset.Part
}

// within reports whether noise alone explains the coefficient: less than two
// standard deviations.
func (c coefficient) within() bool { return c.spanSD > 0 && math.Abs(c.span) < 2*c.spanSD }

// label names the coefficient among all.
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

// certainty is what is known of the deviations of noise.
type certainty uint8

const (
	unstated  certainty = iota // nothing
	bounded                    // they are at most this
	estimated                  // they follow from the second moment that was released
)

// explanation is what the model says, and how sure the noise lets one be.
type explanation struct {
	list []coefficient
	how  certainty
	// why says why no deviation is stated, or what a bound rests on.
	why string
	// covariance is that of the noise in the list's effects, nil unless it is estimated.
	covariance *mat.SymDense
	// hashed are the columns of which no coefficient can be told.
	hashed []string
}

// explained is the model's coefficients; ok is false if weights are no sum's.
//
// Probabilities of classes stay what they are when the same is added to the weights of
// every class, so weights less their mean over the classes are explained.
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

// newCoefficient is a term in the units that people read, without its value: effect is its
// constant.
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

// unitOf is what people read a slope by, in units of the column as it is encoded: a
// doubling of what a logarithm was taken of, a year in days.
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

// centred are the parts of one of k classes' terms less the mean of all classes'.
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

// deviations are those of privacy noise in coefficients, nil where none are known, and how
// they are: of a run in a metric whose second moment was released, from the covariance; of
// a run without a metric on a convex objective, at most those of a flat one.
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

// length is that of a term's factors: what noise of deviation 1 in each weight makes of it
// at most, independent or, if absolute, each however it goes with the others.
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

// lifted is the public map from a run's weights to the model's, where rows were
// shortened. Its zero value is none.
type lifted struct {
	size, dim int
	columns   [][]float64 // the model's weights for each of the run's
}

// mostLift is the largest number of entries of such a map that is worked with.
const mostLift = 1 << 24

// lift is that of the fit.
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

// of are the factors in a run's weights of what has these in the model's, one for each
// place.
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

// weights are a run's of which the model's are the lift.
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

// covarianceOf is that of the effects of coefficients.
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

// meanLoss is the model's as it was released, 0 where it was not or is mostly noise.
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

// rates reports whether a model predicts rates, of which weights add to the logarithm.
func rates(m *model.Model) bool {
	o, err := m.Output()
	return err == nil && o == model.Rate
}

// ratesOf says of what.
func ratesOf(t dataset.Target) string {
	if t.Exposure.Column == "" {
		return "the expected " + t.Column
	}
	return "the expected " + t.Column + " per unit of " + t.Exposure.Column
}

// year is its mean number of days in the Gregorian calendar.
const year = 365.2425

// bounds are a number's, transformed, or a date's, in days from the first.
func bounds(c dataset.Column) (low, high float64) {
	if c.Kind == dataset.Date {
		return 0, c.High - c.Low
	}
	if c.Transform == dataset.Log1p {
		return math.Log1p(c.Low), math.Log1p(c.High)
	}
	return c.Low, c.High
}
