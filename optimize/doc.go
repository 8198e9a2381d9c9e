// Package optimize minimises a loss, or finds its stationary points, from noisy answers.
//
// Each algorithm consists of a plan and a loop. The plan is made before any record is read, from public
// quantities only: the problem's constants, the declared number of records and the budget. It states
// which queries the loop will make, the charge of each answer and the expected gradient norm. The loop
// makes the queries to an Oracle and follows the pseudocode of the paper.
//
// An optimizer never sees a record. All its results are post-processing of noisy answers, so a mistake
// in this package can cost accuracy but not privacy.
//
// Symbols: n is the number of records, d the number of parameters, F the mean loss plus the
// regularizer. L0 is the norm at which a record's gradient is clipped, L1 the smoothness of F, F0 a
// public bound on F(w_0) - min F. N = n mu/sqrt(d) is the effective size; gradient norms below about 2
// L0/N are noise. A charge is a part of the budget mu^2. A release, or answer, is a noisy number or
// vector computed from records. A cohort is a subset of records.
package optimize
