package table

import (
	"os"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// TestEveryForeignFormat tries the first bytes of each format that the package does not read, as its documentation states
// them: the error names the format. With another first byte it is that about text.
func TestEveryForeignFormat(t *testing.T) {
	formats := []struct{ start, name string }{
		{"PARE\x15\x04", "an encrypted Parquet file"}, {"ARROW1\x00\x00", "an Arrow file"}, {"FEA1\x00\x00", "a Feather file"},
		{"ORC\x08\x03", "an ORC file"}, {"Obj\x01\x04", "an Avro file"}, {"PK\x03\x04\x14\x00", "a zip archive or a spreadsheet"},
		{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a spreadsheet"}, {"SQLite format 3\x00\x10", "an SQLite database"},
		{"<stata_dta>\x00", "a Stata file"}, {"$FL2@(#)\x00", "an SPSS file"},
		{strings.Repeat("\x00", 12) + "\xc2\xea\x81\x60\xb3\x14", "a SAS file"}, {"\x80\x04\x95\x10\x00", "a Python pickle"},
		{"\x80\x05\x95\x10\x00", "a Python pickle"}, {"{\"a\": 1}", "JSON"}, {"[{\"a\": 1}]", "JSON"},
		{"\xfd7zXZ\x00\x00\x04", "compressed with xz"}, {"BZh91AY&SY\x01", "compressed with bzip2"},
	}
	for _, f := range formats {
		path := write(t, "table", []byte(f.start))
		if _, _, err := drain(path); err == nil || err.Error() != "table: "+path+": is "+f.name+": "+supported {
			t.Errorf("%q: %v: must be %s", f.start, err, f.name)
		}
		path = write(t, "table", append([]byte{f.start[0] ^ 3}, f.start[1:]...))
		if _, _, err := drain(path); err != nil && strings.Contains(err.Error(), "is "+f.name+":") {
			t.Errorf("%q with another first byte: %v", f.start, err)
		}
	}
	if n := len(formats) + 3; len(foreign) != n { // those within a compressed file: see TestFaults
		t.Errorf("%d formats are known: must be %d", len(foreign), n)
	}
}

// TestWindowsOfMemory tests that a zstd file may ask for a window of 128 MiB, and not for the next larger one.
func TestWindowsOfMemory(t *testing.T) {
	const text = "a,b\n1,2\n"
	for window, want := range map[byte]string{0: "", 17 << 3: "", 17<<3 | 1: "the file is damaged: it ends early or fails its checksum",
		18 << 3: "the file is damaged: it ends early or fails its checksum"} {
		frame := append([]byte(zstdMagic), 0, window, byte(len(text)<<3|1), 0, 0) // a frame of one block, which is the last and as it is
		path := write(t, "table.zst", append(frame, text...))
		_, rows, err := drain(path)
		if want != "" {
			want = "table: " + path + ": " + want
		}
		if (err == nil) != (want == "") || err != nil && err.Error() != want || err == nil && len(rows) != 1 {
			t.Errorf("window %#x: %d rows, %v: must be %q", window, len(rows), err, want)
		}
	}
}

// TestStandardInputIsAlone tests that standard input is the only file of its table, first or last.
func TestStandardInputIsAlone(t *testing.T) {
	path := write(t, "people.csv", []byte("a,b\n1,2\n"))
	own := os.Stdin
	defer func() { os.Stdin = own }()
	for _, paths := range [][]string{{Standard}, {Standard, path}, {path, Standard}, {path, path}, {path, Standard, path}, {Standard, Standard}} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.WriteString("a,b\n3,4\na,b\n5,6\n"); err != nil {
			t.Fatal(err)
		}
		w.Close()
		os.Stdin = r
		table, err := Open(paths, dataset.CSV{})
		const alone = "must be the only file of its table"
		switch {
		case len(paths) == 1:
			if err != nil {
				t.Error(err)
			}
		case err == nil, paths[0] != paths[1] && !strings.HasSuffix(err.Error(), alone), table != nil:
			t.Errorf("%s: %v", paths, err)
		}
		r.Close()
	}
}
