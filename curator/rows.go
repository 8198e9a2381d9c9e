package curator

import (
	"iter"
	"strconv"
)

// Rows is a table that its caller holds: the rows of a service, a query's results.
// They pass through the schema's row map as those of a file do, cells trimmed and
// read by the same rules, and are kept encoded: nothing of what the caller holds is
// kept, and nothing done to it after Open returned changes an answer.
//
// Everything a file settles by being one is the caller's to settle. Whether two
// sessions are over the same people, whose budgets then add up, is not known here.
// What is promised holds for neighbouring rows: if one person's record changes, so
// must one row, and not which rows there are, or what other rows hold.
type Rows struct {
	// Header names the columns, in the order of a row's cells. It is public. The
	// schema must name the same columns, in any order.
	Header []string
	// Cells yields the cells of one row after the other, from one goroutine. A slice
	// may be used again once yield has returned. A row of another length than the
	// header's, nil too, is malformed: it counts, and contributes zero. An error
	// ends the reading, and Open; so does a panic. Text of neither is shown, and
	// yield returns false from then on.
	Cells iter.Seq2[[]string, error]
}

// Column is one column of records of type T: its name, and its cell in a record.
type Column[T any] struct {
	name string
	cell func(T) string
}

// Text is a column of categories, labels or other text.
func Text[T any](name string, of func(T) string) Column[T] { return Column[T]{name, of} }

// Number is a column of numbers. NaN is missing, and so is a number whose shortest
// decimal text, such as -99 or 1e+21, is one of the schema's missing markers.
func Number[T any](name string, of func(T) float64) Column[T] {
	return Column[T]{name, func(r T) string { return strconv.FormatFloat(of(r), 'g', -1, 64) }}
}

// RowsOf returns the rows of records: one for each, in their order, read when a
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
