// Package mechanism computes the privacy of mechanisms and of their compositions, and converts
// between the notions in which a guarantee is stated: (epsilon, delta)-DP, Gaussian DP, zCDP, Renyi
// DP and privacy-loss distributions. It knows mechanisms by their parameters alone. Package account
// decides what a run may release, and records what it released.
//
// The package reads no records, draws no random numbers and does no I/O. Every result is rounded to the private side: a
// reported epsilon or delta is never below the true value, and a permitted mu is never above it.
//
// Mechanisms are composed by privacy-loss distributions. A [Mechanism] is represented by its
// dominating pair. A [Composition] brackets the tight epsilon and delta of the composed pairs. The
// lower end of a bracket holds for the dominating pairs; a particular mechanism may cost less.
// Gaussian mechanisms are composed in closed form, by the sum of the squares of their mu.
//
// Errors begin with "account:", the name of the command that shows most of them.
package mechanism
