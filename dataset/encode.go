package dataset

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/carry"
)

// Encode writes the row of the given cells to dst[:Dim] and returns its target
// in [-1, 1], or the number of a class of more than two; see the package comment for the map. A longer dst keeps what lies
// beyond Dim. It panics if dst is shorter than Dim.
//
// Where the schema's target has a weight or an exposure, the target carries it as a
// share of the largest, for losses to take apart (package loss, Carry).
//
// ok is false for a row with the wrong number of cells and, unless the map is
// unlabelled, for a missing or invalid target, weight or exposure: dst[:Dim] is then zero and so is
// the target. Such a row counts like any other.
func (m *Map) Encode(dst []float32, cells []string) (target float64, ok bool) {
	if len(dst) < m.dim {
		panic(fmt.Sprintf("dataset: a row of %d features does not fit in %d", m.dim, len(dst)))
	}
	clear(dst[:m.dim])
	return m.encode(&features{x: dst[:m.dim]}, cells)
}

// EncodeCoded is Encode for rows that are kept by their groups ([Schema.Groups]): it
// writes to x the features that are in none, in their order, and to codes, for each
// group, which of its features is not zero, counted from its first. level is what
// those features are. They are the numbers that Encode writes, to the bit; where ok is
// false all are zero.
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

// features are those of a row being written: with all its features, or coded.
type features struct {
	x     []float32
	coded bool
	codes []uint32 // what is left of them
	level float32
	// skipped is how many features the groups so far have, which x has no room for.
	skipped int
}

// number writes a feature that is in no group.
func (e *features) number(at int, v float32) { e.x[at-e.skipped] = v }

// one writes the group of width features from at on, of which one is v.
func (e *features) one(at, width, which int, v float32) {
	if !e.coded {
		e.x[at+which] = v
		return
	}
	e.codes[0], e.level = uint32(which), v
	e.codes = e.codes[1:]
	e.skipped += width
}

// encode writes a cleared row.
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
		// By rounding alone, unless the schema says norm; see Norms in the package
		// comment.
		*row = first
		m.fill(row, cells, math.Sqrt(sum))
	}
	return target, true
}

// fill writes the features of a cleared row, or writes them again, divided by
// S and then by norm, and returns the sum of their squares before float32.
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

// interval maps a cell to [-1, 1].
type interval struct {
	low, high float64 // bounds in the column's units
	log       bool
	from, to  float64 // bounds after the transform
	width     float64 // to - from
	date      bool
	layout    dateLayout // of a date
}

func newInterval(c Column) interval {
	n := interval{low: c.Low, high: c.High, log: c.Transform == Log1p, from: c.Low, to: c.High}
	if n.log {
		n.from, n.to = log1p(c.Low), log1p(c.High)
	}
	n.width = n.to - n.from
	if n.date = c.Kind == Date; n.date {
		n.layout, _ = parseLayout(c.Layout) // New has looked at it
	}
	return n
}

// Transformed returns a number's public bounds after its transform, as Encode has
// them to the bit.
func (c Column) Transformed() (from, to float64) {
	n := newInterval(c)
	return n.from, n.to
}

// unitOf returns 0 for a cell that is missing or no number, and says so.
func (n *interval) unitOf(cell string, missing []string) (u float64, known bool) {
	x, known := n.read(cell, missing)
	if !known {
		return 0, false
	}
	return n.unit(x), true
}

// read reads a trimmed cell of a number or date.
func (n *interval) read(cell string, missing []string) (x float64, ok bool) {
	if !n.date {
		return parse(cell, missing)
	}
	if listedFate(true, cell, missing) == Absent {
		return 0, false
	}
	return n.layout.days(cell)
}

// unit maps x, which is not NaN.
func (n interval) unit(x float64) float64 {
	x = clamp(x, n.low, n.high)
	if n.log {
		x = min(max(log1p(x), n.from), n.to) // whether or not log1p is monotone
	}
	// Rounding is monotone, so the quotient is within [0, 1]. Doubling is exact.
	return 2*((x-n.from)/n.width) - 1
}

// parse reads a trimmed cell. Numbers beyond float64 are infinities.
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
