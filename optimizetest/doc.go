// Package optimizetest (not frozen) contains test helpers for optimizers: an oracle that answers queries in plain
// arithmetic and records them, and problems whose minima are known.
//
// The package does not protect records. The oracle exposes its rows and its exact answers, and its
// noise is seeded and in floating point.
package optimizetest
