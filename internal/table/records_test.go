package table

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// bufferOf is the size of a buffer that is so small that records do not fit.
const bufferOf = 16

// split returns the records of a text, split in chunks of about the given size.
func split(text string, size, most, cells int) (all [][]string) {
	s := splitter{dialect: dialect{',', '"'}, src: strings.NewReader(text), size: size, most: most}
	for {
		c, err := s.next()
		if err != nil {
			return all
		}
		if c.long {
			all = append(all, nil)
			continue
		}
		r := records{dialect: s.dialect, text: c.text, last: c.last, cells: cells, quoted: -1}
		for v := whole; v != over; {
			var row []string
			switch row, v = r.next(); v {
			case whole:
				all = append(all, append([]string{}, row...))
			case malformed:
				all = append(all, nil)
			case cut:
				panic("a chunk ends within a record")
			}
		}
	}
}

// reference returns the records that package encoding/csv reads, nil for a malformed record.
func reference(t interface{ Fatal(...any) }, text string) (all [][]string) {
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord, r.TrimLeadingSpace = -1, true
	for {
		c, err := r.Read()
		switch {
		case err == io.EOF:
			return all
		case errors.As(err, new(*csv.ParseError)):
			c = nil
		case err != nil:
			t.Fatal(err)
		}
		all = append(all, c)
	}
}

// TestRecordsAreThoseOfEncodingCSV tests records against package encoding/csv, for any text.
func TestRecordsAreThoseOfEncodingCSV(t *testing.T) {
	// Quotes at every place of a cell, which random texts seldom contain.
	for _, text := range []string{"\"a\"\"b\",c\n", "\"\"\"\"\n", "\"\"\"a\",\"a\"\"\"\n", "\"\",\"\"\"\"\"\"\n",
		"a\"\"b\n", "\"a\"b\"\n"} {
		if diff := cmp.Diff(reference(t, text), split(text, bufferOf, 1<<20, 1<<20)); diff != "" {
			t.Errorf("%q (-csv +records):\n%s", text, diff)
		}
	}
	// Line ends within cells, wherever a chunk may end.
	for size := 1; size <= 24; size++ {
		text := "a,\"b\nc\"\n\"\n\n\",d\ne,\"\"\"\n\"\n"
		if diff := cmp.Diff(reference(t, text), split(text, size, 1<<20, 1<<20)); diff != "" {
			t.Errorf("%q in chunks of %d (-csv +records):\n%s", text, size, diff)
		}
	}
	piece := rapid.SampledFrom([]string{"a", "bc", "seventeen letters", "\"", "\"\"", ",", "\n", "\r\n", "\r", " ", "\t",
		"\u00a0", "\xff", "é", "\x00"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 40).Draw(t, "text"), "")
		size := rapid.IntRange(1, 60).Draw(t, "size")
		if diff := cmp.Diff(reference(t, text), split(text, size, 1<<20, 1<<20)); diff != "" {
			t.Fatalf("%q (-csv +records):\n%s", text, diff)
		}
	})
}

// TestLongRecords tests that only a record's own bytes decide whether it is too long: the records
// before it have no effect, and the lines after it are read as usual.
func TestLongRecords(t *testing.T) {
	const most = 60
	for size := most - 2; size <= most+2; size++ {
		for shift := range 3 * bufferOf {
			for name, record := range map[string]string{
				"plain":   strings.Repeat("x", size-3) + ",y\n",
				"quoted":  `"` + strings.Repeat("x", size-3) + "\"\n",
				"lines":   `"` + strings.Repeat("x", size-43) + "\n" + strings.Repeat("x", 39) + "\"\n",
				"cells":   strings.Repeat(",", size-1) + "\n",
				"returns": strings.Repeat("x", size-2) + "\r\n",
			} {
				text := strings.Repeat("s", shift) + "\n\n" + record + "1,2\n"
				want := reference(t, text)
				if size > most {
					want[len(want)-2] = nil
				}
				if diff := cmp.Diff(want, split(text, bufferOf, most, 1<<20)); diff != "" {
					t.Fatalf("%s of %d bytes after %d (-want +got):\n%s", name, size, shift, diff)
				}
			}
		}
	}
}

// repeated is a text generated while it is read.
type repeated struct {
	unit string
	left int
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.unit)
	r.left--
	return n, nil
}

// TestMemoryIsThatOfOneRecord tests that texts of 128 MiB without an end of line, of a record or of
// a cell are read in the memory of one record, and that the records after them are found.
func TestMemoryIsThatOfOneRecord(t *testing.T) {
	const most = 1 << 20
	for name, start := range map[string]string{"a line": "", "a quote": `"`, "cells": "a,b,"} {
		unit := strings.Repeat("z", 1<<16)
		if name == "cells" {
			unit = strings.Repeat(",", 1<<16)
		}
		text := io.MultiReader(strings.NewReader(start), &repeated{unit, 1 << 11}, strings.NewReader("\n1,2\n"))
		f := csvFile{split: splitter{dialect: dialect{',', '"'}, src: text, size: bufferSize, most: most},
			header: []string{"a", "b"}}
		c, err := f.chunk()
		if err != nil {
			t.Fatal(err)
		}
		if cells, ok, err := c.Next(); err != nil || !ok || cells != nil {
			t.Errorf("%s: %q, %v, %v: must be a malformed row", name, cells, ok, err)
		}
		if c, err = f.chunk(); err != nil {
			t.Fatal(err)
		}
		if cells, _, err := c.Next(); err != nil || len(cells) != 2 || cells[1] != "2" {
			t.Errorf("%s: then %q, %v", name, cells, err)
		}
		if held := cap(f.split.held); held > 2*most {
			t.Errorf("%s: %d bytes are held: must be below %d", name, held, 2*most)
		}
	}
}

// TestLongRecordIsAMalformedRow tests that a record which is too long is a malformed row.
func TestLongRecordIsAMalformedRow(t *testing.T) {
	for _, long := range []string{strings.Repeat("x", 2*mostRecord) + ",y", `"` + strings.Repeat("x", mostRecord),
		strings.Repeat("x,", mostRecord/2) + "y"} {
		_, rows, err := drain(write(t, "t.csv", []byte("a,b\n1,2\n"+long+"\n3,4\n")))
		if diff := cmp.Diff([][]string{{"1", "2"}, nil, {"3", "4"}}, rows); err != nil || diff != "" {
			t.Errorf("error %v, rows (-want +got):\n%.1000s", err, diff)
		}
	}
	// Cells after the first surplus cell are not kept.
	_, rows, err := drain(write(t, "t.csv", []byte("a,b\n1,2,3,4,5\n")))
	if diff := cmp.Diff([][]string{{"1", "2", "3"}}, rows); err != nil || diff != "" {
		t.Errorf("error %v, rows (-want +got):\n%s", err, diff)
	}
}

// TestLongHeader tests that a header without an end gives an error that names the rule.
func TestLongHeader(t *testing.T) {
	for _, start := range []string{"", `"`} {
		text := start + strings.Repeat("x,", mostHeader)
		for _, gz := range []bool{false, true} {
			content := []byte(text + "\n1,2\n")
			if gz {
				content = zipped(t, text)
			}
			path := write(t, "t.csv", content)
			_, err := Open([]string{path}, dataset.CSV{})
			if want := fmt.Sprintf("table: %s: the header row, up to its newline, is longer than %d bytes", path,
				mostHeader); err == nil || err.Error() != want {
				t.Errorf("%q: error %.200v", start, err)
			}
		}
	}
}

// TestUnclosed tests that a quote that is still open at the end of a file is counted, once for each file, in files of
// any size and with numbers that are rewritten, and that closed quotes are not.
func TestUnclosed(t *testing.T) {
	many := strings.Repeat("1,2\n", 100_000)
	for text, want := range map[string]int{
		"a,b\n1,2\n": 0, "a,b\n1,\"2\"\n": 0, "a,b\n\"1\n\",2": 0, "a,b\n1,2\"\n": 0, "a,b\n1,\"2\"\"\"": 0,
		"a,b\n1,\"2\n3,4\n": 1, "a,b\n1,2\n\"": 1, "a,b\n1,\"2\"\"": 1,
		"a,b\n" + many + "1,\"2\n" + many: 1, "a,b\n" + many + "1,\"2\"\n" + many: 0,
		"a,b\n" + strings.Repeat("1,2\n", 5) + "\"1" + strings.Repeat(many, mostRecord/len(many)+1): 1,
	} {
		path := write(t, "t.csv", []byte(text))
		for n, paths := range map[int][]string{1: {path}, 2: {path, write(t, "u.csv", []byte(text))}} {
			for _, as := range []dataset.CSV{{}, {Thousands: "'"}} {
				r, err := Open(paths, as)
				if err != nil {
					t.Fatal(err)
				}
				r.spell = nil
				if as.Thousands != "" {
					r.spell = func([]string) {}
				}
				for ok := true; ok; {
					if _, ok, err = r.Next(); err != nil {
						t.Fatal(err)
					}
				}
				if r.Unclosed() != n*want {
					t.Errorf("%.40q, %d files: %d quotes are not closed, want %d", text, n, r.Unclosed(), n*want)
				}
				r.Close()
			}
		}
	}
}
