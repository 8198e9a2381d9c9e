package dataset

import (
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/cellstatus"
)

// CellStatuses calls the function each for every cell of a row that [Map.Encode] reads, and for the cell of the
// row filter's public column. It passes the column's name, the trimmed cell and its fate, one of
//
//   - read: a number or date within its bounds, or a listed value;
//   - missing: the cell is missing;
//   - unreadable: not a number or date; treated as missing;
//   - below: below the lower bound; treated as the lower bound;
//   - above: above the upper bound; treated as the upper bound;
//   - unreadable and above, of a time to an event or an entry: no number from 0, which makes the row malformed, or a
//     time after the end, which counts as observed until the end without an event;
//   - other: not a listed value; becomes "other" or, in the target, makes the row malformed.
//
// If the row does not have as many cells as the header, CellStatuses does not call each, and returns false.
//
// The results reveal records. They are for checks of tables that the caller may look at. No private
// computation may depend on them.
func (m *Map) CellStatuses(cells []string, each func(column, cell string, fate string)) (whole bool) {
	if m.schema == nil || len(cells) != m.cells {
		return false
	}
	s := m.schema
	next := 0
	for _, c := range s.columns {
		switch {
		case c.Kind == Public && m.where >= 0 && c.Name == s.filter.Column:
			cell := strings.TrimSpace(cells[m.where])
			each(c.Name, cell, listedFate(slices.Contains(c.Values, cell), cell, s.missing))
		case c.width() > 0:
			in := &m.inputs[next]
			next++
			cell := strings.TrimSpace(cells[in.cell])
			each(c.Name, cell, in.fate(cell, s.missing))
		}
	}
	if m.target < 0 {
		return true
	}
	t := &s.target
	cell := strings.TrimSpace(cells[m.target])
	if t.timed() {
		for i, at := range append([]int{m.target}, m.times...) {
			name := append([]string{t.Column}, t.times()...)[i]
			each(name, strings.TrimSpace(cells[at]), m.columns[at].fate(strings.TrimSpace(cells[at]), t.High))
		}
		return true
	}
	if _, known := m.columns[m.target].classes[cell]; t.Kind == Category {
		each(t.Column, cell, listedFate(known, cell, s.missing))
	} else {
		bounds := t.interval()
		each(t.Column, cell, bounds.fate(cell, s.missing))
	}
	if m.beside >= 0 {
		bounds := interval{low: 0, high: 1} // bounds of a weight
		if e := t.Exposure; e != (Exposure{}) {
			bounds = interval{low: e.Low, high: e.High}
		}
		cell := strings.TrimSpace(cells[m.beside])
		each(t.beside(), cell, bounds.fate(cell, s.missing))
	}
	return true
}

func (in *input) fate(cell string, missing []string) string {
	switch {
	case in.other == 0:
		return in.interval.fate(cell, missing)
	case in.levels == nil:
		return listedFate(true, cell, missing)
	}
	_, known := in.levels[cell]
	return listedFate(known, cell, missing)
}

// fate returns how the row map treats a trimmed cell of a time, whose end is given, or of an event.
func (c *ColumnMap) fate(cell string, end float64) string {
	x := c.Text(cell)
	switch absent := listedFate(true, cell, c.missing); {
	case absent == cellstatus.Absent:
		return absent
	case c.use == asEvent:
		return listedFate(x == x, cell, c.missing)
	case !(x >= 0):
		return cellstatus.Unread
	case x > end:
		return cellstatus.Above
	}
	return cellstatus.Read
}

// listedFate returns how the row map treats (the fate of) a cell that must be a listed value. known
// says whether the cell is a listed value.
func listedFate(known bool, cell string, missing []string) string {
	switch {
	case cell == "" || slices.Contains(missing, cell):
		return cellstatus.Absent
	case known:
		return cellstatus.Read
	}
	return cellstatus.Unlisted
}

func (n *interval) fate(cell string, missing []string) string {
	x, ok := n.read(cell, missing)
	switch {
	case ok && x < n.low:
		return cellstatus.Below
	case ok && x > n.high:
		return cellstatus.Above
	case ok:
		return cellstatus.Read
	}
	if f := listedFate(true, cell, missing); f == cellstatus.Absent {
		return f
	}
	return cellstatus.Unread
}
