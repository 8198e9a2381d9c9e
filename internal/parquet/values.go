package parquet

import (
	"encoding/binary"
	"math"
)

// Values holds values that all have the same kind: only the slice for this kind is used. Bytes holds byte arrays, of
// fixed or variable length, and Int96 timestamps. Its elements share memory with a page or with arena.
type Values struct {
	Bools   []bool
	Int32s  []int32
	Int64s  []int64
	Floats  []float32
	Doubles []float64
	Bytes   [][]byte

	arena []byte // memory for bytes of values that a page does not hold as they are
}

// mostBytes is the number of bytes of byte arrays of variable length after which a batch ends.
const mostBytes = 1 << 20

// values is a decoder of the values of a page, for one encoding. Each call of next decodes the next part of
// the values.
type values interface {
	// next decodes the next values, from 1 to n of them, and returns their number. The number is less
	// than n only if the decoded values have mostBytes bytes or more. n must be at least 1.
	next(v *Values, n int) (int, error)
}

// newValues returns the decoder of the values of type y in b, the bytes of a page. It returns nil and no
// error if the encoding does not exist for the type.
func newValues(y Type, encoding int32, b []byte) (values, error) {
	width := y.width()
	switch {
	case encoding == plain && y.Kind == Boolean:
		h, err := newHybrid(nil, 1)
		h.packed, h.left = b, 8*uint64(len(b))
		return &booleans{h, nil}, err
	case encoding == plain && y.Kind == ByteArray:
		return &byteArrays{b}, nil
	case encoding == plain:
		return &fixed{y.Kind, b, width}, nil
	case encoding == rle && y.Kind == Boolean:
		if len(b) < 4 || uint64(binary.LittleEndian.Uint32(b)) > uint64(len(b)-4) {
			return nil, ErrDamaged
		}
		h, err := newHybrid(b[4:4+binary.LittleEndian.Uint32(b)], 1)
		return &booleans{h, nil}, err
	case encoding == deltaBinaryPacked && (y.Kind == Int32 || y.Kind == Int64):
		d, err := newDeltas(b)
		return &integers{y.Kind, d}, err
	case encoding == deltaLengthByteArray && y.Kind == ByteArray:
		lengths, rest, err := split(b)
		return &lengthsFirst{lengths, rest}, err
	case encoding == deltaByteArray && (y.Kind == ByteArray || y.Kind == FixedLenByteArray):
		return newPrefixes(y, b)
	case encoding == byteStreamSplit && width > 0 && y.Kind != Int96:
		return &streams{y.Kind, b, width, 0}, exactly(len(b)%width == 0)
	}
	return nil, nil
}

// width returns the number of bytes of a value. It returns 0 for booleans and for byte arrays of variable
// length.
func (y Type) width() int {
	switch y.Kind {
	case Int32, Float:
		return 4
	case Int64, Double:
		return 8
	case Int96:
		return 12
	case FixedLenByteArray:
		return y.Width
	}
	return 0
}

// resize returns a slice of n elements with arbitrary content.
func resize[T any](s []T, n int) []T {
	if n <= cap(s) {
		return s[:n]
	}
	return make([]T, n)
}

type booleans struct {
	hybrid
	numbers []int32
}

func (d *booleans) next(v *Values, n int) (int, error) {
	d.numbers, v.Bools = resize(d.numbers, n), resize(v.Bools, n)
	if err := d.decode(d.numbers); err != nil {
		return 0, err
	}
	for i, x := range d.numbers {
		v.Bools[i] = x&1 != 0
	}
	return n, nil
}

// fixed decodes values of a fixed width that are stored unencoded.
type fixed struct {
	kind  Kind
	b     []byte
	width int
}

func (d *fixed) next(v *Values, n int) (int, error) {
	if n > len(d.b)/max(d.width, 1) && d.width > 0 {
		return 0, ErrDamaged
	}
	b := d.b[:n*d.width]
	d.b = d.b[n*d.width:]
	v.fixed(d.kind, b, n, d.width)
	return n, nil
}

// fixed decodes n consecutive values of the given kind and width in bytes from b, into the slice of v for
// this kind.
func (v *Values) fixed(kind Kind, b []byte, n, width int) {
	switch kind {
	case Int32:
		v.Int32s = resize(v.Int32s, n)
		for i := range v.Int32s {
			v.Int32s[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
		}
	case Int64:
		v.Int64s = resize(v.Int64s, n)
		for i := range v.Int64s {
			v.Int64s[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
		}
	case Float:
		v.Floats = resize(v.Floats, n)
		for i := range v.Floats {
			v.Floats[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
	case Double:
		v.Doubles = resize(v.Doubles, n)
		for i := range v.Doubles {
			v.Doubles[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
		}
	default:
		v.Bytes = resize(v.Bytes, n)
		for i := range v.Bytes {
			v.Bytes[i] = b[i*width : (i+1)*width]
		}
	}
}

// byteArrays decodes byte arrays that are each preceded by their length.
type byteArrays struct{ b []byte }

func (d *byteArrays) next(v *Values, n int) (int, error) {
	v.Bytes = resize(v.Bytes, n)
	total := 0
	for i := range v.Bytes {
		if len(d.b) < 4 {
			return 0, ErrDamaged
		}
		size := uint64(binary.LittleEndian.Uint32(d.b))
		if size > uint64(len(d.b)-4) {
			return 0, ErrDamaged
		}
		v.Bytes[i], d.b = d.b[4:4+size], d.b[4+size:]
		if total += int(size); total >= mostBytes {
			v.Bytes = v.Bytes[:i+1]
			return i + 1, nil
		}
	}
	return n, nil
}

// integers decodes integers that are stored as differences.
type integers struct {
	kind Kind
	d    *deltas
}

func (d *integers) next(v *Values, n int) (int, error) {
	v.Int64s = resize(v.Int64s, n)
	if err := d.d.decode(v.Int64s); err != nil {
		return 0, err
	}
	if d.kind == Int32 {
		v.Int32s = resize(v.Int32s, n)
		for i, x := range v.Int64s {
			v.Int32s[i] = int32(x)
		}
	}
	return n, nil
}

// lengthsFirst decodes byte arrays of which all lengths are stored first, and then all bytes.
type lengthsFirst struct {
	lengths *deltas
	b       []byte
}

func (d *lengthsFirst) next(v *Values, n int) (int, error) {
	v.Bytes = resize(v.Bytes, n)
	total := 0
	for i := range v.Bytes {
		value, err := d.value()
		if err != nil {
			return 0, err
		}
		v.Bytes[i] = value
		if total += len(value); total >= mostBytes {
			v.Bytes = v.Bytes[:i+1]
			return i + 1, nil
		}
	}
	return n, nil
}

// value returns the next byte array. It returns ErrDamaged if there is none.
func (d *lengthsFirst) value() ([]byte, error) {
	var size [1]int64
	if err := d.lengths.decode(size[:]); err != nil {
		return nil, err
	}
	if size[0] < 0 || size[0] > int64(len(d.b)) {
		return nil, ErrDamaged
	}
	value := d.b[:size[0]]
	d.b = d.b[size[0]:]
	return value, nil
}

// prefixes decodes byte arrays that are stored as the length of the prefix that they share with the previous
// byte array, and the suffix after this prefix.
type prefixes struct {
	width    int     // number of bytes of each value; negative if it varies
	shared   *deltas // lengths of the prefixes
	suffixes lengthsFirst
	last     []byte // the value decoded last
	ends     []int  // ends of the values of a batch in Values.arena
}

func newPrefixes(y Type, b []byte) (values, error) {
	shared, rest, err := split(b)
	if err != nil {
		return nil, err
	}
	lengths, rest, err := split(rest)
	if err != nil {
		return nil, err
	}
	width := -1
	if y.Kind == FixedLenByteArray {
		width = y.Width
	}
	return &prefixes{width: width, shared: shared, suffixes: lengthsFirst{lengths, rest}}, nil
}

func (d *prefixes) next(v *Values, n int) (int, error) {
	v.arena, d.ends = v.arena[:0], d.ends[:0]
	for len(d.ends) < n && len(v.arena) < mostBytes {
		var shared [1]int64
		if err := d.shared.decode(shared[:]); err != nil {
			return 0, err
		}
		suffix, err := d.suffixes.value()
		if err != nil {
			return 0, err
		}
		if shared[0] < 0 || shared[0] > int64(len(d.last)) {
			return 0, ErrDamaged
		}
		d.last = append(d.last[:shared[0]], suffix...)
		if d.width >= 0 && len(d.last) != d.width {
			return 0, ErrDamaged
		}
		v.arena = append(v.arena, d.last...)
		d.ends = append(d.ends, len(v.arena))
	}
	v.Bytes = resize(v.Bytes, len(d.ends))
	start := 0
	for i, end := range d.ends {
		v.Bytes[i], start = v.arena[start:end], end
	}
	return len(d.ends), nil
}

// streams decodes values that are stored by byte position: the first bytes of all values, then the
// second bytes, and so on.
type streams struct {
	kind  Kind
	b     []byte
	width int
	at    int // index of the next value
}

func (d *streams) next(v *Values, n int) (int, error) {
	all := len(d.b) / d.width
	if n > all-d.at {
		return 0, ErrDamaged
	}
	v.arena = resize(v.arena, n*d.width)
	for j := range d.width {
		for i, x := range d.b[j*all+d.at:][:n] {
			v.arena[i*d.width+j] = x
		}
	}
	d.at += n
	v.fixed(d.kind, v.arena, n, d.width)
	return n, nil
}
