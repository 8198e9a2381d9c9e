package row_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row/rowtest"
)

// file returns a maker of files that keep the given number of bytes in memory.
func file(bytes int64, dir string) rowtest.Make {
	return func(t testing.TB, l *row.Layout, blockRows int, records []rowtest.Record) row.Source {
		t.Helper()
		f, err := row.NewFileOf(l, blockRows, bytes, dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if err := f.AppendCoded(r.X, r.Level, r.In, r.Y, r.OK); err != nil {
				t.Fatal(err)
			}
		}
		s, err := f.Source()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// TestFile tests that a File passes the conformance suite for sources of rows with nothing, some
// blocks, or everything in memory.
func TestFile(t *testing.T) {
	for _, bytes := range []int64{0, 300, 3000, math.MaxInt64} {
		t.Run(fmt.Sprint(bytes), func(t *testing.T) { rowtest.Run(t, file(bytes, t.TempDir())) })
	}
}

// TestFileInPieces tests files whose blocks are longer than the 64 KB that are read together: 63 rows of numbers, or with
// a code, or less than one row. Rows must be those of a table in memory.
func TestFileInPieces(t *testing.T) {
	for _, l := range []*row.Layout{rowtest.Dense(256), rowtest.Coded(343, row.Group{First: 2, Width: 90})} {
		rowtest.RunOf(t, l, func(n int) []rowtest.Record { return rowtest.Records(n, l, uint64(n), true) }, file(0, t.TempDir()))
	}
	l := rowtest.Dense(17000)
	records := rowtest.Records(5, l, 5, false)
	s := file(0, t.TempDir())(t, l, 3, records)
	defer s.Close()
	reader, at := s.Reader(), 0
	for i := range s.Blocks() {
		b, err := reader.Block(i)
		if err != nil {
			t.Fatal(err)
		}
		for k := range b.Targets {
			if !slices.Equal(b.Rows[k*l.Stride():][:l.Dim()], records[at].X) || b.Targets[k] != records[at].Y {
				t.Fatalf("row %d is another one", at)
			}
			at++
		}
	}
	if at != len(records) {
		t.Errorf("%d rows: want %d", at, len(records))
	}
}

// TestFileIsPrivate tests that the file has no name while it contains rows. On systems that keep
// the names of open files, the file has no access rights for other users. After closing, also
// without reading, nothing is left.
func TestFileIsPrivate(t *testing.T) {
	dir := t.TempDir()
	check := func(open bool) {
		t.Helper()
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) > 0 && (!open || runtime.GOOS != "windows") {
			t.Errorf("%d files are left", len(entries))
		}
	}
	records := rowtest.Records(20, rowtest.Dense(3), 1, false)
	s := file(0, dir)(t, rowtest.Dense(3), 4, records)
	check(true)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	check(false)
	f, err := row.NewFile(3, 4, 0, dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Append(records[0].X, 1, true); err != nil {
		t.Fatal(err)
	}
	check(true)
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	check(false)
	if _, err := s.Reader().Block(0); !errors.Is(err, row.ErrUnread) {
		t.Errorf("read after closing: %v", err)
	}
	if err := s.Reader().Rows(new(row.Block), []int32{2}); !errors.Is(err, row.ErrUnread) {
		t.Errorf("read after closing: %v", err)
	}
}

// TestMemoryIsEnough tests that no file is made for rows that fit in memory, with a folder that
// does not exist. The first row that does not fit returns the system's error.
func TestMemoryIsEnough(t *testing.T) {
	const dim, block = 3, 4
	bytes := int64(2 * block * (8 + 4*row.Lane + 4))
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	records := rowtest.Records(2*block+1, rowtest.Dense(dim), 1, false)
	f, err := row.NewFile(dim, block, bytes, nowhere)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range records {
		err := f.Append(r.X, r.Y, r.OK)
		if i < 2*block && err != nil {
			t.Fatalf("row %d: %v", i, err)
		}
		if i == 2*block && (!errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "row: private file: ")) {
			t.Errorf("a row beyond %d bytes: %v", bytes, err)
		}
	}
	s := file(bytes, nowhere)(t, rowtest.Dense(dim), block, records[:2*block])
	if _, ok := s.(*row.Table); !ok {
		t.Errorf("rows that fit are a %T", s)
	}
}
