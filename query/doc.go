// Package query (not frozen) defines the queries that may be asked of the records, as immutable values.
//
// A [Question] is a sum over a cohort of clipped per-record vectors, for instance gradients, together
// with the charge to be spent on its noisy answer. A query holds only data, such as points, weights
// and radii, and no functions, so that no code of an optimizer runs on a row.
package query
