// Package optimize finds stationary points of a loss from noisy answers.
//
// Each algorithm is a plan and a loop. The plan is made before any record is
// touched, from public quantities only: the problem's constants, the declared
// number of records, the budget. It says what will be asked, what each answer
// is charged and what gradient norm to expect. The loop carries it out against
// an Oracle and reads like its page of the paper.
//
// An optimizer never sees a record. Everything it returns is post-processing of
// noisy answers, so a mistake in this package can cost accuracy, never privacy.
package optimize
