package parquet

import "encoding/binary"

// hybrid decodes runs of equal numbers and of bit-packed numbers: the format's RLE encoding, used
// for levels, dictionary indices and some booleans.
type hybrid struct {
	b     []byte
	width uint // number of bits of a number

	left   uint64 // how many numbers of the run are not yet decoded
	value  int32  // value of a run of equal numbers
	packed []byte // bytes of a bit-packed run; nil for a run of equal numbers
	bit    uint64 // bit offset of the next bit-packed number
}

func newHybrid(b []byte, width uint) (hybrid, error) {
	return hybrid{b: b, width: width}, exactly(width <= 32)
}

// run reads the header of the next run.
func (h *hybrid) run() error {
	head, n := binary.Uvarint(h.b)
	if n <= 0 || head>>1 == 0 {
		return ErrDamaged
	}
	h.b = h.b[n:]
	if head&1 == 0 {
		size := int(h.width+7) / 8
		if size > len(h.b) {
			return ErrDamaged
		}
		var value [4]byte
		copy(value[:], h.b[:size])
		number := binary.LittleEndian.Uint32(value[:])
		h.left, h.value, h.packed, h.b = head>>1, int32(number), nil, h.b[size:]
		return exactly(uint64(number)>>h.width == 0)
	}
	// A bit-packed run consists of groups of eight numbers, and a group takes width bytes. The last run of a
	// page may end after its last number.
	if h.left = head >> 1; h.left > 1<<32 {
		return ErrDamaged
	}
	size := min(h.left*uint64(h.width), uint64(len(h.b)))
	h.packed, h.bit, h.b = h.b[:size:size], 0, h.b[size:]
	h.left *= 8
	if h.width > 0 {
		h.left = min(h.left, size*8/uint64(h.width))
	}
	return exactly(h.left > 0)
}

// ones skips n numbers and returns true if the current run is a run of equal numbers, of value 1, and at
// least n of them are left. Otherwise it skips nothing and returns false.
func (h *hybrid) ones(n int) bool {
	if h.packed != nil || h.value != 1 || h.left < uint64(n) {
		return false
	}
	h.left -= uint64(n)
	return true
}

// decode fills dst with the next numbers. It returns ErrDamaged if there are fewer.
func (h *hybrid) decode(dst []int32) error {
	for len(dst) > 0 {
		if h.left == 0 {
			if err := h.run(); err != nil {
				return err
			}
		}
		n := int(min(h.left, uint64(len(dst))))
		if h.packed == nil || h.width == 0 {
			value := h.value
			if h.packed != nil {
				value = 0
			}
			for i := range dst[:n] {
				dst[i] = value
			}
		} else {
			unpack(dst[:n], h.packed, h.bit, h.width)
			h.bit += uint64(n) * uint64(h.width)
		}
		h.left -= uint64(n)
		dst = dst[n:]
	}
	return nil
}

// unpack fills dst with bit-packed numbers from b. Each number has width bits, at most 64, lowest bits first.
// The first number starts at the given bit of b. b must contain all the numbers.
func unpack[T int32 | int64](dst []T, b []byte, bit uint64, width uint) {
	mask := uint64(1)<<width - 1
	i := 0
	if width <= 56 { // a number lies within eight bytes
		for ; i < len(dst); i++ {
			at := bit / 8
			if at+8 > uint64(len(b)) {
				break
			}
			dst[i] = T(binary.LittleEndian.Uint64(b[at:at+8]) >> (bit & 7) & mask)
			bit += uint64(width)
		}
	}
	for ; i < len(dst); i++ {
		at, shift := bit/8, uint(bit%8)
		var part [9]byte
		copy(part[:], b[at:])
		x := binary.LittleEndian.Uint64(part[:]) >> shift
		if shift+width > 64 {
			x |= uint64(part[8]) << (64 - shift)
		}
		dst[i] = T(x & mask)
		bit += uint64(width)
	}
}

// mostBlock is the largest number of integers in a block of deltas. Writers use 128.
const mostBlock = 1 << 16

// deltas decodes integers that are stored as packed differences: the format's DELTA_BINARY_PACKED.
// Sums wrap around, as the format specifies.
type deltas struct {
	b          []byte
	block      int    // number of integers of a block
	part       int    // number of integers of each part of a block
	widths     []byte // widths, in bits, of the differences in the block's remaining parts
	left       uint64 // number of integers not yet decoded
	last       int64  // the last integer decoded; at first the first integer
	started    bool   // the first integer has been decoded
	least      int64  // is added to each stored difference of the block
	inPart     int    // number of integers of the part not yet decoded
	packed     []byte // bytes of the part
	bit        uint64 // offset in packed, in bits, of the next difference
	width      uint   // width, in bits, of the part's differences
	difference [64]int64
}

func newDeltas(b []byte) (*deltas, error) {
	d := &deltas{}
	var head [3]uint64
	for i := range head {
		x, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, ErrDamaged
		}
		head[i], b = x, b[n:]
	}
	block, parts := head[0], head[1]
	if block == 0 || block > mostBlock || parts == 0 || parts > block || block%parts != 0 || block/parts%8 != 0 {
		return nil, ErrDamaged
	}
	first, n := binary.Varint(b)
	if n <= 0 {
		return nil, ErrDamaged
	}
	d.block, d.part, d.left, d.last, d.b = int(block), int(block/parts), head[2], first, b[n:]
	return d, nil
}

// decode fills dst with the next integers. It returns ErrDamaged if there are fewer.
func (d *deltas) decode(dst []int64) error {
	if uint64(len(dst)) > d.left {
		return ErrDamaged
	}
	if !d.started && len(dst) > 0 {
		dst[0], d.started = d.last, true
		d.left--
		dst = dst[1:]
	}
	for len(dst) > 0 {
		if d.inPart == 0 {
			if err := d.next(); err != nil {
				return err
			}
		}
		n := min(len(dst), d.inPart, len(d.difference))
		unpack(d.difference[:n], d.packed, d.bit, d.width)
		for i, x := range d.difference[:n] {
			d.last += d.least + x
			dst[i] = d.last
		}
		d.bit += uint64(n) * uint64(d.width)
		d.inPart -= n
		d.left -= uint64(n)
		dst = dst[n:]
	}
	return nil
}

// next starts the next part of the block (a miniblock). If the block has no more parts, next reads the header
// of a new block first.
func (d *deltas) next() error {
	if len(d.widths) == 0 {
		least, n := binary.Varint(d.b)
		parts := d.block / d.part
		if n <= 0 || parts > len(d.b)-n {
			return ErrDamaged
		}
		d.least, d.widths, d.b = least, d.b[n:n+parts], d.b[n+parts:]
	}
	d.width, d.widths = uint(d.widths[0]), d.widths[1:]
	if d.width > 64 {
		return ErrDamaged
	}
	// All bytes of a part are stored, except that the last part may end after its last integer.
	size := d.part / 8 * int(d.width)
	d.inPart = int(min(uint64(d.part), d.left))
	if need := (d.inPart*int(d.width) + 7) / 8; need > len(d.b) {
		return ErrDamaged
	}
	size = min(size, len(d.b))
	d.packed, d.bit, d.b = d.b[:size:size], 0, d.b[size:]
	return nil
}

// skim decodes all integers without keeping them, and returns the bytes after them.
func (d *deltas) skim() ([]byte, error) {
	var scratch [256]int64
	for d.left > 0 {
		if err := d.decode(scratch[:min(d.left, uint64(len(scratch)))]); err != nil {
			return nil, err
		}
	}
	return d.b, nil
}

// split returns a decoder of the integers at the start of b, and the bytes after these integers.
func split(b []byte) (*deltas, []byte, error) {
	d, err := newDeltas(b)
	if err != nil {
		return nil, nil, err
	}
	rest, err := d.skim()
	if err != nil {
		return nil, nil, err
	}
	d, err = newDeltas(b)
	return d, rest, err
}
