package report

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// Curve is the effect of a number or date column that has a piecewise linear function in the model. It is the part of
// the predicted sum that depends on this column alone, minus the mean of this part over the rows that Centred names. If
// the fit has confidence intervals, the value at the reference knot is subtracted instead of the mean. The effect
// includes the column's linear term. A missing number has no value on the curve.
type Curve struct {
	Class  string `json:"class,omitempty"`
	Column string `json:"column"`
	// Date says that the column is a date, and that Knots and the X of Points are in days since 1970-01-01.
	Date bool `json:"date,omitempty"`
	// Log says that the column is transformed by log1p. The curve is then linear between knots in log(1 + x).
	Log bool `json:"log,omitempty"`
	// Centred says over which rows the curve has the mean 0.
	Centred Centre `json:"mean_zero_over"`
	// Reference is the knot at which the curve is 0, in the column's units; nil if its mean is 0.
	Reference *float64 `json:"zero_at,omitempty"`
	// Level is the level of the confidence intervals from Low to High; 0 if they are privacy noise alone.
	Level float64 `json:"confidence_level,omitempty"`
	// Knots are the knots in the column's units. Points are the curve's values at the knots and at points
	// between them.
	Knots  []float64    `json:"knots"`
	Points []CurvePoint `json:"points"`
}

// CurvePoint is a point of a Curve.
type CurvePoint struct {
	X float64 `json:"x"`
	// Effect is the value of the curve, in the unit of the coefficients.
	Effect float64 `json:"effect"`
	// Low and High are Effect minus and plus two standard deviations of the privacy noise, which count the expected rest
	// of the way as those of Coefficient do. They are nil if no standard deviation is known. They do not include the
	// sampling error, so they are not a confidence interval. If the curve has a Level they are the ends of a confidence
	// interval, and nil where the fit states none.
	Low  *float64 `json:"low"`
	High *float64 `json:"high"`
	// Mass is the share of the rows around a knot, computed from the released means of the curve's basis
	// functions (hats, each 1 at its knot and 0 at the other knots). Between knots Mass is interpolated
	// linearly. It is nil if no means were released.
	Mass *float64 `json:"mass"`
	// Thin says that few rows are near X, or that the noise hides the number of rows near X.
	Thin bool `json:"thin,omitempty"`
}

// Surface is the effect of an interaction of two columns, at least one of them a number or date: the part
// of the predicted sum that the interaction adds, minus the mean of this part over the rows that Centred
// names. It is linear between knots.
type Surface struct {
	Class   string        `json:"class,omitempty"`
	Axes    []SurfaceAxis `json:"axes"`
	Centred Centre        `json:"mean_zero_over"`
	// Effect has the surface's values: one row for each knot or level of the first column, with one entry
	// for each knot or level of the second column.
	Effect [][]float64 `json:"effect"`
	// The next three have the shape of Effect. Deviation is the standard deviation of the privacy noise in
	// Effect, nil if it is unknown. Mass is the share of the rows around each pair of knots or levels, nil
	// if it is unknown. Thin marks the pairs with few rows, or with so few that noise hides their number.
	Deviation [][]float64 `json:"noise_sd"`
	Mass      [][]float64 `json:"mass"`
	Thin      [][]bool    `json:"thin"`
}

// SurfaceAxis is a column of a Surface, with its levels or its knots.
type SurfaceAxis struct {
	Column string    `json:"column"`
	Date   bool      `json:"date,omitempty"`
	Levels []string  `json:"levels,omitempty"`
	Knots  []float64 `json:"knots,omitempty"`
}

// Centre says over which rows the mean of a curve or surface is 0.
type Centre string

// Values of Centre. OverRows means the rows of the table, if their mean was released. OverBounds means hypothetical
// rows that are spread evenly between the bounds and over the levels. AtReference means rows at the reference knot.
const (
	OverRows    Centre = "rows"
	OverBounds  Centre = "bounds"
	AtReference Centre = "reference"
)

// thinShare defines few rows: a knot is thin if the share of the rows around it is below thinShare times
// the share that evenly spread rows would have there.
const thinShare = .1

// betweenKnots is the number of points at which a curve is computed in each interval between knots. It
// includes the interval's first knot.
const betweenKnots = 4

// shaped is a curve or surface of the model, computed at its places: the knots of a curve, or the pairs of
// knots or levels of a surface. Each list has an entry for each place.
type shaped struct {
	dataset.Shape
	class   string
	centred Centre
	effect  []float64
	mass    []float64 // nil if unknown
	thin    []bool
	sd      []float64 // nil if unknown
	// covariance is the covariance of the noise in the values effect. It is nil unless the noise is estimated.
	covariance *mat.SymDense
}

// shapes returns the curves and surfaces of the model, one for each class if there are more than two
// classes. Their noise is computed from the noise of the weights in e, and left unset if e states none.
func (f *Fit) shapes(e explanation) []shaped {
	s, w := f.Model.Schema(), f.Model.Weights()
	d := s.Dim()
	classes := s.Target().Classes
	means, sigma := f.means()
	var list []shaped
	for _, shape := range s.Shapes(rates(f.Model)) {
		mass, thin := massesOf(shape, means, sigma)
		even, over := mass, OverRows
		if mass == nil {
			even, over = evenly(shape), OverBounds
		}
		for i := f.firstClass(); i < len(w)/d; i++ {
			one := shaped{Shape: shape, centred: over, mass: mass, thin: thin}
			parts := lessMean(shape.Places, even)
			if k := len(w) / d; k > 1 {
				one.class = classes[i]
				for j := range parts {
					parts[j] = centred(parts[j], i, k, d)
				}
			}
			one.effect = vector.Map(parts, func(p []dataset.Part) float64 { return partsOf(p, w) })
			if e.how != unstated {
				one.sd, one.covariance = e.noise.errors(parts)
			}
			if f.firstClass() > 0 {
				one.Places = slices.Clone(shape.Places)
				for j, p := range shape.Places {
					one.Places[j].Feature, one.Places[j].Parts = p.Feature+i*d, ofClass(p.Parts, i, d)
				}
			}
			list = append(list, one)
		}
	}
	return list
}

// curvesOf returns the model's curves and surfaces in the form in which they are written for
// readers and programs.
func (f *Fit) curvesOf(e explanation) (curves []Curve, surfaces []Surface) {
	for _, s := range f.shapes(e) {
		switch fit := f.inference(); {
		case len(s.Axes) == 1 && fit != nil:
			curves = append(curves, s.confident(fit, len(f.Model.Weights())))
		case len(s.Axes) == 1:
			curves = append(curves, s.curve())
		default:
			surfaces = append(surfaces, s.surface())
		}
	}
	return curves, surfaces
}

// means returns the released means of the encoded features, and the standard deviation of the noise in
// each. It returns nil if no means were released.
func (f *Fit) means() (means []float64, sigma float64) {
	s := f.Model.Schema()
	if f.plan.Trace == nil || f.plan.Trace.Moment == nil || f.plan.Reduce != "" {
		return nil, 0
	}
	m := f.plan.Trace.Moment
	if means = m.Means(s.Dim()); len(m.Mean) == s.Dim() {
		return means, m.MeanSigma
	}
	vector.Scale(means, s.Scale())
	return means, m.Sigma / math.Sqrt2 * s.Scale()
}

// massesOf returns two lists with an entry for each place (knot, or pair of knots or levels) of a curve or
// surface. mass is the share of the rows around the place; it is nil if no usable means were released. thin
// says that few rows are near the place, or that noise hides their number.
func massesOf(shape dataset.Shape, means []float64, sigma float64) (mass []float64, thin []bool) {
	sum := 0.
	for _, p := range shape.Places {
		if means != nil {
			v := max(means[p.Feature], 0)
			mass, sum = append(mass, v), sum+v
		}
	}
	if !(sum > 0 && vector.Finite(sum)) {
		return nil, make([]bool, len(shape.Places))
	}
	even := evenly(shape)
	for i, v := range mass {
		mass[i] = v / sum
		thin = append(thin, v < 2*sigma || mass[i] < thinShare*even[i])
	}
	return mass, thin
}

// evenly returns the share of the rows around each place (knot, or pair of knots or levels) of a curve or
// surface, for hypothetical rows that are spread evenly between the bounds and over the levels.
func evenly(shape dataset.Shape) []float64 {
	shares := []float64{1}
	for _, a := range shape.Axes {
		own := a.Evenly()
		if a.Levels != nil {
			own = slices.Repeat([]float64{1 / float64(len(a.Levels))}, len(a.Levels))
		}
		var next []float64
		for _, outer := range shares {
			for _, v := range own {
				next = append(next, outer*v)
			}
		}
		shares = next
	}
	return shares
}

// lessMean returns a linear function of the model's weights for each place of a curve or surface: the value
// at the place minus the mean value over all places. shares[i] is the share of place i in this mean.
func lessMean(places []dataset.Place, shares []float64) [][]dataset.Part {
	var features []int
	var mean []float64
	at := make(map[int]int)
	for i, p := range places {
		for _, part := range p.Parts {
			if _, known := at[part.Feature]; !known {
				at[part.Feature] = len(features)
				features, mean = append(features, part.Feature), append(mean, 0)
			}
			mean[at[part.Feature]] += shares[i] * part.Factor
		}
	}
	out := make([][]dataset.Part, len(places))
	for i, p := range places {
		for j, feature := range features {
			out[i] = append(out[i], dataset.Part{Feature: feature, Factor: -mean[j]})
		}
		for _, part := range p.Parts {
			out[i][at[part.Feature]].Factor += part.Factor
		}
	}
	return out
}

// curve converts a shape with one column to a Curve. The method surface converts a shape with two columns
// to a Surface.
func (s shaped) curve() Curve {
	axis := s.Axes[0]
	c := Curve{
		Class: s.class, Column: axis.Column.Name, Date: axis.Column.Kind == dataset.Date,
		Log:     axis.Column.Transform == dataset.Log1p,
		Centred: s.centred, Knots: axis.Knots,
	}
	last := len(axis.Knots) - 1
	for i := range last {
		for step := range betweenKnots {
			c.Points = append(c.Points, s.point(i, float64(step)/betweenKnots))
		}
	}
	c.Points = append(c.Points, s.point(last-1, 1))
	return c
}

// point returns the point of the curve at the share f, from 0 to 1, of the way from knot i to knot i+1.
func (s shaped) point(i int, f float64) CurvePoint {
	along := func(v []float64) float64 { return (1-f)*v[i] + f*v[i+1] }
	p := CurvePoint{X: s.Axes[0].Between(i, f), Effect: along(s.effect),
		Thin: s.thin[i] && f <= .5 || s.thin[i+1] && f >= .5}
	if f == 1 {
		p.X = s.Axes[0].Knots[i+1]
	}
	if s.mass != nil {
		p.Mass = new(along(s.mass))
	}
	if s.sd == nil {
		return p
	}
	sd := along(s.sd) // an upper bound: no correlation of the noises at the two knots gives a larger deviation
	if c := s.covariance; c != nil {
		sd = math.Sqrt(max((1-f)*(1-f)*c.At(i, i)+f*f*c.At(i+1, i+1)+2*f*(1-f)*c.At(i, i+1), 0))
	}
	low, high := p.Effect-2*sd, p.Effect+2*sd
	if vector.Finite(low) && vector.Finite(high) {
		p.Low, p.High = &low, &high
	}
	return p
}

func (s shaped) surface() Surface {
	u := Surface{Class: s.class, Centred: s.centred}
	for _, a := range s.Axes {
		u.Axes = append(u.Axes, SurfaceAxis{Column: a.Column.Name, Date: a.Column.Kind == dataset.Date, Levels: a.Levels,
			Knots: a.Knots})
	}
	width := max(len(s.Axes[1].Levels), len(s.Axes[1].Knots))
	u.Effect, u.Deviation, u.Mass, u.Thin = inRows(s.effect, width), inRows(s.sd, width), inRows(s.mass, width),
		inRows(s.thin, width)
	return u
}

// inRows divides a list into rows of the given width. It returns nil for an empty list.
func inRows[T any](list []T, width int) (rows [][]T) {
	for ; len(list) > 0; list = list[width:] {
		rows = append(rows, list[:width:width])
	}
	return rows
}

// ratioOf returns the quantity that the exponential of a curve's effect multiplies: "odds" or "rate". It
// returns "" if effects are added, to the prediction or to the score.
func (f *Fit) ratioOf() string {
	unit, odds := f.score()
	switch {
	case odds || len(f.Model.Schema().Target().Classes) > 2 && unit != "":
		return "odds"
	case rates(f.Model):
		return "rate"
	}
	return ""
}
