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
	t.into(map[int16]field{2: t.each(func() { m.elements = append(m.elements, t.element()) }), 3: t.long(&m.rows),
		4: t.each(func() { m.groups = append(m.groups, t.group()) })})
	return m
}

func (t *thrift) element() (e element) {
	var older, scale int32 = -1, 0
	named, logical := false, false
	t.into(map[int16]field{
		1: {thriftI32, func() { e.typ.Kind, e.leaf = Kind(t.int32()), true }},
		2: {thriftI32, func() { e.typ.Width = int(t.int32()) }}, 3: t.number(&e.repetition),
		4: {thriftBinary, func() { e.name, named = string(t.binary()), true }}, 5: t.number(&e.children),
		6: t.number(&older), 7: t.number(&scale), 10: {thriftStruct, func() { logical = t.logical(&e.typ) }},
	})
	// An element without a name is refused: it would take one byte of the file and many bytes of memory.
	if !named {
		t.fail()
	}
	if y, is := converted[older]; is && !logical {
		e.typ.Meaning, e.typ.Second, e.typ.UTC = y.Meaning, y.Second, y.UTC
		if y.Meaning == Decimal {
			e.typ.Scale = int(scale)
		}
	}
	return e
}

// converted has what the older converted types mean. The unreadable ones are maps, lists and intervals.
var converted = map[int32]Type{
	1: {Meaning: Unreadable}, 2: {Meaning: Unreadable}, 3: {Meaning: Unreadable}, 5: {Meaning: Decimal}, 6: {Meaning: Date},
	7: {Meaning: Time, Second: 1e3}, 8: {Meaning: Time, Second: 1e6}, 9: {Meaning: Timestamp, Second: 1e3, UTC: true},
	10: {Meaning: Timestamp, Second: 1e6, UTC: true}, 11: {Meaning: Unsigned}, 12: {Meaning: Unsigned},
	13: {Meaning: Unsigned}, 14: {Meaning: Unsigned}, 21: {Meaning: Unreadable},
}

// logicals has what the logical types mean: texts, enumerations, JSON and BSON are bytes as stored, and an integer is
// plain unless its field says that it is unsigned. Other types cannot be read.
var logicals = map[int16]Meaning{1: Plain, 4: Plain, 5: Decimal, 6: Date, 7: Time, 8: Timestamp, 10: Plain, 11: Nothing,
	12: Plain, 13: Plain, 14: UUID, 15: Float16}

// logical reads a logical type and sets y's meaning from it. It reports whether the type was present.
func (t *thrift) logical(y *Type) (is bool) {
	t.fields(func(id int16, kind byte) bool {
		is = true
		if kind != thriftStruct {
			return false
		}
		if meaning, known := logicals[id]; !known {
			y.Meaning = Unreadable
		} else if meaning != Plain {
			y.Meaning = meaning
		}
		switch id {
		case 5:
			t.into(map[int16]field{1: {thriftI32, func() { y.Scale = int(t.int32()) }}})
		case 7, 8:
			t.ticks(y)
		case 10:
			t.fields(func(id int16, kind byte) bool {
				if id == 2 && kind == thriftFalse {
					y.Meaning = Unsigned
				}
				return false
			})
		default:
			return false
		}
		return true
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
	t.into(map[int16]field{1: t.each(func() { g.chunks = append(g.chunks, t.chunk()) }), 3: t.long(&g.rows)})
	return g
}

func (t *thrift) chunk() (c chunkInfo) {
	t.fields(func(id int16, kind byte) bool {
		switch {
		case id == 1:
			c.elsewhere = true
		case id == 3 && kind == thriftStruct:
			c.described = true
			t.into(map[int16]field{1: t.number((*int32)(&c.kind)), 4: t.number(&c.codec), 5: t.long(&c.values),
				9: t.long(&c.data), 11: t.long(&c.dictionary)})
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

// field reads a field of a kind.
type field struct {
	kind byte
	read func()
}

func (t *thrift) number(v *int32) field { return field{thriftI32, func() { *v = t.int32() }} }
func (t *thrift) long(v *int64) field   { return field{thriftI64, func() { *v = t.int() }} }

// each reads a field that is a list of structs.
func (t *thrift) each(read func()) field {
	return field{thriftList, func() { t.list(thriftStruct, read) }}
}

// into reads the fields of a struct. Other fields, and those of another kind, are skipped.
func (t *thrift) into(fields map[int16]field) {
	t.fields(func(id int16, kind byte) bool {
		f := fields[id]
		if f.read == nil || f.kind != kind {
			return false
		}
		f.read()
		return true
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
