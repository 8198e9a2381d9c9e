package table

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// samples makes a table of each format, with columns a and b and three rows. The second row is
// malformed or, if the format has no malformed rows, empty.
var samples = map[string]func(testing.TB) []byte{
	"t.csv":     func(testing.TB) []byte { return []byte("a,b\n1,2\n3,x\"y\n5,6\n") },
	"t.parquet": func(t testing.TB) []byte { return parquetOf(t, []pair{{1, "2"}, {}, {5, "6"}}) },
}

type pair struct {
	A int64  `parquet:"a,optional"`
	B string `parquet:"b,optional"`
}

// parquetOf writes a table as Parquet.
func parquetOf[T any](t testing.TB, rows []T, options ...parquet.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b, options...)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestEveryReader tests that Open chooses the right type of reader for each sample, and that all
// readers give the same header and rows and repeat the error at the end. The test fails for a reader
// without a sample, and for a sample that Open refuses.
func TestEveryReader(t *testing.T) {
	opened := map[string]bool{}
	for name, content := range samples {
		r, err := Open([]string{write(t, name, content(t))}, dataset.CSV{})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		opened[strings.TrimPrefix(fmt.Sprintf("%T", r.open[0].content), "*table.")] = true
		if got := r.Header(); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("%s: header %q", name, got)
		}
		for i, want := range [][]string{{"1", "2"}, nil, {"5", "6"}} {
			cells, ok, err := r.Next()
			if want == nil && len(cells) == 2 {
				want = []string{"", ""}
			}
			if err != nil || !ok || !slices.Equal(cells, want) {
				t.Errorf("%s: row %d: %q, %v, %v", name, i, cells, ok, err)
			}
		}
		for range 2 {
			if cells, ok, err := r.Next(); cells != nil || ok || err != nil {
				t.Errorf("%s: the end: %q, %v, %v", name, cells, ok, err)
			}
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	readers := 0
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^func \(\w+ \*?(\w+)\) chunk\(\) \(Chunk`).FindAllStringSubmatch(string(text),
			-1) {
			if readers++; !opened[m[1]] {
				t.Errorf("%s: reader %s has no sample", path, m[1])
			}
		}
	}
	if readers == 0 {
		t.Error("no reader was found: the search is broken")
	}
}
