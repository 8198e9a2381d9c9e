package table

import (
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	writer "github.com/parquet-go/parquet-go"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// TestReadingsOfOtherWriters tests that typed values encode to the same rows, to the bit, as the
// same table in CSV. It tests each column of each fixture in each use, with some of its texts as
// missing markers. One fixture has dictionaries that end within a column.
func TestReadingsOfOtherWriters(t *testing.T) {
	const folder = "testdata/parquet"
	expected := columnsOf(t, filepath.Join(folder, "expected.csv"))
	paths, err := filepath.Glob(filepath.Join(folder, "*.parquet"))
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d files, error %v", len(paths), err)
	}
	uses := 0
	for i, path := range paths {
		if testing.Short() && i%3 != 0 && !strings.Contains(path, "overflow") && !strings.Contains(path, "groups-of-7") {
			continue
		}
		uses += sameReadings(t, path, expected)
	}
	if uses == 0 {
		t.Error("no column was compared")
	}
}

// TestReadings tests that typed values of Parquet files encode to the same rows, to the bit, as the
// same table in CSV, for numbers of any size and for rare types.
func TestReadings(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 29))
	rows := make([]kinds, 200)
	pick := func(v ...int64) int64 { return v[r.IntN(len(v))] }
	for i := range rows {
		k := &rows[i]
		k.Yes = r.IntN(2) == 0
		k.Small = int32(pick(0, -1, 7, math.MinInt32, math.MaxInt32, int64(r.Int32()), r.Int64N(2000)-1000))
		k.Large = pick(0, 1<<53, 1<<53+1, -1<<53-1, math.MinInt64, math.MaxInt64, r.Int64(), r.Int64N(2000)-1000)
		k.Count, k.Whole = uint32(k.Small), uint64(k.Large)
		k.Half = float32(math.Round(r.NormFloat64()*1e4) / tens[r.IntN(6)])
		k.Real = math.Round(r.NormFloat64()*1e4) / tens[r.IntN(6)]
		switch r.IntN(9) {
		case 0:
			k.Half, k.Real = math.Float32frombits(r.Uint32()), math.Float64frombits(r.Uint64())
		case 1:
			special := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1e21, 1e-7, 5e-324,
				math.MaxFloat64}
			k.Real = special[r.IntN(len(special))]
			k.Half = float32(k.Real)
		}
		if word := []string{"a", " a ", "b", "", "7", "2024-02-29", "NaN"}[r.IntN(7)]; r.IntN(4) > 0 {
			k.Word = &word
		}
		k.Bytes = []byte([]string{"12.5", "-3", "x", "+Inf"}[r.IntN(4)])
		k.Money, k.Coins = k.Large, k.Small
		k.Day = int32(pick(0, -1, -719162, -719163, 2932896, 2932897, math.MinInt32, math.MaxInt32, r.Int64N(40000)))
		k.At = time.Unix(pick(0, -1, 1, -86400, r.Int64N(4e9)-2e9, -62135596800, -62135596801, 253402300800),
			pick(0, 0, 1000, 999999000)).UTC()
		if v := k.Real; r.IntN(3) > 0 {
			k.Maybe = &v
		}
	}
	var plain string
	for name, options := range map[string][]writer.WriterOption{
		"one page": nil, "pages": {writer.PageBufferSize(300)}, "groups": {writer.MaxRowsPerRowGroup(70)},
		"older": {writer.DataPageVersion(1), writer.PageBufferSize(2000)},
	} {
		path := write(t, "t.parquet", parquetOf(t, rows, options...))
		if plain == "" {
			plain = path
		}
		header, cells, err := drain(plain)
		if err != nil {
			t.Fatal(err)
		}
		expected := map[string][]string{}
		for _, row := range cells {
			for i, name := range header {
				expected[name] = append(expected[name], row[i])
			}
		}
		if sameReadings(t, path, expected) == 0 {
			t.Errorf("%s: no column was compared", name)
		}
	}
}

// TestReadingsWithinMemory tests that a smaller memory limit changes no reading, and that each
// reading is the one of its row's text, also if a dictionary has more entries than a batch has
// rows.
func TestReadingsWithinMemory(t *testing.T) {
	type row struct {
		A float64  `parquet:"a"`
		B *float64 `parquet:"b,optional,dict"`
		C int64    `parquet:"c,dict"`
		D int64    `parquet:"d,dict"`
		Y float32  `parquet:"y"`
	}
	rows := make([]row, 40_000)
	for i := range rows {
		few := float64(i % 5)
		rows[i] = row{float64(i), &few, int64(i * 7919 % 5000), int64(i * 31 % 4000), float32(i) / 8}
		if i%7 == 0 {
			rows[i].B = nil
		}
	}
	path := write(t, "t.parquet", parquetOf(t, rows, writer.PageBufferSize(150_000), writer.Compression(&writer.Snappy)))
	s := schemaOf(t, []dataset.Column{{Name: "a", Kind: dataset.Number, High: 40_000}, {Name: "b", Kind: dataset.Number,
		High: 5}, {Name: "c", Kind: dataset.Number, High: 5000}, {Name: "d", Kind: dataset.Number, High: 4000}},
		dataset.Target{Column: "y", Kind: dataset.Number, High: 5000}, nil)
	want, _ := encodedReadings(t, path, s, 0)
	got, _ := encodedReadings(t, path, s, 1)
	if len(want) != len(rows) || len(got) != len(rows) {
		t.Fatalf("%d and %d rows", len(want), len(got))
	}
	header, cells, err := drain(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Bind(header)
	if err != nil {
		t.Fatal(err)
	}
	x, codes := room(s)
	for i := range rows {
		level, y, ok := m.EncodeCoded(x, codes, cells[i])
		if text := bitsOf(x, codes, level, y, ok); !slices.Equal(got[i], text) || !slices.Equal(want[i], text) {
			t.Fatalf("row %d: %x and, within memory, %x: want %x", i, want[i], got[i], text)
		}
	}
}

// sameReadings compares the rows that a file encodes to with the rows of the expected cells, for
// every column in every use. It returns the number of uses.
func sameReadings(t *testing.T, path string, expected map[string][]string) (uses int) {
	r, err := Open([]string{path}, dataset.CSV{})
	if err != nil {
		t.Fatal(err)
	}
	header := r.Header()
	r.Close()
	if len(header) < 3 {
		return 0
	}
	for _, name := range header {
		var texts []string // up to 9 distinct texts of the column
		for _, cell := range expected[name] {
			if cell = strings.TrimSpace(cell); cell != "" && !slices.Contains(texts, cell) &&
				!strings.ContainsAny(cell, "\n\r\t\x00") {
				texts = append(texts, cell)
			}
			if len(texts) == 9 {
				break
			}
		}
		for use, of := range useOf {
			markers := texts[:min(3, len(texts))]
			c, target := of(name, texts[len(markers):])
			if c.Kind == dataset.Category && len(c.Categories) == 0 || len(target.Classes) == 1 {
				continue
			}
			other, feature := others(header, name, expected)
			switch target.Column {
			case "":
				target = dataset.Target{Column: other, Kind: dataset.Number, Low: -1000, High: 1000}
			case "another":
				target.Column = other
			}
			var columns []dataset.Column
			for _, h := range header {
				switch {
				case h == name && c.Name != "":
					columns = append(columns, c)
				case h == target.Column || h == target.Weight || h == target.Exposure.Column:
				case h == feature:
					columns = append(columns, dataset.Column{Name: h, Kind: dataset.Number, Low: -10, High: 10})
				default:
					columns = append(columns, dataset.Column{Name: h, Kind: dataset.Ignore})
				}
			}
			s := schemaOf(t, columns, target, markers)
			if c.Kind == dataset.Public && len(c.Values) > 0 {
				if s, err = s.Where(name + "=" + c.Values[0]); err != nil {
					continue // the value cannot be written in a row filter
				}
			}
			uses++
			got, header := encodedReadings(t, path, s, 0)
			want := encodedCells(t, s, header, expected)
			if len(got) != len(want) {
				t.Fatalf("%s: column %q as %s: %d rows, want %d", filepath.Base(path), name, use, len(got), len(want))
			}
			for row := range got {
				if !slices.Equal(got[row], want[row]) {
					t.Fatalf("%s: column %q as %s: row %d, cell %q: %x, want %x", filepath.Base(path), name, use, row,
						expected[name][row], got[row], want[row])
				}
			}
		}
	}
	return uses
}

// others returns two other columns; the first is the one with the most numeric cells.
func others(header []string, name string, expected map[string][]string) (number, other string) {
	most := -1
	for _, h := range header {
		if h == name {
			continue
		}
		numbers := 0
		for _, cell := range expected[h] {
			if _, err := strconv.ParseFloat(cell, 64); err == nil {
				numbers++
			}
		}
		if other = h; numbers > most {
			most, number = numbers, h
		}
	}
	for _, h := range header {
		if h != name && h != number {
			other = h
		}
	}
	return number, other
}

// useOf maps each use to a function that returns the column declared for that use or, if its name
// is empty, the target.
var useOf = map[string]func(name string, texts []string) (dataset.Column, dataset.Target){
	"number": func(name string, _ []string) (dataset.Column, dataset.Target) {
		return dataset.Column{Name: name, Kind: dataset.Number, Low: -1e4, High: 1e4, Indicator: true}, dataset.Target{}
	},
	"log": func(name string, _ []string) (dataset.Column, dataset.Target) {
		return dataset.Column{Name: name, Kind: dataset.Number, High: 1e6, Transform: dataset.Log1p}, dataset.Target{}
	},
	"curve": func(name string, _ []string) (dataset.Column, dataset.Target) {
		return dataset.Column{Name: name, Kind: dataset.Number, Low: -10, High: 100, Curve: 5, Indicator: true},
			dataset.Target{}
	},
	"date": func(name string, _ []string) (dataset.Column, dataset.Target) {
		return dataset.Column{Name: name, Kind: dataset.Date, Low: -719162, High: 2932896, Indicator: true}, dataset.Target{}
	},
	"date to the second": func(name string, _ []string) (dataset.Column, dataset.Target) {
		return dataset.Column{Name: name, Kind: dataset.Date, Low: -10, High: 10}, dataset.Target{}
	},
	"date of a layout": func(name string, _ []string) (dataset.Column, dataset.Target) {
		return dataset.Column{Name: name, Kind: dataset.Date, Low: -10000, High: 40000, Layout: "%Y-%m-%d"}, dataset.Target{}
	},
	"category": func(name string, texts []string) (dataset.Column, dataset.Target) {
		return dataset.Column{Name: name, Kind: dataset.Category, Categories: texts}, dataset.Target{}
	},
	"hash": func(name string, _ []string) (dataset.Column, dataset.Target) {
		return dataset.Column{Name: name, Kind: dataset.Hash, Buckets: 64}, dataset.Target{}
	},
	"filter": func(name string, texts []string) (dataset.Column, dataset.Target) {
		if len(texts) == 0 {
			texts = []string{"none"}
		}
		return dataset.Column{Name: name, Kind: dataset.Public, Values: texts}, dataset.Target{}
	},
	"target": func(name string, _ []string) (dataset.Column, dataset.Target) {
		return dataset.Column{}, dataset.Target{Column: name, Kind: dataset.Number, Low: -100, High: 1e5}
	},
	"wide target": func(name string, _ []string) (dataset.Column, dataset.Target) {
		return dataset.Column{}, dataset.Target{Column: name, Kind: dataset.Number, High: 1e17}
	},
	"classes": func(name string, texts []string) (dataset.Column, dataset.Target) {
		classes := append(slices.Clone(texts), "no class", "none either")
		return dataset.Column{}, dataset.Target{Column: name, Kind: dataset.Category, Classes: classes}
	},
	"weight": func(name string, _ []string) (dataset.Column, dataset.Target) {
		return dataset.Column{}, dataset.Target{Column: "another", Kind: dataset.Number, High: 1e5, Weight: name}
	},
	"exposure": func(name string, _ []string) (dataset.Column, dataset.Target) {
		return dataset.Column{}, dataset.Target{Column: "another", Kind: dataset.Number, High: 1e5,
			Exposure: dataset.Exposure{Column: name, Low: .5, High: 1e3}}
	},
}

func schemaOf(t *testing.T, columns []dataset.Column, target dataset.Target, missing []string) *dataset.Schema {
	t.Helper()
	s, err := dataset.New(dataset.Definition{Columns: columns, Target: target, Missing: missing})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// encodedReadings returns the bits of a file's rows, and its header.
func encodedReadings(t *testing.T, path string, s *dataset.Schema, limit int64) (rows [][]uint64, header []string) {
	t.Helper()
	r, err := Open([]string{path}, dataset.CSV{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	m, err := s.Bind(r.Header())
	if err != nil {
		t.Fatal(err)
	}
	if err := For(r, m); err != nil {
		t.Fatal(err)
	}
	if limit > 0 {
		r.Limit(limit)
	}
	x, codes := room(s)
	for {
		c, err := r.Chunk()
		if err == io.EOF {
			return rows, r.Header()
		}
		if err != nil {
			t.Fatal(err)
		}
		for {
			columns, n, err := c.(Typed).Readings()
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				break
			}
			for i := range n {
				if !m.KeepReadings(columns, i) {
					rows = append(rows, nil)
					continue
				}
				level, y, ok := m.EncodeReadings(x, codes, columns, i)
				rows = append(rows, bitsOf(x, codes, level, y, ok))
			}
		}
	}
}

// encodedCells returns the bits of the rows that the cells of a table encode to, as encodedReadings
// does for a Parquet file.
func encodedCells(t *testing.T, s *dataset.Schema, header []string, expected map[string][]string) (rows [][]uint64) {
	t.Helper()
	m, err := s.Bind(header)
	if err != nil {
		t.Fatal(err)
	}
	x, codes := room(s)
	cells := make([]string, len(header))
	for row := range expected[header[0]] {
		for i, name := range header {
			cells[i] = expected[name][row]
		}
		if !m.Keep(cells) {
			rows = append(rows, nil)
			continue
		}
		level, y, ok := m.EncodeCoded(x, codes, cells)
		rows = append(rows, bitsOf(x, codes, level, y, ok))
	}
	return rows
}

func room(s *dataset.Schema) (x []float32, codes []uint32) {
	dense := s.Dim()
	for _, g := range s.Groups() {
		dense -= g.Width
	}
	for _, h := range s.Hats() {
		dense -= h.Width
	}
	return make([]float32, dense), make([]uint32, len(s.Groups()))
}

func bitsOf(x []float32, codes []uint32, level float32, y float64, ok bool) (bits []uint64) {
	for _, v := range x {
		bits = append(bits, uint64(math.Float32bits(v)))
	}
	for _, c := range codes {
		bits = append(bits, uint64(c))
	}
	bits = append(bits, uint64(math.Float32bits(level)), math.Float64bits(y))
	if !ok {
		bits = append(bits, 1)
	}
	return bits
}
