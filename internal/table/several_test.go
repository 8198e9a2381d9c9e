package table

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// TestSeveralFiles tests that several files are one table: their rows follow each other, each file
// has its own header, and an unclosed quote ends with its file.
func TestSeveralFiles(t *testing.T) {
	a := write(t, "a.csv", []byte("p,q\n1,2\n"))
	b := write(t, "b.csv.gz", zipped(t, "p,q\n3,\"4\n"))
	c := write(t, "c.csv.zst", zstandard(t, "p,q"))
	d := write(t, "d.parquet", parquetOf(t, []struct{ P, Q int64 }{{7, 8}}))
	other := write(t, "other.parquet", parquetOf(t, []struct {
		P int64 `parquet:"p"`
		Q int64 `parquet:"q"`
	}{{7, 8}, {9, 10}}))
	if _, _, err := drainAs(dataset.CSV{}, a, b, c, other, a+"x"); err == nil || !strings.Contains(err.Error(), a+"x") {
		t.Errorf("a missing file: %v", err)
	}
	header, rows, err := drainAs(dataset.CSV{}, a, b, c, other)
	want := [][]string{{"1", "2"}, nil, {"7", "8"}, {"9", "10"}}
	if diff := cmp.Diff(want, rows); err != nil || diff != "" || !slices.Equal(header, []string{"p", "q"}) {
		t.Errorf("header %q, error %v, rows (-want +got):\n%s", header, err, diff)
	}
	for _, test := range []struct {
		second, rule string
	}{
		{a, "is given twice, also as " + a},
		{d, "its columns are not those of " + a + " in the same order, which files of one table must have"},
		{write(t, "order.csv", []byte("q,p\n1,2\n")),
			"its columns are not those of " + a + " in the same order, which files of one table must have"},
		{write(t, "more.csv", []byte("p,q,r\n1,2,3\n")),
			"its columns are not those of " + a + " in the same order, which files of one table must have"},
		{Standard, "must be the only file of its table"},
	} {
		if test.second == Standard {
			continue // would be read
		}
		if _, err := Open([]string{a, test.second}, dataset.CSV{}); err == nil ||
			err.Error() != "table: "+test.second+": "+test.rule {
			t.Errorf("%s: %v", test.second, err)
		}
	}
	link := filepath.Join(t.TempDir(), "link.csv")
	if err := os.Symlink(a, link); err == nil {
		if _, err := Open([]string{a, link}, dataset.CSV{}); err == nil || !strings.Contains(err.Error(), "twice") {
			t.Errorf("by another name: %v", err)
		}
	}
	if _, err := Open(nil, dataset.CSV{}); err == nil {
		t.Error("no file is a table")
	}
}

// TestManyFilesAreLinear tests that opening and reading a table takes work in proportion to the number
// of its files, by counting: allocations, their bytes, and the files with which a file is compared
// because they may be the same. All files have the same size and time.
func TestManyFilesAreLinear(t *testing.T) {
	var paths []string
	for i := range 400 {
		paths = append(paths, write(t, fmt.Sprintf("%03d.csv", i), fmt.Appendf(nil, "a\n%03d\n", i)))
		if err := os.Chtimes(paths[i], time.Unix(1e9, 0), time.Unix(1e9, 0)); err != nil {
			t.Fatal(err)
		}
	}
	work := func(n int) (allocations, bytes float64) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err := Open(paths[:n], dataset.CSV{})
		if err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS != "windows" { // where files have no numbers that can be read
			for _, same := range r.known {
				if len(same) != 1 {
					t.Fatalf("%d of %d files are compared with each other", len(same), n)
				}
			}
		}
		rows := 0
		for {
			_, ok, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			rows++
		}
		if err := r.Close(); err != nil || rows != n {
			t.Fatalf("%d rows of %d files: %v", rows, n, err)
		}
		runtime.ReadMemStats(&after)
		return float64(after.Mallocs - before.Mallocs), float64(after.TotalAlloc - before.TotalAlloc)
	}
	work(10)
	few, fewBytes := work(100)
	many, manyBytes := work(400)
	if many > 4.4*few || manyBytes > 4.4*fewBytes {
		t.Errorf("4 times the files take %.2f times the allocations and %.2f times their bytes", many/few,
			manyBytes/fewBytes)
	}
}

// TestEveryFileIsWatched tests that each of several files is watched from the opening of the table
// to the table's end, whether or not its rows have been read.
func TestEveryFileIsWatched(t *testing.T) {
	for changed := range 3 {
		for after := range 4 { // rows, of which each file has one
			var paths []string
			for i := range 3 {
				paths = append(paths, write(t, fmt.Sprint(i), []byte("a\n"+fmt.Sprint(i)+"\n")))
			}
			r, err := Open(paths, dataset.CSV{})
			if err != nil {
				t.Fatal(err)
			}
			for range after {
				if _, ok, err := r.Next(); err != nil || (!ok && after < 3) {
					t.Fatal(ok, err)
				}
			}
			if err := os.Chtimes(paths[changed], time.Time{}, time.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
			for ok := true; ok; {
				_, ok, err = r.Next()
			}
			if want := "table: " + paths[changed] +
				": changed while it was read: leave it as it is and start again"; err == nil || err.Error() != want {
				t.Errorf("file %d after %d rows: %v", changed, after, err)
			}
			r.Close()
		}
	}
}

// TestEach tests that parts come in the order of the rows and do not depend on the number of
// workers, and that an error of a part or of a changed file is returned.
func TestEach(t *testing.T) {
	var text strings.Builder
	text.WriteString("a,b\n")
	const n = 60_000
	for i := range n {
		fmt.Fprintf(&text, "%d,\"x\n%d\"\n", i, i%7)
	}
	path := write(t, "t.csv", []byte(text.String()))
	collect := func(workers int, stop int) (all []string, err error) {
		r, err := Open([]string{path}, dataset.CSV{})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		err = Each(r, workers, func(c Chunk, yield func([]string) bool) error {
			var part []string
			for {
				cells, ok, err := c.Next()
				if err != nil || !ok {
					yield(part)
					return err
				}
				if part = append(part, strings.Join(cells, "|")); len(part) == 1000 {
					if !yield(part) {
						return nil
					}
					part = nil
				}
			}
		}, func(part []string) error {
			if all = append(all, part...); len(all) > stop {
				return errQuit
			}
			return nil
		})
		return all, err
	}
	want, err := collect(1, n)
	if err != nil || len(want) != n {
		t.Fatal(len(want), err)
	}
	for i, row := range want {
		if row != fmt.Sprintf("%d|x\n%d", i, i%7) {
			t.Fatalf("row %d is %q", i, row)
		}
	}
	for _, workers := range []int{2, 5} {
		if got, err := collect(workers, n); err != nil || !slices.Equal(got, want) {
			t.Errorf("%d workers: %d rows, %v", workers, len(got), err)
		}
		if _, err := collect(workers, n/2); err != errQuit {
			t.Errorf("%d workers: stopped with %v", workers, err)
		}
	}
	whole := zipped(t, text.String())
	path = write(t, "cut.csv.gz", whole[:len(whole)-1])
	if _, err := collect(2, n); err == nil ||
		!strings.HasSuffix(err.Error(), ": the file is damaged: it ends early or fails its checksum") {
		t.Errorf("a file cut off: %v", err)
	}
}

var errQuit = fmt.Errorf("quit")
