package parquet

import "encoding/binary"

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
