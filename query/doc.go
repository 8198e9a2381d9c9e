// Package query holds what may be asked of the records, as immutable values.
//
// A question is a sum over a cohort of clipped per-record vectors, together
// with the charge its asker is willing to have reserved for the answer. Only
// data crosses to the records: points, weights, radii. There are no closures,
// so nothing an optimizer writes ever runs on a row.
package query
