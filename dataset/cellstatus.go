package dataset

import (
	"slices"

	"github.com/stillpoint-dp/stillpoint/internal/cellstatus"
)

// Status returns how the map reads a trimmed cell, and the cell's number or date in days if it has one. It is one of
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
// It is empty for a column that the map does not read. The results reveal records. They are for checks of
// tables that the caller may look at. No private computation may depend on them.
func (c *ColumnMap) Status(cell string) (x float64, status string) {
	switch c.use {
	case asNumber, asShare:
		return c.interval.fate(cell, c.missing)
	case asLevel:
		known := c.in.levels == nil
		if !known {
			_, known = c.in.levels[cell]
		}
		return 0, listedFate(known, cell, c.missing)
	case asClass:
		_, known := c.classes[cell]
		return 0, listedFate(known, cell, c.missing)
	case asFilter:
		return 0, listedFate(slices.Contains(c.listed, cell), cell, c.missing)
	case asTime, asEvent:
		return c.timeFate(cell)
	}
	return 0, ""
}

// timeFate returns the number in a trimmed cell of a time or an event, and how the row map treats the cell.
func (c *ColumnMap) timeFate(cell string) (x float64, status string) {
	x = c.Text(cell)
	switch absent := listedFate(true, cell, c.missing); {
	case absent == cellstatus.Absent:
		return 0, absent
	case c.use == asEvent:
		return 0, listedFate(x == x, cell, c.missing)
	case !(x >= 0):
		return x, cellstatus.Unread
	case x > c.interval.high:
		return x, cellstatus.Above
	}
	return x, cellstatus.Read
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

func (n *interval) fate(cell string, missing []string) (x float64, status string) {
	x, ok := n.read(cell, missing)
	switch {
	case ok && x < n.low:
		return x, cellstatus.Below
	case ok && x > n.high:
		return x, cellstatus.Above
	case ok:
		return x, cellstatus.Read
	}
	if f := listedFate(true, cell, missing); f == cellstatus.Absent {
		return 0, f
	}
	return 0, cellstatus.Unread
}
