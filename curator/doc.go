// Package curator (not frozen) is the trusted component that holds the records. Open reads a table and returns a
// Session. Results computed from records leave the package through four functions only. Each of
// them draws its noise from secret random bits and charges the privacy budget first:
//
//   - [Session.Ask]: a sum of clipped contributions, or the norm of such a sum, with Gaussian noise.
//     It trusts nothing a loss declares.
//   - [Session.Select]: the index of a candidate, by the exponential mechanism. It trusts nothing a
//     loss declares.
//   - [PrefixSum.Add]: the sum of the items so far, with Gaussian noise that is shared between
//     answers. It trusts nothing a loss declares.
//   - [Session.Stable]: the average of the iterates of a pass of SGD, with Gaussian noise. It
//     trusts that the loss is convex and as smooth as it declares, and accepts only losses for
//     which that is proven ([TakesStable]).
//
// # Guarantee
//
// All answers of a session together are mu-GDP for the mu of its budget, hence (epsilon, delta)-DP. This holds whatever
// queries an optimizer makes, in any order and number, adaptively, and from any number of goroutines. Neighbouring
// tables differ in one row or, if the schema has a unit, in all rows of one unit. A session that follows a schedule of
// Poisson samples is (epsilon, delta)-DP for the schedule's epsilon and delta.
//
// Except for Stable, the guarantee does not depend on the constants that a loss declares, because each
// record's contribution is clipped. The guarantee is exact in floating point: contributions are rounded to a
// grid, summed as integers, and get exactly rounded normal noise. docs/explanation/exactness.md has the derivation.
//
// An answer depends neither on a variable that another package can assign to, nor on a value to which another
// package holds a pointer. A Session shows its ledger as an [account.View]. For the store of budgets and the
// certificate, the view also gives the number of records, the unit that defines a record, and the row filter
// ([account.Records]). A Session copies its arguments, a schedule included. A Session and a PrefixSum are
// handles: a copy of a handle refers to the same records, budget and ledger.
//
// # Sources of rows
//
// [Config] names files, or gives a stream, [Rows] that the caller holds, or [Shards] held by other processes. The rows
// of every source pass the schema's row map. The same table gives the same bits from every source, since the same rules
// decide which rows count and which are faulty. Rows are copied, so that later changes by the caller have no effect.
// They are kept in memory, and beyond Config.Memory in a private file. If a row cannot be read back from the file, the
// query fails with an error that does not name the row, and stays charged. A process that holds a shard ([Serve]) sends
// exact sums, but only to its session, and encrypted.
//
// # Limits
//
// A loss runs on rows and is trusted code. A record on which it panics or returns a value that is
// not finite counts as faulty.
//
// Timing is not protected, except that the number, kinds and sizes of queries do not depend on
// records.
//
// An error about a data file names the file and the broken rule, never a line, a cell or a count. An error
// about Rows names the broken rule. It hides the text of errors that the caller's code returns. A faulty
// record (malformed, not a number, or without a target) contributes zero to every answer, without a
// message. In an answer about clipped numbers, its zero is clipped as every number is.
//
// The number of records is public under replace-one. A row that the filter on a public column rejects is no
// record. A malformed row passes every filter and is a faulty record (dataset.Filter). Otherwise a cell
// that is not public could decide whether a row counts. A table may have at most 2^31 - 1 rows. Each
// partition of [Shards] may have at most 2^31 - 1 rows. All partitions together may have at most 2^40 rows
// under replace-one and 2^31 - 1 otherwise. From a table of more than 2^31 - 1 rows, no cohort and no
// sample can be drawn.
package curator
