package dataset

// decimal parses a number of common form: an optional sign, and 1 to 18 digits with at most one point. The
// digits without the point must be a number of at most 2^53. ok is false for any other form, which callers
// parse with [strconv.ParseFloat]. decimal is several times faster and gives the same bits: the digits and
// the power of ten are exact as float64 numbers, and their quotient is rounded once (Clinger 1990, the fast
// case).
func decimal(s string) (x float64, ok bool) {
	i, negative := 0, false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		i, negative = 1, s[0] == '-'
	}
	var m uint64
	start, point := i, -1
	for ; i < len(s); i++ {
		switch c := s[i] - '0'; {
		case c <= 9:
			m = 10*m + uint64(c)
		case s[i] == '.' && point < 0:
			point = i
		default:
			return 0, false
		}
	}
	digits, behind := i-start, 0
	if point >= 0 {
		digits--
		behind = len(s) - point - 1
	}
	if digits == 0 || digits > 18 || m > 1<<53 {
		return 0, false
	}
	x = float64(m) / tens[behind]
	if negative {
		x = -x
	}
	return x, true
}

// tens are the powers of ten up to 10^18, since the function decimal accepts up to 18 digits. Each is exact
// as a float64.
var tens = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
	1e18}

// clamp returns min(max(x, low), high), except for the sign of a zero. It returns NaN for NaN.
func clamp(x, low, high float64) float64 {
	switch {
	case x < low:
		return low
	case x > high:
		return high
	}
	return x
}
