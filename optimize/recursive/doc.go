// Package recursive (not frozen) contains methods for convex losses that solve a sequence of optimization problems
// (rounds). The objective of each round has quadratic regularizers around the solutions of the earlier rounds.
//
// Package optimize defines the symbols n, d, N, L0, L1, F0, F and the words charge, release and cohort.
package recursive
