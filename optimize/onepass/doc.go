// Package onepass (not frozen) contains the methods that use each record in one release only. The cohorts (the subsets
// of records) that steps use are disjoint. The releases therefore compose in parallel, and each release may
// be charged the whole budget. Since no record is used twice, the methods' accuracy guarantees hold for the
// distribution of the records.
//
// Package optimize defines the symbols n, d, N, L0, L1, F0, F and the words charge, release and cohort.
package onepass
