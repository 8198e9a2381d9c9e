package dataset

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/stillpoint-dp/stillpoint/internal/spline"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// Monotone says in which direction a model's score may change as the number in a column increases. The zero
// Monotone allows both directions.
type Monotone uint8

const (
	Up   Monotone = iota + 1 // the score never falls
	Down                     // the score never rises
)

func (m Monotone) String() string { return nameOf(m, "Monotone", "", "up", "down") }

// monotoneOf returns the Monotone whose String is text. "" gives the zero Monotone, which allows both
// directions. Any other text is an error that names the field.
func monotoneOf(field, text string) (Monotone, error) {
	switch text {
	case "":
		return 0, nil
	case Up.String():
		return Up, nil
	case Down.String():
		return Down, nil
	}
	return 0, &fieldError{field, strconv.Quote(text), "must be up, down or absent"}
}

// checkMonotone returns an error for a column of the schema that is declared monotone but whose
// effect on the score cannot be made monotone.
func (s *Schema) checkMonotone() error {
	for _, c := range s.columns {
		field := columnField(c.Name) + ".monotone"
		switch {
		case c.Monotone == 0:
			continue
		case c.Monotone > Down:
			return &fieldError{field, c.Monotone.String(), "must be up, down or absent"}
		case !c.isNumber():
			return &fieldError{field, c.Monotone.String(), "only a number or a date grows"}
		case s.norm > 0:
			return &fieldError{field, c.Monotone.String(),
				"needs rows of one scale: leave out schema.norm, by which long rows are shortened"}
		}
		for _, pair := range s.interactions {
			if pair[0] == c.Name || pair[1] == c.Name {
				return &fieldError{field, c.Monotone.String(),
					"a column of an interaction has no direction of its own: leave out one of the two"}
			}
		}
	}
	return nil
}

// Monotonic reports whether the schema declares that the score is monotone in some column.
func (s *Schema) Monotonic() bool {
	return slices.ContainsFunc(s.columns, func(c Column) bool { return c.Monotone != 0 })
}

// Projected describes one column whose part of the score ProjectMonotone made monotone.
type Projected struct {
	Column string
	Way    Monotone
	// Moved is the largest absolute change of a row's margin by the change of the column's weights.
	Moved float64
}

// ProjectMonotone returns weights of one margin at which the score is monotone in every column for which the schema
// requires it. w are the weights to be changed. For a column with a curve, the curve's values at the knots become the
// nearest monotone values in weighted mean square (isotonic regression). The slope of a column without a curve is set
// to 0 if it has the wrong sign. All other weights stay as given. means are the means of the features over the rows.
// The weight of each knot in the mean square is computed from them. If means is nil, all knots have the same weight.
func (s *Schema) ProjectMonotone(w, means []float64) ([]float64, []Projected) {
	out := append([]float64(nil), w...)
	var list []Projected
	for _, c := range s.columns {
		if c.Monotone == 0 {
			continue
		}
		values, first := s.monotoneValues(c, w)
		near := isotonic(c.directed(values), s.knotMasses(c, first, means))
		p := Projected{Column: c.Name, Way: c.Monotone}
		for i, v := range c.directed(near) {
			p.Moved = max(p.Moved, math.Abs(v-values[i])/s.Scale())
			if first >= 0 {
				out[first+i] += (v - values[i]) / spline.Scale
			}
		}
		if first < 0 && p.Moved > 0 {
			out[s.at(c.Name)] = 0
		}
		list = append(list, p)
	}
	return out, list
}

// CheckMonotone returns an error unless, at the weights w of one margin, the score is monotone up to
// rounding in every column for which the schema requires it.
func (s *Schema) CheckMonotone(w []float64) error {
	for _, c := range s.columns {
		if c.Monotone == 0 {
			continue
		}
		values, _ := s.monotoneValues(c, w)
		values = c.directed(values)
		for i := 1; i < len(values); i++ {
			if values[i] < values[i-1]-monotoneSlack*(1+math.Abs(values[i])+math.Abs(values[i-1])) {
				return fmt.Errorf("the weights of column %q go the wrong way: the schema says that it is monotone, %v", c.Name,
					c.Monotone)
			}
		}
	}
	return nil
}

// monotoneSlack is the relative violation of monotonicity that CheckMonotone attributes to rounding
// and accepts.
const monotoneSlack = 1e-9

// monotoneValues returns the values that the column contributes to the margin, times Scale: one value at each
// knot of its curve or, without a curve, the values at the lower and the upper bound. first is the index of
// the curve's first hat (the value of a basis function) among the features, or -1 without a curve.
func (s *Schema) monotoneValues(c Column, w []float64) (values []float64, first int) {
	at := s.at(c.Name)
	if c.Curve <= 0 {
		return []float64{-w[at], w[at]}, -1
	}
	k := c.knots()
	return vector.Make(k.Len(), func(i int) float64 { return w[at]*k.Position(i) + spline.Scale*w[at+2+i] }), at + 2
}

// directed returns a copy of the values, negated if the column is [Down]. Values that satisfy the column's
// direction then never decrease.
func (c Column) directed(values []float64) []float64 {
	out := append([]float64(nil), values...)
	if c.Monotone == Down {
		for i := range out {
			out[i] = -out[i]
		}
	}
	return out
}

// knotMasses returns the weight of each knot in the mean square that ProjectMonotone minimises: the mean of
// the knot's hat, or 0 if this mean is negative, plus leastMass times the sum of the means. The mean of a
// hat is about proportional to the number of rows near its knot. Without usable means all weights are 1.
func (s *Schema) knotMasses(c Column, first int, means []float64) []float64 {
	k := max(c.Curve, 2)
	masses := make([]float64, k)
	sum := 0.
	for i := range masses {
		if first >= 0 && means != nil {
			masses[i] = max(means[first+i], 0)
			sum += masses[i]
		}
	}
	for i := range masses {
		if !(sum > 0) || math.IsInf(sum, 0) {
			masses[i] = 1
			continue
		}
		masses[i] += leastMass * sum
	}
	return masses
}

const leastMass = 1e-3

// isotonic returns the values that never decrease and are nearest to v in the sum of squares weighted
// by mass (the pool adjacent violators algorithm).
func isotonic(v, mass []float64) []float64 {
	type pool struct {
		mean, mass float64
		count      int
	}
	var pools []pool
	for i := range v {
		pools = append(pools, pool{v[i], mass[i], 1})
		for n := len(pools); n > 1 && pools[n-2].mean > pools[n-1].mean; n = len(pools) {
			a, b := pools[n-2], pools[n-1]
			whole := a.mass + b.mass
			pools = append(pools[:n-2], pool{a.mean + (b.mean-a.mean)*(b.mass/whole), whole, a.count + b.count})
		}
	}
	out := make([]float64, 0, len(v))
	for _, p := range pools {
		out = append(out, slices.Repeat([]float64{p.mean}, p.count)...)
	}
	return out
}
