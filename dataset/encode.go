package dataset

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/cellstatus"
	"github.com/stillpoint-dp/stillpoint/internal/decimal"
	"github.com/stillpoint-dp/stillpoint/internal/repromath"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
)

// Encode writes the features of a row to dst[:Dim] and returns the row's target, as the package comment
// defines them. The target is in [-1, 1] or, with more than two classes, the index of the class. Encode
// leaves dst[Dim:] unchanged. It panics if dst is shorter than Dim.
//
// If the schema's target has a weight or an exposure, the returned number encodes the target and the
// weight or exposure. loss.Carried decodes it.
//
// ok is false for a row with the wrong number of cells. Unless the map is unlabelled, ok is also
// false if the target, weight or exposure is missing or invalid. dst[:Dim] and the target are then
// zero. The row is still counted as a record.
func (m *Map) Encode(dst []float32, cells []string) (target float64, ok bool) {
	return m.encodeWhole(dst, row{texts: cells})
}

// encodeWhole writes all features of a row, hats (values of curves' basis functions) included, to
// dst[:Dim].
func (m *Map) encodeWhole(dst []float32, cells row) (target float64, ok bool) {
	if len(dst) < m.dim {
		panic(fmt.Sprintf("dataset: a row of %d features does not fit in %d", m.dim, len(dst)))
	}
	clear(dst[:m.dim])
	all := features{x: dst[:m.base()]}
	if len(m.hats) > 0 {
		all.which = make([]int, 0, m.groups)
	}
	if target, ok = m.encode(&all, cells); !ok {
		return target, ok
	}
	if len(m.hats) > 0 {
		m.hang(all.x, all.which)
	}
	if m.found != nil {
		m.found.extend(dst[:m.dim], m.base())
	}
	return target, ok
}

// EncodeCoded encodes a row as [Map.Encode] does, but in a shorter form. It writes to x, in order, the features that
// are neither in a group ([Schema.Groups]) nor hats ([Schema.Hats]). For each group it writes to codes the index,
// within the group, of the one feature that is not zero. level is the value of this feature, which is the same in every
// group. All values have the bits that Encode writes. Hats are left out, because they can be computed from x and codes.
// So are features of [Effects]; the values are those of the schema without them. If ok is false, all results are zero.
// EncodeCoded panics if the length of x or codes is wrong.
func (m *Map) EncodeCoded(x []float32, codes []uint32, cells []string) (level float32, target float64, ok bool) {
	return m.encodeCoded(x, codes, row{texts: cells})
}

func (m *Map) encodeCoded(x []float32, codes []uint32, cells row) (level float32, target float64, ok bool) {
	if len(x) != m.base()-m.grouped || len(codes) != m.groups {
		panic(fmt.Sprintf("dataset: a row of %d numbers and %d groups does not fit in %d and %d", m.base()-m.grouped,
			m.groups, len(x), len(codes)))
	}
	clear(x)
	clear(codes)
	dst := features{x: x, codes: codes, coded: true}
	target, ok = m.encode(&dst, cells)
	return dst.level, target, ok
}

// features is the destination of a row's features. If coded is false, x holds all features. If coded is
// true, x holds only the features that are neither in one-hot groups nor hats, and codes holds the index of
// each group's nonzero feature.
type features struct {
	x     []float32
	coded bool
	codes []uint32 // places for the codes of the groups not yet written
	level float32  // the value of the nonzero feature of each group
	// skipped is the number of features of groups and hats so far, if coded is true: x does not hold them.
	skipped int
	// which collects the codes of the one-hot groups (indices of their nonzero features) so far, from
	// which hats are computed. It is used only if coded is false and the schema has hats.
	which []int
}

// number writes the value v of the feature with index at, which is outside of all one-hot groups.
func (e *features) number(at int, v float32) { e.x[at-e.skipped] = v }

// one writes a one-hot group of width features that starts at feature at. The value of feature at+which is
// v, and the other features of the group are zero.
func (e *features) one(at, width, which int, v float32) {
	if !e.coded {
		e.x[at+which] = v
		if cap(e.which) > 0 {
			e.which = append(e.which, which)
		}
		return
	}
	e.codes[0], e.level = uint32(which), v
	e.codes = e.codes[1:]
	e.skipped += width
}

// hats skips the next features, which are hats (values of basis functions): as many as the argument of says.
// Hats are computed later from the other features.
func (e *features) hats(of int) {
	if e.coded {
		e.skipped += of
	}
}

// row is one row of a table whose cells are given in one of two forms. If texts is not nil, it has the texts
// of the cells. Otherwise readings has one slice for each column, with the numbers to which the column's
// cells were mapped ([ColumnMap]). The row's numbers then have the index at in each slice.
type row struct {
	texts    []string
	readings [][]float64
	at       int
}

// cells returns the number of the row's cells.
func (r *row) cells() int {
	if r.texts != nil {
		return len(r.texts)
	}
	return len(r.readings)
}

// reading returns the number to which the row map first maps cell i (its reading; see [ColumnMap]).
func (m *Map) reading(r *row, i int) float64 {
	if r.texts != nil {
		return m.columns[i].Text(r.texts[i])
	}
	return r.readings[i][r.at]
}

// encode writes the features of a row except hats. All features of dst must be zero before.
func (m *Map) encode(dst *features, cells row) (target float64, ok bool) {
	if m.schema == nil || cells.cells() != m.cells {
		return 0, false
	}
	if m.target >= 0 {
		if target, ok = m.readTarget(&cells); !ok {
			return 0, false
		}
	}
	if m.changes >= 0 {
		c, _ := m.schema.column(m.schema.target.Changing)
		if level := int(m.reading(&cells, m.changes)); level < len(c.Categories) {
			target = targetpair.JoinLevel(target, level)
		}
	}
	first := *dst
	if sum := m.fill(dst, &cells, 1); sum > 1 {
		// Unless the schema states norm, the sum exceeds 1 only by rounding (see Norms in the package
		// comment).
		*dst = first
		m.fill(dst, &cells, math.Sqrt(sum))
	}
	return target, true
}

// fill writes the features of a row except hats and those of effects, divided by S ([Schema.Scale] of the schema
// without effects) and then by norm. It may overwrite an earlier fill of the same row. It returns the sum of the
// squared features before rounding to float32. For hats, the values of basis functions, the sum uses the largest
// possible sum of squares, before the division: 2 for a curve or an interaction with one number, 4 for an interaction
// of two numbers.
func (m *Map) fill(dst *features, cells *row, norm float64) (sum float64) {
	scaled := func(u float64) float32 {
		v := u / m.scale
		if norm != 1 {
			v /= norm
		}
		sum += float64(v * v)
		return float32(v)
	}
	hung := func(most int) {
		for range most {
			scaled(1)
		}
	}
	inputs := m.inputs
	if cells.texts == nil { // the usual case, faster without calls of scaled
		inputs = inputs[len(m.leading):]
		var leading float64
		for i, cell := range m.leading {
			v := cells.readings[cell][cells.at]
			if v != v {
				v = 0
			}
			if v /= m.scale; norm != 1 {
				v /= norm
			}
			leading += float64(v * v)
			dst.x[i] = float32(v)
		}
		sum = leading
	}
	for i := range inputs {
		in := &inputs[i]
		var v float64
		if cells.texts == nil {
			v = cells.readings[in.cell][cells.at]
		} else {
			v = m.columns[in.cell].Text(cells.texts[in.cell])
		}
		if in.other > 0 {
			dst.one(in.at, in.width(), int(v), scaled(1))
			continue
		}
		known := v == v
		if !known {
			v = 0
		}
		dst.number(in.at, scaled(v))
		if in.indicated && !known {
			dst.number(in.at+1, scaled(1))
		}
		if in.knots > 0 {
			dst.hats(in.knots)
			hung(2)
		}
	}
	for i := range m.crosses {
		x := &m.crosses[i]
		if x.numbers > 0 {
			dst.hats(x.width)
			hung(2 * x.numbers)
			continue
		}
		a, b := int(m.reading(cells, x.a.cell)), int(m.reading(cells, x.b.cell))
		dst.one(x.at, x.a.width()*x.b.width(), a*x.b.width()+b, scaled(1))
	}
	dst.number(m.base()-1, scaled(1))
	return sum
}

func (m *Map) readTarget(cells *row) (target float64, ok bool) {
	target = m.reading(cells, m.target)
	if target != target {
		return 0, false
	}
	if len(m.times) > 0 {
		return m.readTimes(cells, target)
	}
	if m.beside < 0 {
		return target, true
	}
	share := m.reading(cells, m.beside)
	if share != share {
		return 0, false
	}
	return targetpair.Join(target, share, len(m.schema.target.Classes) > 2), true
}

// readTimes returns the encoded time to an event (targetpair.JoinTimes). ok is false if the time or the entry is
// negative, the event is missing, or the record was never at risk before the end of the time that is modelled: the
// entry is not before the time, unless both are 0, or not before the end.
func (m *Map) readTimes(cells *row, time float64) (target float64, ok bool) {
	event, entry, end := m.reading(cells, m.times[0]), 0., m.schema.target.High
	if len(m.times) > 1 {
		entry = m.reading(cells, m.times[1])
	}
	if !(time >= 0 && entry >= 0 && event >= 0) || len(m.times) > 1 && !(entry < min(time, end)) && (entry > 0 || time > 0) {
		return 0, false
	}
	return targetpair.JoinTimes(entry/end, min(time/end, 1), event == 1 && time <= end), true
}

// interval maps the cell of a number or date to [-1, 1].
type interval struct {
	low, high float64 // bounds in the column's units
	log       bool
	from, to  float64 // bounds after the transform
	width     float64 // to - from
	date      bool
	layout    dateLayout // layout of the cells of a date
}

func newInterval(c Column) interval {
	n := interval{low: c.Low, high: c.High, log: c.Transform == Log1p, from: c.Low, to: c.High}
	if n.log {
		n.from, n.to = repromath.Log1p(c.Low), repromath.Log1p(c.High)
	}
	n.width = n.to - n.from
	if n.date = c.Kind == Date; n.date {
		n.layout, _ = parseLayout(c.Layout) // New has validated the layout
	}
	return n
}

// Transformed returns the public bounds of a number or date after the column's transform, with the bits
// that Encode uses.
func (c Column) Transformed() (from, to float64) {
	n := newInterval(c)
	return n.from, n.to
}

// read parses a trimmed cell of a number or date. ok is false if the cell is missing or cannot be
// read.
func (n *interval) read(cell string, missing []string) (x float64, ok bool) {
	if !n.date {
		return parse(cell, missing)
	}
	if listedFate(true, cell, missing) == cellstatus.Absent {
		return 0, false
	}
	return n.layout.days(cell)
}

// unit maps x to [-1, 1]: it clamps x to the bounds and applies the transform. NaN maps to NaN.
func (n *interval) unit(x float64) float64 {
	x = clamp(x, n.low, n.high)
	if n.log {
		x = min(max(repromath.Log1p(x), n.from), n.to) // within bounds even if log1p is not monotone
	}
	return between(x, n.from, n.width)
}

// clamp returns min(max(x, low), high), except for the sign of a zero. It returns NaN for NaN.
func clamp(x, low, high float64) float64 {
	switch {
	case x < low:
		return low
	case x > high:
		return high
	}
	return x
}

// between maps x from [from, from+width] to [-1, 1]. Rounding is monotone, so the rounded quotient is
// within [0, 1]. Doubling is exact.
func between(x, from, width float64) float64 { return 2*((x-from)/width) - 1 }

// parse parses a trimmed cell as a number. ok is false if the cell is missing, NaN or no number. A
// number too large for a float64 becomes an infinity. A hexadecimal number, or one with underscores, is no
// number, since databases differ in reading them.
func parse(cell string, missing []string) (x float64, ok bool) {
	if cell == "" || slices.Contains(missing, cell) {
		return 0, false
	}
	if x, ok := decimal.Parse(cell); ok {
		return x, true
	}
	x, err := strconv.ParseFloat(cell, 64)
	if err != nil && !math.IsInf(x, 0) || strings.ContainsAny(cell, "xX_") {
		return 0, false
	}
	return x, !math.IsNaN(x)
}
