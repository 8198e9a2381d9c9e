package noise

// fraction is a uniform number in (0, 1) of which only the leading digits are stored. A digit is
// drawn when it is first read, and then kept, so a fraction behaves as a number with infinitely
// many digits.
type fraction struct {
	head uint64   // first digit, in base 2^width
	tail []uint64 // later digits; with 64-bit digits almost always none
}

// fraction returns a new uniform number in (0, 1), of which only the first digit is drawn.
func (f *flips) fraction() fraction { return fraction{head: f.digit()} }

// digitOf returns digit i of x, counted from 0.
func (f *flips) digitOf(x *fraction, i uint) uint64 {
	if i == 0 {
		return x.head
	}
	for uint(len(x.tail)) < i {
		x.tail = append(x.tail, f.digit())
	}
	return x.tail[i-1]
}

// below returns true with probability x. It returns the bit of x at a random place, which is 1 with
// probability x (see oneIn). No further uniform number is compared with x.
func (f *flips) below(x *fraction) bool {
	i := f.place()
	d := x.head
	if i >= f.width {
		d = f.digitOf(x, i/f.width)
		i %= f.width
	}
	return d>>((f.width-1-i)%64)&1 != 0
}

// leading returns the first n bits of x as an integer, floor(2^n x), for 0 < n <= 64.
func (f *flips) leading(x *fraction, n uint) uint64 {
	if n <= f.width {
		return x.head >> (f.width - n)
	}
	var bits uint64
	for i := uint(0); n > 0; i++ {
		take := min(f.width, n)
		bits = bits<<take | f.digitOf(x, i)>>(f.width-take)
		n -= take
	}
	return bits
}
