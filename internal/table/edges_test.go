package table

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// edgeRows are the numbers of rows of the cases of testdata/parquet/edges, by the first word of a file's name.
var edgeRows = map[string]int{"none": 0, "one": 1, "first": 9, "middle": 9, "last": 9, "runs": 9}

// TestParquetAtItsEdges tests that tables without rows, of one row, with empty row groups and with pages of
// nothing but missing values are read as what six writers wrote: as texts, as readings, with a small memory
// limit, and as one of several files of a table. testdata/parquet/edges/make.py writes the files.
func TestParquetAtItsEdges(t *testing.T) {
	const folder = "testdata/parquet/edges"
	_, want, err := drain(filepath.Join(folder, "expected.csv"))
	if err != nil || len(want) != 9 {
		t.Fatalf("%d rows, error %v", len(want), err)
	}
	paths, err := filepath.Glob(filepath.Join(folder, "*.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	writers := map[string]map[string]bool{}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".parquet")
		edge, writer, _ := strings.Cut(name, "-")
		rows, ok := edgeRows[edge]
		if !ok {
			t.Fatalf("%s: its case is none of %v", path, edgeRows)
		}
		writer, _, _ = strings.Cut(writer, "-")
		if writers[writer] == nil {
			writers[writer] = map[string]bool{}
		}
		writers[writer][edge] = true
		t.Run(name, func(t *testing.T) {
			for _, limit := range []int64{0, 1} {
				sameRows(t, []string{path}, limit, want[:rows])
			}
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			first := write(t, "part-1.parquet", content)
			sameRows(t, []string{first, path}, 0, slices.Concat(want[:rows], want[:rows]))
			readingsAre(t, path, want[:rows])
		})
	}
	for _, writer := range []string{"pyarrow", "pandas", "duckdb", "polars", "fastparquet", "arrow", "parquet"} {
		if !writers[writer]["none"] || writer != "pandas" && (!writers[writer]["one"] || !writers[writer]["runs"]) {
			t.Errorf("%s has files of the cases %v alone", writer, writers[writer])
		}
	}
	for _, edge := range []string{"first", "middle", "last"} {
		if !writers["pyarrow"][edge] {
			t.Errorf("pyarrow has no file of the case %q", edge)
		}
	}
}

// sameRows compares the rows of a table with the expected ones.
func sameRows(t *testing.T, paths []string, limit int64, want [][]string) {
	t.Helper()
	r, err := Open(paths, dataset.CSV{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if limit > 0 {
		r.Limit(limit)
	}
	for i := 0; ; i++ {
		cells, ok, err := r.Next()
		if err != nil {
			t.Fatalf("row %d: %v", i, err)
		}
		if !ok {
			if i != len(want) {
				t.Fatalf("%d rows, want %d", i, len(want))
			}
			return
		}
		if i >= len(want) || !slices.EqualFunc(cells, want[i], sameCell) {
			t.Fatalf("row %d is %q", i, cells)
		}
	}
}

// sameCell reports whether two cells are the same text or, since writers keep columns of missing integers as
// floats, the same number.
func sameCell(a, b string) bool {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return a == b || errX == nil && errY == nil && x == y
}

// readingsAre compares the readings of a file's columns of numbers with those of the expected texts.
func readingsAre(t *testing.T, path string, want [][]string) {
	t.Helper()
	def := dataset.Definition{Target: dataset.Target{Column: "whole", Kind: dataset.Number, High: 10}}
	for _, name := range []string{"real", "never"} {
		def.Columns = append(def.Columns, dataset.Column{Name: name, Kind: dataset.Number, High: 100})
	}
	for _, name := range []string{"word", "yes", "nothing"} {
		def.Columns = append(def.Columns, dataset.Column{Name: name, Kind: dataset.Ignore})
	}
	schema, err := dataset.New(def)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open([]string{path}, dataset.CSV{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	m, err := schema.Bind(r.Header())
	if err != nil {
		t.Fatal(err)
	}
	if err := For(r, m); err != nil {
		t.Fatal(err)
	}
	got := 0
	err = Each(r, 2, func(c Chunk, yield func([]float64) bool) error {
		for {
			columns, n, err := c.(Typed).Readings()
			if n == 0 || err != nil {
				return err
			}
			for i := range n {
				yield([]float64{columns[0][i], columns[1][i], columns[4][i]})
			}
		}
	}, func(row []float64) error {
		if got == len(want) {
			return errors.New("more rows than were written")
		}
		for i, column := range []int{0, 1, 4} {
			if x := m.Column(column).Text(want[got][column]); row[i] != x && !(math.IsNaN(x) && math.IsNaN(row[i])) {
				t.Errorf("row %d, column %d: reading %v, want %v", got, column, row[i], x)
			}
		}
		got++
		return nil
	})
	if err != nil || got != len(want) {
		t.Fatalf("%d rows, want %d, error %v", got, len(want), err)
	}
}
