// Package onepass (not frozen) contains the methods that use each record in one release only. The cohorts (the subsets
// of records) that steps use are disjoint. The releases therefore compose in parallel, and each release may
// be charged the whole budget. Since no record is used twice, the methods' accuracy guarantees hold for the
// distribution of the records.
//
// Symbols: n is the number of records, d the number of parameters and F the mean loss plus the
// regularizer. L0 is the norm at which a record's gradient is clipped, L1 the smoothness of F, and F0
// a public bound on F(w_0) - min F. N = n mu/sqrt(d) is the effective size; a gradient norm below
// about 2 L0/N cannot be distinguished from noise (see [optimize.Problem]). A charge is a part of the
// privacy budget mu^2. A release, or answer, is a noisy number or vector computed from records.
package onepass
