package dataset

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/carry"
)

// Encode writes the row of the given cells to dst[:Dim] and returns its target; the package comment
// defines the map. The target is in [-1, 1] or, with more than two classes, the index of the class.
// Encode leaves dst[Dim:] unchanged. It panics if dst is shorter than Dim.
//
// If the schema's target has a weight or an exposure, the returned number also holds that share:
// loss.Carried splits it.
//
// ok is false for a row with the wrong number of cells and, unless the map is unlabelled, for a
// missing or invalid target, weight or exposure. dst[:Dim] and the target are then zero. The row is
// still counted as a record.
func (m *Map) Encode(dst []float32, cells []string) (target float64, ok bool) {
	if len(dst) < m.dim {
		panic(fmt.Sprintf("dataset: a row of %d features does not fit in %d", m.dim, len(dst)))
	}
	clear(dst[:m.dim])
	return m.encode(&features{x: dst[:m.dim]}, cells)
}

// EncodeCoded is Encode for storage by groups ([Schema.Groups]). It writes to x the features
// outside of all groups, in order. For each group it writes to codes the index, within the group,
// of the feature that is not zero. level is the value of these features, the same in every group.
// All values equal the values of Encode to the bit. If ok is false, all are zero.
func (m *Map) EncodeCoded(x []float32, codes []uint32, cells []string) (level float32, target float64, ok bool) {
	if len(x) != m.dim-m.grouped || len(codes) != m.groups {
		panic(fmt.Sprintf("dataset: a row of %d numbers and %d groups does not fit in %d and %d", m.dim-m.grouped, m.groups, len(x), len(codes)))
	}
	clear(x)
	clear(codes)
	row := features{x: x, codes: codes, coded: true}
	target, ok = m.encode(&row, cells)
	return row.level, target, ok
}

// features is the destination of a row's features: all features in x, or x and codes.
type features struct {
	x     []float32
	coded bool
	codes []uint32 // codes of the groups not yet written
	level float32
	// skipped is the number of features of the groups so far, which are not in x.
	skipped int
}

// number writes a feature outside of all groups.
func (e *features) number(at int, v float32) { e.x[at-e.skipped] = v }

// one writes a group of width features that starts at feature at. Feature at+which is v, the others
// are zero.
func (e *features) one(at, width, which int, v float32) {
	if !e.coded {
		e.x[at+which] = v
		return
	}
	e.codes[0], e.level = uint32(which), v
	e.codes = e.codes[1:]
	e.skipped += width
}

// encode writes the features of a row, all of which must be zero before.
func (m *Map) encode(row *features, cells []string) (target float64, ok bool) {
	if m.schema == nil || len(cells) != m.cells {
		return 0, false
	}
	if m.target >= 0 {
		if target, ok = m.readTarget(cells); !ok {
			return 0, false
		}
	}
	first := *row
	if sum := m.fill(row, cells, 1); sum > 1 {
		// The sum exceeds 1 only by rounding, unless the schema states norm; see Norms in the
		// package comment.
		*row = first
		m.fill(row, cells, math.Sqrt(sum))
	}
	return target, true
}

// fill writes the features of a row, divided by S and then by norm, over zeros or over an earlier
// fill. It returns the sum of their squares before rounding to float32.
func (m *Map) fill(row *features, cells []string, norm float64) (sum float64) {
	scaled := func(u float64) float32 {
		v := u / m.scale
		if norm != 1 {
			v /= norm
		}
		sum += float64(v * v)
		return float32(v)
	}
	for i := range m.inputs {
		in := &m.inputs[i]
		cell := strings.TrimSpace(cells[in.cell])
		if in.other == 0 {
			u, known := in.unitOf(cell, m.schema.missing)
			row.number(in.at, scaled(u))
			if in.indicated && !known {
				row.number(in.at+1, scaled(1))
			}
			continue
		}
		row.one(in.at, in.width(), in.level(cell, m.schema.missing), scaled(1))
	}
	for i := range m.crosses {
		x := &m.crosses[i]
		a := x.a.level(strings.TrimSpace(cells[x.a.cell]), m.schema.missing)
		b := x.b.level(strings.TrimSpace(cells[x.b.cell]), m.schema.missing)
		row.one(x.at, x.a.width()*x.b.width(), a*x.b.width()+b, scaled(1))
	}
	row.number(m.dim-1, scaled(1))
	return sum
}

func (m *Map) readTarget(cells []string) (target float64, ok bool) {
	cell := strings.TrimSpace(cells[m.target])
	t := &m.schema.target
	if t.Kind == Category {
		target, ok = m.classes[cell]
	} else if target, ok = parse(cell, m.schema.missing); ok {
		target = newInterval(Column{Low: t.Low, High: t.High}).unit(target)
	}
	if !ok || m.beside < 0 {
		return target, ok
	}
	share, ok := t.share(cells[m.beside], m.schema.missing)
	if !ok {
		return 0, false
	}
	return carry.Join(target, share, len(t.Classes) > 2), true
}

// interval maps the cell of a number or date to [-1, 1].
type interval struct {
	low, high float64 // bounds in the column's units
	log       bool
	from, to  float64 // bounds after the transform
	width     float64 // to - from
	date      bool
	layout    dateLayout // of the cells of a date
}

func newInterval(c Column) interval {
	n := interval{low: c.Low, high: c.High, log: c.Transform == Log1p, from: c.Low, to: c.High}
	if n.log {
		n.from, n.to = log1p(c.Low), log1p(c.High)
	}
	n.width = n.to - n.from
	if n.date = c.Kind == Date; n.date {
		n.layout, _ = parseLayout(c.Layout) // New has validated it
	}
	return n
}

// Transformed returns a number's public bounds after its transform, with the bits that Encode uses.
func (c Column) Transformed() (from, to float64) {
	n := newInterval(c)
	return n.from, n.to
}

// unitOf returns the value of a cell in [-1, 1]. For a missing cell and for a cell that is not a
// number or date it returns 0 and false.
func (n *interval) unitOf(cell string, missing []string) (u float64, known bool) {
	x, known := n.read(cell, missing)
	if !known {
		return 0, false
	}
	return n.unit(x), true
}

// read parses a trimmed cell of a number or date.
func (n *interval) read(cell string, missing []string) (x float64, ok bool) {
	if !n.date {
		return parse(cell, missing)
	}
	if listedFate(true, cell, missing) == Absent {
		return 0, false
	}
	return n.layout.days(cell)
}

// unit maps x to [-1, 1]. x must not be NaN.
func (n interval) unit(x float64) float64 {
	x = clamp(x, n.low, n.high)
	if n.log {
		x = min(max(log1p(x), n.from), n.to) // within bounds even if log1p is not monotone
	}
	// Rounding is monotone, so the quotient is within [0, 1]. Doubling is exact.
	return 2*((x-n.from)/n.width) - 1
}

// parse parses a trimmed cell. Numbers beyond float64 become infinities.
func parse(cell string, missing []string) (x float64, ok bool) {
	if cell == "" || slices.Contains(missing, cell) {
		return 0, false
	}
	if x, ok := decimal(cell); ok {
		return x, true
	}
	x, err := strconv.ParseFloat(cell, 64)
	if err != nil && !math.IsInf(x, 0) {
		return 0, false
	}
	return x, !math.IsNaN(x)
}
