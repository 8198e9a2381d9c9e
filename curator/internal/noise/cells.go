package noise

import (
	"math/big"
	"math/bits"
	"sort"
	"sync"
)

// fineness is the number s for which Normals divides the magnitudes of normals into cells of width 2^-s.
// With s = 6, Karney's algorithm (normals.go) accepts a trial with probability 0.99, and the table [cells]
// takes 8 KB, which fits a first-level cache of 32 KB.
const fineness = 6

// fine is the table by which Normals draws the cell of a normal's magnitude, an interval of width
// 2^-fineness.
var fine = sync.OnceValue(func() *cells { return newCells(fineness, 64) })

// cells is a table for drawing j = 0, 1, ..., the number of a cell of width 2^-s, with probability
// proportional to exp(-(j/2^s)^2/2), by inversion. The drawn j is the smallest j with U < F(j), for
// a uniform number U in (0, 1) and the distribution function F of the cell numbers.
//
// U has only as many digits as the comparison needs. F(j) has no finite representation, but it can be bounded to any
// precision. While the bounds do not decide the comparison, U gets another digit and the bounds get as many further
// bits. With 64-bit digits a second digit is needed once in 2^54 draws. A wrong cell is never drawn.
type cells struct {
	s, width uint
	// width is the number of bits of a digit of U. first[j] is the lower bound of F(j), in units of
	// 2^-width.
	first []uint64
	// guide[g] is the first cell that a digit of U with leading bits g can lead to.
	guide []uint16
	drop  uint // number of bits of a digit after the leading bits of guide
	// bounds is boundsOf for s.
	bounds func(bits uint) []*big.Int
}

// guideBits is the number of leading bits of a digit by which guide is indexed. With 11 bits, the
// search that starts at the guide's cell almost always ends at that cell.
const guideBits = 11

func newCells(s, width uint) *cells {
	c := &cells{s: s, width: width, bounds: func(bits uint) []*big.Int { return boundsOf(s, bits) }}
	for _, b := range c.bounds(width) {
		c.first = append(c.first, b.Uint64())
	}
	known := min(width, guideBits)
	c.drop = width - known
	c.guide = make([]uint16, 1<<known)
	j := 0
	for g := range c.guide {
		for j < len(c.first) && c.first[j] <= uint64(g)<<c.drop {
			j++
		}
		c.guide[g] = uint16(j)
	}
	return c
}

// cell draws the number j of the cell of width 2^-s that contains a normal's magnitude, with
// probability proportional to exp(-(j/2^s)^2/2).
func (f *randomBits) cell() uint64 {
	c := f.cells
	u := f.digit()
	j := int(c.guide[u>>c.drop])
	for j < len(c.first) && c.first[j] <= u {
		j++
	}
	// The uniform number U is below the distribution function F(j) of the cells' numbers, since F(j) >= first[j] > u
	// for the first digit u of U. What remains is to decide whether U is above F(j-1).
	if j == len(c.first) || j > 0 && u-c.first[j-1] < slack {
		return f.settle(u)
	}
	return uint64(j)
}

// settle draws further digits of the uniform number U, whose first digit is u, until they decide the
// cell: the smallest j with U < F(j) for the distribution function F of the cells' numbers.
func (f *randomBits) settle(u uint64) uint64 {
	digits, scratch := new(big.Int).SetUint64(u), new(big.Int)
	for n := f.width; ; {
		b := f.cells.bounds(n)
		j := sort.Search(len(b), func(j int) bool { return b[j].Cmp(digits) > 0 })
		if j < len(b) && (j == 0 || scratch.Sub(digits, b[j-1]).Cmp(big.NewInt(slack)) >= 0) {
			return uint64(j)
		}
		n += f.width
		digits.Lsh(digits, f.width)
		digits.Or(digits, scratch.SetUint64(f.digit()))
	}
}

// slack exceeds the difference between the distribution function F and its lower bound, in units of the
// bound's last bit.
const slack = 2

// boundsOf returns lower bounds of the distribution function F of the cells' numbers, for cells of width 2^-s
// and the precision of n bits: integers b[0] <= b[1] <= ... with
//
//	b[j] <= 2^n F(j) < b[j] + slack,
//
// up to the first b[j] >= 2^n - slack. Beyond this j, n bits cannot decide whether U < F(j).
//
// F(j) = S(j)/S, where S(j) is the sum of w(i) = exp(-i^2 a) over i <= j, with a = 2^-(2s+1), and S the sum over all i.
// The recursion is w(j+1) = w(j) r(j) and r(j+1) = r(j) exp(-2a), where r(0) = exp(-a) is the reciprocal of a series of
// positive terms. All numbers are integers in units of 2^-p, rounded down, and no factor exceeds 1.
//
// The errors in these units are as follows. The series is too small by less than 4 for each of at
// most p + 1 terms and 10 for its remainder, so that r(0) is off by at most 4p + 14. exp(-2a) is
// off by at most e = 8p + 29, r(j) by (j+1)(e+1), w(j) by (j+1)^2 (e+1), and a sum of J terms by
// J^3 (e+1). S is cut off after J = 2^(s+1) (floor(sqrt p) + 1) terms; the remainder, after w(J) <=
// exp(-2p), is below 1. The total is less than 2^(3s+7) p^2.5.
//
// Since S > 1, 2^n F(j) is off by less than 2^(3s+8) p^2.5 2^(n-p). For s <= fineness and p = n +
// 64 + 4 (length of n) this is below 2^-21. The result subtracts 2^-20.
func boundsOf(s, n uint) []*big.Int {
	p := n + 64 + 4*uint(bits.Len(n))
	one := new(big.Int).Lsh(big.NewInt(1), p)
	series, term := new(big.Int), new(big.Int).Set(one)
	for i := int64(1); term.Sign() > 0; i++ {
		series.Add(series, term)
		term.Rsh(term, 2*s+1)
		term.Quo(term, big.NewInt(i))
	}
	times := func(x, y *big.Int) { x.Rsh(x.Mul(x, y), p) }
	r := new(big.Int).Lsh(one, p)
	r.Quo(r, series)
	step := new(big.Int).Set(r)
	times(step, step)

	sums := make([]*big.Int, (new(big.Int).Sqrt(big.NewInt(int64(p))).Uint64()+1)<<(s+1)) // S(0), S(1), ...
	sum, w := new(big.Int), new(big.Int).Set(one)
	for j := range sums {
		sum.Add(sum, w)
		sums[j] = new(big.Int).Set(sum)
		times(w, r)
		times(r, step)
	}

	off := new(big.Int).Rsh(sum, 20)
	end := new(big.Int).Lsh(big.NewInt(1), n)
	end.Sub(end, big.NewInt(slack))
	for j, v := range sums {
		v.Lsh(v, n)
		v.Sub(v, off)
		if v.Quo(v, sum); v.Cmp(end) >= 0 {
			return sums[:j+1]
		}
	}
	return sums
}
