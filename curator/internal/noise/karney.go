package noise

// Exact normals: algorithm N of Karney, "Sampling exactly from the normal
// distribution", ACM Transactions on Mathematical Software 42 (2016), on a lattice of
// step 2^-s.
//
// With j a non-negative integer and x in (0, 1), |N| = (j + x)/2^s has density
// proportional to
//
//	exp(-(j+x)^2 a) = exp(-j^2 a) exp(-x(2j+x) a),  a = 2^-(2s+1).
//
// Karney has s = 0. His steps N1 and N2 make j, of probability proportional to the first
// factor, and N4 accepts x with the second as probability.
//
// Deviations: j is found by inversion (cells), which rejects nothing, and s = 6, with
// which hardly anything is rejected afterwards. Karney's algorithm B measures decreasing
// runs x > u1 > u2 > ... of uniforms (von Neumann 1951), drawing their digits as the
// comparisons need them. The values are never used, only the length: i uniforms are all
// below x and in order with probability x^i/i!, so a run of length i-1 goes on with
// probability x/i, which is a coin x and a coin 1/i. Here these coins are thrown
// instead; only x is ever a number, and no two uniforms are compared.

// accept is step N4: true with probability exp(-x(2j+x) a), as m runs with
// p = x(2j+x) a/m are. m is the least with (2j+x) a < m for all x; it is 1 below
// |N| = 2^s.
func (f *flips) accept(j uint64, x *fraction) bool {
	m := 1 + j>>(2*f.cells.s)
	for range m {
		if !f.run(j, m, x) {
			return false
		}
	}
	return true
}

// run is algorithm B. A run that goes from length i-1 to i with probability p/i, and
// ends otherwise, reaches i with probability p^i/i!. It ends at an even length with
// probability 1 - p + p^2/2! - ... = exp(-p).
func (f *flips) run(j, m uint64, x *fraction) bool {
	i := uint64(1)
	for f.slope(j, m, x) && f.below(x) && (i == 1 || f.oneIn(i)) {
		i++
	}
	return i%2 == 1
}

// slope returns true with probability (2j+x) a/m: a uniform integer below 1/a, in m
// times as many, is below 2j, or is 2j and a coin x is true. It stands for Karney's
// selector C(2n+2).
func (f *flips) slope(j, m uint64, x *fraction) bool {
	v := f.upTo(m, 2*f.cells.s+1)
	return v <= 2*j && (v < 2*j || f.below(x))
}

// trial proposes |N| = (j + x)/2^s and tells whether it is accepted.
func (f *flips) trial() (j uint64, x fraction, ok bool) {
	j = f.cell()     // N1, N2
	x = f.fraction() // N3
	ok = f.accept(j, &x)
	return j, x, ok
}

// round turns an accepted (j + x)/2^s into the nearest multiple of 2^-k, in units of it,
// with a random sign, 0 <= k <= MaxBits. The leading bits of x are the very ones that
// the trial looked at, and new ones only where it did not look.
func (f *flips) round(j uint64, x *fraction, k uint) int64 {
	var m uint64 // N5: half of the magnitude's double, rounded up
	if s := f.cells.s; k >= s {
		m = j<<(k-s) + (f.leading(x, k+1-s)+1)>>1
	} else {
		m = (j>>(s-k-1) + 1) >> 1
	}
	sign := -int64(f.few(1)) // N6: 0 or -1
	return int64(m) ^ sign - sign
}

// normal returns 2^k N rounded to nearest, 0 <= k <= MaxBits.
func (f *flips) normal(k uint) int64 {
	for {
		if j, x, ok := f.trial(); ok {
			return f.round(j, &x, k)
		}
	}
}
