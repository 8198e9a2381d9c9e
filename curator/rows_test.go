package curator_test

import (
	"context"
	"encoding/csv"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
)

// rowsOf returns rows that a caller holds, yielded in one slice that is reused.
func rowsOf(header []string, rows [][]string) *curator.Rows {
	return &curator.Rows{Header: header, Cells: func(yield func([]string, error) bool) {
		reused := make([]string, 0, 8)
		for _, r := range rows {
			reused = append(reused[:0], r...)
			if !yield(reused, nil) {
				return
			}
			for i := range reused {
				reused[i] = "changed"
			}
		}
	}}
}

// held returns a configuration with rows in place of a file.
func held(t testing.TB, rows *curator.Rows) curator.Config {
	t.Helper()
	c := config(t, "")
	c.Rows = rows
	return c
}

// encoded returns, as text, every bit of the encoded rows over which a session would be opened.
func encoded(t testing.TB, c curator.Config) string {
	t.Helper()
	s, err := curator.Read(context.Background(), c, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return bitsOf(t, s)
}

// bitsOf returns, as text, every bit of a source of rows, with a line for each record, and closes it.
func bitsOf(t testing.TB, s row.Source) string {
	t.Helper()
	defer s.Close()
	var out strings.Builder
	r := s.Reader()
	full := s.Layout().Full()
	// Several calls add to one block, as a kernel's do.
	const together = 3
	for first := 0; first < s.Len(); first += together {
		var b row.Block
		for i := first; i < min(first+together, s.Len()); i++ {
			if err := r.Rows(&b, []int32{int32(i)}); err != nil {
				t.Fatal(err)
			}
		}
		x := make([]float32, len(b.Targets)*full)
		s.Layout().WriteOut(x, b)
		for k, y := range b.Targets {
			for _, v := range x[k*full : (k+1)*full] {
				fmt.Fprintf(&out, "%08x ", math.Float32bits(v))
			}
			fmt.Fprintf(&out, "%016x\n", math.Float64bits(y))
		}
	}
	return out.String()
}

// TestRowsAreAFilesRows: the same cells give the same bits from a file and from rows in memory, for
// any block size and memory limit: malformed rows, missing cells, filtered rows, white space. Every
// integer computed from them is therefore the same.
func TestRowsAreAFilesRows(t *testing.T) {
	coin := rand.New(rand.NewPCG(4, 4))
	ages := []string{"31", " 77.5", "1e300", "-4", "NaN", "", "inf", "old", "0x1p3", "1_0", "0"}
	splits := []string{"train", "test", " train ", "", "other", "Train"}
	notes := []string{"a", "a,b", "\"", "line\nbreak", ""}
	ills := []string{"no", "yes", " yes", "", "perhaps"}
	header := []string{"ill", "note", "age", "split"}
	var rows [][]string
	for range 400 {
		pick := func(v []string) string { return v[coin.IntN(len(v))] }
		r := []string{pick(ills), pick(notes), pick(ages), pick(splits)}
		switch coin.IntN(9) {
		case 0:
			r = r[:2+coin.IntN(2)] // a CSV line with one empty cell is no line
		case 1:
			r = append(r, "more")
		}
		rows = append(rows, r)
	}
	var text strings.Builder
	w := csv.NewWriter(&text)
	if err := w.WriteAll(append([][]string{header}, rows...)); err != nil {
		t.Fatal(err)
	}
	for _, schemaText := range []string{filteredSchema, strings.Replace(filteredSchema, "where: split=train\n", "", 1),
		strings.Replace(filteredSchema, "note: ignore", `note: {category: [a, "a,b"]}`, 1)} {
		file := config(t, write(t, "people.csv", text.String()))
		file.Schema = schema(t, schemaText)
		want := encoded(t, file)
		for _, memory := range []int64{0, 1, 2000} {
			for _, block := range []int{0, 7} {
				c := held(t, rowsOf(header, rows))
				c.Schema, c.Memory, c.BlockRows, c.Folder = file.Schema, memory, block, t.TempDir()
				if encoded(t, c) != want {
					t.Errorf("rows in memory, %d bytes of them and blocks of %d, are other rows than a file's", memory, block)
				}
				file.Memory, file.BlockRows, file.Folder = memory, block, c.Folder
				if encoded(t, file) != want {
					t.Errorf("a file's rows, %d bytes in memory and blocks of %d, are other rows", memory, block)
				}
			}
		}
	}
}

// TestRecordsAreTheirCells: numbers and texts of a caller's own type give the same encoded rows as
// cells with the same text. NaN is missing, and markers of missing values apply.
func TestRecordsAreTheirCells(t *testing.T) {
	type person struct {
		age float64
		job string
		ill bool
	}
	people := []person{
		{31.25, "nurse", false}, {math.Nextafter(77, 78), "clerk", true}, {math.NaN(), "sailor", true},
		{math.Inf(1), "", true},
		{-1e300, "nurse", false}, {math.SmallestNonzeroFloat64, "clerk", true}, {-99, "nurse", true}, {1e21, "clerk", false},
	}
	cells := [][]string{
		{"31.25", "nurse", "no"}, {"77.00000000000001", "clerk", "yes"}, {"", "sailor", "yes"}, {"Inf", "", "yes"},
		{"-1e300", "nurse", "no"}, {"5e-324", "clerk", "yes"}, {"-99", "nurse", "yes"}, {"1e+21", "clerk", "no"},
	}
	rows := curator.RowsOf(people,
		curator.Number("age", func(p person) float64 { return p.age }),
		curator.Text("job", func(p person) string { return p.job }),
		curator.Text("ill", func(p person) string { return map[bool]string{false: "no", true: "yes"}[p.ill] }),
	)
	i := 0
	for c := range rows.Cells {
		if x, err := strconv.ParseFloat(c[0], 64); err != nil ||
			math.Float64bits(x) != math.Float64bits(people[i].age) && x == x {
			t.Errorf("%v is written as %q", people[i].age, c[0])
		}
		i++
	}
	for _, missing := range []string{"", "missing: [\"-99\"]\n"} {
		a, b := held(t, rows), held(t, rowsOf([]string{"age", "job", "ill"}, cells))
		a.Schema = schema(t, peopleSchema+missing)
		b.Schema = a.Schema
		if got, want := encoded(t, a), encoded(t, b); got != want {
			t.Errorf("%q: records are\n%swant\n%s", missing, got, want)
		}
	}
}

// TestRowsAreCopied: after a session is open, nothing that a caller does with its own data changes
// an answer or the number of records.
func TestRowsAreCopied(t *testing.T) {
	header := []string{"age", "job", "ill"}
	cells := [][]string{{"31.25", "nurse", "no"}, {"77.125", "clerk", "yes"}, {"12.5", "sailor", "no"}}
	var late func([]string, error) bool
	rows := &curator.Rows{Header: header, Cells: func(yield func([]string, error) bool) {
		late = yield
		for _, c := range cells {
			header[0] = "another"
			yield(c, nil)
		}
	}}
	c := held(t, rows)
	s, err := curator.Read(context.Background(), c, 100)
	if err != nil {
		t.Fatal(err)
	}
	show := func() string {
		var b row.Block
		if err := s.Reader().Rows(&b, []int32{0, 1, 2}); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(s.Len(), b)
	}
	before := show()
	for _, c := range cells {
		clear(c)
	}
	rows.Header, rows.Cells = nil, nil
	if late([]string{"99", "nurse", "yes"}, nil) {
		t.Error("a row is taken once the session is open")
	}
	if after := show(); after != before {
		t.Errorf("%s: was %s", after, before)
	}
	if want := encoded(t, config(t, write(t, "people.csv", people))); strings.Count(want, "\n") != s.Len() {
		t.Errorf("%d rows", s.Len())
	}
}

// TestRowsOfManyGoroutines yields from several goroutines at once. The documentation forbids it,
// and it must not damage the table: rows are added one at a time.
func TestRowsOfManyGoroutines(t *testing.T) {
	const each = 300
	c := held(t, &curator.Rows{Header: []string{"age", "job", "ill"}, Cells: func(yield func([]string, error) bool) {
		done := make(chan bool)
		for range 4 {
			go func() {
				for range each {
					yield([]string{"50", "nurse", "no"}, nil)
				}
				done <- true
			}()
		}
		for range 4 {
			<-done
		}
	}})
	lines := strings.Split(strings.TrimSpace(encoded(t, c)), "\n")
	if len(lines) != 4*each || len(slices.Compact(lines)) != 1 {
		t.Errorf("%d rows of %d kinds", len(lines), len(slices.Compact(lines)))
	}
}

// TestFolderIsUsedAndLeftEmpty: rows that do not fit in memory go to the folder. No file is left
// there by a session that is closed, by one that was never opened, or, where the system allows it,
// while a session is open.
func TestFolderIsUsedAndLeftEmpty(t *testing.T) {
	empty := func(dir string) {
		t.Helper()
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%d files are left: %v", len(left), err)
		}
	}
	c := config(t, write(t, "people.csv", people))
	c.Memory, c.Folder = 1, t.TempDir()
	s := must[*curator.Session](t)(curator.Open(context.Background(), c))
	must[any](t)(nil, s.Close())
	empty(c.Folder)
	failing := held(t, rowsOf(nil, nil))
	for _, end := range []func() error{func() error { return os.ErrInvalid }, func() error { panic("a record") }} {
		failing.Rows = &curator.Rows{Header: []string{"age", "job", "ill"}, Cells: func(yield func([]string, error) bool) {
			for range 100 {
				yield([]string{"50", "nurse", "no"}, nil)
			}
			yield(nil, end())
		}}
		failing.Memory, failing.Folder = 1, t.TempDir()
		if _, err := curator.Open(context.Background(), failing); err == nil {
			t.Error("opened over rows that failed")
		}
		empty(failing.Folder)
	}
	c.Declared = 7 // refused under replace-one, after the rows are read
	if _, err := curator.Open(context.Background(), c); err == nil {
		t.Error("opened with a declared number")
	}
	empty(c.Folder)
	c.Folder += "/nowhere"
	if _, err := curator.Open(context.Background(), c); err == nil ||
		!strings.HasPrefix(err.Error(), "row: private file: ") {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// TestNoRows: under add-or-remove a table may be empty, from rows as from a file.
func TestNoRows(t *testing.T) {
	b, err := account.NewBudget(1, 1e-6, account.AddOrRemove)
	if err != nil {
		t.Fatal(err)
	}
	c := held(t, rowsOf([]string{"age", "job", "ill"}, nil))
	c.Budget, c.Declared = b, 10
	s := must[*curator.Session](t)(curator.Open(context.Background(), c))
	must[any](t)(nil, s.Close())
}

var _ iter.Seq2[[]string, error] = curator.Rows{}.Cells
