package table

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// TestStandardMayBeParquet tests that standard input is read as Parquet if it is a regular file at
// its start, and that a pipe and a file that was read in part are not.
func TestStandardMayBeParquet(t *testing.T) {
	type numbers struct {
		A float64 `parquet:"a"`
		B int64   `parquet:"b"`
	}
	content := parquetOf(t, []numbers{{.5, 1}, {-2, 3}})
	path := write(t, "t", content)
	disk := func(at int64) *os.File {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		if _, err := f.Seek(at, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		return f
	}
	f, err := openStandard(disk(0), dataset.CSV{})
	if err != nil {
		t.Fatal(err)
	}
	chunk, err := f.chunk()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"0.5,1", "-2,3"} {
		if cells, ok, err := chunk.Next(); !ok || err != nil || strings.Join(cells, ",") != want {
			t.Errorf("row %q, %v, %v: want %q", cells, ok, err, want)
		}
	}
	if _, err := f.chunk(); err != io.EOF || f.changed() {
		t.Errorf("after the last row: error %v, changed: %v", err, f.changed())
	}
	pipe, feed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	go func() {
		feed.Write(content)
		feed.Close()
	}()
	for name, src := range map[string]*os.File{"a pipe": pipe, "not its start": disk(4)} {
		if f, err := openStandard(src, dataset.CSV{}); err == nil && !f.text {
			t.Errorf("%s was read as Parquet", name)
		}
	}
	text := write(t, "t.csv", []byte("a,b\n0.5,1\n"))
	src, err := os.Open(text)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if f, err := openStandard(src, dataset.CSV{}); err != nil || !f.text || f.names()[1] != "b" {
		t.Errorf("a file of text: error %v", err)
	}
}
