// Package curator is the wall around the records. Open takes a table behind it
// and returns a Session. What is computed from records comes out by four exits
// only, always by secret coins, always charged first:
//
//   - [Session.Ask]: a sum of clipped contributions, or the norm of one, with
//     Gaussian noise. It trusts nothing a loss declares.
//   - [Session.Select]: the index of a candidate, by the exponential mechanism.
//     It trusts nothing a loss declares.
//   - [PrefixSum.Add]: the sum of the items so far, with Gaussian noise that
//     answers share. It trusts nothing a loss declares.
//   - [Session.Stable]: the average of the iterates of a pass of SGD, with
//     Gaussian noise. It trusts that the loss is convex and as smooth as it
//     declares, and takes only losses for which that is proven ([TakesStable]).
//
// # What is promised
//
// Whatever an optimizer asks, in whatever order and number, adaptively and from
// any number of goroutines, all answers of a session together are mu-GDP for
// the mu of its budget, hence (epsilon, delta)-DP, for neighbouring tables that
// differ in one row or, where the schema has a unit, in all rows of one; a session that follows a schedule of Poisson samples is
// (epsilon, delta)-DP by that schedule. But for Stable the promise does not rest
// on the constants a loss declares: they are enforced by clipping each record's
// contribution. It is exact in floating point: contributions are rounded to a
// grid, summed in integers and given exactly rounded normal noise.
// docs/exactness.md has the derivation.
//
// Nothing that another package can assign, or whose pointer it holds, decides an
// answer: a Session shows its ledger as an [account.View], which also says how many records
// there are, whose rows are one and which filter chose them, for the store of budgets and
// the certificate ([account.Records]); it keeps a schedule as it
// was when it was given, and copies what it takes. A Session and a PrefixSum are
// handles: assigning one over another makes a variable the name of the other, with
// the other's records, budget and ledger, and changes neither.
//
// # Where rows come from
//
// [Config] names a file or takes [Rows] that the caller holds. Both go through the
// schema's row map and come out as the same bits; which rows count, and which are
// faulty, is decided by the same rules. The rows are copied: what the caller does
// with its own afterwards changes nothing. They are kept in memory, or beyond
// Config.Memory in a private file; a row that cannot be read back ends a question,
// which stays charged, with an error that says no more.
//
// # What is not
//
// A loss runs on rows and is trusted code; a record on which it panics or writes
// no finite answer is faulty. Timing is not protected beyond this: the number of
// questions, their kinds and their sizes do not depend on records. Errors about a
// data file name the file and the rule it breaks, never a line, a cell or a count;
// those about rows name the rule, and hide what the caller's code failed with;
// a faulty record (malformed, not a number, without a target) is silent and
// contributes zero, whatever is asked. The number of rows is public under
// replace-one. A row that its public column filters out is no record at all; a
// malformed row passes every filter and is a faulty record (dataset.Filter), so
// that no cell but the public one decides whether a well-formed row counts. No
// table may have more than 2^31 - 1 rows.
package curator
