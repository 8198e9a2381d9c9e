package stillpoint

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/regularfile"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/model"
)

// Table is a source of rows. CSV, Parquet, File, Rows and Reader make a Table. The zero Table has no source.
type Table struct {
	kind   kind
	paths  []string
	csv    dataset.CSV
	rows   *curator.Rows
	reader io.Reader
	name   string
}

type kind int

const (
	nothing kind = iota
	csvFiles
	parquetFiles
	anyFiles
	held
	stream
)

// CSV returns a table in text files with a header row, plain or compressed by gzip or zstd. Several files
// form one table, in the order given. The files must have the same columns in the same order, and the table
// must then have a name (Table.Named). A path may be a pattern with *, ? and [...].
func CSV(paths ...string) Table { return Table{kind: csvFiles, paths: slices.Clone(paths)} }

// Parquet returns a table in Parquet files. Several files and patterns are allowed as for CSV.
func Parquet(paths ...string) Table { return Table{kind: parquetFiles, paths: slices.Clone(paths)} }

// File returns a table in CSV or Parquet files. The first bytes of a file decide between the two. "-" is
// standard input.
func File(paths ...string) Table { return Table{kind: anyFiles, paths: slices.Clone(paths)} }

// Column is one column of records of type T: the column's name, and a function that returns a record's cell.
type Column[T any] struct{ c curator.Column[T] }

// Number is a column of numbers. NaN counts as missing.
func Number[T any](name string, of func(T) float64) Column[T] {
	return Column[T]{curator.Number(name, of)}
}

// Text is a column of categories, labels or other text. An empty text counts as missing.
func Text[T any](name string, of func(T) string) Column[T] { return Column[T]{curator.Text(name, of)} }

// Rows returns a table of records in the program's memory. Each record makes exactly one row, even if its cells are
// invalid. The fit reads and copies the records when it begins. The columns' functions run on one goroutine. A function
// that panics ends the fit; the panic's value is shown nowhere, since it could contain a record.
func Rows[T any](records []T, columns ...Column[T]) Table {
	inner := make([]curator.Column[T], len(columns))
	for i, c := range columns {
		inner[i] = c.c
	}
	return Table{kind: held, rows: curator.RowsOf(records, inner...)}
}

// Reader returns a table in a stream of text with a header row, plain or compressed by gzip or zstd. The
// stream is read once, to its end. If the stream ends early without an error, the table is shorter, so its
// writer must make sure that the end of the stream is the end of the table. The text of a reading error is
// not shown, since it could contain a record.
func Reader(r io.Reader) Table { return Table{kind: stream, reader: r} }

// Written returns a copy of the table whose text has the given format: delimiter, decimal mark, encoding.
func (t Table) Written(as dataset.CSV) Table {
	t.csv = as
	return t
}

// Named returns a copy of the table with a public name. The ledgers of folders sum the fits of a table by its name, or
// by its path if it has no name. Fits of Rows and Readers without a name are summed as if they all used one table.
func (t Table) Named(name string) Table {
	t.name = name
	return t
}

// check returns an error if the table was made by CSV and one of its files is a Parquet file, or was made by
// Parquet and one is not. It looks at the first four bytes of each file.
func (t Table) check(c *train.Config) error {
	if t.kind != csvFiles && t.kind != parquetFiles {
		return nil
	}
	paths, err := c.DataPaths()
	if err != nil {
		return fmt.Errorf("stillpoint: %w", err)
	}
	for _, path := range paths {
		is, err := isParquet(path)
		if err != nil {
			return err
		}
		switch {
		case is && t.kind == csvFiles:
			return fmt.Errorf("stillpoint: table: %s: is a Parquet file: must be given as Parquet or File", path)
		case !is && t.kind == parquetFiles:
			return fmt.Errorf("stillpoint: table: %s: is no Parquet file: must be given as CSV or File", path)
		}
	}
	return nil
}

func isParquet(path string) (bool, error) {
	f, err := regularfile.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	start := make([]byte, 4)
	n, _ := io.ReadFull(f, start)
	return bytes.Equal(start[:n], []byte("PAR1")), nil
}

// source returns the table as a model.Source. It returns an error if the table has no source, or does not
// consist of exactly one file.
func (t Table) source() (model.Source, error) {
	switch {
	case t.kind == nothing:
		return model.Source{}, fmt.Errorf("stillpoint: table: must be given: CSV, Parquet, File, Rows or Reader")
	case t.kind == held:
		return model.Source{Header: t.rows.Header, Cells: t.rows.Cells}, nil
	case t.kind == stream:
		return model.Source{Reader: t.reader}, nil
	case len(t.paths) != 1:
		return model.Source{}, fmt.Errorf("stillpoint: table: %d files: must be one to predict for", len(t.paths))
	}
	return model.Source{Path: t.paths[0]}, nil
}
