package arrowfile

import "encoding/binary"

// Values of a FlatBuffer. A table's fields stand in the order of their numbers; nil is a field that is left out, bool,
// uint8, int16 and int64 are scalars, and every other field is an object: a string, table, vector, structs or blocks.
type (
	table   []any
	vector  []any  // of objects
	structs []byte // a vector of structs of two longs
	blocks  []byte // a vector of structs of three longs
)

// flatbuffer returns the bytes of a FlatBuffer, a multiple of eight, whose root is a table. Objects stand behind the
// objects that refer to them, since references are unsigned.
func flatbuffer(root table) []byte {
	b := flat(make([]byte, 4))
	b.refer(0, root)
	return pad(b, 8)
}

type flat []byte

// refer appends an object, and writes the reference to it at the position from.
func (b *flat) refer(from int, object any) {
	at := b.object(object)
	binary.LittleEndian.PutUint32((*b)[from:], uint32(at-from))
}

// object appends an object and returns its position.
func (b *flat) object(object any) (at int) {
	switch v := object.(type) {
	case string:
		at = b.vector(len(v), []byte(v+"\x00"), 4)
	case structs:
		at = b.vector(len(v)/16, v, 8)
	case blocks:
		at = b.vector(len(v)/24, v, 8)
	case vector:
		at = b.vector(len(v), make([]byte, 4*len(v)), 4)
		for i, child := range v {
			b.refer(at+4+4*i, child)
		}
	case table:
		at = b.table(v)
	}
	return at
}

// vector appends a count and the bytes of the elements, which it aligns.
func (b *flat) vector(n int, elements []byte, align int) (at int) {
	for *b = pad(*b, 4); (len(*b)+4)%align != 0; {
		*b = append(*b, 0, 0, 0, 0)
	}
	at = len(*b)
	*b = append(binary.LittleEndian.AppendUint32(*b, uint32(n)), elements...)
	return at
}

// table appends the list of places of a table's fields, then the fields, then the objects to which they refer.
func (b *flat) table(fields table) (at int) {
	places, inline := make([]byte, 4+2*len(fields)), make([]byte, 4)
	references := make([]int, len(fields)) // places of references, 0 for other fields
	for i, field := range fields {
		var scalar []byte
		switch v := field.(type) {
		case nil:
			continue
		case bool:
			if scalar = []byte{0}; v {
				scalar[0] = 1
			}
		case uint8:
			scalar = []byte{v}
		case int16:
			scalar = binary.LittleEndian.AppendUint16(nil, uint16(v))
		case int64:
			scalar = binary.LittleEndian.AppendUint64(nil, uint64(v))
		default:
			scalar = make([]byte, 4)
			references[i] = len(pad(inline, 4))
		}
		inline = pad(inline, len(scalar))
		binary.LittleEndian.PutUint16(places[4+2*i:], uint16(len(inline)))
		inline = append(inline, scalar...)
	}
	binary.LittleEndian.PutUint16(places, uint16(len(places)))
	binary.LittleEndian.PutUint16(places[2:], uint16(len(inline)))
	*b = pad(*b, 2)
	list := len(*b)
	*b = pad(append(*b, places...), 8)
	at = len(*b)
	binary.LittleEndian.PutUint32(inline, uint32(at-list))
	*b = append(*b, inline...)
	for i, place := range references {
		if place > 0 {
			b.refer(at+place, fields[i])
		}
	}
	return at
}
