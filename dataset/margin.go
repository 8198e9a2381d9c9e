package dataset

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/spline"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// MarginRange returns an interval that contains the product <w, x> of the weights w and the row x, for every row
// that [Map.Encode] makes. w has one weight for each feature. The interval is the sum of the intervals of the
// columns, of the interactions, of the effects and of the intercept:
//
//   - a number or date without a curve takes every value in [-1, 1], or is missing;
//   - a curve and its number are linear between the knots, so that extremes are at knots;
//   - a category or an interaction of categories has one of its features;
//   - the hats of an interaction with numbers are nonnegative, and their sum is 1 or, with a missing number, 0;
//   - the pair of waves of an effect lies on a circle.
//
// Every end is attained by a row if the schema has neither interactions nor effects nor a stated norm. If the
// schema states a norm, longer rows are shortened to it, so that the interval also contains 0. Both ends are moved
// outward by more than the rounding of features.
func (s *Schema) MarginRange(w []float64) (low, high float64) {
	if len(w) != len(s.features) {
		return math.Inf(-1), math.Inf(1)
	}
	base, ratio := s, 1.
	if s.found != nil {
		base, ratio = s.found.base, s.found.ratio
	}
	var sum extent
	at := 0
	for _, c := range base.columns {
		if width := c.width(); width > 0 {
			sum.add(c.extent(w[at : at+width]))
			at += width
		}
	}
	for _, pair := range base.interactions {
		x := base.crossed(pair)
		sum.add(x.extent(w[at : at+x.width()]))
		at += x.width()
	}
	last := len(w) - 1
	sum.add(extent{w[last], w[last]})
	sum = sum.times(ratio / base.Scale())
	if base.norm > 0 {
		length := w[last]
		for _, v := range w[:at] {
			length = math.Hypot(length, v)
		}
		length = math.Abs(length) * ratio
		sum = extent{max(min(sum.low, 0), -length), min(max(sum.high, 0), length)}
	}
	if s.found != nil {
		waves := 0.
		for ; at < last; at += 2 {
			waves += math.Hypot(w[at], w[at+1])
		}
		waves *= s.found.Weight / s.Scale() / math.Sqrt(float64(s.found.Features/2))
		sum.add(extent{-waves, waves})
	}
	rounding := float64(vector.Sum(w, math.Abs) * marginRounding)
	return sum.low - rounding, sum.high + rounding
}

// marginRounding bounds the error of a feature that is rounded to float32, with a margin for a second rounding.
const marginRounding = 0x1p-22

// extent is an interval of scores.
type extent struct{ low, high float64 }

func (s *extent) add(other extent) { s.low, s.high = s.low+other.low, s.high+other.high }

// with returns the smallest interval that contains s and the number x.
func (s extent) with(x float64) extent { return extent{min(s.low, x), max(s.high, x)} }

func (s extent) times(by float64) extent { return extent{s.low * by, s.high * by} }

// extremes returns the smallest interval that contains the numbers in w.
func extremes(w []float64) extent {
	s := extent{w[0], w[0]}
	for _, x := range w[1:] {
		s = s.with(x)
	}
	return s
}

// extent returns the interval of the column's part of a score, before the division by the schema's Scale. w are
// the weights of the column's features.
func (c Column) extent(w []float64) extent {
	if !c.isNumber() {
		return extremes(w)
	}
	s := extent{-math.Abs(w[0]), math.Abs(w[0])}
	if c.Curve > 0 {
		knots := c.knots()
		at := func(i int) float64 { return float64(knots.Position(i)*w[0]) + float64(spline.Scale*w[2+i]) }
		s = extent{at(0), at(0)}
		for i := range knots.Len() {
			s = s.with(at(i))
		}
	}
	if c.Indicator {
		s = s.with(w[1])
	}
	return s
}

// extent returns the interval of the interaction's part of a score, before the division by the schema's Scale. w
// are the weights of the interaction's features.
func (x crossed) extent(w []float64) extent {
	s := extremes(w)
	if x.count() > 0 {
		s = s.times(x.scale()).with(0)
	}
	return s
}
