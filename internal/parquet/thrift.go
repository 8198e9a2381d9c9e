package parquet

import "encoding/binary"

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

// fields reads a struct. It calls read for each field with the field's number and type. read must either
// read the field's value and return true, or read nothing and return false. If read returns false, fields
// skips the value.
func (t *thrift) fields(read func(id int16, kind byte) bool) { t.fieldsAt(0, read) }

// into reads a struct whose fields are wanted as they are. An entry of fields is the variable for a number, or reads
// an element of a list of structs. Other fields are skipped.
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
