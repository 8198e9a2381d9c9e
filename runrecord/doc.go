// Package runrecord is what a run records beside its charges: its plan, the law by which its
// releases became its result, and what it released of the result. Optimizers write it,
// certificates store it as the member algorithm.plan, and reports read it. All of it is
// public, or was released with noise and charged.
//
// It imports nothing of the module, so that whoever reads a certificate reads it by the
// types that the run wrote it by, and reaches nothing that computes.
//
// Lengths and norms are in the encoded space, in which a row has norm 1 at most.
package runrecord
