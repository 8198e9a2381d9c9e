package table

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/charmap"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// TestDialects tests that texts are read in the declared dialect.
func TestDialects(t *testing.T) {
	latin, err := charmap.Windows1252.NewEncoder().String("näme,€\nä,ß\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, content string
		as            dataset.CSV
		header        []string
		rows          [][]string
	}{
		{"semicolons", "a;b\n1,5;\"x;y\"\n", dataset.CSV{Delimiter: ";"}, []string{"a", "b"}, [][]string{{"1,5", "x;y"}}},
		{"tabs, of which none is dropped", "a\tb\tc\n\t\t3\n \"q\"\t\t\n", dataset.CSV{Delimiter: "tab"},
			[]string{"a", "b", "c"}, [][]string{{"", "", "3"}, {"q", "", ""}}},
		{"a tab as it is", "a\tb\n1\t2\n", dataset.CSV{Delimiter: "\t"}, []string{"a", "b"}, [][]string{{"1", "2"}}},
		{"blanks", "a b\n1 2\n", dataset.CSV{Delimiter: " "}, []string{"a", "b"}, [][]string{{"1", "2"}}},
		{"single quotes", "a,b\n'1,\"2',3\n", dataset.CSV{Quote: "'"}, []string{"a", "b"}, [][]string{{"1,\"2", "3"}}},
		{"no quotes", "a,b\n\"1,2\n3\",\"\"\n", dataset.CSV{Quote: "none"}, []string{"a", "b"},
			[][]string{{"\"1", "2"}, {"3\"", "\"\""}}},
		{"no header row", "1,2\n3,4\n", dataset.CSV{Header: []string{"a", "b"}}, []string{"a", "b"},
			[][]string{{"1", "2"}, {"3", "4"}}},
		{"no header row, no rows", "", dataset.CSV{Header: []string{"a", "b"}}, []string{"a", "b"}, nil},
		{"windows-1252", latin, dataset.CSV{Encoding: "windows-1252"}, []string{"näme", "€"}, [][]string{{"ä", "ß"}}},
		{"latin-1", "a,b\n\xe9,\xff\n", dataset.CSV{Encoding: "latin-1"}, []string{"a", "b"}, [][]string{{"é", "ÿ"}}},
		{"utf-16 with a mark", string(utf16(t, "utf-16be", "\ufeffa,b\n1,2\n")), dataset.CSV{Encoding: "utf-16"},
			[]string{"a", "b"}, [][]string{{"1", "2"}}},
		{"utf-16 without one", string(utf16(t, "utf-16le", "a,b\n1,2\n")), dataset.CSV{Encoding: "utf-16le"},
			[]string{"a", "b"}, [][]string{{"1", "2"}}},
		{"utf-16be without one", string(utf16(t, "utf-16be", "a,b\n1,é\n")), dataset.CSV{Encoding: "utf-16be"},
			[]string{"a", "b"}, [][]string{{"1", "é"}}},
		{"utf-16 with the other mark", string(utf16(t, "utf-16le", "\ufeffa,b\n1,é\n")), dataset.CSV{Encoding: "utf-16"},
			[]string{"a", "b"}, [][]string{{"1", "é"}}},
		{"a mark of utf-16be alone", string(utf16(t, "utf-16be", "\ufeffa,b\n1,é\n")), dataset.CSV{}, []string{"a", "b"}, [][]string{{"1", "é"}}},
		{"a mark of utf-16le alone", string(utf16(t, "utf-16le", "\ufeffa,b\n1,é\n")), dataset.CSV{}, []string{"a", "b"}, [][]string{{"1", "é"}}},
		{"utf-16, half a pair", string(utf16(t, "utf-16le", "a,b\n1,2\n")) + "\x00\xd8,\x003\x00\n\x00",
			dataset.CSV{Encoding: "utf-16le"}, []string{"a", "b"}, [][]string{{"1", "2"}, {"\ufffd", "3"}}},
	} {
		header, rows, err := drainAs(test.as, write(t, "t.csv", []byte(test.content)))
		if diff := cmp.Diff([][][]string{{test.header}, test.rows}, [][][]string{{header}, rows}); err != nil || diff != "" {
			t.Errorf("%s: error %v (-want +got):\n%s", test.name, err, diff)
		}
	}
	path := write(t, "t.csv", []byte("a,b\n"))
	if _, err := Open([]string{path}, dataset.CSV{Encoding: "utf-16"}); err == nil ||
		err.Error() != "table: "+path+": has no byte order mark: say utf-16le or utf-16be, whichever it is" {
		t.Error(err)
	}
	if _, err := Open([]string{path}, dataset.CSV{Decimal: "x"}); err == nil {
		t.Error("a rule of csv is not looked at")
	}
}

// TestFirstRecordDecidesNothing tests tables without a header row, whose first row is a record:
// whatever the first record is, the other rows are the same and there is no error.
func TestFirstRecordDecidesNothing(t *testing.T) {
	as := dataset.CSV{Header: []string{"a", "b"}}
	for _, first := range []string{"1,2", "PAR1\x15,\x00", "\x1f\x8b\x08", "\x28\xb5\x2f\xfd\x04", "\xff\xfe",
		"\xfe\xffx,", "\xef\xbb\xbf1", "PK\x03\x04", "\x00", "a;b", "\r1", `"` + "\n" + `"x`} {
		_, rows, err := drainAs(as, write(t, "t.csv", []byte(first+"\n3,4\n")))
		if err != nil || len(rows) != 2 || !cmp.Equal(rows[1], []string{"3", "4"}) {
			t.Errorf("%q: %q, %v", first, rows, err)
		}
	}
	// The compression is recognised by the name only.
	for name, content := range map[string][]byte{"t.csv.gz": zipped(t, "1,2\n3,4\n"),
		"t.csv.zst": zstandard(t, "1,2\n3,4\n")} {
		_, rows, err := drainAs(as, write(t, name, content))
		if diff := cmp.Diff([][]string{{"1", "2"}, {"3", "4"}}, rows); err != nil || diff != "" {
			t.Errorf("%s: error %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// TestNumbersAreSpelledAlike tests that numbers of text files are rewritten to the form that the
// row map reads.
func TestNumbersAreSpelledAlike(t *testing.T) {
	schema, err := dataset.New(dataset.Definition{
		Columns: []dataset.Column{{Name: "a", Kind: dataset.Number, High: 1},
			{Name: "b", Kind: dataset.Category, Categories: []string{"1,5"}}},
		Target: dataset.Target{Column: "c", Kind: dataset.Number, High: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	as := dataset.CSV{Delimiter: ";", Decimal: ","}
	path := write(t, "t.csv", []byte("a;b;c\n0,5;1,5;0,25\n0.5;;x\n1;2;3;4\n\"x\"y\n"))
	parquet := write(t, "t.parquet", parquetOf(t, []struct {
		A float64 `parquet:"a"`
		B string  `parquet:"b"`
		C float64 `parquet:"c"`
	}{{.5, "1,5", .25}}))
	for _, test := range []struct{ path, want string }{
		{path, "0.5|1,5|0.25/no number: 0.5||x/1|2|3|4//"},
		{parquet, "0.5|1,5|0.25/"},
	} {
		got := ""
		for _, cells := range asGiven(t, []string{test.path}, as, schema) {
			got += strings.Join(cells, "|") + "/"
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.path, got, test.want)
		}
	}
}

// asGiven returns the rows of a table as a schema's map receives them.
func asGiven(t *testing.T, paths []string, as dataset.CSV, s *dataset.Schema) (rows [][]string) {
	t.Helper()
	r, err := Open(paths, as)
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
	for {
		cells, ok, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return rows
		}
		rows = append(rows, slices.Clone(cells))
	}
}
