// Package optimizetest holds what tests of optimizers share: an oracle that
// answers questions in plain arithmetic and remembers them, and problems whose
// minima are known.
//
// Nothing here guards records. The oracle keeps rows in the open, its noise is
// seeded and in floating point, and what it computes without noise is there to
// be read.
package optimizetest
