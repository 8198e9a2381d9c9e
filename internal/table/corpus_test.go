package table

import (
	"encoding/csv"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	writer "github.com/parquet-go/parquet-go"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

var corpus = flag.String("corpus", "", "a folder that testdata/parquet/make.py has filled, to be read too")

// TestParquetOfOtherWriters tests that Parquet files of several writers have the same cells as the
// same table in CSV. The fixtures are small files of five writers. testdata/parquet/make.py writes
// them, and all other combinations of codec, encoding and page version.
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

// agrees compares a file, column by column, with the expected cells.
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
			if cells[i] == want[r] {
				continue
			}
			if wrong++; first < 0 {
				first = r
			}
		}
		if wrong > 0 {
			t.Errorf("column %q: %d of %d cells are wrong; row %d is %q, want %q",
				name, wrong, len(rows), first, rows[first][i], want[first])
		}
	}
}

// columnsOf reads a file by encoding/csv and returns cells by the name of their column.
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

// TestOneRowMovesNoOther tests that replacing one record changes the cells of no other row, for all
// codecs and encodings and for pages and groups of any size.
func TestOneRowMovesNoOther(t *testing.T) {
	type row struct {
		Yes   bool    `parquet:"yes"`
		Count int64   `parquet:"count,delta"`
		Few   int64   `parquet:"few,dict"`
		Real  float64 `parquet:"real"`
		Split float64 `parquet:"split,split"`
		Word  string  `parquet:"word,delta"`
		Text  *string `parquet:"text,optional"`
	}
	const n = 3000
	r := rand.New(rand.NewPCG(9, 10))
	text := strings.Repeat("text", 10)
	rows := make([]row, n)
	for i := range rows {
		word := strings.Repeat("w", r.IntN(9))
		rows[i] = row{i%3 == 0, r.Int64N(1000), r.Int64N(5), r.NormFloat64(), r.NormFloat64(), word, &text}
	}
	for name, options := range map[string][]writer.WriterOption{
		"LZ4":         {writer.Compression(&writer.Lz4Raw), writer.PageBufferSize(2000), writer.MaxRowsPerRowGroup(700)},
		"LZ4, older":  {writer.Compression(&writer.Lz4Raw), writer.PageBufferSize(300), writer.DataPageVersion(1)},
		"snappy":      {writer.Compression(&writer.Snappy), writer.PageBufferSize(2000)},
		"zstd":        {writer.Compression(&writer.Zstd), writer.MaxRowsPerRowGroup(1000)},
		"gzip":        {writer.Compression(&writer.Gzip), writer.PageBufferSize(5000)},
		"brotli":      {writer.Compression(&writer.Brotli), writer.PageBufferSize(5000)},
		"as it comes": nil,
	} {
		read := func(rows []row) [][]string {
			_, cells, err := drain(write(t, "t", parquetOf(t, rows, options...)))
			if err != nil || len(cells) != n {
				t.Fatalf("%s: %d rows, error %v", name, len(cells), err)
			}
			return cells
		}
		before := read(rows)
		for i, changed := range map[int]row{
			0:    {Yes: true, Count: math.MinInt64, Few: math.MaxInt64, Real: math.NaN(), Word: strings.Repeat("long", 5000)},
			1701: {},
		} {
			other := slices.Clone(rows)
			other[i] = changed
			moved := 0
			for j, cells := range read(other) {
				if j != i && !slices.Equal(cells, before[j]) {
					moved++
				}
			}
			if moved > 0 {
				t.Errorf("%s: replacing row %d changes %d other rows", name, i, moved)
			}
		}
	}
}

// TestLimitChangesNoCell tests that a smaller memory limit changes no cell.
func TestLimitChangesNoCell(t *testing.T) {
	const folder = "testdata/parquet"
	expected := columnsOf(t, filepath.Join(folder, "expected.csv"))
	paths, err := filepath.Glob(filepath.Join(folder, "*-2.0*.parquet"))
	if err != nil || len(paths) < 5 {
		t.Fatalf("%d files, error %v", len(paths), err)
	}
	for _, path := range paths {
		r, err := Open([]string{path}, dataset.CSV{})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		r.Limit(1)
		for row := 0; ; row++ {
			cells, ok, err := r.Next()
			if err != nil {
				t.Fatal(path, err)
			}
			if !ok {
				break
			}
			for i, name := range r.Header() {
				if want := expected[name][row]; cells[i] != want {
					t.Fatalf("%s: column %q, row %d is %q, want %q", path, name, row, cells[i], want)
				}
			}
		}
	}
}
