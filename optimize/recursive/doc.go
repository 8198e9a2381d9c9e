// Package recursive has methods for convex losses that solve a sequence of
// problems, each regularized towards the results of those before it.
package recursive
