package loss

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/stillpoint-dp/stillpoint/internal/carry"
)

// Units is the loss of a record that is all rows of a unit of privacy, such as a person:
// of several rows, each with its own target (JoinRows). It is a loss of the parameters
// that a row's is, and a row is predicted by them as ever.
type Units interface {
	Shaped
	// Row is the loss of one row.
	Row() Loss
	// Rows is how many of them a record has room for.
	Rows() int
	// Summed says that rows count alike, whoever has them; otherwise units do.
	Summed() bool
}

// NewUnits returns the loss of a unit with m rows, of at most so many,
//
//	f = 1/m sum_j f_j, or summed: 1/rows sum_j f_j,
//
// so that under the first every unit counts as much as any other, and under the second
// every row does. With l's constants and m <= rows, so that the rows' weights sum to 1 or
// less:
//
//	Lipschitz, InitialGap, HessianLipschitz: l's, by the triangle inequality
//	curvature: l's interval or, summed, its hull with a rows'th of it
//
// The gradient of one record is all that is clipped of it, so that it is the unit's sum
// that is clipped, as one. A loss of rows that clips slopes or gradients of its own, such
// as squared(1) or a network, does so before rows are added up.
//
// A record whose own target is no number of rows, which is one without any sound row, is
// faulty. A loss of rows whose slope jumps gives one whose gradient does, without the
// closed forms of a Kinked loss.
func NewUnits(l Loss, rows int, summed bool) (Units, error) {
	if _, twice := l.(Units); twice {
		return nil, fmt.Errorf("loss: units: %s: must be a loss of one row", l.Name())
	}
	if rows < 1 || rows > carry.MostRows {
		return nil, fmt.Errorf("loss: units: rows = %d: must be between 1 and %d", rows, carry.MostRows)
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

// RowLoss is the loss of one row: that of a Units, or the loss itself.
func RowLoss(l Loss) Loss {
	if u, ok := l.(Units); ok {
		return u.Row()
	}
	return l
}

// RecordFeatures is how many features the record of a loss has where a row has so many.
func RecordFeatures(l Loss, features int) int {
	if u, ok := l.(Units); ok {
		return carry.Rows{Features: features, Most: u.Rows()}.Width()
	}
	return features
}

// RowFeatures is its inverse; 0 where there is none.
func RowFeatures(l Loss, features int) int {
	u, ok := l.(Units)
	if !ok {
		return features
	}
	lie, ok := carry.RowsIn(features, u.Rows())
	if !ok {
		return 0
	}
	return lie.Features
}

// JoinRows makes the record of a unit's rows, at least one and at most as many as the
// loss has room for, and of their finite targets, for tables that are generated; sessions
// make those of tables. Targets are rounded to multiples of 2^-89.
func JoinRows(u Units, x [][]float32, y []float64) (record []float32, target float64) {
	if len(x) < 1 || len(x) > u.Rows() || len(y) != len(x) {
		panic(fmt.Sprintf("loss: units: %d rows, %d targets: must be as many, between 1 and %d", len(x), len(y), u.Rows()))
	}
	lie := carry.Rows{Features: len(x[0]), Most: u.Rows()}
	record = make([]float32, lie.Width())
	for i := range x {
		lie.Put(record, i, x[i], y[i])
	}
	return record, float64(len(x))
}

const unitsPrefix, summedName = "units(", "sum"

// parseUnits reads what Name writes, for targets of so many classes.
func parseUnits(name string, classes int) (Loss, error) {
	list, closed := strings.CutSuffix(strings.TrimPrefix(name, unitsPrefix), ")")
	fields := splitOutside(list)
	summed := len(fields) == 3 && fields[2] == summedName
	if !closed || len(fields) != 2 && !summed {
		return nil, fmt.Errorf("loss: name = %q: must be units(loss,rows) or units(loss,rows,%s), such as units(logistic,8)", name, summedName)
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

// units is what all of them share.
type units struct {
	of      Loss
	rows    int
	summed  bool
	scratch *sync.Pool // of *unitScratch
}

// unitScratch is what one record takes.
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
		c.Curvature = CurvatureInterval{min(c.Curvature.Lo, scale(c.Curvature.Lo, least)), max(c.Curvature.Hi, scale(c.Curvature.Hi, least))}
		if c.Loose == "" && (c.Curvature.Lo > 0 || c.Curvature.Hi < 0) {
			c.Loose = "a bound of the curvature is that of a unit with one row"
		}
	}
	return c
}

// Parameters are a row's; none for features that make no record.
func (l units) Parameters(features int) int {
	lie, ok := carry.RowsIn(features, l.rows)
	if !ok {
		return 0
	}
	return Parameters(l.of, lie.Features)
}

// lie is how rows lie in a record, after a check of the lengths of what is given and
// written. ok is false for a record that is no unit.
func (l units) lie(dst, w int, x []float32, y float64) (lie carry.Rows, n int, ok bool) {
	lie, ok = carry.RowsIn(len(x), l.rows)
	if !ok {
		panic(fmt.Sprintf("loss: units: %d features: must be those of %d rows and their targets", len(x), l.rows))
	}
	checkShape(dst, w, Parameters(l.of, lie.Features))
	n, ok = lie.Count(y)
	return lie, n, ok
}

// weight is that of each of n rows.
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

// room returns a slice of n, v if it is long enough.
func room[T any](v *[]T, n int) []T {
	if cap(*v) < n {
		*v = make([]T, n)
	}
	return (*v)[:n]
}

// oneMargin is a RankOne as a Margins of one.
type oneMargin struct{ RankOne }

func (oneMargin) K() int { return 1 }

func (l oneMargin) CurvaturesAlong(dst, z, u, y []float64) {
	l.Curvatures(dst, z, y)
	for i, v := range u {
		dst[i] = float64(dst[i] * v)
	}
}

// unitsOfMargins are of rows whose loss is of margins: the gradient is a sum of as many
// outer products as there are rows.
type unitsOfMargins struct {
	units
	margins Margins // or of one
}

// at works out the margins of the rows at w, and reads their targets.
func (l unitsOfMargins) at(s *unitScratch, lie carry.Rows, n int, w []float64, x []float32) (z, y []float64) {
	z, y = room(&s.z, n*l.margins.K()), room(&s.y, n)
	l.products(z, lie, w, x)
	for i := range y {
		y[i] = lie.Target(x, i)
	}
	return z, y
}

// products are those of the rows of w with the rows of a record.
func (l unitsOfMargins) products(z []float64, lie carry.Rows, w []float64, x []float32) {
	k, scale := l.margins.K(), lie.Scale()
	for i := range z {
		row := lie.Row(x, i/k)
		z[i] = float64(scale * innerRow(w[i%k*lie.Features:][:len(row)], row))
	}
}

// innerRow is <w, x> by four sums, rounded alike everywhere.
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

// spread sets dst to the sum of the rows' outer products with what each has for its
// margins, times their weight.
func (l unitsOfMargins) spread(dst, each []float64, lie carry.Rows, n int, x []float32) {
	k, by := l.margins.K(), float64(lie.Scale()*l.weight(n))
	clear(dst)
	for i, s := range each {
		a := float64(s * by)
		row := lie.Row(x, i/k)
		to := dst[i%k*lie.Features:][:len(row)]
		for j, v := range row {
			to[j] += float64(a * float64(v))
		}
	}
}

func (l unitsOfMargins) Value(w []float64, x []float32, y float64) float64 {
	lie, n, ok := l.lie(len(w), len(w), x, y)
	if !ok {
		return math.NaN()
	}
	s := l.scratch.Get().(*unitScratch)
	defer l.scratch.Put(s)
	z, targets := l.at(s, lie, n, w, x)
	values := room(&s.slopes, n)
	fillNaN(values) // what is left unwritten is not another unit's
	l.margins.Values(values, z, targets)
	sum, by := 0., l.weight(n)
	for _, v := range values {
		sum += float64(v * by)
	}
	return sum
}

func (l unitsOfMargins) Gradient(dst, w []float64, x []float32, y float64) {
	lie, n, ok := l.lie(len(dst), len(w), x, y)
	if !ok {
		fillNaN(dst)
		return
	}
	s := l.scratch.Get().(*unitScratch)
	defer l.scratch.Put(s)
	z, targets := l.at(s, lie, n, w, x)
	slopes := room(&s.slopes, len(z))
	fillNaN(slopes)
	l.margins.Slopes(slopes, z, targets)
	l.spread(dst, slopes, lie, n, x)
}

// HessianVector serves losses of rows that have a second derivative, or one on either side.
func (l unitsOfMargins) HessianVector(dst, w, v []float64, x []float32, y float64) {
	lie, n, ok := l.lie(len(dst), len(w), x, y)
	checkShape(len(v), len(w), len(w))
	if !ok {
		fillNaN(dst)
		return
	}
	s := l.scratch.Get().(*unitScratch)
	defer l.scratch.Put(s)
	z, targets := l.at(s, lie, n, w, x)
	move, bends := room(&s.u, len(z)), room(&s.slopes, len(z))
	l.products(move, lie, v, x)
	fillNaN(bends)
	l.margins.CurvaturesAlong(bends, z, move, targets)
	l.spread(dst, bends, lie, n, x)
}

// unitsOfGeneral are of rows whose loss writes its own gradient.
type unitsOfGeneral struct {
	units
	general General
}

func (l unitsOfGeneral) Value(w []float64, x []float32, y float64) float64 {
	lie, n, ok := l.lie(len(w), len(w), x, y)
	if !ok {
		return math.NaN()
	}
	s := l.scratch.Get().(*unitScratch)
	defer l.scratch.Put(s)
	row := room(&s.x, lie.Features)
	sum, by := 0., l.weight(n)
	for i := range n {
		lie.Take(row, x, i)
		sum += float64(l.general.Value(w, row, lie.Target(x, i)) * by)
	}
	return sum
}

func (l unitsOfGeneral) Gradient(dst, w []float64, x []float32, y float64) {
	l.add(dst, w, x, y, l.general.Gradient)
}

// add sets dst to the sum of what f writes for the rows, times their weight.
func (l unitsOfGeneral) add(dst, w []float64, x []float32, y float64, f func(dst, w []float64, x []float32, y float64)) {
	lie, n, ok := l.lie(len(dst), len(w), x, y)
	if !ok {
		fillNaN(dst)
		return
	}
	s := l.scratch.Get().(*unitScratch)
	defer l.scratch.Put(s)
	row, gradient, by := room(&s.x, lie.Features), room(&s.gradient, len(dst)), l.weight(n)
	clear(dst)
	for i := range n {
		lie.Take(row, x, i)
		// What a loss leaves unwritten must not be another row's.
		fillNaN(gradient)
		f(gradient, w, row, lie.Target(x, i))
		for j, v := range gradient {
			dst[j] += float64(v * by)
		}
	}
}

// unitsOfTwice are of rows whose loss also writes products of its Hessian.
type unitsOfTwice struct {
	unitsOfGeneral
	twice Twice
}

func (l unitsOfTwice) HessianVector(dst, w, v []float64, x []float32, y float64) {
	checkShape(len(v), len(w), len(w))
	l.add(dst, w, x, y, func(dst, w []float64, x []float32, y float64) { l.twice.HessianVector(dst, w, v, x, y) })
}
