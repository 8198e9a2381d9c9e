// Package onepass has the methods that use each record in one release only, each
// release with the whole budget: cohorts are disjoint and compose in parallel. Fresh
// cohorts make their guarantees ones for the distribution that the records were
// drawn from.
package onepass
