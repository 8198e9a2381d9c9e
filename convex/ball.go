package convex

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Ball is a closed Euclidean ball. The zero Ball contains only the origin, of any dimension.
type Ball struct {
	centre []float64 // nil means the origin, of any dimension
	radius float64
}

// NewBall returns the ball with the given radius and centre. It copies centre. A nil centre means the origin, of any
// dimension. NewBall returns an error unless the radius is finite and > 0 and every coordinate of the centre is finite.
func NewBall(centre []float64, radius float64) (Ball, error) {
	if !(radius > 0) || math.IsInf(radius, 1) {
		return Ball{}, fmt.Errorf("convex: ball: radius = %v: must be finite and > 0", radius)
	}
	for j, c := range centre {
		if c-c != 0 {
			return Ball{}, fmt.Errorf("convex: ball: centre[%d] = %v: must be finite", j, c)
		}
	}
	return Ball{slices.Clone(centre), radius}, nil
}

// Radius returns the radius.
func (b Ball) Radius() float64 { return b.radius }

// Centre returns a copy of the centre. It returns nil if the centre is the origin, of any dimension.
func (b Ball) Centre() []float64 { return slices.Clone(b.centre) }

// Name returns "ball(2)" for radius 2 and a nil centre, and "ball(2, centred)" for radius 2 and any other
// centre. The coordinates of the centre are not in the name.
func (b Ball) Name() string {
	r := strconv.FormatFloat(b.radius, 'g', -1, 64)
	if b.centre != nil {
		return "ball(" + r + ", centred)"
	}
	return "ball(" + r + ")"
}

// Contains reports whether ||w - centre|| <= radius, computed in floating point. It panics if w and a
// centre that is not nil have different dimensions.
func (b Ball) Contains(w []float64) bool { return b.distance(w).within(b.radius) }

// Project changes w to the nearest point of the ball, up to rounding: it moves w along the line to the centre until the
// distance to the centre is at most the radius. It leaves w unchanged if w is in the ball or if a coordinate of w -
// centre is not finite. It panics if w and a centre that is not nil have different dimensions.
//
// Rounding may leave the moved point outside the ball by a few units in the last place. Project then moves the point
// inwards by a small share of its distance, and doubles the share until the point is inside. If the centre's
// coordinates are so large that neighbouring floats are farther apart than the radius, the result is the centre.
func (b Ball) Project(w []float64) {
	d := b.distance(w)
	if d.within(b.radius) || d.largest-d.largest != 0 {
		return
	}
	factor := b.radius / d.largest / d.ratio
	start := slices.Clone(w)
	for pull := 0x1p-53; ; pull *= 2 {
		keep := factor * (1 - min(pull, 1))
		for j, v := range start {
			c := b.at(j)
			w[j] = c + float64(keep*(v-c))
		}
		if b.distance(w).within(b.radius) {
			return
		}
	}
}

func (b Ball) at(j int) float64 {
	if b.centre == nil {
		return 0
	}
	return b.centre[j]
}

// distance is the length ||w - centre|| as the product largest * ratio. The two factors neither overflow
// nor underflow. largest is the largest absolute coordinate of w - centre. ratio is ||w - centre|| /
// largest, at most sqrt d for d coordinates. Both are 0 if w is the centre.
type distance struct{ largest, ratio float64 }

func (b Ball) distance(w []float64) distance {
	if b.centre != nil && len(w) != len(b.centre) {
		panic(fmt.Sprintf("convex: ball: len(w) = %d: must be the centre's %d", len(w), len(b.centre)))
	}
	largest := 0.0
	for j, v := range w {
		largest = max(largest, math.Abs(v-b.at(j)))
	}
	if largest == 0 {
		return distance{}
	}
	squares := 0.0
	for j, v := range w {
		q := (v - b.at(j)) / largest
		squares = math.FMA(q, q, squares)
	}
	return distance{largest, math.Sqrt(squares)}
}

// within reports whether the distance is at most radius. It returns false for a NaN or infinite
// distance.
func (d distance) within(radius float64) bool { return float64(d.largest*d.ratio) <= radius }
