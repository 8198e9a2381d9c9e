// Package recursive has methods for convex losses that solve a sequence of problems. Each problem
// is regularized towards the solutions of the problems before it.
package recursive
