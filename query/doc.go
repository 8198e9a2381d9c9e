// Package query defines the queries that may be asked of the records, as immutable values.
//
// A [Question] is a sum over a cohort of clipped per-record vectors, together with the charge to be
// spent on its noisy answer. Only data reaches the records: points, weights, radii. A query holds
// no functions, so that no code of an optimizer runs on a row.
package query
