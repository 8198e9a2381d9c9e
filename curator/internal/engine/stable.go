package engine

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Loss returns the loss with which the engine answers queries.
func (e *Portable) Loss() loss.Loss { return e.loss }

// Average makes one pass of projected SGD over the given members, in their order. It returns the average of
// the iterates minus the start, rounded to grid steps. scale is the number of grid steps in a unit. Average
// returns an error if the loss is not rank-one, if a member is not the number of a row, if a row cannot be
// read, or if the context ends.
//
// docs/explanation/exactness.md bounds the distance of two such passes on neighbouring tables. The
// proof there counts the roundings of this file one by one.
func (e *Portable) Average(ctx context.Context, p query.Pass, scale float64, members []int32) ([]int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l, ok := e.loss.(loss.RankOne)
	if !ok {
		return nil, Proven(e.loss)
	}
	// The pass uses a context of the standard library, whose error is permanent once set. The
	// caller's context may be of another type.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := within(members, e.table.Len()); err != nil {
		return nil, err
	}
	w := newWalk(l, p, e.table, members)
	go w.work(ctx)
	<-w.ended
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if w.unread != nil {
		return nil, w.unread
	}
	if len(w.left) > 0 {
		return nil, ErrIncomplete
	}
	answer := make([]int64, e.layout.Dim())
	for j := range answer {
		mean := w.sum[j] / float64(len(members))
		answer[j] = Round(float64((mean - p.Start[j]) * scale))
	}
	return answer, nil
}

// walk is the state of a pass of SGD. All vectors are padded to the stride. A walk outlives its goroutine:
// if the loss panics or ends the goroutine, another goroutine continues.
type walk struct {
	table row.Reader
	// left holds the members of the current tile and of all later ones.
	left []int32
	// fetched is the number of members in the current tile of rows. taken is the number of members
	// of the current tile that were processed.
	fetched, taken int
	ended          chan struct{}
	done           bool
	// unread is the error of a failed read.
	unread error

	loss   loss.RankOne
	target loss.Target
	// A step replaces the point w by keep*w + shift - gain*s*x, for a row x with the slope s, clipped to [-clip, clip].
	// If radius is not 0, the step then projects the point to the ball of this radius around centre.
	keep, gain, clip float64
	shift            []float64
	radius           float64
	centre           []float64

	at []float64
	// sum is the sum of the iterates up to the last tile. tile is the sum of the iterates of the current
	// tile.
	sum, tile []float64

	// rows holds the rows of a tile.
	rows row.Block
	// full holds the same rows with all features.
	full   []float32
	writer writer
	// slope, margin and y are the arguments of the loss for one record.
	slope, margin, y [1]float64
}

func newWalk(l loss.RankOne, p query.Pass, t row.Source, members []int32) *walk {
	stride := t.Layout().Full()
	w := &walk{
		table: t.Reader(), writer: writer{layout: t.Layout()}, left: members, ended: make(chan struct{}),
		loss: l, target: l.Target(),
		keep: Keep(p), gain: p.Gain(), clip: p.Clip, shift: make([]float64, stride),
		radius: p.Radius, centre: make([]float64, stride),
		at: make([]float64, stride), sum: make([]float64, stride), tile: make([]float64, stride),
	}
	copy(w.at, p.Start)
	copy(w.shift, Shift(p))
	copy(w.centre, p.Centre)
	return w
}

// Keep returns the factor by which the regularizer shrinks a point in one step.
func Keep(p query.Pass) float64 { return 1 - float64(p.Step*p.Lambda) }

// Shift returns the vector that the regularizer's linear part adds in one step.
func Shift(p query.Pass) []float64 {
	s := make([]float64, len(p.Start))
	for j, v := range p.Linear {
		s[j] = float64(p.Step * v)
	}
	return s
}

// work makes the steps of the pass for all members that are left.
func (w *walk) work(ctx context.Context) {
	defer w.survive(ctx)
	w.over(ctx)
	w.done = true
}

// survive is called when work returns, and when the loss has panicked or ended the goroutine. In the second
// case the current record is faulty: its step is made with slope 0, and a new goroutine continues.
func (w *walk) survive(ctx context.Context) {
	if w.done {
		close(w.ended)
		return
	}
	// The value of a panic in the loss may contain a record's values, so it is dropped.
	_ = recover()
	w.step(w.row(), 0)
	w.taken++
	go w.work(ctx)
}

// over makes the steps of the members in their order. It returns early if the context ends or rows cannot be read. It
// does not make the step of the last record, since the point after this step is not part of the average.
func (w *walk) over(ctx context.Context) {
	for len(w.left) > 0 {
		if w.fetched == 0 {
			if ctx.Err() != nil {
				return
			}
			if w.fetch(); w.unread != nil {
				return
			}
		}
		last := len(w.left) == w.fetched
		steps := w.fetched
		if last {
			steps--
		}
		for ; w.taken < steps; w.taken++ {
			w.step(w.row(), w.slopeAt(w.row(), w.rows.Targets[w.taken]))
		}
		if last {
			add(w.tile, w.at)
		}
		add(w.sum, w.tile)
		clear(w.tile)
		w.left = w.left[w.fetched:]
		w.fetched, w.taken = 0, 0
	}
}

// fetch copies the next members' rows to scratch memory. Each step of the pass waits for the step
// before it. Because of the copy, a step does not also wait for memory. Rows are copied with all
// their features, in the order of features, on which the error bounds rely.
func (w *walk) fetch() {
	n := min(tileRows, len(w.left))
	w.rows.Clear()
	if w.unread = w.table.Rows(&w.rows, w.left[:n]); w.unread != nil {
		return
	}
	w.full, w.fetched = w.writer.out(w.rows), n
}

// row returns the features of the pass's next record.
func (w *walk) row() []float32 { return w.full[w.taken*len(w.at):][:len(w.at)] }

// step adds the current iterate to the sum and makes one step with a record of the given slope.
func (w *walk) step(x []float32, slope float64) {
	c := float64(w.gain * slope)
	if w.radius == 0 {
		advance(w.at, w.tile, w.shift, x, w.keep, c)
		return
	}
	square := advanceFrom(w.at, w.tile, w.shift, x, w.keep, c, w.centre)
	if norm := math.Sqrt(square); norm > w.radius {
		shrink(w.at, w.centre, w.radius/norm)
	}
}

// slopeAt returns the record's clipped slope. It returns 0 for a malformed (faulty) record, and for a slope
// that is NaN. It also returns 0 for a target that the loss does not accept, since the slope for such a
// target might rise faster than the loss declares.
func (w *walk) slopeAt(x []float32, y float64) float64 {
	if !meant(w.target, y) {
		return 0
	}
	w.margin[0], w.y[0], w.slope[0] = dot(w.at, x), y, math.NaN()
	w.loss.Slopes(w.slope[:], w.margin[:], w.y[:])
	s := w.slope[0]
	if s != s {
		return 0
	}
	return min(max(s, -w.clip), w.clip)
}

// meant reports whether y is one of the targets that a loss accepts. It returns false for NaN, which marks
// faulty records.
func meant(t loss.Target, y float64) bool {
	switch t {
	case loss.Binary:
		return y == 1 || y == -1
	case loss.Real:
		return -1 <= y && y <= 1
	}
	return false
}

// advance adds w to sum and then sets w to keep*w + shift - c*x. All vectors have the same length, a multiple
// of row.Lane.
func advance(w, sum, shift []float64, x []float32, keep, c float64) {
	sum, shift, x = sum[:len(w)], shift[:len(w)], x[:len(w)]
	for j := 0; j <= len(w)-half; j += half {
		p, s := (*[half]float64)(w[j:]), (*[half]float64)(sum[j:])
		b, r := (*[half]float64)(shift[j:]), (*[half]float32)(x[j:])
		v0, v1, v2, v3 := p[0], p[1], p[2], p[3]
		s[0] += v0
		s[1] += v1
		s[2] += v2
		s[3] += v3
		p[0] = float64(float64(keep*v0)+b[0]) - float64(c*float64(r[0]))
		p[1] = float64(float64(keep*v1)+b[1]) - float64(c*float64(r[1]))
		p[2] = float64(float64(keep*v2)+b[2]) - float64(c*float64(r[2]))
		p[3] = float64(float64(keep*v3)+b[3]) - float64(c*float64(r[3]))
	}
}

// half is the number of coordinates processed at a time. With more coordinates, the numbers would
// not fit in registers.
const half = row.Lane / 2

// advanceFrom does the same as advance, and returns ||w - centre||^2 for the new w.
func advanceFrom(w, sum, shift []float64, x []float32, keep, c float64, centre []float64) float64 {
	sum, shift, x, centre = sum[:len(w)], shift[:len(w)], x[:len(w)], centre[:len(w)]
	var q0, q1, q2, q3 float64
	for j := 0; j <= len(w)-half; j += half {
		p, s := (*[half]float64)(w[j:]), (*[half]float64)(sum[j:])
		b, r := (*[half]float64)(shift[j:]), (*[half]float32)(x[j:])
		o := (*[half]float64)(centre[j:])
		v0, v1, v2, v3 := p[0], p[1], p[2], p[3]
		s[0] += v0
		s[1] += v1
		s[2] += v2
		s[3] += v3
		v0 = float64(float64(keep*v0)+b[0]) - float64(c*float64(r[0]))
		v1 = float64(float64(keep*v1)+b[1]) - float64(c*float64(r[1]))
		v2 = float64(float64(keep*v2)+b[2]) - float64(c*float64(r[2]))
		v3 = float64(float64(keep*v3)+b[3]) - float64(c*float64(r[3]))
		p[0], p[1], p[2], p[3] = v0, v1, v2, v3
		v0, v1, v2, v3 = v0-o[0], v1-o[1], v2-o[2], v3-o[3]
		q0 += float64(v0 * v0)
		q1 += float64(v1 * v1)
		q2 += float64(v2 * v2)
		q3 += float64(v3 * v3)
	}
	return (q0 + q2) + (q1 + q3)
}

// shrink sets w to centre + factor*(w - centre).
func shrink(w, centre []float64, factor float64) {
	centre = centre[:len(w)]
	for j := 0; j <= len(w)-half; j += half {
		p, o := (*[half]float64)(w[j:]), (*[half]float64)(centre[j:])
		p[0] = o[0] + float64((p[0]-o[0])*factor)
		p[1] = o[1] + float64((p[1]-o[1])*factor)
		p[2] = o[2] + float64((p[2]-o[2])*factor)
		p[3] = o[3] + float64((p[3]-o[3])*factor)
	}
}

// add adds the vector v to sum, coordinate by coordinate.
func add(sum, v []float64) {
	for j := range sum {
		sum[j] += v[j]
	}
}

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
func length(v []float64) float64 { return math.Sqrt(squares(v, 0)) * (1 + 0x1p-20) }

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
