package parquet

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
)

// Writer writes a Parquet file of nullable columns of doubles and texts. Its pages are of version 1, not compressed,
// and have checksums. Values are PLAIN. A row group has one page for each column.
type Writer struct {
	w      io.Writer
	names  []string
	texts  [][]string
	at     int64 // offset in the file of the next byte
	rows   int64
	groups int
	listed []byte // the descriptions of the row groups so far
	page   []byte
}

// NewWriter starts a file with columns of these names. Column i holds numbers if texts[i] is nil, and otherwise texts
// of the list texts[i].
func NewWriter(w io.Writer, names []string, texts [][]string) (*Writer, error) {
	f := &Writer{w: w, names: names, texts: texts}
	return f, f.put([]byte(magic))
}

func (f *Writer) put(b []byte) error {
	n, err := f.w.Write(b)
	f.at += int64(n)
	return err
}

// Write writes a row group. numbers[i] are the numbers of column i, or for a column of texts their indices in its list.
// absent[i] reports which of them are null.
func (f *Writer) Write(numbers [][]float64, absent [][]bool) error {
	rows, start := len(numbers[0]), f.at
	columns := listHead(nil, 1, thriftStruct, len(f.names))
	for i, name := range f.names {
		f.fill(numbers[i], absent[i], f.texts[i])
		h := intField(nil, 1, dataPage)
		h = intField(h, 1, int64(len(f.page)))
		h = intField(h, 1, int64(len(f.page)))
		h = intField(h, 1, int64(int32(crc32.ChecksumIEEE(f.page))))
		h = intField(append(h, 1<<4|thriftStruct), 1, int64(rows))
		h = intField(h, 1, plain)
		h = intField(h, 1, rle)
		h = append(intField(h, 1, rle), 0, 0)
		offset, size := f.at, int64(len(h)+len(f.page))
		if err := f.put(h); err != nil {
			return err
		}
		if err := f.put(f.page); err != nil {
			return err
		}
		columns = longField(columns, 2, 0) // of metadata outside of the footer, of which there is none
		columns = intField(append(columns, 1<<4|thriftStruct), 1, int64(f.kind(i)))
		columns = listHead(columns, 1, thriftI32, 2)
		columns = binary.AppendVarint(binary.AppendVarint(columns, plain), rle)
		columns = appendText(listHead(columns, 1, thriftBinary, 1), name)
		columns = longField(intField(columns, 1, 0), 1, int64(rows))
		columns = longField(longField(columns, 1, size), 1, size)
		columns = append(longField(columns, 2, offset), 0, 0)
	}
	f.listed = append(f.listed, columns...)
	f.listed = append(longField(longField(f.listed, 1, f.at-start), 1, int64(rows)), 0)
	f.rows += int64(rows)
	f.groups++
	return nil
}

// fill makes the page of a column: the levels, in runs of equal ones, and the values that are not null.
func (f *Writer) fill(numbers []float64, absent []bool, texts []string) {
	f.page = append(f.page[:0], 0, 0, 0, 0)
	for at := 0; at < len(absent); {
		end := at + 1
		for end < len(absent) && absent[end] == absent[at] {
			end++
		}
		level := byte(1)
		if absent[at] {
			level = 0
		}
		f.page = append(binary.AppendUvarint(f.page, uint64(end-at)<<1), level)
		at = end
	}
	binary.LittleEndian.PutUint32(f.page, uint32(len(f.page)-4))
	for i, x := range numbers {
		switch {
		case absent[i]:
		case texts != nil:
			text := texts[int(x)]
			f.page = append(binary.LittleEndian.AppendUint32(f.page, uint32(len(text))), text...)
		default:
			f.page = binary.LittleEndian.AppendUint64(f.page, math.Float64bits(x))
		}
	}
}

func (f *Writer) kind(i int) Kind {
	if f.texts[i] != nil {
		return ByteArray
	}
	return Double
}

// Close writes the metadata, without which the file cannot be read. It does not close the underlying writer.
func (f *Writer) Close() error {
	const optional, utf8 = 1, 0
	b := listHead(intField(nil, 1, 1), 1, thriftStruct, len(f.names)+1)
	b = append(intField(textField(b, 4, "schema"), 1, int64(len(f.names))), 0)
	for i, name := range f.names {
		b = textField(intField(intField(b, 1, int64(f.kind(i))), 2, optional), 1, name)
		if f.texts[i] != nil { // the older type, and the logical type: a union whose field 1 is an empty struct
			b = append(intField(b, 2, utf8), 4<<4|thriftStruct, 1<<4|thriftStruct, 0, 0)
		}
		b = append(b, 0)
	}
	b = append(listHead(longField(b, 1, f.rows), 1, thriftStruct, f.groups), f.listed...)
	b = append(textField(b, 2, "stillpoint"), 0)
	b = append(binary.LittleEndian.AppendUint32(b, uint32(len(b))), magic...)
	return f.put(b)
}

// The following functions append fields of a struct in Thrift's compact protocol. step is the difference between a
// field's number and the number of the field before it.

func intField(b []byte, step byte, x int64) []byte {
	return binary.AppendVarint(append(b, step<<4|thriftI32), x)
}

func longField(b []byte, step byte, x int64) []byte {
	return binary.AppendVarint(append(b, step<<4|thriftI64), x)
}

func textField(b []byte, step byte, text string) []byte {
	return appendText(append(b, step<<4|thriftBinary), text)
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// listHead begins a list of n elements of a type.
func listHead(b []byte, step, kind byte, n int) []byte {
	if b = append(b, step<<4|thriftList); n < 15 {
		return append(b, byte(n)<<4|kind)
	}
	return binary.AppendUvarint(append(b, 15<<4|kind), uint64(n))
}
