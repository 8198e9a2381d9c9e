package report

import (
	"errors"
	"fmt"
	"html/template"
)

// Table is a table whose cells are formatted text.
type Table struct {
	Title   string   `json:"title"`
	Columns []Column `json:"columns"`
	Rows    []Row    `json:"rows"`
	Caption string   `json:"caption,omitempty"`
}

// Column is a column of a table. If Number is true, the column's cells are aligned to the right.
type Column struct {
	Name   string `json:"name"`
	Number bool   `json:"number,omitempty"`
}

// Row is a row of a table, with one cell for each column. A faint row is printed lighter.
type Row struct {
	Cells []string `json:"cells"`
	Faint bool     `json:"faint,omitempty"`
}

func (t Table) check() error {
	if t.Title == "" {
		return errors.New("table: title must be given")
	}
	if len(t.Columns) == 0 {
		return fmt.Errorf("table %q: must have columns", t.Title)
	}
	for i, r := range t.Rows {
		if len(r.Cells) != len(t.Columns) {
			return fmt.Errorf("table %q: row %d has %d cells: must have %d", t.Title, i, len(r.Cells), len(t.Columns))
		}
	}
	return nil
}

func (t Table) html(string) (template.HTML, error) { return execute("table", t) }
