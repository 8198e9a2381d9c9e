package table

// Dialect states how text files write a table. [dataset.CSV] implements it.
type Dialect interface {
	// Check returns an error for the first rule that is broken.
	Check() error
	// Marks returns the delimiter and the quote; the quote is zero if there is none.
	Marks() (delimiter, quote byte)
	// Charset is the name of the encoding, empty for UTF-16 where a byte order mark says so, and
	// else UTF-8.
	Charset() string
	// Names are the names of the columns of files without a header row; nil if files have a header
	// row.
	Names() []string
	// Respelled returns the function that rewrites a number of the text to the form in which a
	// [Map] reads it; nil if the text has that form already.
	Respelled() func(cell string) string
}

// named is a dialect with its own copy of the names, which no other code can change.
type named struct {
	Dialect
	names []string
}

// Names returns the names.
func (n named) Names() []string { return n.names }

// Map encodes the rows of a table by columns of type C. [dataset.Map] implements it.
type Map[C Column] interface {
	// Reads reports for each cell of a row whether the map reads it.
	Reads() []bool
	// Respell returns the function that rewrites the numbers of a row in place by the function plain;
	// nil if there is nothing to rewrite.
	Respell(plain func(cell string) string) func(cells []string)
	// ByUnit reports whether the map needs the texts of all cells, so that readings ([Column]) do
	// not suffice.
	ByUnit() bool
	// Column returns column i of the table.
	Column(i int) C
}

// Column maps the cells of one column to readings: numbers that contain everything the row map uses
// of the cells ([dataset.ColumnMap]).
type Column interface {
	// Missing returns the texts of missing cells, besides the empty text.
	Missing() []string
	// Text returns the reading of a cell given as text.
	Text(cell string) float64
	// Number reports whether cells may be passed to Numbers as numbers.
	Number() bool
	// Days reports whether cells may be passed to Numbers as days since 1970-01-01.
	Days() bool
	// Numbers replaces each number of x by the reading of a cell that contains that number.
	Numbers(x []float64)
}

// columns returns the map of a table's column, given the column's index.
type columns func(i int) Column
