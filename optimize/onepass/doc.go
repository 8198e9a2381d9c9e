// Package onepass has the methods that use each record in one release only. Cohorts are disjoint,
// so that the releases compose in parallel and each of them may spend the whole budget. Since each
// cohort is fresh, the methods' accuracy guarantees hold for the distribution of the records.
//
// Symbols: n is the number of records, d the number of parameters and F the mean loss plus the
// regularizer. L0 is the norm at which a record's gradient is clipped, L1 the smoothness of F, and F0
// a public bound on F(w_0) - min F. N = n mu/sqrt(d) is the effective size; gradient norms below
// about 2 L0/N are noise (see [optimize.Problem]). A charge is a part of the budget mu^2. A release, or
// answer, is a noisy number or vector computed from records.
package onepass
