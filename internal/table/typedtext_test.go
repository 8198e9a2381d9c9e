package table

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// textPieces are parts of lines that readers of text may confuse.
var textPieces = []string{"0", "1", "7", "-3", "0.5", "12.25", ".5", "5.", "-0", "+1", "1e3", "99", "-99", "9007199254740993",
	"0.8504421136977791", "0.00012345678901234567", "12345678901234567890", "nan", "inf", "0x10", "1_0", "", " ", "\t", " 2", "2 ", "a",
	"b", "é", "\u00a0", "\x85", "\xff", "2024-02-29", "2024-02-29T12:00:00", "NA", "yes", ",", ",", ",", ",", ",", ",", ";", ".", "-", "\r",
	"\n", "\r\n", "\"", "\"\"", "\"a,\"", "\"1\"", "\x00"}

// textLine returns a line of the given number of cells, of which one in thirty is of arbitrary pieces.
func textLine(r *rand.Rand, cells int, delimiter string) string {
	row := make([]string, cells)
	for i := range row {
		row[i] = []string{fmt.Sprintf("%.*f", r.IntN(19), r.NormFloat64()*10), fmt.Sprint(r.IntN(3)), "a", "2024-02-29"}[r.IntN(4)]
		for r.IntN(30) == 0 {
			row[i] += textPieces[r.IntN(len(textPieces))]
		}
	}
	return strings.Join(row, delimiter) + []string{"\n", "\r\n", "\n", "\n\n", "\r\r\n"}[min(4, r.IntN(40))]
}

// textSchemas are schemas of a table of the columns a to f.
func textSchemas(t testing.TB) (all []*dataset.Schema) {
	number := func(name string) dataset.Column {
		return dataset.Column{Name: name, Kind: dataset.Number, Low: -10, High: 10}
	}
	level := dataset.Column{Name: "d", Kind: dataset.Category, Categories: []string{"a", "b", "é", "7"}}
	date := dataset.Column{Name: "e", Kind: dataset.Date, Low: -10000, High: 40000, Indicator: true}
	log := dataset.Column{Name: "c", Kind: dataset.Number, High: 20, Transform: dataset.Log1p, Indicator: true}
	curve := dataset.Column{Name: "b", Kind: dataset.Number, Low: -10, High: 10, Curve: 5, Indicator: true}
	public := dataset.Column{Name: "e", Kind: dataset.Public, Values: []string{"1", "a"}}
	ignored := dataset.Column{Name: "f", Kind: dataset.Ignore}
	for _, d := range []dataset.Definition{
		{Columns: []dataset.Column{number("a"), number("b"), number("c"), number("d"), number("e")},
			Target: dataset.Target{Column: "f", Kind: dataset.Category, Classes: []string{"0", "1"}}},
		{Columns: []dataset.Column{number("a"), curve, log, level, date}, Missing: []string{"NA", "-99", "1", "0.50", "1e3"},
			Target: dataset.Target{Column: "f", Kind: dataset.Number, Low: -5, High: 5}},
		{Columns: []dataset.Column{curve, {Name: "c", Kind: dataset.Hash, Buckets: 8}, level, public, ignored}, Where: "e=1",
			Target: dataset.Target{Column: "a", Kind: dataset.Number, High: 3}},
		{Columns: []dataset.Column{log, level, date, ignored},
			Target: dataset.Target{Column: "a", Kind: dataset.Number, High: 3, Weight: "b"}},
	} {
		s, err := dataset.New(d)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// encodedText returns the bits of the rows of a text without a header row, in chunks of about size bytes, and how many of
// the rows were readings. If typed is false, all rows are read by Next.
func encodedText(t testing.TB, s *dataset.Schema, text, delimiter string, size int, typed bool) (rows [][]uint64, read int) {
	t.Helper()
	r, err := OpenStream(strings.NewReader(text), dataset.CSV{Header: strings.Split("abcdef", ""), Delimiter: delimiter})
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Bind(r.Header())
	if err != nil {
		t.Fatal(err)
	}
	if err := For(r, m); err != nil {
		t.Fatal(err)
	}
	r.open[0].content.(*csvFile).split.size = size
	x, codes := room(s)
	add := func(keep bool, level float32, y float64, ok bool) {
		rows = append(rows, nil)
		if keep {
			rows[len(rows)-1] = bitsOf(x, codes, level, y, ok)
		}
	}
	for {
		columns, n := [][]float64(nil), 0
		if typed {
			if columns, n, err = r.Readings(); err != nil {
				t.Fatal(err)
			}
		}
		for i := range n {
			level, y, ok := m.EncodeReadings(x, codes, columns, i)
			add(m.KeepReadings(columns, i), level, y, ok)
		}
		if read += n; n > 0 {
			continue
		}
		cells, more, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return append(rows, []uint64{uint64(r.Unclosed())}), read
		}
		level, y, ok := m.EncodeCoded(x, codes, cells)
		add(m.Keep(cells), level, y, ok)
	}
}

func sameText(t testing.TB, s *dataset.Schema, text, delimiter string, size int) int {
	t.Helper()
	want, _ := encodedText(t, s, text, delimiter, size, false)
	got, read := encodedText(t, s, text, delimiter, size, true)
	if len(got) != len(want) {
		t.Fatalf("%q, chunks of %d bytes: %d rows, want %d", text, size, len(got), len(want))
	}
	for i := range got {
		if !slices.Equal(got[i], want[i]) {
			t.Fatalf("%q, chunks of %d bytes: row %d: %x, want %x", text, size, i, got[i], want[i])
		}
	}
	return read
}

// TestReadingsOfText tests that rows of text that are read as readings encode to the bits of the same rows that Next
// returns as cells, for cells and lines of all kinds, and that most rows are read as readings.
func TestReadingsOfText(t *testing.T) {
	r := rand.New(rand.NewPCG(52, 6))
	schemas := textSchemas(t)
	tables := 1000
	if testing.Short() {
		tables = 300
	}
	rows, read := 0, map[string]int{}
	for range tables {
		delimiter := []string{",", ",", ";", "tab", " ", ".", "-", "+"}[r.IntN(8)]
		mark := strings.Replace(delimiter, "tab", "\t", 1)
		var text strings.Builder
		for range r.IntN(40) {
			text.WriteString(textLine(r, 6+r.IntN(40)/38-r.IntN(40)/38, mark))
			rows++
		}
		whole := text.String()
		if r.IntN(2) == 0 {
			whole = strings.TrimSuffix(whole, "\n")
		}
		read[delimiter] += sameText(t, schemas[r.IntN(len(schemas))], whole, delimiter, []int{1, 64, 300, chunkSize}[r.IntN(4)])
	}
	for n := range len("1,2,3,4,5,1,7") { // texts that end within a row
		for _, s := range schemas {
			sameText(t, s, "1,2,3,4,5,1\n"+"1,2,3,4,5,1,7"[:n], ",", chunkSize)
		}
	}
	all := 0
	for delimiter, n := range read {
		if all += n; strings.Contains(".+-", delimiter) != (n == 0) {
			t.Errorf("delimiter %q: %d rows were readings", delimiter, n)
		}
	}
	if all < rows/4 {
		t.Errorf("%d of %d rows were readings", all, rows)
	}
}

// TestReadingsOfManyRows tests that more rows than one call of Readings returns keep their order, in narrow and in wide
// tables, and that memory of chunks is used again without a trace of other rows.
func TestReadingsOfManyRows(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 52))
	var text strings.Builder
	for range 4 * textRows {
		text.WriteString(textLine(r, 6, ","))
	}
	for _, s := range textSchemas(t) {
		sameText(t, s, text.String(), ",", 3*textRows)
		sameText(t, s, text.String(), ",", chunkSize)
	}
	columns := make([]string, textValues+1)
	cells := make([]bool, len(columns))
	if got := newTextReader(',', cells, func(int) Column { return &dataset.ColumnMap{} }).rows; got != 1 {
		t.Errorf("%d rows of a table of %d columns", got, len(columns))
	}
}

// FuzzText tests that any text encodes to the same rows by readings and by cells.
func FuzzText(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 6))
	for i := range 8 {
		f.Add(textLine(r, 6, ",")+textLine(r, 6, ",")+strings.Join(textPieces, ","), uint8(i), uint8(7*i))
	}
	schemas := textSchemas(f)
	f.Fuzz(func(t *testing.T, text string, schema, size uint8) {
		sameText(t, schemas[int(schema)%len(schemas)], text, []string{",", ";", "tab", " "}[schema/4%4], 1+int(size))
	})
}

// BenchmarkText reads and encodes rows of 20 numbers of four digits, and of sixteen.
func BenchmarkText(b *testing.B) {
	d := dataset.Definition{Target: dataset.Target{Column: "y", Kind: dataset.Category, Classes: []string{"0", "1"}}}
	for i := range 20 {
		d.Columns = append(d.Columns, dataset.Column{Name: fmt.Sprint("x", i), Kind: dataset.Number, High: 1})
	}
	s, err := dataset.New(d)
	if err != nil {
		b.Fatal(err)
	}
	for _, digits := range []int{4, 16} {
		r := rand.New(rand.NewPCG(1, 1))
		var text strings.Builder
		header := make([]string, 21)
		for i := range 20 {
			header[i] = fmt.Sprint("x", i)
		}
		header[20] = "y"
		text.WriteString(strings.Join(header, ",") + "\n")
		for range 10_000 {
			for range 20 {
				fmt.Fprintf(&text, "%.*f,", digits, r.Float64())
			}
			text.WriteString("1\n")
		}
		b.Run(fmt.Sprint(digits), func(b *testing.B) {
			b.SetBytes(int64(text.Len()))
			for b.Loop() {
				reader, err := OpenStream(strings.NewReader(text.String()), dataset.CSV{})
				if err != nil {
					b.Fatal(err)
				}
				m, err := s.Bind(reader.Header())
				if err != nil {
					b.Fatal(err)
				}
				if err := For(reader, m); err != nil {
					b.Fatal(err)
				}
				x, codes := room(s)
				for {
					c, err := reader.Chunk()
					if err == io.EOF {
						break
					}
					columns, n, err := c.(Typed).Readings()
					for ; n > 0 && err == nil; columns, n, err = c.(Typed).Readings() {
						for i := range n {
							m.EncodeReadings(x, codes, columns, i)
						}
					}
				}
			}
		})
	}
}
