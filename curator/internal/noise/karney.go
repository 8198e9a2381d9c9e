package noise

// Exact normals: algorithm N of Karney, "Sampling exactly from the normal distribution", ACM Transactions on
// Mathematical Software 42 (2016), on a lattice of step 2^-s. N1 to N6 are the steps of his algorithm.
//
// With j a non-negative integer and x in (0, 1), the magnitude (j + x)/2^s of a standard normal has density
// proportional to
//
//	exp(-(j+x)^2 a) = exp(-j^2 a) exp(-x(2j+x) a),  a = 2^-(2s+1).
//
// Karney has s = 0. His steps N1 and N2 draw j with probability proportional to the first factor, and N4
// accepts x with the second factor as probability.
//
// Deviations: j is drawn by inversion (cells), which rejects nothing. With s = 6, step N4 rejects one trial
// in a hundred. Karney's algorithm B measures the length of decreasing runs x > u1 > u2 > ... of uniforms
// (von Neumann 1951), and draws digits of the uniforms as comparisons need them. Only the length of a run
// matters, not the uniforms: i uniforms are all below x and in order with probability x^i/i!, so that a run
// of length i-1 continues with probability x/i. Here this is decided by two Bernoulli draws, with
// probabilities x and 1/i. Only x is stored as a number, and no two uniforms are compared.

// accept is step N4 of Karney's algorithm N (2016): it returns true with probability exp(-x(2j+x) a),
// a = 2^-(2s+1). It makes m independent runs, each of which succeeds with probability exp(-p), p =
// x(2j+x) a/m, and returns true if all succeed. m is the smallest integer with (2j+x) a < m for all x
// in (0, 1); it is 1 for j below 2^(2s).
func (f *flips) accept(j uint64, x *fraction) bool {
	m := 1 + j>>(2*f.cells.s)
	for range m {
		if !f.run(j, m, x) {
			return false
		}
	}
	return true
}

// run is algorithm B of Karney (2016): it returns true with probability exp(-p), p = x(2j+x) a/m, for the
// cell's number j, the place x in the cell, a = 2^-(2s+1), and the number m of runs that the function
// accept makes. A run continues from length i-1 to i with probability p/i, and so reaches length i with
// probability p^i/i!. The probability that its final length is even is the alternating sum of these
// probabilities,
//
//	1 - p + p^2/2! - ... = exp(-p).
//
// In this case run returns true.
func (f *flips) run(j, m uint64, x *fraction) bool {
	i := uint64(1)
	for f.slope(j, m, x) && f.below(x) && (i == 1 || f.oneIn(i)) {
		i++
	}
	return i%2 == 1
}

// slope returns true with probability (2j+x) a/m, a = 2^-(2s+1). It draws a uniform integer below m/a
// and returns true if the integer is below 2j, or if it is 2j and a Bernoulli draw with probability x
// is true. It replaces the selector C(2n+2) of Karney (2016).
func (f *flips) slope(j, m uint64, x *fraction) bool {
	v := f.upTo(m, 2*f.cells.s+1)
	return v <= 2*j && (v < 2*j || f.below(x))
}

// trial makes one attempt at drawing the magnitude (j + x)/2^s of a standard normal, and reports
// whether the rejection method accepts it.
func (f *flips) trial() (j uint64, x fraction, ok bool) {
	j = f.cell()     // N1, N2
	x = f.fraction() // N3
	ok = f.accept(j, &x)
	return j, x, ok
}

// round rounds an accepted magnitude (j + x)/2^s to the nearest multiple of 2^-k, counted in units of
// 2^-k, and gives it a random sign, 0 <= k <= MaxBits. The bits of x that the trial has read are used
// again; further bits of x are drawn.
func (f *flips) round(j uint64, x *fraction, k uint) int64 {
	var m uint64 // N5: floor((floor(2 M) + 1)/2) for the magnitude M in units of 2^-k
	if s := f.cells.s; k >= s {
		m = j<<(k-s) + (f.leading(x, k+1-s)+1)>>1
	} else {
		m = (j>>(s-k-1) + 1) >> 1
	}
	sign := -int64(f.few(1)) // N6: 0 or -1
	return int64(m) ^ sign - sign
}

// normal returns a standard normal times 2^k, rounded to the nearest integer, 0 <= k <= MaxBits.
func (f *flips) normal(k uint) int64 {
	for {
		if j, x, ok := f.trial(); ok {
			return f.round(j, &x, k)
		}
	}
}
