package table

import (
	"encoding/csv"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var corpus = flag.String("corpus", "", "a folder that testdata/parquet/make.py has filled, to be read beside the fixtures")

// Whatever writes a table as Parquet, it is read as the cells that it has as CSV. The
// fixtures are small files of five writers; testdata/parquet/make.py says how they, and
// all other combinations of codec, encoding and page version, are made.
func TestParquetOfOtherWriters(t *testing.T) {
	folders := []string{"testdata/parquet"}
	if *corpus != "" {
		folders = append(folders, *corpus)
	}
	for _, folder := range folders {
		expected := columnsOf(t, filepath.Join(folder, "expected.csv"))
		files, err := filepath.Glob(filepath.Join(folder, "*.parquet"))
		if err != nil || len(files) < 20 {
			t.Fatalf("%s: %d files, error %v", folder, len(files), err)
		}
		for _, path := range files {
			t.Run(filepath.Base(path), func(t *testing.T) { agrees(t, path, expected) })
		}
	}
}

// agrees compares a file, column by column, with the cells that its columns have as CSV.
func agrees(t *testing.T, path string, expected map[string][]string) {
	header, rows, err := drain(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range header {
		want, ok := expected[name]
		if !ok || len(want) != len(rows) {
			t.Fatalf("column %q: %d rows, want %d", name, len(rows), len(want))
		}
		wrong, first := 0, -1
		for r, cells := range rows {
			if cells[i] != want[r] {
				if wrong++; first < 0 {
					first = r
				}
			}
		}
		if wrong > 0 {
			t.Errorf("column %q: %d of %d cells are wrong; row %d is %q, want %q", name, wrong, len(rows), first, rows[first][i], want[first])
		}
	}
}

// columnsOf reads a file by encoding/csv: cells by the name of their column.
func columnsOf(t *testing.T, path string) map[string][]string {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	columns := map[string][]string{}
	for i, name := range rows[0] {
		for _, row := range rows[1:] {
			columns[name] = append(columns[name], row[i])
		}
	}
	return columns
}
