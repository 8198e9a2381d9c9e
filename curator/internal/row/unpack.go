package row

import (
	"encoding/binary"
	"math"
)

// unpacker decodes rows of a layout from the bytes of the private file and checks them as Append does. A row
// that is not valid is stored as faulty. One pass over the bytes does both: in assembly (the method several),
// where the processor has the instructions, and row by row elsewhere and for rows that the assembly leaves.
type unpacker struct {
	layout *Layout
	in     []uint32 // codes of one row, counted from each group's first feature
	// narrow and wide hold the bounds of codes for the assembly, eight groups at a time: the groups' first
	// features, and then the largest differences of codes from these. What is read for groups beyond the last
	// one is within its bounds. One of the two is nil, and both are if there are no groups.
	narrow []uint16
	wide   []uint32
}

// slack is the number of bytes behind the last row that the assembly may read.
const slack = 32

func newUnpacker(l *Layout) *unpacker {
	u := &unpacker{layout: l, in: make([]uint32, len(l.groups))}
	if len(l.groups) > 0 && l.wide() {
		u.wide = bounds[uint32](l)
	} else if len(l.groups) > 0 {
		u.narrow = bounds[uint16](l)
	}
	return u
}

func bounds[T uint16 | uint32](l *Layout) []T {
	b := make([]T, 2*padded(len(l.groups)))
	for i := range b {
		g := i/(2*Lane)*Lane + i%Lane
		switch most := i/Lane%2 == 1; {
		case g >= len(l.groups) && most:
			b[i] = ^T(0)
		case g < len(l.groups) && most:
			b[i] = T(l.groups[g].Width - 1)
		case g < len(l.groups):
			b[i] = T(l.starts[g])
		}
	}
	return b
}

// rows decodes n rows from bytes, which holds slack more bytes behind them, and stores them in a block, from
// row i of the block on. It may also overwrite later rows of the block.
func (u *unpacker) rows(b *Block, i, n int, bytes []byte) {
	size := u.layout.size()
	for n > 0 {
		done := u.several(b, i, n, bytes)
		i, n, bytes = i+done, n-done, bytes[done*size:]
		if n > 0 {
			u.row(b, i, bytes[:size])
			i, n, bytes = i+1, n-1, bytes[size:]
		}
	}
}

// row decodes one row.
func (u *unpacker) row(b *Block, i int, bytes []byte) {
	l := u.layout
	x := b.Rows[i*l.Stride():][:l.dense] // the place where put stores the row's numbers
	level, y := l.decode(x, u.in, bytes)
	l.put(b, i, x, level, u.in, y, true)
}

// encode appends the rows of a block to bytes, in the form of the private file. Each row takes size
// bytes.
func (l *Layout) encode(bytes []byte, b Block) []byte {
	little, groups := binary.LittleEndian, len(l.groups)
	for i, y := range b.Targets {
		bytes = little.AppendUint64(bytes, math.Float64bits(y))
		for _, v := range b.Rows[i*l.Stride():][:l.dense] {
			bytes = little.AppendUint32(bytes, math.Float32bits(v))
		}
		if groups == 0 {
			continue
		}
		bytes = little.AppendUint32(bytes, math.Float32bits(b.Levels[i]))
		for g := range groups {
			if code := b.Codes.at(i*groups + g); l.wide() {
				bytes = little.AppendUint32(bytes, uint32(code))
			} else {
				bytes = little.AppendUint16(bytes, uint16(code))
			}
		}
	}
	return bytes
}

// decode reads a row from the bytes that the method encode wrote. A damaged code that is below its group's
// first code wraps around to a value outside the group. The level of a row without groups is 0.
func (l *Layout) decode(x []float32, in []uint32, bytes []byte) (level float32, y float64) {
	little := binary.LittleEndian
	y = math.Float64frombits(little.Uint64(bytes))
	bytes = bytes[8:]
	decodeFloats(x, bytes[:4*len(x)])
	if bytes = bytes[4*len(x):]; len(in) == 0 {
		return 0, y
	}
	level = math.Float32frombits(little.Uint32(bytes))
	bytes = bytes[4:]
	if l.wide() {
		for g := range in {
			in[g] = little.Uint32(bytes[4*g:]) - uint32(l.starts[g])
		}
		return level, y
	}
	for g := range in {
		in[g] = uint32(little.Uint16(bytes[2*g:])) - uint32(l.starts[g])
	}
	return level, y
}

// decodeFloats sets x to the numbers in bytes, which has four bytes for each number. It loads eight bytes at
// a time.
func decodeFloats(x []float32, bytes []byte) {
	for len(x) >= 4 && len(bytes) >= 16 {
		a, b := binary.LittleEndian.Uint64(bytes), binary.LittleEndian.Uint64(bytes[8:])
		x[0], x[1] = math.Float32frombits(uint32(a)), math.Float32frombits(uint32(a>>32))
		x[2], x[3] = math.Float32frombits(uint32(b)), math.Float32frombits(uint32(b>>32))
		x, bytes = x[4:], bytes[16:]
	}
	for j := range x {
		x[j] = math.Float32frombits(binary.LittleEndian.Uint32(bytes[4*j:]))
	}
}

// Encode calls write with the encoded rows of a source, in their order, one block at a time. The bytes are
// valid until write returns. Rows are encoded as in the private file of a File. The concatenated bytes
// depend neither on where rows are stored nor on their division into blocks. Hats, the values of curves'
// basis functions, are not encoded. Encode returns ErrUnread if a row cannot be read.
func Encode(s Source, write func([]byte)) error {
	r, l := s.Reader(), s.Layout()
	var bytes []byte
	for i := range s.Blocks() {
		b, err := r.Block(i)
		if err != nil {
			return err
		}
		bytes = l.encode(bytes[:0], b)
		write(bytes)
	}
	return nil
}
