package arrowfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
)

// object is a table of a FlatBuffer, for a reader that shares nothing with the writer.
type object struct {
	t  *testing.T
	b  []byte
	at int
}

func (o object) must(ok bool, format string, args ...any) {
	o.t.Helper()
	if !ok {
		o.t.Fatalf(format, args...)
	}
}

func (o object) u16(at int) int { return int(binary.LittleEndian.Uint16(o.b[at:])) }
func (o object) u32(at int) int { return int(binary.LittleEndian.Uint32(o.b[at:])) }
func (o object) i64(at int) int { return int(binary.LittleEndian.Uint64(o.b[at:])) }

func root(t *testing.T, b []byte) object { return object{t, b, int(binary.LittleEndian.Uint32(b))} }

// field returns the position of a field of a width, or 0 if the table lacks it.
func (o object) field(id, width int) int {
	o.must(o.at%4 == 0, "a table at %d", o.at)
	places := o.at - int(int32(o.u32(o.at)))
	o.must(places%2 == 0 && places >= 0, "places at %d", places)
	size, inline := o.u16(places), o.u16(places+2)
	if 4+2*id >= size {
		return 0
	}
	place := o.u16(places + 4 + 2*id)
	if place == 0 {
		return 0
	}
	o.must(place >= 4 && place+width <= inline && (o.at+place)%width == 0, "field %d at %d+%d", id, o.at, place)
	return o.at + place
}

func (o object) number(id, width int) int {
	at := o.field(id, width)
	switch {
	case at == 0:
		return 0
	case width == 1:
		return int(o.b[at])
	case width == 2:
		return o.u16(at)
	}
	return o.i64(at)
}

func (o object) child(id int) object {
	at := o.field(id, 4)
	o.must(at > 0, "no field %d", id)
	return object{o.t, o.b, at + o.u32(at)}
}

func (o object) text(id int) string {
	v := o.child(id)
	n := v.u32(v.at)
	o.must(v.b[v.at+4+n] == 0, "a text has no end")
	return string(v.b[v.at+4 : v.at+4+n])
}

// longs returns the elements of a vector of structs.
func (o object) longs(id, each int) (list [][]int) {
	v := o.child(id)
	n := v.u32(v.at)
	o.must((v.at+4)%8 == 0, "structs at %d", v.at+4)
	for i := range n {
		var one []int
		for j := range each {
			one = append(one, o.i64(v.at+4+8*(i*each+j)))
		}
		list = append(list, one)
	}
	return list
}

// fields returns the names and types of a schema.
func (o object) fields() (list []string) {
	o.must(o.number(0, 2) == 0, "not little-endian")
	v := o.child(1)
	for i := range v.u32(v.at) {
		slot := v.at + 4 + 4*i
		f := object{o.t, o.b, slot + o.u32(slot)}
		children := f.child(5)
		o.must(f.number(1, 1) == 1 && f.field(4, 4) == 0 && children.u32(children.at) == 0, "not a flat, nullable column")
		kind := "text"
		if f.number(2, 1) == 3 {
			kind = fmt.Sprint("floating ", f.child(3).number(0, 2))
		} else {
			o.must(f.number(2, 1) == 5 && f.child(3).at > 0, "type %d", f.number(2, 1))
		}
		list = append(list, f.text(0)+": "+kind)
	}
	return list
}

// messageAt reads the message at a position, and returns its header, its body and the position behind it.
func messageAt(t *testing.T, file []byte, at, kind int) (header object, body []byte, next int) {
	n := int(binary.LittleEndian.Uint32(file[at+4:]))
	if at%8 != 0 || n%8 != 0 || binary.LittleEndian.Uint32(file[at:]) != math.MaxUint32 {
		t.Fatalf("a message at %d, of %d bytes", at, n)
	}
	m := root(t, file[at+8:at+8+n])
	long := m.number(3, 8)
	if m.number(0, 2) != 4 || m.number(1, 1) != kind || long%8 != 0 {
		t.Fatalf("version %d, kind %d, a body of %d bytes", m.number(0, 2), m.number(1, 1), long)
	}
	next = at + 8 + n + long
	return m.child(2), file[at+8+n : next], next
}

// read returns the schema, and the cells by columns: nil, bits of numbers, and texts.
func read(t *testing.T, file []byte) (schema []string, columns [][]any, sizes []int) {
	end := len(file) - 10
	if string(file[:8]) != "ARROW1\x00\x00" || string(file[end+4:]) != "ARROW1" {
		t.Fatal("no magic")
	}
	start := end - int(binary.LittleEndian.Uint32(file[end:]))
	footer := root(t, file[start:end])
	if start%8 != 0 || footer.number(0, 2) != 4 || len(footer.longs(2, 3)) != 0 {
		t.Fatal("footer")
	}
	header, body, at := messageAt(t, file, 8, 1)
	schema = header.fields()
	if !reflect.DeepEqual(schema, footer.child(1).fields()) || len(body) != 0 {
		t.Fatal("the footer has another schema")
	}
	columns = make([][]any, len(schema))
	for _, block := range footer.longs(3, 3) {
		batch, body, next := messageAt(t, file, at, 3)
		if block[0] != at || block[2] != len(body) || block[1] != next-at-len(body) {
			t.Fatalf("block %v: the batch is at %d", block, at)
		}
		at = next
		rows, nodes, buffers := batch.number(0, 8), batch.longs(1, 2), batch.longs(2, 2)
		sizes = append(sizes, rows)
		took := func() []byte {
			b := buffers[0]
			if buffers = buffers[1:]; b[0]%8 != 0 {
				t.Fatalf("a buffer at %d", b[0])
			}
			return body[b[0] : b[0]+b[1]]
		}
		for i := range schema {
			valid, values, nulls := took(), took(), 0
			var bytes []byte
			text := strings.HasSuffix(schema[i], ": text")
			if text {
				bytes = took()
			}
			for j := range rows {
				switch {
				case valid[j/8]>>(j%8)&1 == 0:
					nulls++
					columns[i] = append(columns[i], nil)
				case text:
					from, to := binary.LittleEndian.Uint32(values[4*j:]), binary.LittleEndian.Uint32(values[4*j+4:])
					columns[i] = append(columns[i], string(bytes[from:to]))
				default:
					columns[i] = append(columns[i], binary.LittleEndian.Uint64(values[8*j:]))
				}
			}
			if nodes[i][0] != rows || nodes[i][1] != nulls {
				t.Fatalf("column %d has %d nulls, and states %v", i, nulls, nodes[i])
			}
		}
		if len(nodes) != len(schema) || len(buffers) != 0 {
			t.Fatal("too many nodes or buffers")
		}
	}
	if at+8 != start || !bytes.Equal(file[at:start], []byte{255, 255, 255, 255, 0, 0, 0, 0}) {
		t.Fatal("no end of the messages")
	}
	return schema, columns, sizes
}

var words = []string{"", "naïve, \"quoted\"", "日本語", "\U0001f535 \x00", strings.Repeat("long", 100)}

// written writes columns of numbers and texts with nulls, and returns the cells.
func written(t *testing.T, columns int, batches ...int) (file []byte, schema []string, want [][]any) {
	special := []float64{0, math.Copysign(0, -1), 5e-324, math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN(), 0.1}
	names, texts := make([]string, columns), make([][]string, columns)
	for i := range columns {
		names[i] = fmt.Sprintf("p=%s %d", words[i%5], i)
		schema = append(schema, names[i]+": floating 2")
		if i%2 == 1 {
			texts[i], schema[i] = words, names[i]+": text"
		}
	}
	var out bytes.Buffer
	w, err := NewWriter(&out, names, texts)
	if err != nil {
		t.Fatal(err)
	}
	want = make([][]any, columns)
	for _, rows := range batches {
		numbers, absent := make([][]float64, columns), make([][]bool, columns)
		for i := range columns {
			for j := range rows {
				x, null := special[(i+j)%8], i/2%3 == 1 || i/2%3 == 2 && j*j%7 == 1
				if j >= 8 {
					x += float64(j)
				}
				if texts[i] != nil {
					x = float64(j % 5)
				}
				numbers[i], absent[i] = append(numbers[i], x), append(absent[i], null)
				switch {
				case null:
					want[i] = append(want[i], nil)
				case texts[i] != nil:
					want[i] = append(want[i], words[j%5])
				default:
					want[i] = append(want[i], math.Float64bits(x))
				}
			}
		}
		if err := w.Write(numbers, absent); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), schema, want
}

// TestFilesAreRead compares what a second reader of the format finds with what was written, to the bit.
func TestFilesAreRead(t *testing.T) {
	for _, c := range []struct {
		columns int
		batches []int
	}{{1, nil}, {2, []int{1}}, {3, []int{7}}, {6, []int{8}}, {40, []int{9, 1, 300}}, {6, []int{65536, 4464}}} {
		file, schema, want := written(t, c.columns, c.batches...)
		gotSchema, got, sizes := read(t, file)
		if !reflect.DeepEqual(gotSchema, schema) || !reflect.DeepEqual(sizes, c.batches) {
			t.Errorf("%d columns: schema %q, batches %v", c.columns, gotSchema, sizes)
		}
		for i := range want {
			if !reflect.DeepEqual(got[i], want[i]) {
				t.Errorf("%d columns, batches %v: column %d differs", c.columns, c.batches, i)
			}
		}
	}
}

// TestBytes compares a small file with the bytes in testdata, which pyarrow has read as these columns.
func TestBytes(t *testing.T) {
	got, _, _ := written(t, 6, 5, 2)
	want, err := os.ReadFile("testdata/small.arrow")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("the bytes differ from testdata/small.arrow")
	}
}

type failing struct{ after int }

var errFull = errors.New("full")

func (f *failing) Write(b []byte) (int, error) {
	if f.after -= len(b); f.after < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// TestFailuresOfWrites tests that no failure of the underlying writer is lost, at whatever byte.
func TestFailuresOfWrites(t *testing.T) {
	write := func(f *failing) error {
		w, err := NewWriter(f, []string{"a", "b"}, [][]string{nil, {"x"}})
		if err != nil {
			return err
		}
		return errors.Join(w.Write([][]float64{{1}, {0}}, [][]bool{{false}, {false}}), w.Close())
	}
	whole := &failing{1 << 20}
	if err := write(whole); err != nil {
		t.Fatal(err)
	}
	for after := range 1<<20 - whole.after {
		if err := write(&failing{after}); !errors.Is(err, errFull) {
			t.Fatalf("full after %d bytes: error %v", after, err)
		}
	}
}
