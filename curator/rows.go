package curator

import (
	"iter"
	"strconv"
)

// Rows is a table that its caller holds, such as the results of a query in a service. Its rows pass
// the schema's row map as the rows of a file do: cells are trimmed and read by the same rules. Only
// the encoded rows are kept, so that changes to the caller's data after Open returned have no
// effect.
//
// The caller is responsible for two things. First, two sessions over the same people have two budgets that
// add up, and this package cannot know whether the people are the same. Second, a change of one person's
// record must change exactly one row, and neither the number of rows nor other rows: the guarantee holds for
// such changes only.
type Rows struct {
	// Header lists the names of the columns, in the order of a row's cells. It is public. The
	// schema must name the same columns, in any order.
	Header []string
	// Cells yields the cells of the rows, one row after the other, from one goroutine. A slice may be reused
	// after yield has returned. A row whose length differs from the header's, including nil, is malformed: it
	// counts and contributes zero. After an error or a panic, Open stops reading and fails, and does not show
	// the error's text. From then on yield returns false.
	Cells iter.Seq2[[]string, error]
}

// Column is a column of records of type T: the column's name, and the function that returns a record's cell
// in it.
type Column[T any] struct {
	name string
	cell func(T) string
}

// Text returns a column of categories, labels or other text. Its function argument returns a record's cell.
func Text[T any](name string, of func(T) string) Column[T] { return Column[T]{name, of} }

// Number returns a column of numbers. Its function argument returns a record's number. NaN counts as
// missing. So does a number whose shortest decimal text, such as -99 or 1e+21, is one of the schema's
// missing markers.
func Number[T any](name string, of func(T) float64) Column[T] {
	return Column[T]{name, func(r T) string { return strconv.FormatFloat(of(r), 'g', -1, 64) }}
}

// RowsOf returns one row for each record, in the order of records. The records are read when a
// session is opened.
func RowsOf[T any](records []T, columns ...Column[T]) *Rows {
	r := &Rows{Header: make([]string, len(columns))}
	for i, c := range columns {
		r.Header[i] = c.name
	}
	r.Cells = func(yield func([]string, error) bool) {
		cells := make([]string, len(columns))
		for _, record := range records {
			for i, c := range columns {
				cells[i] = c.cell(record)
			}
			if !yield(cells, nil) {
				return
			}
		}
	}
	return r
}
