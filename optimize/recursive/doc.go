// Package recursive (not frozen) contains methods for convex losses that solve a sequence of optimization problems
// (rounds). The objective of each round has quadratic regularizers around the solutions of the earlier rounds.
//
// Symbols: n is the number of records, d the number of parameters and F the mean loss plus the regularizer. L0 is the
// norm at which a record's gradient is clipped, L1 the smoothness of F, and F0 a public bound on F(w_0) - min F. N = n
// mu/sqrt(d) is the effective size; a gradient norm below about 2 L0/N cannot be distinguished from noise (see
// [optimize.Problem]). A charge is a part of the privacy budget mu^2. A release, or answer, is a noisy number or vector
// computed from records. A cohort is a subset of the records.
package recursive
