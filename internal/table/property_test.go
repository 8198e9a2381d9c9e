package table

import (
	"bytes"
	"encoding/csv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// TestReadsWhatIsWritten tests that a table from a correct writer is read unchanged, for any cells, except
// that the reader drops leading white space, which the row map ignores.
func TestReadsWhatIsWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	rapid.Check(t, func(t *rapid.T) {
		cell := rapid.Map(rapid.String(), func(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "\r", "")) })
		rows := rapid.SliceOfN(rapid.SliceOfN(cell, 3, 3), 0, 5).Draw(t, "rows")
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		w.UseCRLF = rapid.Bool().Draw(t, "crlf")
		w.Write([]string{"a", "b", "c"})
		w.WriteAll(rows)
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		_, got, err := drain(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(rows)+len(got) > 0 && !cmp.Equal(rows, got) {
			t.Fatal(cmp.Diff(rows, got))
		}
	})
}

// TestRowsAreLocal tests that replacing one line of a table without quotes replaces one row.
func TestRowsAreLocal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	schema, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{{Name: "a", Kind: dataset.Number, High: 1},
			{Name: "b", Kind: dataset.Category, Categories: []string{"x", "y"}}},
		Target: dataset.Target{Column: "c", Kind: dataset.Number, High: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	encode := func(t *rapid.T, lines []string) (rows [][]float32) {
		if err := os.WriteFile(path, []byte("a,b,c\n"+strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
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
		for {
			cells, ok, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				return rows
			}
			row := make([]float32, m.Dim()+1)
			target, _ := m.Encode(row, cells)
			row[m.Dim()] = float32(target)
			rows = append(rows, row)
		}
	}
	line := rapid.OneOf(
		rapid.StringMatching(`(0?\.[0-9]{1,3}|[a-z ]{1,3}),(x|y|z|),[01]`),
		rapid.Map(rapid.String(), func(s string) string { return "," + strings.Map(dropQuotesAndBreaks, s) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(line, 1, 6).Draw(t, "lines")
		i := rapid.IntRange(0, len(lines)-1).Draw(t, "i")
		before := encode(t, lines)
		other := slices.Clone(lines)
		other[i] = line.Draw(t, "other")
		if rapid.Bool().Draw(t, "malformed") {
			other[i] += `x"` // a bare quote
		}
		after := encode(t, other)
		if len(before) != len(lines) || len(after) != len(lines) {
			t.Fatalf("%d lines: %d and %d rows", len(lines), len(before), len(after))
		}
		before[i] = after[i]
		if !cmp.Equal(before, after) {
			t.Fatal(cmp.Diff(before, after))
		}
	})
}

func dropQuotesAndBreaks(r rune) rune {
	if r == '"' || r == '\n' || r == '\r' {
		return -1
	}
	return r
}

func FuzzRead(f *testing.F) {
	people, err := os.ReadFile("testdata/people.csv")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(people)
	f.Add(zipped(f, string(people)))
	f.Add(zipped(f, string(people))[:40])
	f.Add([]byte("\xef\xbb\xbfa,b\r\n\"1,2\r\n"))
	f.Add([]byte("PAR1\x15"))
	f.Add([]byte(`{"`))
	f.Add([]byte("a,b\r1,2\r"))
	f.Add(bytes.Repeat([]byte("a,"), mostHeader))
	known := []string{
		"is empty:", "is a ", "is an ", "is JSON: ", "is compressed ", "is not UTF-8 ",
		"the header row is not ", "the header row, up to its newline, ", "the fields of the header row ",
		"lines must end in LF or CRLF:", "the file is damaged:",
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		err := readAll(content)
		if err == nil {
			return
		}
		rule, found := strings.CutPrefix(err.Error(), "table: t: ")
		if !found || !slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(rule, k) }) {
			t.Errorf("error %v", err)
		}
	})
}

func readAll(content []byte) error {
	f := &file{watch: watch{path: "t"}, text: true, closer: io.NopCloser(nil)}
	if err := f.read(bytes.NewReader(content), dataset.CSV{}); err != nil {
		return err
	}
	r := &Reader{header: f.names(), files: []watch{f.watch}, open: []*file{f}, next: 1}
	for {
		if _, ok, err := r.Next(); !ok {
			return err
		}
	}
}

// BenchmarkReadAndEncode reads and encodes 48,842 rows of 16 columns.
func BenchmarkReadAndEncode(b *testing.B) {
	var text strings.Builder
	var def dataset.Definition
	for i := range 15 {
		c := dataset.Column{Name: "c" + string(rune('a'+i)), Kind: dataset.Number, High: 100}
		if i%2 == 0 {
			c.Kind, c.Categories = dataset.Category, []string{"first", "second", "third"}
		}
		def.Columns = append(def.Columns, c)
		text.WriteString(c.Name + ",")
	}
	def.Target = dataset.Target{Column: "y", Kind: dataset.Category, Classes: []string{"0", "1"}}
	text.WriteString("y\n")
	for range 48_842 {
		text.WriteString(strings.Repeat("second,17,", 7) + "third,1\n")
	}
	schema, err := dataset.New(def)
	if err != nil {
		b.Fatal(err)
	}
	path := write(b, "t.csv.gz", zipped(b, text.String()))
	for b.Loop() {
		r, err := Open([]string{path}, dataset.CSV{})
		if err != nil {
			b.Fatal(err)
		}
		m, err := schema.Bind(r.Header())
		if err != nil {
			b.Fatal(err)
		}
		row := make([]float32, m.Dim())
		for {
			cells, ok, err := r.Next()
			if err != nil {
				b.Fatal(err)
			}
			if !ok {
				break
			}
			if _, ok := m.Encode(row, cells); !ok {
				b.Fatal("malformed row")
			}
		}
		r.Close()
	}
}

// FuzzChunks tests that, for any ends of chunks, the records of a text are the records that package
// encoding/csv reads.
func FuzzChunks(f *testing.F) {
	for _, text := range []string{"a,b\n1,2\n", "\"a\nb\",c\n\"\"\"\n\",x\"y\n", "\r\n\"a\"\r\n\"\r", "a\"\n\"b\nc",
		" \"a\", \"b\n"} {
		f.Add(text, uint8(3))
	}
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		if want, got := reference(t, text), split(text, 1+int(size), 1<<20, 1<<20); !cmp.Equal(want, got) {
			t.Error(cmp.Diff(want, got))
		}
	})
}
