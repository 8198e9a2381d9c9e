package inspect

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/cellstatus"
	"github.com/stillpoint-dp/stillpoint/internal/table"
)

// Warning is the text that says that a report is not private.
const Warning = "NOT private: computed from the rows, whose cells it quotes. For whoever may look at them; do not " +
	"publish any of it."

// Report describes how a schema reads a table: how many rows and cells do not contribute to a fit, and why.
type Report struct {
	// Rows is the number of rows that the public row filter keeps, or of all rows if there is no filter.
	// LeftOut is the number of rows that the filter leaves out. Malformed and Silent do not include these.
	Rows    int `json:"rows"`
	LeftOut int `json:"left_out,omitempty"`
	// Malformed is the number of rows whose number of cells differs from the header's. Silent is the number
	// of rows that count as records but contribute nothing to a fit: the malformed rows, and the rows whose
	// target, weight or exposure is missing or cannot be read.
	Malformed int      `json:"malformed"`
	Silent    int      `json:"silent"`
	Columns   []Column `json:"columns"`
	// Table lists the problems that concern the whole table and not one column.
	Table []Finding `json:"problems,omitempty"`
}

// Column counts the cells of one column by the way in which the schema reads them. Read cells are within
// the bounds or listed values. Below and Above are cells beyond a bound, which count as the bound. Other
// are cells that are not listed values. Cells of malformed rows are not included.
type Column struct {
	Name string `json:"name"`
	// Kind is the kind of the column, or target, weight or exposure.
	Kind       string    `json:"kind"`
	Read       int       `json:"read"`
	Missing    int       `json:"missing"`
	Unreadable int       `json:"unreadable"`
	Below      int       `json:"below"`
	Above      int       `json:"above"`
	Other      int       `json:"other"`
	Findings   []Finding `json:"problems,omitempty"`
}

// Finding is a fault of the configuration or of the table that can be corrected by changing one of them.
type Finding struct {
	What string `json:"what"`
	// Cells is the number of cells with the problem, or of rows for a problem of the whole table. Examples
	// are the texts of the most frequent of these cells, at most three.
	Cells    int      `json:"cells"`
	Examples []string `json:"examples,omitempty"`
	// Do is the advice to the user: the change that corrects the problem.
	Do string `json:"do"`
	// Lost reports that a column, or at least half of the rows, contributes nothing to a fit, or that the
	// values which a fit reads are not those that the table means.
	Lost bool `json:"lost,omitempty"`
}

// Problems returns the number of problems of the table and of all columns.
func (r *Report) Findings() (n int) {
	n = len(r.Table)
	for _, c := range r.Columns {
		n += len(c.Findings)
	}
	return n
}

// Lost returns the parts of the table that a fit would lose: the texts of the table's problems with
// [Finding.Lost], then the names of the columns that have such a problem.
func (r *Report) Lost() (names []string) {
	for _, p := range r.Table {
		if p.Lost {
			names = append(names, p.What)
		}
	}
	for _, c := range r.Columns {
		if slices.ContainsFunc(c.Findings, func(p Finding) bool { return p.Lost }) {
			names = append(names, c.Name)
		}
	}
	return names
}

// Check reads the table in the files paths in the same way as a fit with the schema s, and returns a
// report. It returns an error if a file cannot be read or does not have the schema's columns.
func Check(ctx context.Context, paths []string, as dataset.CSV, s *dataset.Schema) (*Report, error) {
	t := newTally(s, as)
	var header int
	var m *dataset.Map
	var reader *table.Reader
	err := each(ctx, paths, as, func(r *table.Reader) (err error) {
		reader = r
		if m, err = s.Bind(r.Header()); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(paths, ", "), err)
		}
		header = len(r.Header())
		t.bind(m, r.Header())
		return table.Look(r, m)
	}, func(columns []table.Cells, n int) {
		t.rows(columns, n)
	}, func(cells []string) {
		if len(cells) == header {
			t.row(m.Keep(cells), cells)
			return
		}
		t.report.Rows++
		t.report.Malformed++
		t.report.Silent++
		if len(cells) == header+1 && cells[header] == "" {
			t.ended++
		}
	})
	if err != nil {
		return nil, err
	}
	t.open = reader.Unclosed()
	return t.finish(), nil
}

// each reads the rows of a table, which consists of the files paths. It calls begin once with the open
// table, and then rows with the next n rows by their columns, or row with the cells of one row. It stops at the first
// error and returns it.
func each(ctx context.Context, paths []string, as dataset.CSV, begin func(*table.Reader) error,
	rows func(columns []table.Cells, n int), row func(cells []string)) error {
	r, err := table.Open(paths, as)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := begin(r); err != nil {
		return err
	}
	for i := 0; ; i++ {
		columns, n, err := r.Columns()
		if err == nil && (n > 0 || i%4096 == 0) {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if n > 0 {
			rows(columns, n)
			continue
		}
		cells, ok, err := r.Next()
		if err != nil || !ok {
			return err
		}
		row(cells)
	}
}

// tally counts the cells of a table by the way in which the schema reads them.
type tally struct {
	schema *dataset.Schema
	report Report
	order  []*counted
	filter *counted // the column of the row filter; nil if there is none
	marks  []mark   // of the current rows

	exits, entries map[int]float64 // times of the current rows, of tables with entries
	late           int             // rows that were never at risk
	csv            dataset.CSV
	open           int // records of which a quote is not closed
	ended          int // rows with one empty cell more than the header, since they end in a delimiter
}

// counted holds the counts of one column's cells.
type counted struct {
	Column
	column *dataset.Column // nil for the target, its weight and its exposure
	odd    spellings       // cells that are unreadable or not listed
	points spellings       // numbers with a decimal point in files of decimal commas
	used   map[string]bool // the listed values that occur in cells
	bounds struct{ low, high float64 }
	lists  bool               // the schema lists the values of the column: a category, or a target with classes
	number bool               // a number or a date, or a target that is a number
	at     int                // the index of the column in the table
	read   *dataset.ColumnMap // the map of its cells
	suspects
}

func newTally(s *dataset.Schema, as dataset.CSV) *tally {
	t := &tally{schema: s, csv: as}
	add := func(name, kind string, c *dataset.Column) {
		k := &counted{Column: Column{Name: name, Kind: kind}, column: c, odd: spellings{}, points: spellings{},
			used: map[string]bool{}, suspects: newSuspects()}
		if c != nil {
			k.bounds.low, k.bounds.high = c.Low, c.High
			k.number, k.lists = c.Kind == dataset.Number || c.Kind == dataset.Date, c.Kind == dataset.Category
		} else if kind == "target" {
			k.bounds.low, k.bounds.high = s.Target().Low, s.Target().High
			k.number, k.lists = s.Target().Kind == dataset.Number, s.Target().Kind == dataset.Category
		} else if k.bounds.high = 1; kind == "exposure" {
			k.bounds.low, k.bounds.high = s.Target().Exposure.Low, s.Target().Exposure.High
		}
		t.order = append(t.order, k)
	}
	for _, c := range s.Columns() {
		filters := c.Kind == dataset.Public && c.Name == s.Filter().Column
		if c.Kind != dataset.Ignore && (c.Kind != dataset.Public || filters) {
			add(c.Name, c.Kind.String(), &c)
			if filters {
				t.filter = t.order[len(t.order)-1]
			}
		}
	}
	target := s.Target()
	add(target.Column, "target", nil)
	event, _, _ := strings.Cut(target.Event, "=")
	for _, c := range [][2]string{{target.Weight, "weight"}, {strings.TrimSpace(event), "event"}, {target.Entry, "entry"},
		{target.Exposure.Column, "exposure"}} {
		if c[0] != "" {
			add(c[0], c[1], nil)
		}
	}
	return t
}

// bind finds the columns in a table with the given header, to which m is bound.
func (t *tally) bind(m *dataset.Map, header []string) {
	for _, k := range t.order {
		k.at = slices.IndexFunc(header, func(name string) bool { return strings.TrimSpace(name) == k.Name })
		k.read = m.Column(k.at)
	}
}

// finish returns the report.
func (t *tally) finish() *Report {
	t.report.Table = t.whole()
	for _, k := range t.order {
		k.Findings = t.problems(k)
		t.report.Columns = append(t.report.Columns, k.Column)
	}
	return &t.report
}

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
