package loss

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// Units is the loss of a record that holds all rows of one privacy unit, such as a person. Each row has
// its own target ([JoinRows]). The parameters of a Units loss are the parameters of the row loss.
// Predictions are made for single rows with the row loss.
type Units interface {
	Shaped
	// Row is the loss of one row.
	Row() Loss
	// Rows is the largest number of rows in a record.
	Rows() int
	// Summed reports whether every row has the same weight in the objective. If it is false, every unit
	// has the same weight.
	Summed() bool
}

// NewUnits returns the loss of a unit with m rows, 1 <= m <= rows, whose rows have the losses f_j:
//
//	f = 1/m sum_j f_j, or if summed is true, f = 1/rows sum_j f_j
//
// Under the first formula every unit has the same weight. Under the second formula every row has the same weight. The
// weights of a unit's rows sum to at most 1. The constants follow from the constants of the row loss l:
//
//	Lipschitz, InitialGap, HessianLipschitz: as for l, by the triangle inequality
//	curvature: the interval of l. If summed is true, the hull of this interval and
//	1/rows times this interval
//
// The curator clips the gradient of the whole unit, once. A row loss with a clip of its own, such as
// squared(1) or a network, clips the slope or gradient of each row before rows are summed.
//
// A record is malformed if its target is not a whole number from 1 to rows. The results of a malformed
// record are NaN. A unit without any valid row is malformed. A unit of [Kinked] row losses is not Kinked:
// it has no closed-form smoothing.
func NewUnits(l Loss, rows int, summed bool) (Units, error) {
	if _, twice := l.(Units); twice {
		return nil, fmt.Errorf("loss: units: %s: must be a loss of one row", l.Name())
	}
	if rows < 1 || rows > targetpair.MostRows {
		return nil, fmt.Errorf("loss: units: rows = %d: must be between 1 and %d", rows, targetpair.MostRows)
	}
	u := units{of: l, rows: rows, summed: summed, scratch: &sync.Pool{New: func() any { return new(unitScratch) }}}
	switch l := l.(type) {
	case RankOne:
		return unitsOfMargins{u, oneMargin{l}}, nil
	case Margins:
		return unitsOfMargins{u, l}, nil
	case Twice:
		return unitsOfTwice{unitsOfGeneral{u, l}, l}, nil
	case General:
		return unitsOfGeneral{u, l}, nil
	}
	return nil, fmt.Errorf("loss: units: %s: must be a RankOne, a Margins or a General", l.Name())
}

// RowLoss returns the loss of one row: the row loss of a Units, or the loss itself.
func RowLoss(l Loss) Loss {
	if u, ok := l.(Units); ok {
		return u.Row()
	}
	return l
}

// RecordFeatures returns the number of float32s in a record of loss l, if a row has the given
// number of features.
func RecordFeatures(l Loss, features int) int {
	if u, ok := l.(Units); ok {
		return targetpair.Rows{Features: features, Most: u.Rows()}.Width()
	}
	return features
}

// RowFeatures is the inverse of RecordFeatures: it returns the number of features of a row, given the
// number of float32s of a record of loss l. It returns 0 if no number of features gives this number.
func RowFeatures(l Loss, features int) int {
	u, ok := l.(Units)
	if !ok {
		return features
	}
	packed, ok := targetpair.RowsIn(features, u.Rows())
	if !ok {
		return 0
	}
	return packed.Features
}

// JoinRows makes the record of a unit from the unit's rows and their finite targets, in the form that a Units loss
// reads. The record is one vector that holds all rows with their targets. The record's target is the number of rows.
// JoinRows is for generated tables. The curator builds the records of real tables. JoinRows panics unless there are
// between 1 and Rows rows with one target each. Targets are rounded to multiples of 2^-89.
func JoinRows(u Units, x [][]float32, y []float64) (record []float32, target float64) {
	if len(x) < 1 || len(x) > u.Rows() || len(y) != len(x) {
		panic(fmt.Sprintf("loss: units: %d rows, %d targets: must be as many, between 1 and %d", len(x), len(y), u.Rows()))
	}
	packed := targetpair.Rows{Features: len(x[0]), Most: u.Rows()}
	record = make([]float32, packed.Width())
	for i := range x {
		packed.Put(record, i, x[i], y[i])
	}
	return record, float64(len(x))
}

const unitsPrefix, summedName = "units(", "sum"

// parseUnits makes a [Units] loss from its name, such as units(logistic,8) or units(logistic,8,sum). classes
// is the number of classes of the target. It is used for "softmax" without a number.
func parseUnits(name string, classes int) (Loss, error) {
	list, closed := strings.CutSuffix(strings.TrimPrefix(name, unitsPrefix), ")")
	fields := splitOutside(list)
	summed := len(fields) == 3 && fields[2] == summedName
	if !closed || len(fields) != 2 && !summed {
		return nil, fmt.Errorf("loss: name = %q: must be units(loss,rows) or units(loss,rows,%s), such as units(logistic,8)",
			name, summedName)
	}
	l, err := ParseFor(fields[0], classes)
	if err != nil {
		return nil, fmt.Errorf("loss: units: %w", err)
	}
	rows, err := strconv.Atoi(fields[1])
	if err != nil {
		return nil, fmt.Errorf("loss: units: rows = %q: must be a whole number", fields[1])
	}
	return NewUnits(l, rows, summed)
}

// units is the common part of all Units.
type units struct {
	of      Loss
	rows    int
	summed  bool
	scratch *sync.Pool // of *unitScratch
}

// unitScratch is the scratch memory for one record.
type unitScratch struct {
	z, u, y, slopes, gradient []float64
	x                         []float32
}

func (l units) Row() Loss      { return l.of }
func (l units) Rows() int      { return l.rows }
func (l units) Summed() bool   { return l.summed }
func (l units) Target() Target { return l.of.Target() }

func (l units) Name() string {
	name := unitsPrefix + l.of.Name() + "," + strconv.Itoa(l.rows)
	if l.summed {
		name += "," + summedName
	}
	return name + ")"
}

func (l units) Constants() Constants {
	c := l.of.Constants()
	if l.summed && l.rows > 1 {
		least := 1 / float64(l.rows)
		c.Curvature = CurvatureInterval{min(c.Curvature.Lo, scale(c.Curvature.Lo, least)),
			max(c.Curvature.Hi, scale(c.Curvature.Hi, least))}
		if c.Loose == "" && (c.Curvature.Lo > 0 || c.Curvature.Hi < 0) {
			c.Loose = "a bound of the curvature is that of a unit with one row"
		}
	}
	return c
}

// Parameters returns the number of parameters of the row loss, or 0 if no unit record has the given
// number of features.
func (l units) Parameters(features int) int {
	packed, ok := targetpair.RowsIn(features, l.rows)
	if !ok {
		return 0
	}
	return Parameters(l.of, packed.Features)
}

// layout returns the layout of a unit's record x, and the record's number n of rows, which is its target y. ok is false
// if y is not a whole number from 1 to the largest number of rows. layout panics unless len(x) is the length of a
// record, and dst and w, the lengths of two vectors, are the number of parameters.
func (l units) layout(dst, w int, x []float32, y float64) (packed targetpair.Rows, n int, ok bool) {
	packed, ok = targetpair.RowsIn(len(x), l.rows)
	if !ok {
		panic(fmt.Sprintf("loss: units: %d features: must be those of %d rows and their targets", len(x), l.rows))
	}
	checkShape(dst, w, Parameters(l.of, packed.Features))
	n, ok = packed.Count(y)
	return packed, n, ok
}

// weight returns the factor on the loss of each row of a unit with n rows: 1/n, or 1/rows if l.summed is
// true, where rows is the largest number of rows.
func (l units) weight(n int) float64 {
	if l.summed {
		n = l.rows
	}
	return 1 / float64(n)
}

func fillNaN(dst []float64) {
	for i := range dst {
		dst[i] = math.NaN()
	}
}

// resized returns a slice of length n in the memory of v. Its contents are arbitrary. If the capacity of v
// is below n, resized replaces v by a new slice first.
func resized[T any](v *[]T, n int) []T {
	if cap(*v) < n {
		*v = make([]T, n)
	}
	return (*v)[:n]
}

// oneMargin gives a RankOne loss the methods of a Margins loss with one margin.
type oneMargin struct{ RankOne }

func (oneMargin) K() int { return 1 }

func (l oneMargin) CurvaturesAlong(dst, z, u, y []float64) {
	l.Curvatures(dst, z, y)
	for i, v := range u {
		dst[i] = float64(dst[i] * v)
	}
}

// unitsOfMargins are units of rows whose loss is a RankOne or a Margins. The gradient is a sum of
// outer products, one for each row.
type unitsOfMargins struct {
	units
	margins Margins // the row loss; a RankOne is a Margins of one margin
}

// at returns the margins at the parameters w of the n rows of a record x, and the rows' targets,
// which the record holds.
func (l unitsOfMargins) at(s *unitScratch, packed targetpair.Rows, n int, w []float64, x []float32) (z, y []float64) {
	z, y = resized(&s.z, n*l.margins.K()), resized(&s.y, n)
	l.products(z, packed, w, x)
	for i := range y {
		y[i] = packed.Target(x, i)
	}
	return z, y
}

// products sets z to the margins of the rows of a record x: the inner products of each row of the record and
// the K rows of the parameters w.
func (l unitsOfMargins) products(z []float64, packed targetpair.Rows, w []float64, x []float32) {
	k, scale := l.margins.K(), packed.Scale()
	for i := range z {
		row := packed.Row(x, i/k)
		z[i] = float64(scale * innerRow(w[i%k*packed.Features:][:len(row)], row))
	}
}

// innerRow returns <w, x> as four interleaved sums, with the same rounding on every machine.
func innerRow(w []float64, x []float32) float64 {
	var s [4]float64
	i := 0
	for ; i <= len(x)-4; i += 4 {
		a, b := (*[4]float64)(w[i:]), (*[4]float32)(x[i:])
		s[0] += float64(a[0] * float64(b[0]))
		s[1] += float64(a[1] * float64(b[1]))
		s[2] += float64(a[2] * float64(b[2]))
		s[3] += float64(a[3] * float64(b[3]))
	}
	for ; i < len(x); i++ {
		s[0] += float64(w[i] * float64(x[i]))
	}
	return (s[0] + s[2]) + (s[1] + s[3])
}

// spread sets dst to a K x features matrix: the weighted sum, over the record's n rows, of the outer
// product of K numbers and the row. The slice each holds the K numbers of the first row, then the K
// numbers of the second row, and so on.
func (l unitsOfMargins) spread(dst, each []float64, packed targetpair.Rows, n int, x []float32) {
	k, by := l.margins.K(), float64(packed.Scale()*l.weight(n))
	clear(dst)
	for i, s := range each {
		a := float64(s * by)
		row := packed.Row(x, i/k)
		to := dst[i%k*packed.Features:][:len(row)]
		for j, v := range row {
			to[j] += float64(a * float64(v))
		}
	}
}

func (l unitsOfMargins) Value(w []float64, x []float32, y float64) float64 {
	packed, n, ok := l.layout(len(w), len(w), x, y)
	if !ok {
		return math.NaN()
	}
	s := l.scratch.Get().(*unitScratch)
	defer l.scratch.Put(s)
	z, targets := l.at(s, packed, n, w, x)
	values := resized(&s.slopes, n)
	fillNaN(values) // if the loss does not write a value, the value is NaN and not another unit's value
	l.margins.Values(values, z, targets)
	by := l.weight(n)
	return vector.Sum(values, func(v float64) float64 { return float64(v * by) })
}

func (l unitsOfMargins) Gradient(dst, w []float64, x []float32, y float64) {
	packed, n, ok := l.layout(len(dst), len(w), x, y)
	if !ok {
		fillNaN(dst)
		return
	}
	s := l.scratch.Get().(*unitScratch)
	defer l.scratch.Put(s)
	z, targets := l.at(s, packed, n, w, x)
	slopes := resized(&s.slopes, len(z))
	fillNaN(slopes)
	l.margins.Slopes(slopes, z, targets)
	l.spread(dst, slopes, packed, n, x)
}

// HessianVector writes to dst the product of v and the Hessian at w of the unit's loss. The row loss must
// have a second derivative. Where the second derivative jumps, either of its one-sided values may be used.
func (l unitsOfMargins) HessianVector(dst, w, v []float64, x []float32, y float64) {
	packed, n, ok := l.layout(len(dst), len(w), x, y)
	checkShape(len(v), len(w), len(w))
	if !ok {
		fillNaN(dst)
		return
	}
	s := l.scratch.Get().(*unitScratch)
	defer l.scratch.Put(s)
	z, targets := l.at(s, packed, n, w, x)
	move, bends := resized(&s.u, len(z)), resized(&s.slopes, len(z))
	l.products(move, packed, v, x)
	fillNaN(bends)
	l.margins.CurvaturesAlong(bends, z, move, targets)
	l.spread(dst, bends, packed, n, x)
}

// unitsOfGeneral are units of rows whose loss is a General loss, which computes its gradient itself.
type unitsOfGeneral struct {
	units
	general General
}

func (l unitsOfGeneral) Value(w []float64, x []float32, y float64) float64 {
	packed, n, ok := l.layout(len(w), len(w), x, y)
	if !ok {
		return math.NaN()
	}
	s := l.scratch.Get().(*unitScratch)
	defer l.scratch.Put(s)
	row := resized(&s.x, packed.Features)
	sum, by := 0., l.weight(n)
	for i := range n {
		packed.Take(row, x, i)
		sum += float64(l.general.Value(w, row, packed.Target(x, i)) * by)
	}
	return sum
}

func (l unitsOfGeneral) Gradient(dst, w []float64, x []float32, y float64) {
	l.add(dst, w, x, y, l.general.Gradient)
}

// add sets dst to the weighted sum, over the record's rows, of the vectors that f writes.
func (l unitsOfGeneral) add(dst, w []float64, x []float32, y float64,
	f func(dst, w []float64, x []float32, y float64)) {
	packed, n, ok := l.layout(len(dst), len(w), x, y)
	if !ok {
		fillNaN(dst)
		return
	}
	s := l.scratch.Get().(*unitScratch)
	defer l.scratch.Put(s)
	row, gradient, by := resized(&s.x, packed.Features), resized(&s.gradient, len(dst)), l.weight(n)
	clear(dst)
	for i := range n {
		packed.Take(row, x, i)
		// If f leaves an entry unwritten, the entry must be NaN and not the entry of another row.
		fillNaN(gradient)
		f(gradient, w, row, packed.Target(x, i))
		vector.Add(dst, by, gradient)
	}
}

// unitsOfTwice are units of rows whose loss is a Twice loss, which also computes products of its
// Hessian and a vector.
type unitsOfTwice struct {
	unitsOfGeneral
	twice Twice
}

func (l unitsOfTwice) HessianVector(dst, w, v []float64, x []float32, y float64) {
	checkShape(len(v), len(w), len(w))
	l.add(dst, w, x, y, func(dst, w []float64, x []float32, y float64) { l.twice.HessianVector(dst, w, v, x, y) })
}
