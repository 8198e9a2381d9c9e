// Package runrecord defines the record of a run, apart from the run's charges: its plan, the
// computation by which its releases became its result, and the released quality of the result.
// Optimizers write this record, certificates store it as the member algorithm.plan, and reports
// read it. Every number in it is public, or was released with noise and charged.
//
// The package imports nothing of the module. A reader of certificates therefore uses the types that the
// run wrote, and links no code that computes on records.
//
// Lengths and norms are after scaling, where a row has norm 1 at most.
package runrecord
