package curator_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/csv"
	"os"
	"path/filepath"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"pgregory.net/rapid"
)

// filesAreRows tests that the answers do not depend on where a table is read from or where its rows
// are stored.
func filesAreRows(t rapid.TB, w *world) {
	folder, err := os.MkdirTemp("", "metamorphic")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	save := func(name string, content []byte) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if at := w.at(ignored); at >= 0 && w.def.Unit.Rows > 0 {
		// The hash of all cells decides which rows of a unit are kept, but a Parquet reader skips
		// columns that the schema does not use.
		w = w.clone()
		for _, r := range w.rows {
			r[at] = ""
		}
	}
	c := w.config(t)
	want := w.answers(t, c.Loss, frame{}, w.open(c))
	compare := func(what string, as dataset.CSV, paths ...string) {
		t.Helper()
		f := c
		f.Rows, f.Paths, f.CSV, f.Workers = nil, paths, as, 2
		equal(t, w, what, w.answers(t, c.Loss, frame{}, w.open(f)), want)
	}
	plain, half := w.csv(',', w.rows), len(w.rows)/2
	ways := []func(){
		func() {
			kept := c
			kept.Memory, kept.Folder, kept.BlockRows, kept.Workers = 1, folder, 3, 3
			equal(t, w, "a private file", w.answers(t, c.Loss, frame{}, w.open(kept)), want)
		},
		func() { compare("CSV", dataset.CSV{}, save("table.csv", plain)) },
		func() {
			compare("CSV by semicolons", dataset.CSV{Delimiter: ";"}, save("other.csv", w.csv(';', w.rows)))
		},
		func() { compare("gzip", dataset.CSV{}, save("table.csv.gz", zipped(t, plain))) },
		func() { compare("zstd", dataset.CSV{}, save("table.csv.zst", zstandard(plain))) },
		func() { compare("Parquet", dataset.CSV{}, save("table.parquet", parquet(w.header, w.rows, 3))) },
		func() {
			first, second := zipped(t, w.csv(',', w.rows[:half])), parquet(w.header, w.rows[half:], 64)
			compare("several files", dataset.CSV{}, save("1.csv.gz", first), save("2.parquet", second))
		},
	}
	ways[w.seed%uint64(len(ways))]()
	ways[w.seed/7%uint64(len(ways))]()
}

// csv returns a table as text.
func (w *world) csv(comma rune, rows [][]string) []byte {
	var b bytes.Buffer
	c := csv.NewWriter(&b)
	c.Comma = comma
	for _, r := range append([][]string{w.header}, rows...) {
		c.Write(r) // a buffer accepts every write
	}
	c.Flush()
	return b.Bytes()
}

func zipped(t rapid.TB, content []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// zstandard returns a zstd frame of raw blocks (RFC 8878, section 3.1.1).
func zstandard(content []byte) []byte {
	const most = 1 << 10
	b := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 0} // magic number; no content size, a window of 1 KB
	for {
		n, last := min(len(content), most), 0
		if n == len(content) {
			last = 1
		}
		b = append(b, byte(n<<3|last), byte(n>>5), byte(n>>13))
		b = append(b, content[:n]...)
		if content = content[n:]; last == 1 {
			return b
		}
	}
}

// parquet returns a table as a Parquet file: text columns, required, plain and uncompressed, in row
// groups of the given size (github.com/apache/parquet-format).
func parquet(header []string, rows [][]string, group int) []byte {
	b := []byte("PAR1")
	var groups []thrift
	for from := 0; from < len(rows); from += group {
		part := rows[from:min(from+group, len(rows))]
		var chunks []thrift
		total := 0
		for i, name := range header {
			var values []byte
			for _, r := range part {
				values = binary.LittleEndian.AppendUint32(values, uint32(len(r[i])))
				values = append(values, r[i]...)
			}
			page := fields(nil, i32(1, 0), i32(2, len(values)), i32(3, len(values)),
				structure(5, i32(1, len(part)), i32(2, 0), i32(3, 3), i32(4, 3)))
			offset, size := len(b), len(page)+len(values)
			b = append(append(b, page...), values...)
			total += size
			chunks = append(chunks, fields(nil, i64(2, offset), structure(3,
				i32(1, 6), list(2, 5, varint(nil, 0)), list(3, 8, text(nil, name)), i32(4, 0),
				i64(5, len(part)), i64(6, size), i64(7, size), i64(9, offset))))
		}
		groups = append(groups, fields(nil, list(1, 12, chunks...), i64(2, total), i64(3, len(part))))
	}
	schema := []thrift{fields(nil, binaryField(4, "table"), i32(5, len(header)))}
	for _, name := range header {
		schema = append(schema, fields(nil, i32(1, 6), i32(3, 0), binaryField(4, name), i32(6, 0)))
	}
	footer := fields(nil, i32(1, 1), list(2, 12, schema...), i64(3, len(rows)), list(4, 12, groups...))
	b = append(b, footer...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(footer)))
	return append(b, "PAR1"...)
}

// thrift is a value in Thrift's compact protocol.
type thrift = []byte

// field is a field of a structure: its number, its type and its value.
type field struct {
	number, kind int
	value        thrift
}

func i32(n, v int) field                { return field{n, 5, zigzag(v)} }
func i64(n, v int) field                { return field{n, 6, zigzag(v)} }
func binaryField(n int, s string) field { return field{n, 8, text(nil, s)} }
func structure(n int, f ...field) field { return field{n, 12, fields(nil, f...)} }

// list returns a field that is a list of values of one type.
func list(n, kind int, values ...thrift) field {
	var b thrift
	if len(values) < 15 {
		b = append(b, byte(len(values)<<4|kind))
	} else {
		b = varint(append(b, byte(0xf0|kind)), uint64(len(values)))
	}
	for _, v := range values {
		b = append(b, v...)
	}
	return field{n, 9, b}
}

// fields encodes a structure: its fields in the order of their numbers, each with the difference
// from the number before, and a stop byte.
func fields(b thrift, list ...field) thrift {
	before := 0
	for _, f := range list {
		b = append(append(b, byte((f.number-before)<<4|f.kind)), f.value...)
		before = f.number
	}
	return append(b, 0)
}

func text(b thrift, s string) thrift { return append(varint(b, uint64(len(s))), s...) }

func zigzag(v int) thrift { return varint(nil, uint64(v<<1)^uint64(v>>63)) }

func varint(b thrift, v uint64) thrift { return binary.AppendUvarint(b, v) }
