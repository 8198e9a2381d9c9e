// Package decimal reads decimal numbers of common form several times faster than strconv.ParseFloat, to the same bits.
package decimal

import (
	"math"
	"math/bits"
)

// Parse reads a text that is a number as [Prefix] reads it, and nothing else. ok is false for any other text, which
// callers pass to strconv.ParseFloat.
func Parse(s string) (x float64, ok bool) {
	x, end := Prefix(s, 0)
	return x, end == len(s) && end > 0
}

// Prefix reads the number with which s[i:] starts: an optional sign, and digits with at most one point, of which at most
// 19 are counted. Up to 19 zeros before the point are not counted if no other digit is before it. x is the number's nearest
// float64, as strconv.ParseFloat returns it, and end the index in s after the number. end is i if there is no such number.
func Prefix(s string, i int) (x float64, end int) {
	if i >= len(s) {
		return 0, i
	}
	first := i
	if s[i] == '-' || s[i] == '+' {
		first++
	}
	var m uint64
	if first+1 < len(s) && s[first+1] == '.' && s[first]-'0' <= 9 {
		m, end = uint64(s[first]-'0'), first+1
	} else {
		m, end = digits(s, first, 0)
	}
	given := end - first
	count, behind := given, 0
	if m == 0 && given <= mostDigits { // beyond, m may have wrapped to 0
		count = 0
	}
	if end < len(s) && s[end] == '.' {
		point := end + 1
		m, end = digits(s, point, m)
		behind = end - point
	}
	if given+behind == 0 || count+behind > mostDigits {
		return 0, i
	}
	x = quotient(m, count+behind, behind)
	if s[i] == '-' {
		x = -x
	}
	return x, end
}

// mostDigits is the largest number of digits of which every number fits in 64 bits.
const mostDigits = 19

// digits reads the digits with which s[i:] starts, behind the digits of m, modulo 2^64. end is the index after them.
func digits(s string, i int, m uint64) (_ uint64, end int) {
	for i+8 <= len(s) {
		// The bytes of w, lowest first, are the next eight bytes of s, and those of digits are 0 to 9. The lowest byte
		// whose highest bit is set in other is the first that is no digit: carries go to higher bytes only.
		b := s[i : i+8]
		w := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		w ^= 0x3030303030303030
		other := (w + 0x7676767676767676 | w) & 0x8080808080808080
		n := bits.TrailingZeros64(other) >> 3
		// Zeros come before the n digits. Then neighbours are joined: eight digits, four numbers below 100, two below
		// 10,000, one.
		w <<= 64 - 8*uint(n)
		w = w*10 + w>>8
		w = ((w&0x000000ff000000ff)*(100+1_000_000<<32) + (w>>16&0x000000ff000000ff)*(1+10_000<<32)) >> 32
		m = m*whole[n] + w
		if i += n; n < 8 {
			return m, i
		}
	}
	for ; i < len(s) && s[i]-'0' <= 9; i++ {
		m = 10*m + uint64(s[i]-'0')
	}
	return m, i
}

// quotient returns m / 10^behind, rounded once. m has at most as many digits as digits says.
func quotient(m uint64, digits, behind int) float64 {
	if digits <= 15 { // numerator and denominator are exact as float64 numbers (Clinger 1990, the fast case)
		return float64(int64(m)) / tens[behind]
	}
	// Numerator and denominator are scaled by powers of two to at least 2^63. The quotient of 2^63 times the numerator
	// is between 2^62 and 2^64, so that the bits after the first 53 are at least 10. It is at least q and below q + 2.
	// If the last 9 bits of q do not come from 0 or reach it in this range, the rest of q only tells that the number is not halfway.
	down, up := bits.LeadingZeros64(m), bits.LeadingZeros64(whole[behind])
	m <<= down
	q, _ := bits.Mul64(m, inverse[behind])
	rest := uint64(1)
	if (q+1)&(1<<9-1) <= 1 {
		q, rest = bits.Div64(m>>1, m<<63, whole[behind]<<up)
	}
	if rest != 0 {
		q |= 1
	}
	return float64(int64(q>>1|q&1)) * math.Float64frombits(uint64(1023+1+up-down-63)<<52)
}

// inverse are 2^127 over the powers of ten, which are scaled by powers of two to at least 2^63: rounded down, and 2^64-1
// for 2^64.
var inverse = func() (r [len(whole)]uint64) {
	for k, ten := range whole {
		r[k], _ = bits.Div64(1<<63-1, 1<<64-1, ten<<bits.LeadingZeros64(ten))
	}
	return r
}()

// whole are the powers of ten below 2^64.
var whole = [...]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
	1e18, 1e19}

// tens are the powers of ten that at most 15 digits can have behind the point.
var tens = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}
