// Package onepass has the methods that use each record in one release only. Cohorts are disjoint,
// so that the releases compose in parallel and each of them may spend the whole budget. Since each
// cohort is fresh, the methods' accuracy guarantees hold for the distribution of the records.
package onepass
