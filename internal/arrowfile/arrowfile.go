// Package arrowfile writes files in Arrow's IPC file format, which is version 2 of Feather.
package arrowfile

import (
	"encoding/binary"
	"io"
	"math"
)

const magic = "ARROW1"

// The format's numbers of its version, and of types of messages and columns.
const (
	version     = int16(4) // V5
	schema      = uint8(1)
	recordBatch = uint8(3)
	floating    = uint8(3)
	utf8        = uint8(5)
	double      = int16(2)
)

// Writer writes a file of nullable columns of doubles and of UTF-8 texts.
type Writer struct {
	w      io.Writer
	schema table
	texts  [][]string
	at     int64  // offset in the file of the next byte
	blocks blocks // for the footer: where each record batch is
	body   []byte
}

// NewWriter starts a file with columns of these names. Column i holds numbers if texts[i] is nil, and otherwise texts
// of the list texts[i].
func NewWriter(w io.Writer, names []string, texts [][]string) (*Writer, error) {
	fields := make(vector, len(names))
	for i, name := range names {
		kind, of := floating, table{double}
		if texts[i] != nil {
			kind, of = utf8, table{}
		}
		fields[i] = table{name, true, kind, of, nil, vector{}}
	}
	f := &Writer{w: w, texts: texts, schema: table{int16(0), fields}} // 0: little-endian
	if err := f.put([]byte(magic + "\x00\x00")); err != nil {
		return nil, err
	}
	return f, f.put(message(schema, f.schema, 0))
}

func (f *Writer) put(b []byte) error {
	n, err := f.w.Write(b)
	f.at += int64(n)
	return err
}

// message returns a message's framing and metadata. The body follows it.
func message(kind uint8, header table, body int) []byte {
	b := flatbuffer(table{version, kind, header, int64(body)})
	head := binary.LittleEndian.AppendUint32([]byte{255, 255, 255, 255}, uint32(len(b)))
	return append(head, b...)
}

// Write writes a record batch. numbers[i] are the numbers of column i, or for a column of texts their indices in its
// list. absent[i] reports which of them are null.
func (f *Writer) Write(numbers [][]float64, absent [][]bool) error {
	rows := len(numbers[0])
	var nodes, buffers structs
	f.body = f.body[:0]
	done := func(start int) { // ends a buffer that begins at start
		buffers = appendLongs(buffers, int64(start), int64(len(f.body)-start))
		f.body = pad(f.body, 8)
	}
	for i, column := range numbers {
		start, nulls := len(f.body), 0
		f.body = append(f.body, make([]byte, (rows+7)/8)...)
		for j, is := range absent[i] {
			if is {
				nulls++
			} else {
				f.body[start+j/8] |= 1 << (j % 8)
			}
		}
		done(start)
		nodes, start = appendLongs(nodes, int64(rows), int64(nulls)), len(f.body)
		if f.texts[i] == nil {
			for j, x := range column {
				if absent[i][j] {
					x = 0
				}
				f.body = binary.LittleEndian.AppendUint64(f.body, math.Float64bits(x))
			}
			done(start)
			continue
		}
		end := uint32(0)
		f.body = binary.LittleEndian.AppendUint32(f.body, end)
		for j, x := range column {
			if !absent[i][j] {
				end += uint32(len(f.texts[i][int(x)]))
			}
			f.body = binary.LittleEndian.AppendUint32(f.body, end)
		}
		done(start)
		start = len(f.body)
		for j, x := range column {
			if !absent[i][j] {
				f.body = append(f.body, f.texts[i][int(x)]...)
			}
		}
		done(start)
	}
	head := message(recordBatch, table{int64(rows), nodes, buffers}, len(f.body))
	f.blocks = appendLongs(f.blocks, f.at, int64(len(head)), int64(len(f.body)))
	if err := f.put(head); err != nil {
		return err
	}
	return f.put(f.body)
}

// Close writes the footer, without which the file cannot be read. It does not close the underlying writer.
func (f *Writer) Close() error {
	footer := flatbuffer(table{version, f.schema, blocks{}, f.blocks})
	b := append([]byte{255, 255, 255, 255, 0, 0, 0, 0}, footer...) // behind the end of the messages
	return f.put(append(binary.LittleEndian.AppendUint32(b, uint32(len(footer))), magic...))
}

func appendLongs[B ~[]byte](b B, list ...int64) B {
	for _, x := range list {
		b = binary.LittleEndian.AppendUint64(b, uint64(x))
	}
	return b
}

// pad appends zeros up to a multiple of n bytes.
func pad(b []byte, n int) []byte { return append(b, make([]byte, -len(b)&(n-1))...) }
