package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/table"
)

// Warning says that a report is not private.
const Warning = "NOT private: computed from the rows, whose cells it quotes. For whoever may look at them; do not " +
	"publish any of it."

// Report describes how a schema reads a table: how many rows and cells are lost, and why.
type Report struct {
	// Rows is the number of rows that the public filter keeps, LeftOut the number of other rows.
	Rows    int `json:"rows"`
	LeftOut int `json:"left_out,omitempty"`
	// Malformed is the number of rows whose number of cells differs from the header's. Silent is
	// the number of rows that count as records and contribute nothing to a fit: the malformed rows,
	// and rows whose target, weight or exposure cannot be read.
	Malformed int      `json:"malformed"`
	Silent    int      `json:"silent"`
	Columns   []Column `json:"columns"`
	// Table lists the problems of the table as a whole.
	Table []Problem `json:"problems,omitempty"`
}

// Column describes how the cells of one column are read. Cells of malformed rows are not included.
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
	Problems   []Problem `json:"problems,omitempty"`
}

// Problem is a fault that can be corrected by changing the configuration or the table.
type Problem struct {
	What string `json:"what"`
	// Cells is the number of cells with the problem. Examples are the most frequent of them.
	Cells    int      `json:"cells"`
	Examples []string `json:"examples,omitempty"`
	// Do is the advice: what to change.
	Do string `json:"do"`
	// Lost reports that a column, or half of the rows, contributes nothing to a fit, or contributes
	// values that the table does not mean.
	Lost bool `json:"lost,omitempty"`
}

// Problems returns the number of problems of the table and of all columns.
func (r *Report) Problems() (n int) {
	n = len(r.Table)
	for _, c := range r.Columns {
		n += len(c.Problems)
	}
	return n
}

// Lost returns what a fit would lose: the texts of the table's problems and the names of columns
// that are marked as Lost.
func (r *Report) Lost() (names []string) {
	for _, p := range r.Table {
		if p.Lost {
			names = append(names, p.What)
		}
	}
	for _, c := range r.Columns {
		if slices.ContainsFunc(c.Problems, func(p Problem) bool { return p.Lost }) {
			names = append(names, c.Name)
		}
	}
	return names
}

// Check reads a table as a fit with the schema would, and returns a report. It returns an error if
// a file cannot be read or does not have the schema's columns.
func Check(ctx context.Context, paths []string, as dataset.CSV, s *dataset.Schema) (*Report, error) {
	t := newTally(s, as)
	var header int
	var m *dataset.Map
	err := each(ctx, paths, as, func(r *table.Reader) (err error) {
		if m, err = s.Bind(r.Header()); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(paths, ", "), err)
		}
		header = len(r.Header())
		return table.For(r, m)
	}, func(cells []string) {
		if !m.Keep(cells) {
			t.report.LeftOut++
			m.Fates(cells, t.leftOut)
			return
		}
		t.report.Rows++
		t.silent = false
		if !m.Fates(cells, t.cell) {
			t.report.Malformed++
			if len(cells) == header+1 && cells[header] == "" {
				t.ended++
			}
			t.silent = true
		}
		if t.silent {
			t.report.Silent++
		}
	})
	if err != nil {
		return nil, err
	}
	return t.finish(), nil
}

// each reads the rows of a table's files. It calls begin with each open file, and then f for each
// row. It returns the first error.
func each(ctx context.Context, paths []string, as dataset.CSV, begin func(*table.Reader) error,
	f func(cells []string)) error {
	r, err := table.Open(paths, as)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := begin(r); err != nil {
		return err
	}
	for i := 0; ; i++ {
		if i%4096 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		cells, ok, err := r.Next()
		if err != nil || !ok {
			return err
		}
		f(cells)
	}
}

// tally counts the cells of a table by how the schema reads them.
type tally struct {
	schema  *dataset.Schema
	report  Report
	columns map[string]*counted
	order   []*counted
	silent  bool // the current row is silent
	csv     dataset.CSV
	ended   int // rows that end in a delimiter which the header does not have
}

// counted holds the counts of one column's cells.
type counted struct {
	Column
	column *dataset.Column // nil for the target, its weight and its exposure
	odd    spellings       // cells that are unreadable or not listed
	used   map[string]bool // the listed values that occur in cells
	bounds struct{ low, high float64 }
	suspects
}

func newTally(s *dataset.Schema, as dataset.CSV) *tally {
	t := &tally{schema: s, csv: as, columns: map[string]*counted{}}
	add := func(name, kind string, c *dataset.Column) {
		k := &counted{Column: Column{Name: name, Kind: kind}, column: c, odd: spellings{}, used: map[string]bool{},
			suspects: newSuspects()}
		if c != nil {
			k.bounds.low, k.bounds.high = c.Low, c.High
		} else if kind == "target" {
			k.bounds.low, k.bounds.high = s.Target().Low, s.Target().High
		}
		t.columns[name] = k
		t.order = append(t.order, k)
	}
	for _, c := range s.Columns() {
		filters := c.Kind == dataset.Public && c.Name == s.Filter().Column
		if c.Kind != dataset.Ignore && (c.Kind != dataset.Public || filters) {
			add(c.Name, c.Kind.String(), &c)
		}
	}
	target := s.Target()
	add(target.Column, "target", nil)
	if target.Weight != "" {
		add(target.Weight, "weight", nil)
	}
	if target.Exposure.Column != "" {
		add(target.Exposure.Column, "exposure", nil)
	}
	return t
}

// lists reports whether the column is a category, or a target of classes, whose values are listed.
func (k *counted) lists(s *dataset.Schema) bool {
	if k.Kind == "target" {
		return s.Target().Kind == dataset.Category
	}
	return k.Kind == dataset.Category.String()
}

// cell counts one cell of a column by its fate: how the schema reads it.
func (t *tally) cell(column, cell string, fate dataset.Fate) {
	k := t.columns[column]
	if fate != dataset.Absent {
		k.see(k, cell, fate)
	}
	switch fate {
	case dataset.Read:
		k.Read++
		if k.lists(t.schema) {
			k.used[cell] = true
		}
	case dataset.Absent:
		k.Missing++
	case dataset.Unread:
		k.Unreadable++
		k.odd.add(cell)
	case dataset.Below:
		k.Below++
	case dataset.Above:
		k.Above++
	case dataset.Unlisted:
		k.Other++
		k.odd.add(cell)
	}
	if lost := fate == dataset.Absent || fate == dataset.Unread || fate == dataset.Unlisted; lost && k.column == nil {
		t.silent = true
	}
}

// leftOut counts a cell of a row that the filter does not keep, if the cell is in the filter's
// column and is not one of the column's public values.
func (t *tally) leftOut(column, cell string, fate dataset.Fate) {
	if column == t.schema.Filter().Column && fate != dataset.Read {
		t.cell(column, cell, fate)
	}
}

func (t *tally) finish() *Report {
	t.report.Table = t.whole()
	for _, k := range t.order {
		k.Problems = t.problems(k)
		t.report.Columns = append(t.report.Columns, k.Column)
	}
	return &t.report
}
