// Package stillpoint trains models on sensitive records under differential privacy, by
// finding stationary points of the loss.
//
// Fit takes a table, public facts about its columns, a loss and a budget, and returns a
// model and a certificate from which anybody can recheck the cost. Plan says beforehand
// what would run; Verify rechecks what was saved; Predict applies a model. The command in
// cmd/stillpoint goes through this package. The packages below it are for those who bring
// losses, optimizers or stores of their own.
//
// # The guarantee
//
// A run with budget (epsilon, delta) is (epsilon, delta)-differentially private
// for neighbouring tables that differ in one row: by replacing it under the
// relation replace-one, by its presence under add-or-remove. It is counted in
// Gaussian differential privacy: every answer about records carries Gaussian
// noise and is charged (sensitivity/sigma)^2, a private selection what makes it
// as private as such an answer, all charges sum to at most mu^2, and mu is the
// largest value for which mu-GDP implies (epsilon, delta)-DP. The sum is guarded
// by a filter that refuses what would pass mu^2 before anything is computed, so
// the guarantee is settled before the first answer and holds for algorithms that
// choose their questions adaptively. Releases on Poisson samples have no such
// filter: they follow a schedule that is fixed before the first of them and
// composed by privacy-loss distributions.
//
// One answer rests on more: phased SGD (Recursive with PhasedSGD inside) is
// private because stochastic gradient steps on a convex, smooth loss do not take
// two runs apart. It is given for losses proven so, its rounding is bounded and
// charged, and its certificate says what is trusted.
//
// Sensitivity is enforced: each record's contribution is clipped, differences
// of gradients included, in arithmetic whose rounding is bounded and charged.
// Contributions are rounded to integers, summed exactly, and given exactly
// rounded normal noise; what is released is a post-processing of the ideal
// mechanism. Package account holds the arithmetic of charges, package curator
// the wall around the records, docs/exactness.md the derivation.
//
// A row filter is only on a column declared public, whose value everybody may
// know for every row, and is part of the guarantee: neighbouring tables then
// differ in one row that passes the filter in both, and the number of such rows
// is what replace-one makes public. A malformed row passes every filter
// (dataset.Filter says why). Rows that do not pass are not used at all.
//
// Where a schema has a unit, a record is all rows with one value in a column, such as the
// number of a person, however many: neighbouring tables then differ in all of them, and
// how many values there are is what replace-one makes public (dataset.Unit).
//
// # The adversary
//
// The adversary knows every record but one, the configuration, the code and
// everything a run writes: model, certificate, ledger, progress, exit status.
// It chooses the records it knows, malformed ones included. It does not see the
// machine's memory, and it does not measure time at a resolution that tells
// rows apart.
//
// It may crash the program, and sees what the system keeps of that: the command
// leaves no traceback and no core. A Go program must
// see to the same, by Silence, first in its main function; and must not
// log recovered panics or stacks, serve profiles, or offer other ways to look at
// its goroutines.
//
// # Out of scope
//
// Several rows of one person where the schema names no unit of privacy (a record is
// then a row), timing and other side
// channels of the machine, a loss written to leak, an optimizer that reads other
// goroutines' stacks (the layering test keeps runtime, and whatever else shows them, out of
// package optimize and those below it), choices an analyst makes
// after looking at the table (bounds, features, hyperparameters), and whatever
// is computed from the table by other means, evaluation included. A second fit
// costs a second budget; package budget holds all fits of a registered dataset to one
// cap, and cannot hold those to it who can read the table and do not come through it.
package stillpoint
