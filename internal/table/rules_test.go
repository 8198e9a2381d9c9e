package table

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// TestSplitterIsTheRule tests the splitter on all short texts over a few characters. The records of
// its chunks must be the records that are parsed one by one from the whole text. In both cases a
// record that is too long is malformed and ends with the line that makes it too long.
func TestSplitterIsTheRule(t *testing.T) {
	const characters = "a,\"\n\r "
	longest := 5
	if testing.Short() {
		longest = 4
	}
	marks := dialect{',', '"'}
	show := func(cells []string, v verdict) string {
		if v == malformed {
			return "malformed"
		}
		return fmt.Sprintf("%q", cells)
	}
	rule := func(text string, most int) (rows []string) {
		for {
			r := records{dialect: marks, text: text, last: true, cells: 9, quoted: -1}
			r.skipEmpty()
			start := r.at
			if start == len(text) {
				return rows
			}
			cells, v := r.next()
			at := r.at
			if at-start > most {
				v = malformed
				line := strings.IndexByte(text[start+most:], '\n')
				if line < 0 {
					return append(rows, show(nil, v))
				}
				at = start + most + line + 1
			}
			rows, text = append(rows, show(cells, v)), text[at:]
		}
	}
	divided := func(text string, size, most int) (rows []string) {
		s := splitter{dialect: marks, src: strings.NewReader(text), size: size, most: most}
		for {
			c, err := s.next()
			if err == io.EOF {
				return rows
			}
			if err != nil || c.long {
				rows = append(rows, show(nil, malformed))
				continue
			}
			r := records{dialect: marks, text: c.text, last: c.last, cells: 9, quoted: -1}
			for cells, v := r.next(); v != over; cells, v = r.next() {
				rows = append(rows, show(cells, v))
			}
		}
	}
	var try func(text string)
	try = func(text string) {
		for _, most := range []int{2, 3, 5} {
			want := strings.Join(rule(text, most), " ")
			for size := 1; size <= most; size *= 2 {
				if got := strings.Join(divided(text, size, most), " "); got != want {
					t.Fatalf("%q, records of %d bytes, chunks of %d: %s, want %s", text, most, size, got, want)
				}
			}
		}
		for i := 0; i < len(characters) && len(text) < longest; i++ {
			try(text + characters[i:i+1])
		}
	}
	try("")
}

// TestLinesOfCRAlone tests that a file whose lines end in CR is refused by that rule, for any
// records.
func TestLinesOfCRAlone(t *testing.T) {
	for _, record := range []string{"1,2", "\"1,2", "1\"2", "1,\x00", "1,\xe9", strings.Repeat("1", 2*mostHeader), "1;2"} {
		for _, header := range []string{"a,b", "a," + strings.Repeat("b", 2*bufferSize)} {
			path := write(t, "t.csv", []byte(header+"\r3,4\r"+record+"\r5,6\r"))
			if _, _, err := drain(path); err == nil || err.Error() != "table: "+path+": "+ruleCR {
				t.Errorf("%.5q, %.20q: %.200v", header, record, err)
			}
		}
	}
}

// TestFormsOfOneTable tests a table of a text file and a Parquet file, in either order. Numbers of
// the text file are read in the declared dialect; numbers of the Parquet file are not changed.
func TestFormsOfOneTable(t *testing.T) {
	p := write(t, "p.parquet", parquetOf(t, []struct {
		X float64 `parquet:"x"`
		Y string  `parquet:"y"`
	}{{1.5, "a"}}))
	c := write(t, "c.csv", []byte("x;y\n3,5;b\n"))
	s, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{{Name: "x", Kind: dataset.Number, High: 10}},
		Target:  dataset.Target{Column: "y", Kind: dataset.Category, Classes: []string{"a", "b"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for want, paths := range map[string][]string{"1.5 3.5 ": {p, c}, "3.5 1.5 ": {c, p}} {
		got := ""
		for _, cells := range asGiven(t, paths, dataset.CSV{Delimiter: ";", Decimal: ","}, s) {
			got += cells[0] + " "
		}
		if got != want {
			t.Errorf("%v: %q, want %q", paths, got, want)
		}
	}
}
