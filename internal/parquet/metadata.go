package parquet

import "encoding/binary"

// Kind is the storage form of values: the format's physical type.
type Kind int32

// The kinds, by the numbers of the format.
const (
	Boolean Kind = iota
	Int32
	Int64
	Int96
	Float
	Double
	ByteArray
	FixedLenByteArray
)

// Meaning is the interpretation of stored values. It comes from the format's logical type or, without one,
// from the older converted type. Types that do not change how a value is read are Plain.
type Meaning uint8

// The meanings.
const (
	Plain Meaning = iota // the values as they are stored, such as numbers and texts
	Decimal
	Date
	Time
	Timestamp
	Unsigned
	UUID
	Float16
	Nothing    // a column with null values only
	Unreadable // a type that cannot be read: an interval, variant, geometry, list or map
)

// Type is a column's type.
type Type struct {
	Kind    Kind
	Width   int // of FixedLenByteArray: length of a value in bytes
	Meaning Meaning
	Scale   int   // of Decimal: digits after the point
	Second  int64 // of Time and Timestamp: number of units in a second
	UTC     bool  // of Timestamp: whether it is in UTC
}

// Column is a field of the table.
type Column struct {
	Name string
	// Flat reports whether a row has at most one value. Type is valid for flat columns only.
	Flat bool
	Type Type

	optional bool // whether a value may be missing
	leaf     int  // index of the column's first column chunk in a row group
}

// element is a stored node of the schema.
type element struct {
	typ        Type
	leaf       bool
	repetition int32 // 0 is required, 1 optional, 2 repeated
	name       string
	children   int32
}

// metadata is the content of the footer.
type metadata struct {
	elements []element
	rows     int64
	groups   []groupInfo
}

type groupInfo struct {
	rows   int64
	chunks []chunkInfo
}

// chunkInfo locates the values of a column in a row group.
type chunkInfo struct {
	kind       Kind
	codec      int32
	values     int64
	data       int64 // offset of the first data page
	dictionary int64 // offset of the dictionary page; 0 if there is none
	elsewhere  bool  // the chunk is in another file
	encrypted  bool
	described  bool // the footer describes the chunk
}

// start returns the offset of the first page.
func (c chunkInfo) start() int64 {
	if c.dictionary > 0 && c.dictionary < c.data {
		return c.dictionary
	}
	return c.data
}

func (t *thrift) metadata() (m metadata) {
	t.into(map[int16]any{2: func() { m.elements = append(m.elements, t.element()) }, 3: &m.rows,
		4: func() { m.groups = append(m.groups, t.group()) }})
	return m
}

func (t *thrift) element() (e element) {
	var converted, scale int32 = -1, 0
	named, logical := false, false
	t.into(map[int16]any{
		1: func(x int32) { e.typ.Kind, e.leaf = Kind(x), true }, 2: func(x int32) { e.typ.Width = int(x) }, 3: &e.repetition,
		4: func(b []byte) { e.name, named = string(b), true }, 5: &e.children, 6: &converted, 7: &scale,
		10: structure(func() { logical = t.logical(&e.typ) }),
	})
	// An element without a name is refused: it would take one byte of the file and many bytes of memory.
	if !named {
		t.fail()
	}
	if !logical {
		e.typ.convert(converted, scale)
	}
	return e
}

// convert sets the meaning from the older converted type.
func (y *Type) convert(converted, scale int32) {
	switch converted {
	case 5:
		y.Meaning, y.Scale = Decimal, int(scale)
	case 6:
		y.Meaning = Date
	case 7:
		y.Meaning, y.Second = Time, 1e3
	case 8:
		y.Meaning, y.Second = Time, 1e6
	case 9:
		y.Meaning, y.Second, y.UTC = Timestamp, 1e3, true
	case 10:
		y.Meaning, y.Second, y.UTC = Timestamp, 1e6, true
	case 11, 12, 13, 14:
		y.Meaning = Unsigned
	case 1, 2, 3, 21: // maps, lists and intervals
		y.Meaning = Unreadable
	}
}

// logical reads a logical type and sets y's meaning from it. It reports whether the type was present.
func (t *thrift) logical(y *Type) (is bool) {
	t.fields(func(id int16, kind byte) bool {
		is = true
		if kind != thriftStruct {
			return false
		}
		switch id {
		case 1, 4, 12, 13: // text, enumerations, JSON and BSON: bytes as stored
			return false
		case 5:
			y.Meaning = Decimal
			t.fields(func(id int16, kind byte) bool {
				if id != 1 || kind != thriftI32 {
					return false
				}
				y.Scale = int(t.int32())
				return true
			})
			return true
		case 6:
			y.Meaning = Date
		case 7:
			y.Meaning = Time
			t.ticks(y)
			return true
		case 8:
			y.Meaning = Timestamp
			t.ticks(y)
			return true
		case 10:
			t.fields(func(id int16, kind byte) bool {
				if id == 2 && kind == thriftFalse {
					y.Meaning = Unsigned
				}
				return false
			})
			return true
		case 11:
			y.Meaning = Nothing
		case 14:
			y.Meaning = UUID
		case 15:
			y.Meaning = Float16
		default:
			y.Meaning = Unreadable
		}
		return false
	})
	return is
}

// ticks reads the parameters of a timestamp or a time of day: whether it is in UTC, and the number of units
// in a second.
func (t *thrift) ticks(y *Type) {
	t.fields(func(id int16, kind byte) bool {
		if id == 1 {
			y.UTC = kind == thriftTrue
		}
		if id != 2 || kind != thriftStruct {
			return false
		}
		t.fields(func(id int16, _ byte) bool {
			y.Second = map[int16]int64{1: 1e3, 2: 1e6, 3: 1e9}[id]
			return false
		})
		return true
	})
}

func (t *thrift) group() (g groupInfo) {
	t.into(map[int16]any{1: func() { g.chunks = append(g.chunks, t.chunk()) }, 3: &g.rows})
	return g
}

func (t *thrift) chunk() (c chunkInfo) {
	t.fields(func(id int16, kind byte) bool {
		switch {
		case id == 1:
			c.elsewhere = true
		case id == 3 && kind == thriftStruct:
			c.described = true
			t.into(map[int16]any{1: (*int32)(&c.kind), 4: &c.codec, 5: &c.values, 9: &c.data, 11: &c.dictionary})
			return true
		case id == 8 || id == 9:
			c.encrypted = true
		}
		return false
	})
	return c
}

// The types of Thrift's compact protocol.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
)

// mostDepth is the largest depth of nesting of values that are skipped.
const mostDepth = 32

// thrift reads values of Thrift's compact protocol from the bytes of a message. After the first error
// every value read is zero and every struct and list is empty.
type thrift struct {
	b   []byte
	at  int
	bad bool
}

// fail marks the message as damaged.
func (t *thrift) fail() { t.bad, t.at = true, len(t.b) }

func (t *thrift) byte() byte {
	if t.at >= len(t.b) {
		t.fail()
		return 0
	}
	t.at++
	return t.b[t.at-1]
}

func (t *thrift) uvarint() uint64 {
	x, n := binary.Uvarint(t.b[t.at:])
	if n <= 0 {
		t.fail()
		return 0
	}
	t.at += n
	return x
}

// int reads an integer of 16, 32 or 64 bits, which is stored in zigzag form.
func (t *thrift) int() int64 {
	x := t.uvarint()
	return int64(x>>1) ^ -int64(x&1)
}

// int32 reads an integer that must fit in 32 bits.
func (t *thrift) int32() int32 {
	x := t.int()
	if int64(int32(x)) != x {
		t.fail()
		return 0
	}
	return int32(x)
}

// binary reads bytes. The result shares memory with the message.
func (t *thrift) binary() []byte {
	n := t.uvarint()
	if n > uint64(len(t.b)-t.at) {
		t.fail()
		return nil
	}
	t.at += int(n)
	return t.b[t.at-int(n) : t.at]
}

// fields reads a struct. It calls read for each field with the field's number and type. read must either read the
// field's value and return true, or read nothing and return false. If read returns false, fields skips the value.
func (t *thrift) fields(read func(id int16, kind byte) bool) { t.fieldsAt(0, read) }

// structure reads a field that is a struct.
type structure func()

// into reads the fields of a struct. An entry of fields is the variable for a number, takes a number or bytes, reads a
// structure, or reads an element of a list of structs. Other fields, and those of another type, are skipped.
func (t *thrift) into(fields map[int16]any) {
	t.fields(func(id int16, kind byte) bool {
		switch v := fields[id].(type) {
		case *int32:
			if kind == thriftI32 {
				*v = t.int32()
				return true
			}
		case *int64:
			if kind == thriftI64 {
				*v = t.int()
				return true
			}
		case func(int32):
			if kind == thriftI32 {
				v(t.int32())
				return true
			}
		case func([]byte):
			if kind == thriftBinary {
				v(t.binary())
				return true
			}
		case structure:
			if kind == thriftStruct {
				v()
				return true
			}
		case func():
			if kind == thriftList {
				t.list(thriftStruct, v)
				return true
			}
		}
		return false
	})
}

func (t *thrift) fieldsAt(depth int, read func(id int16, kind byte) bool) {
	for id := int16(0); !t.bad; {
		head := t.byte()
		if head == 0 {
			return
		}
		if delta := head >> 4; delta != 0 {
			id += int16(delta)
		} else {
			id = int16(t.int())
		}
		if kind := head & 15; !t.bad && !read(id, kind) {
			t.skip(kind, depth+1)
		}
	}
}

// list reads a list. It calls read for each element, which must be of the given type. It allocates nothing
// for the length that the list states.
func (t *thrift) list(kind byte, read func()) {
	n, of := t.listHead()
	if n > 0 && of != kind {
		t.fail()
	}
	for ; n > 0 && !t.bad; n-- {
		read()
	}
}

func (t *thrift) listHead() (n uint64, kind byte) {
	head := t.byte()
	n = uint64(head >> 4)
	if n == 15 {
		n = t.uvarint()
	}
	return n, head & 15
}

// skip skips the value of a struct's field, whose type is kind. depth is the depth of nesting, of which more
// than mostDepth is an error.
func (t *thrift) skip(kind byte, depth int) {
	if depth > mostDepth {
		t.fail()
		return
	}
	switch kind {
	case thriftTrue, thriftFalse: // the type is the value: there are no bytes to skip
	case thriftByte:
		t.byte()
	case thriftI16, thriftI32, thriftI64:
		t.uvarint()
	case thriftDouble:
		t.pass(8)
	case thriftBinary:
		t.binary()
	case thriftList, thriftSet:
		n, of := t.listHead()
		for ; n > 0 && !t.bad; n-- {
			t.skipElement(of, depth+1)
		}
	case thriftMap:
		t.skipMap(depth)
	case thriftStruct:
		t.fieldsAt(depth, func(int16, byte) bool { return false })
	default:
		t.fail()
	}
}

// skipElement skips an element of a list or map, whose type is kind. In a list or map a boolean takes a byte.
func (t *thrift) skipElement(kind byte, depth int) {
	if kind == thriftTrue || kind == thriftFalse {
		kind = thriftByte
	}
	t.skip(kind, depth)
}

func (t *thrift) skipMap(depth int) {
	n := t.uvarint()
	if n == 0 {
		return
	}
	kinds := t.byte()
	for ; n > 0 && !t.bad; n-- {
		t.skipElement(kinds>>4, depth+1)
		t.skipElement(kinds&15, depth+1)
	}
}

// pass skips n bytes.
func (t *thrift) pass(n int) {
	if n > len(t.b)-t.at {
		t.fail()
		return
	}
	t.at += n
}
