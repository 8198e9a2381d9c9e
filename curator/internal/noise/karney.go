package noise

// Exact normals: algorithm N of Karney, "Sampling exactly from the normal
// distribution", ACM Transactions on Mathematical Software 42 (2016).
//
// With n a non-negative integer and x in (0, 1), |N| = n + x has density
// proportional to
//
//	exp(-(n+x)^2/2) = exp(-n/2) exp(-n(n-1)/2) exp(-x(2n+x)/2),
//
// and the steps N1, N2, N4 take one factor each.
//
// Deviation: Karney's algorithms H and B measure decreasing runs
// x > u1 > u2 > ... of uniforms (von Neumann 1951), drawing their digits as
// the comparisons need them. The values are never used, only the length: i
// uniforms are all below x and in order with probability x^i/i!, so a run of
// length i-1 goes on with probability x/i, which is a coin x and a coin 1/i.
// Here these coins are thrown instead. Every step keeps Karney's
// probabilities; only x is ever a number, and no two uniforms are compared.

// A run that goes from length i-1 to i with probability p/i, and ends
// otherwise, reaches i with probability p^i/i!. It ends at an even length
// with probability 1 - p + p^2/2! - ... = exp(-p).

// half continues a run with p = 1/2 of length i-1 and tells whether it ends
// at an even length. From i = 1 that is algorithm H: true with probability
// exp(-1/2).
func (f *flips) half(i uint64) bool {
	for f.oneIn(2 * i) {
		i++
	}
	return i%2 == 1
}

// halves returns the number of trues before the first false in a sequence of
// algorithm H: n or more with probability exp(-n/2).
//
// Each H begins with a fair bit: 0 ends its run at length 0, which is a true,
// and 1 goes on. The bits up to the first 1 are read at once, as a place.
func (f *flips) halves() (n uint64) {
	for {
		n += uint64(f.place())
		if !f.half(2) {
			return n
		}
		n++
	}
}

// run is algorithm B, a run with p = x(2n+x)/(2n+2): true with probability
// exp(-x(2n+x)/(2n+2)).
func (f *flips) run(n uint64, x *fraction) bool {
	i := uint64(1)
	for (i == 1 || f.oneIn(i)) && f.slope(n, x) && f.below(x) {
		i++
	}
	return i%2 == 1
}

// slope returns true with probability (2n+x)/(2n+2) = n/(n+1) + (x/2)/(n+1).
// It stands for Karney's selector C(2n+2).
func (f *flips) slope(n uint64, x *fraction) bool {
	if n > 0 && !f.oneIn(n+1) {
		return true
	}
	return f.fair() && f.below(x)
}

// trial proposes |N| = n + x and tells whether it is accepted, which has
// probability (1 - exp(-1/2)) sqrt(pi/2) = 0.493.
func (f *flips) trial() (n uint64, x fraction, ok bool) {
	n = f.halves() // N1
	// N2: true with probability exp(-n(n-1)/2), n(n-1) times algorithm H.
	if n > 1 && f.halves() < n*(n-1) {
		return n, x, false
	}
	x = f.fraction() // N3
	// N4: true with probability exp(-x(2n+x)/2), n+1 times algorithm B.
	for range n + 1 {
		if !f.run(n, &x) {
			return n, x, false
		}
	}
	return n, x, true
}

// round turns an accepted n + x into the nearest multiple of 2^-k, in units
// of it, with a random sign, 0 <= k <= MaxBits. The k+1 leading bits of x are
// the very ones that the trial looked at, and new ones only where it did not
// look.
func (f *flips) round(n uint64, x *fraction, k uint) int64 {
	m := n<<k + (f.leading(x, k+1)+1)>>1 // N5
	if f.fair() {                        // N6
		m = -m
	}
	return int64(m)
}

// normal returns 2^k N rounded to nearest, 0 <= k <= MaxBits.
func (f *flips) normal(k uint) int64 {
	for {
		if n, x, ok := f.trial(); ok {
			return f.round(n, &x, k)
		}
	}
}
