package engine

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Bounds holds upper bounds on the Euclidean norms of the vectors of a pass of SGD over n records, and on their
// rounding errors. The bounds depend on public numbers alone (docs/explanation/exactness.md). A factor 1 + 2^-19 covers
// the terms of second order that are left out and the roundings of this computation.
type Bounds struct {
	n float64
	// Jump bounds the part of a step that depends on the record: gain times the clipped slope times the
	// row. Point bounds an iterate, before and after its projection. Start bounds the first iterate.
	Jump, Point, Start float64
	// Contraction is the largest factor by which a step without rounding errors multiplies the distance of
	// two points. Powers is the sum of the powers 0 to n-2 of Contraction.
	Contraction, Powers float64
	// Step bounds the rounding errors of one step. Sum bounds the rounding errors of adding up the iterates.
	// Last bounds the rounding errors of the operations on their sum.
	Step, Sum, Last float64
}

// roundoff bounds the relative rounding error of one operation.
const roundoff = 0x1p-53

// Bound returns the bounds of a pass of Average over n >= 2 records by a loss of
// the given constants.
func Bound(p query.Pass, k loss.Constants, n int) Bounds {
	const more = 1 + 0x1p-19
	steps, dim := float64(n-1), float64(len(p.Start))
	keep, gain := Keep(p), p.Gain()
	shift, centre := length(Shift(p)), length(p.Centre)
	b := Bounds{n: float64(n), Jump: up(gain*p.Clip) * (1 + 0x1p-22), Start: length(p.Start)}

	rate := up(gain*k.Curvature.Hi) * (1 + 0x1p-21)
	b.Contraction = max(keep, up(rate-keep)) // if keep < 0, the second argument exceeds -keep
	b.Powers = geometric(b.Contraction, n-1)

	if p.Radius > 0 {
		b.Point = max(b.Start, centre+p.Radius) + (b.Jump + shift)
	} else {
		// The displacement from the start is a sum of n-1 terms, each multiplied by a power of
		// keep.
		moves := steps
		if gap := 1 - math.Abs(keep); gap > 0 {
			moves = min(moves, 1/gap)
		}
		b.Point = b.Start + float64((b.Jump+shift)*moves)
	}
	b.Point *= more

	b.Step = float64((float64(rate*(dim/8+6))+3)*b.Point) + float64(4*b.Jump) + float64(2*shift)
	if p.Radius > 0 {
		b.Step += float64((dim/2+9)*p.Radius) + centre
	}
	b.Step = more * (float64(roundoff*b.Step) + float64(gain*k.Lipschitz*SlopeError))

	tile, tiles := min(b.n, tileRows), math.Ceil(b.n/tileRows)
	b.Sum = more * roundoff * b.Point * tile * tiles * (tiles + tile + 2) / 2
	b.Last = more * roundoff * 3 * (b.Point + b.Start)
	return b
}

// Moved bounds the change of the average of a pass's iterates, before the average is rounded to the grid, if one record
// is replaced. clean bounds the change of a pass without rounding errors. dirt bounds what the rounding errors add.
func (b Bounds) Moved() (clean, dirt float64) {
	clean = 2 * b.Jump * b.Powers / b.n
	dirt = 2 * b.Wrong()
	return clean * (1 + 0x1p-40), dirt * (1 + 0x1p-40)
}

// Wrong bounds the distance between the computed average and the average of the same pass without rounding
// errors.
func (b Bounds) Wrong() float64 { return (float64(b.Powers*(b.n-1)*b.Step)+b.Sum)/b.n + b.Last }

// geometric returns 1 + r + ... + r^(m-1) for r >= 0 and m >= 0, rounded up.
func geometric(r float64, m int) float64 {
	var sum, power float64 = 0, 1
	for i := bits.Len(uint(m)) - 1; i >= 0; i-- {
		sum = up(sum * up(1+power))
		power = up(power * power)
		if m>>i&1 == 1 {
			sum = up(1 + up(r*sum))
			power = up(power * r)
		}
	}
	return sum
}

// length returns an upper bound on the Euclidean norm of v. The bound may be too low by 2^-500,
// since smaller squares underflow.
func length(v []float64) float64 {
	var sum float64
	for _, x := range v {
		sum += float64(x * x)
	}
	return math.Sqrt(sum) * (1 + 0x1p-20)
}

func up(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }

// SlopeError bounds the distance between a computed slope and the exact slope, as a fraction of the
// loss's Lipschitz constant, for the losses that Proven accepts.
const SlopeError = 0x1p-50

// provenLosses are the names of the losses whose slopes are proven to be suitable for the
// sensitivity of SGD, by docs/explanation/exactness.md and TestProvenSlopes. For the targets that
// the loss accepts and every finite margin, the slope is within SlopeError of a function of the
// margin that never falls and rises no faster than the declared curvature.
var provenLosses = []string{"huber", "logistic", "smoothed-hinge", "squared"}

// Proven returns an error unless it is proven that passes of SGD (Average) may use the loss: that the
// loss is convex, as smooth as it declares, and free of NaN. The loss must itself be one of the
// proven losses, since a loss that wraps a proven loss could have the same name.
func Proven(l loss.Loss) error {
	if _, ok := l.(loss.RankOne); !ok {
		return fmt.Errorf("curator: stable sgd: loss = %s: must be a rank-one loss", l.Name())
	}
	if c := l.Constants().Curvature; !(c.Lo >= 0 && c.Lo <= c.Hi) || math.IsInf(c.Hi, 0) {
		return fmt.Errorf("curator: stable sgd: loss = %s: curvature in [%v, %v]: must be >= 0 and finite, or steps take "+
			"points apart", l.Name(), c.Lo, c.Hi)
	}
	base, _, _ := strings.Cut(l.Name(), "(")
	if slices.Contains(provenLosses, base) {
		if own, err := loss.Parse(l.Name()); err == nil && own == l {
			return nil
		}
	}
	return fmt.Errorf("curator: stable sgd: loss = %s: is not proven to be convex, as smooth as declared and free of "+
		"NaN: must be one of %s", l.Name(), strings.Join(provenLosses, ", "))
}
