package table

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// write writes a table to a new file.
func write(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func zipped(t testing.TB, plain string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstandard(t testing.TB, plain string) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll([]byte(plain), nil)
}

func utf16(t testing.TB, name, text string) []byte {
	t.Helper()
	encoder := littleEndian.NewEncoder()
	if name == "utf-16be" {
		encoder = bigEndian.NewEncoder()
	}
	b, err := encoder.Bytes([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// drain reads a table to its end. A malformed row is nil.
func drain(path string) (header []string, rows [][]string, err error) {
	return drainAs(dataset.CSV{}, path)
}

// drainAs reads a table in the given dialect to its end. A malformed row is nil.
func drainAs(as dataset.CSV, paths ...string) (header []string, rows [][]string, err error) {
	r, err := Open(paths, as)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	for {
		cells, ok, err := r.Next()
		if !ok {
			return r.Header(), rows, err
		}
		if cells != nil {
			cells = append([]string{}, cells...)
		}
		rows = append(rows, cells)
	}
}

func TestPeople(t *testing.T) {
	plain, err := os.ReadFile("testdata/people.csv")
	if err != nil {
		t.Fatal(err)
	}
	half := bytes.IndexByte(plain, '8')
	wantHeader := []string{"age", "workclass", "gain", "income", "split"}
	wantRows := [][]string{
		{"39", "State-gov", "2174", "0", "train"},
		{"50", "Self-emp, not inc", "0", "0", "train"},
		{"38", "Private", "0", "1", "test"},
		{"", "", "", "", ""},
	}
	for name, content := range map[string][]byte{
		"plain.csv":          plain,
		"named.csv.gz":       plain, // the content decides, not the name
		"bom.csv":            append([]byte("\xef\xbb\xbf"), plain...),
		"crlf.csv":           bytes.ReplaceAll(plain, []byte("\n"), []byte("\r\n")),
		"no last newline":    bytes.TrimSuffix(plain, []byte("\n")),
		"blank lines.csv":    bytes.ReplaceAll(plain, []byte("\n"), []byte("\n\n")),
		"zipped.gz":          zipped(t, string(plain)),
		"zstd.zst":           zstandard(t, string(plain)),
		"zstd, named .csv":   zstandard(t, string(plain)),
		"frames.zst":         append(zstandard(t, string(plain[:half])), zstandard(t, string(plain[half:]))...),
		"utf-16le.csv":       utf16(t, "utf-16le", "\ufeff"+string(plain)),
		"utf-16be.csv":       utf16(t, "utf-16be", "\ufeff"+string(plain)),
		"utf-16.csv.gz":      zipped(t, string(utf16(t, "utf-16le", "\ufeff"+string(plain)))),
		"zipped, named .csv": zipped(t, string(plain)),
		"zipped bom.gz":      zipped(t, "\xef\xbb\xbf"+string(plain)),
		"members.gz":         append(zipped(t, string(plain[:half])), zipped(t, string(plain[half:]))...),
		"spaces.csv":         bytes.ReplaceAll(plain, []byte(","), []byte(", ")),
	} {
		if name == "spaces.csv" {
			content = bytes.Replace(content, []byte("emp,  not"), []byte("emp, not"), 1)
		}
		header, rows, err := drain(write(t, name, content))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(wantHeader, header); diff != "" {
			t.Errorf("%s: header (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(wantRows, rows); diff != "" {
			t.Errorf("%s: rows (-want +got):\n%s", name, diff)
		}
	}
}

func TestMalformedRows(t *testing.T) {
	a, b := []string{"1", "2"}, []string{"3", "4"}
	for _, test := range []struct {
		name, rows string
		want       [][]string
	}{
		{"none", "", nil},
		{"bare quote", "1,2\n5,x\"y\n3,4\n", [][]string{a, nil, b}},
		{"text after a quote", "1,2\n\"5\"x,6\n3,4\n", [][]string{a, nil, b}},
		{"wrong numbers of cells", "1,2\n5\n5,6,7\n3,4\n", [][]string{a, {"5"}, {"5", "6", "7"}, b}},
		{"spaces only", "1,2\n  \n3,4\n", [][]string{a, {""}, b}},
		{"a field over two lines", "1,2\n\"5\n6\",7\n3,4\n", [][]string{a, {"5\n6", "7"}, b}},
		{"a quote that is not closed", "1,2\n5,\"6\n3,4\n3,4\n", [][]string{a, nil}},
		{"a quote closed by a later row's", "1,2\n5,\"6\n7,\"8\"\n3,4\n", [][]string{a, nil, b}},
		{"a quote at the very end", "1,2\n3,4\n\"", [][]string{a, b, nil}},
		{"not UTF-8", "1,2\n\xff,\x00\n3,4\n", [][]string{a, {"\xff", "\x00"}, b}},
	} {
		for _, gz := range []bool{false, true} {
			content := []byte("p,q\n" + test.rows)
			if gz {
				content = zipped(t, string(content))
			}
			_, rows, err := drain(write(t, "t.csv", content))
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
			if diff := cmp.Diff(test.want, rows); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.name, diff)
			}
		}
	}
}

func TestFaults(t *testing.T) {
	const only = ": only CSV, plain or compressed by gzip or zstd, and Parquet can be read (of text that is not UTF-8, csv: {encoding: ...} says what it is)"
	separated := func(by, yaml, flag string) string {
		return "the fields of the header row are separated by " + by + ": add the line csv: {delimiter: " + yaml +
			"} to the configuration, or say --delimiter=" + flag + " where there is none"
	}
	const damaged = "the file is damaged: it ends early or fails its checksum"
	good := zipped(t, "a,b\n1,2\n")
	changed := func(at int, content []byte) []byte {
		c := bytes.Clone(content)
		c[len(c)+at] ^= 1
		return c
	}
	for _, test := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"empty", nil, "is empty: a table starts with a header row"},
		{"blank", []byte("\n\n"), "is empty: a table starts with a header row"},
		{"mark only", []byte("\xef\xbb\xbf"), "is empty: a table starts with a header row"},
		{"empty.gz", zipped(t, ""), "is empty: a table starts with a header row"},
		{"parquet", []byte("PAR1\x15\x04\x15\x08\x00\x00PAR1"), damaged},
		{"parquet, short", []byte("PAR1\x15"), damaged},
		{"parquet, cut", []byte("PAR1\x15\x04\x15\x08\x00\x00\x00\x00\x00\x00"), damaged},
		{"parquet.gz", zipped(t, "PAR1\x15\x04\x15\x08\x00\x00PAR1"), "is a Parquet file within another" + only},
		{"xlsx", []byte("PK\x03\x04\x14\x00\x06\x00\x08\x00"), "is a zip archive or a spreadsheet" + only},
		{"cut.zst", zstandard(t, "a,b\n1,2\n")[:9], damaged},
		{"corrupt.zst", append(zstandard(t, "a,b\n1,2\n"), "more"...), damaged},
		{"twice.zst", zstandard(t, string(good)), "is compressed twice" + only},
		{"xz", []byte("\xfd7zXZ\x00\x00\x04"), "is compressed with xz" + only},
		{"twice.gz", zipped(t, string(good)), "is compressed twice" + only},
		{"utf16 without a mark", []byte("a\x00,\x00b\x00\n\x00"), "is not UTF-8 text" + only},
		{"binary", []byte("a\x00b"), "is not UTF-8 text" + only},
		{"latin1", []byte("a,caf\xe9\n1,2\n"), "the header row is not UTF-8" + only},
		{"semicolons", []byte("a;b\n1;2\n"), separated("semicolons", `";"`, "';'")},
		{"tabs", []byte("a\tb\n1\t2\n"), separated("tabs", "tab", "tab")},
		{"header quote", []byte("a,b\"c\n1,2\n"), "the header row is not valid CSV"},
		{"cut in the magic.gz", good[:2], damaged},
		{"cut in the gzip header.gz", good[:7], damaged},
		{"cut in the trailer.gz", good[:len(good)-1], damaged},
		{"no trailer.gz", good[:len(good)-8], damaged},
		{"checksum.gz", changed(-8, good), damaged},
		{"length.gz", changed(-1, good), damaged},
		{"garbage after.gz", append(bytes.Clone(good), "more"...), damaged},
		{"corrupt.gz", changed(-len(good)+10, good), damaged},
	} {
		path := write(t, test.name, test.content)
		_, _, err := drain(path)
		if want := "table: " + path + ": " + test.want; err == nil || err.Error() != want {
			t.Errorf("%s: error %v\nwant %s", test.name, err, want)
		}
		if inner := errors.Unwrap(err); inner != nil {
			t.Errorf("%s: unwraps to %v, which may tell an offset", test.name, inner)
		}
	}

	missing := filepath.Join(t.TempDir(), "missing.csv")
	_, err := Open([]string{missing}, dataset.CSV{})
	if want := "table: " + missing + ": no such file or directory"; err == nil || err.Error() != want ||
		!errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v\nwant %s", err, want)
	}
	dir := t.TempDir()
	if _, err := Open([]string{dir}, dataset.CSV{}); err == nil ||
		err.Error() != "table: "+dir+": is a directory, not a file" {
		t.Errorf("error %v", err)
	}
}

func TestTextThatLooksLikeAMagic(t *testing.T) {
	for _, header := range []string{"PAR1,b", "ORC,b", "BZh,b", "a,b\n\x00\x01,2", "ORC\nx", "ORC\n\t5", "ORC\r\n\x00"} {
		if _, _, err := drain(write(t, "t.csv", []byte(header+"\n1,2\n"))); err != nil {
			t.Errorf("%q: %v", header, err)
		}
	}
}

// TestORCIsNamed tests that the error about an ORC file names the format, without compression, where its first line is
// the word ORC, and with it.
func TestORCIsNamed(t *testing.T) {
	for name, start := range map[string]string{
		"uncompressed": "\x4f\x52\x43\x0a\x06\x12\x04\x08\x64\x50\x00\x0a\x26\x0a\x01\x00\x12\x21\x08\x64\x1a\x1b\x09\x00\x00\x00\x00\x00\x00\xf8\x3f\x11\x00\x00\x00\x00\x00\x00\x04\x40\x19\x00\x00\x00\x00\x00\x00\x69",
		"compressed":   "ORC\x11\x00\x00\x0a\x06\x12\x04\x08dP\x00N\x00\x00",
	} {
		path := write(t, "t.orc", []byte(start))
		if _, _, err := drain(path); err == nil || err.Error() != "table: "+path+": is an ORC file: "+supported {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestFaultsAreTheSameForEveryTable tests that the error of a damaged file does not depend on the
// records, on their number or on the position of the damage.
func TestFaultsAreTheSameForEveryTable(t *testing.T) {
	texts := make(map[string]bool)
	for _, rows := range []int{3, 40_000} {
		var b strings.Builder
		b.WriteString("a,b\n")
		for i := range rows {
			fmt.Fprintf(&b, "%d,%d\n", i*i, rows-i)
		}
		whole := zipped(t, b.String())
		for _, cut := range []int{1, 9, len(whole) / 2, len(whole) * 9 / 10} {
			path := write(t, "t.csv.gz", whole[:len(whole)-cut])
			_, _, err := drain(path)
			if err == nil {
				t.Fatalf("%d rows cut by %d bytes: no error", rows, cut)
			}
			texts[strings.ReplaceAll(fmt.Sprintf("%v %+v %T", err, err, err), path, "FILE")] = true
		}
	}
	if len(texts) != 1 {
		t.Errorf("%d different texts: %v", len(texts), texts)
	}
}

// failing is a reader that returns an error once, in the middle of a table, and more data after it.
type failing struct{ parts []any }

func (f *failing) Read(p []byte) (int, error) {
	if len(f.parts) == 0 {
		return 0, io.EOF
	}
	part := f.parts[0]
	f.parts = f.parts[1:]
	if err, isErr := part.(error); isErr {
		return 0, err
	}
	return copy(p, part.(string)), nil
}

// reading returns a Reader of a text that is not in a file.
func reading(t *testing.T, src io.Reader) *Reader {
	t.Helper()
	f := &file{watch: watch{path: "t.csv"}, text: true, closer: io.NopCloser(src)}
	if err := f.read(src, dataset.CSV{}); err != nil {
		t.Fatal(err)
	}
	return &Reader{header: f.names(), files: []watch{f.watch}, open: []*file{f}, next: 1}
}

func TestErrorsStick(t *testing.T) {
	for _, tail := range []string{"", "3,", "\"3", "3,x\"y"} {
		source := &failing{parts: []any{"a,b\n1,2\n" + tail,
			&fs.PathError{Op: "read", Path: "x", Err: errors.New("input/output error")}, "5,6\n"}}
		r := reading(t, source)
		var last error
		for range 6 {
			cells, ok, err := r.Next()
			if err == nil {
				if !ok || last != nil || cells != nil && cells[0] != "1" {
					t.Errorf("%q: row %q, %v after error %v", tail, cells, ok, last)
				}
				continue
			}
			if ok || cells != nil || err.Error() != "table: t.csv: input/output error" || last != nil && err != last {
				t.Errorf("%q: %q, %v, %v", tail, cells, ok, err)
			}
			last = err
		}
		if last == nil {
			t.Errorf("%q: no error", tail)
		}
	}
}

func TestEndSticks(t *testing.T) {
	r, err := Open([]string{"testdata/people.csv"}, dataset.CSV{})
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		if _, ok, err := r.Next(); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	for range 3 {
		if cells, ok, err := r.Next(); cells != nil || ok || err != nil {
			t.Errorf("after the end: %q, %v, %v", cells, ok, err)
		}
	}
	header := r.Header()
	header[0] = "changed"
	if r.Header()[0] != "age" {
		t.Error("the header can be changed from outside")
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// TestFormatsOfOtherProgramsAreNamed: the error about a file of another program must name its format, and quote nothing
// of it. A text whose first line is that of such a file, and which goes on as text, is a table.
func TestFormatsOfOtherProgramsAreNamed(t *testing.T) {
	for start, want := range map[string]string{
		"<stata_dta><header><release>118</release>\x00\x01": "a Stata file", "$FL2@(#) SPSS\x00\x00\x02": "an SPSS file",
		strings.Repeat("\x00", 12) + "\xc2\xea\x81\x60\xb3": "a SAS file", "\x80\x04\x95\x00\x01": "a Python pickle",
		"{\"age\": 48151623}\n{\"age\": 1}\n": "JSON", "[{\"age\": 48151623}]\n": "JSON",
	} {
		path := filepath.Join(t.TempDir(), "table")
		if err := os.WriteFile(path, []byte(start+strings.Repeat("quokka", 9)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := drain(path); err == nil || err.Error() != "table: "+path+": is "+want+": "+supported {
			t.Errorf("%s: %v", want, err)
		}
	}
	for _, text := range []string{"$F\n1\n2\n", "{a,b\n1,2\n", "[{a,b\n1,2\n"[1:]} {
		path := filepath.Join(t.TempDir(), "table")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, rows, err := drain(path); err != nil || len(rows) == 0 {
			t.Errorf("%q: %d rows, %v", text, len(rows), err)
		}
	}
}
