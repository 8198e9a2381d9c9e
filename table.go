package stillpoint

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/regular"
	"github.com/stillpoint-dp/stillpoint/model"
)

// Table is where rows come from. CSV, Parquet, File, Rows and Reader make one.
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

// CSV is a table in text files, plain or compressed by gzip or zstd, with a header row.
// Several files, which have the same columns in the same order, are one table, in their
// order, and must be Named. A name may be a pattern with *, ? and [...].
func CSV(paths ...string) Table { return Table{kind: csvFiles, paths: slices.Clone(paths)} }

// Parquet is CSV for files of that format.
func Parquet(paths ...string) Table { return Table{kind: parquetFiles, paths: slices.Clone(paths)} }

// File is CSV or Parquet, as its files say of themselves. "-" is standard input.
func File(paths ...string) Table { return Table{kind: anyFiles, paths: slices.Clone(paths)} }

// Column is one column of records of type T: its name, and its cell in a record.
type Column[T any] = curator.Column[T]

// Number is a column of numbers. NaN is missing.
func Number[T any](name string, of func(T) float64) Column[T] { return curator.Number(name, of) }

// Text is a column of categories, labels or other text. An empty one is missing.
func Text[T any](name string, of func(T) string) Column[T] { return curator.Text(name, of) }

// Rows is a table of records that the program holds: a row for each, whatever the record
// holds, read when the fit begins and copied. The columns' functions run on one goroutine;
// one that panics ends the fit, and what it panicked with is shown nowhere.
func Rows[T any](records []T, columns ...Column[T]) Table {
	return Table{kind: held, rows: curator.RowsOf(records, columns...)}
}

// Reader is a table in a stream of text, plain or compressed by gzip or zstd, with a header
// row. It is read once, to its end, which whoever writes it must see to being the table's.
// What it fails with is shown nowhere.
func Reader(r io.Reader) Table { return Table{kind: stream, reader: r} }

// Written is the table with its text written as said: delimiters, decimal marks, encoding.
func (t Table) Written(as dataset.CSV) Table {
	t.csv = as
	return t
}

// Named gives the table a public name, by which the ledgers of folders sum its fits in
// place of its path. Fits of Rows and Readers without a name are summed as if all were of
// one table.
func (t Table) Named(name string) Table {
	t.name = name
	return t
}

// check demands files of the kind that was said, by their first bytes.
func (t Table) check(c *Config) error {
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
	f, err := regular.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	start := make([]byte, 4)
	n, _ := io.ReadFull(f, start)
	return bytes.Equal(start[:n], []byte("PAR1")), nil
}

// source is the table as models read it.
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
