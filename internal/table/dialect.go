package table

// Dialect describes how text files write a table. [dataset.CSV] implements it.
type Dialect interface {
	// Check returns an error for the first rule that the dialect breaks.
	Check() error
	// Marks returns the bytes of the delimiter and of the quote. The quote is 0 if files have no quote.
	Marks() (delimiter, quote byte)
	// Charset returns the name of the encoding. It returns "" for files that are UTF-16 if they begin with
	// a UTF-16 byte order mark, and UTF-8 otherwise.
	Charset() string
	// Names returns the names of the columns of files without a header row. It returns nil if files have
	// a header row.
	Names() []string
	// Respelled returns the function that rewrites a number of the text to the form in which a
	// [Map] reads it. It returns nil if the text has this form already.
	Respelled() func(cell string) string
}

// named is a dialect with its own copy of the names, which no other code can change.
type named struct {
	Dialect
	names []string
}

// Names returns the copy of the names of the columns.
func (n named) Names() []string { return n.names }

// Map encodes the rows of a table by columns of type C. [dataset.Map] implements it.
type Map[C Column] interface {
	// Reads reports for each cell of a row whether the map reads it.
	Reads() []bool
	// Respell returns a function that rewrites the numbers of a row in place, each by the function plain.
	// It returns nil if there is nothing to rewrite.
	Respell(plain func(cell string) string) func(cells []string)
	// ByUnit reports whether the map needs the texts of all cells, so that readings ([Column]) do
	// not suffice.
	ByUnit() bool
	// Column returns the map of the cells of column i of the table.
	Column(i int) C
}

// Column maps the cells of one column to readings: numbers that contain all information of the cells that
// the row map uses ([dataset.ColumnMap]).
type Column interface {
	// Missing returns the texts of missing cells. The empty text means a missing cell even if it is not in
	// the list.
	Missing() []string
	// Text returns the reading of a cell given as text.
	Text(cell string) float64
	// Number reports whether cells may be passed to Numbers as numbers.
	Number() bool
	// Days reports whether cells may be passed to Numbers as days since 1970-01-01.
	Days() bool
	// Numbers replaces each number of x by the reading of a cell that contains this number. NaN means a
	// cell that is missing or cannot be read.
	Numbers(x []float64)
}

// columns returns the map of a table's column, given the column's index.
type columns func(i int) Column
