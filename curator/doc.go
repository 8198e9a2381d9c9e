// Package curator is the wall around the records. Open reads a table behind it
// and returns a Session; its Ask and Select and the Add of a prefix sum are the
// only ways anything computed from records comes out, always by secret coins,
// always charged first.
//
// # What is promised
//
// Whatever an optimizer asks, in whatever order and number, adaptively and from
// any number of goroutines, all answers of a session together are mu-GDP for
// the mu of its budget, hence (epsilon, delta)-DP, for neighbouring tables that
// differ in one row. The promise does not rest on the constants a loss
// declares: they are enforced by clipping each record's contribution. It is
// exact in floating point: contributions are rounded to a grid, summed in
// integers and given exactly rounded normal noise. docs/exactness.md has the
// derivation.
//
// # What is not
//
// A loss runs on rows and is trusted code. Timing is not protected beyond this:
// the number of questions, their kinds and their sizes do not depend on
// records. Errors about a data file name the file and the rule it breaks, never
// a line, a cell or a count; a faulty record (malformed, not a number, without
// a target) is silent and contributes the public centre of its clip ball, which
// is zero for a gradient. The number of rows is public under
// replace-one.
package curator
