// Package optimize (not frozen) minimises a loss, or finds its stationary points, from noisy answers.
//
// Each algorithm consists of a plan and a loop. The plan is made before any record is read, from public quantities
// only: the problem's constants, the declared number of records and the budget. It states which queries the loop will
// make, the part of the privacy budget that each answer costs, and the expected gradient norm of the result. The loop
// makes the queries to an [Oracle] and follows the pseudocode of the paper.
//
// An optimizer never sees a record. All its results are post-processing of noisy answers, so a
// mistake in this package can cost accuracy but not privacy.
//
// Terms: a charge is a part of the privacy budget mu^2. A release, or answer, is a noisy number or
// vector computed from records. A cohort is a subset of the records. The law of a plan states how
// releases become steps and a result ([UpdateRule]). A margin is a linear score <w, x>.
//
// Symbols: n is the number of records and d the number of parameters. The objective F is the mean
// loss plus the regularizer. L0 is the norm at which a record's gradient is clipped, L1 the
// smoothness of F, and F0 a public bound on F(w_0) - min F. N = n mu/sqrt(d) is the effective size; a
// gradient norm below about 2 L0/N cannot be distinguished from noise.
package optimize
