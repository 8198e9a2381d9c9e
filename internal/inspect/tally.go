package inspect

import (
	"math"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/cellstatus"
	"github.com/stillpoint-dp/stillpoint/internal/table"
)

// mark is a fact of a row.
type mark uint8

const (
	counting mark = iota // the row filter keeps the row
	silent               // the row counts and contributes nothing to a fit
	leftOut              // the row filter leaves the row out
)

// row counts a row of texts with as many cells as the header. keep reports whether the row filter keeps it.
func (t *tally) row(keep bool, cells []string) {
	t.begin(1, func(int) bool { return keep })
	for _, k := range t.order {
		t.cell(k, 0, cells[k.at])
	}
	t.end()
}

// rows counts the next n rows of a table, one column after the other.
func (t *tally) rows(columns []table.Cells, n int) {
	t.begin(n, func(i int) bool {
		return t.filter == nil || t.filter.read.Text(columns[t.filter.at].Text(i)) != 0
	})
	for _, k := range t.order {
		cells := &columns[k.at]
		for i := range n {
			if cells.Numbers != nil && cells.Numbers[i] == cells.Numbers[i] {
				if t.marks[i] != leftOut {
					t.typed(k, cells, i)
				}
				continue
			}
			t.cell(k, i, cells.Text(i))
		}
	}
	t.end()
}

// begin begins with n rows. keep reports whether the row filter keeps row i.
func (t *tally) begin(n int, keep func(i int) bool) {
	t.marks, t.exits, t.entries = slices.Grow(t.marks[:0], n)[:n], map[int]float64{}, map[int]float64{}
	for i := range t.marks {
		if t.marks[i] = leftOut; keep(i) {
			t.marks[i] = counting
		}
	}
}

// end counts the rows by their marks.
func (t *tally) end() {
	for i, m := range t.marks {
		exit, ended := t.exits[i]
		entry, came := t.entries[i]
		if m == counting && ended && came && entry >= min(exit, t.schema.Target().High) && (entry > 0 || exit > 0) {
			t.late++
			m = silent
		}
		switch m {
		case leftOut:
			t.report.LeftOut++
			continue
		case silent:
			t.report.Silent++
		}
		t.report.Rows++
	}
}

// cell counts the cell of row i in the column k. In rows that the row filter leaves out it counts cells of the filter's
// column alone, if these are missing or no public value.
func (t *tally) cell(k *counted, i int, cell string) {
	cell = strings.TrimSpace(cell)
	x, as := k.read.Status(cell)
	if t.marks[i] == leftOut && (k != t.filter || as == cellstatus.Read) {
		return
	}
	if k.column == nil && (as == cellstatus.Absent || as == cellstatus.Unread || as == cellstatus.Unlisted) {
		t.marks[i] = max(t.marks[i], silent)
	}
	t.timed(k, i, x)
	switch as {
	case cellstatus.Absent:
		k.Missing++
		return
	case cellstatus.Read:
		k.Read++
		if k.lists && !k.used[cell] {
			k.used[strings.Clone(cell)] = true
		}
	case cellstatus.Below:
		k.Below++
	case cellstatus.Above:
		k.Above++
	}
	text, pointed := t.written(k, cell)
	switch as {
	case cellstatus.Unread:
		k.Unreadable++
		if pointed {
			k.points.add(text)
		} else {
			k.odd.add(text)
		}
	case cellstatus.Unlisted:
		k.Other++
		k.odd.add(cell)
	}
	k.see(k, cell, text, x, as)
}

// timed keeps the time or the entry of row i, if the column k has those of a table with entries.
func (t *tally) timed(k *counted, i int, x float64) {
	switch exit := k.Kind == "target"; {
	case !exit && k.Kind != "entry" || !(x >= 0) || t.schema.Target().Entry == "": // Target copies: not for each cell
	case exit:
		t.exits[i] = x
	default:
		t.entries[i] = x
	}
}

// typed counts the cell of row i in the column k, which is a number within cells of a type, as cell counts its text.
func (t *tally) typed(k *counted, cells *table.Cells, i int) {
	x := cells.Numbers[i]
	size := math.Abs(x)
	if k.n == 0 || !k.varies && math.Float64bits(x) == k.firstBits || x < k.bounds.low || x > k.bounds.high ||
		size != 0 && size < 1e-5 || size > 1e20 {
		// The text counts, or it may have an exponent.
		t.cell(k, i, cells.Text(i))
		return
	}
	t.timed(k, i, x)
	k.Read++
	k.n++
	k.varies = true // numbers of other bits have other texts
	if k.number {
		whole := x == math.Trunc(x)
		k.count(x, whole, !whole, !whole && size < 1000 && thousandths(size))
	}
}

// written returns a cell as the file has it, of a column whose numbers the dialect of the file may rewrite. pointed
// reports whether the cell has a decimal point in a file of decimal commas.
func (t *tally) written(k *counted, cell string) (text string, pointed bool) {
	if t.csv.Decimal != "," || k.column != nil && k.column.Kind != dataset.Number || k.lists {
		return cell, false // cells that no dialect rewrites
	}
	return t.csv.Written(cell)
}
