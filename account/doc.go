// Package account decides what a run may release and records what it released: budgets and guarantees, events and their
// charges, the ledger with its privacy filter, and schedules of sampled releases.
//
// The package reads no records, draws no random numbers and does no I/O. Every result is rounded to
// the private side: a charge is never below the true value, and a permitted mu is never above it.
//
// Gaussian releases are counted in Gaussian differential privacy (GDP; Dong, Roth and Su 2022). A release of a vector
// with sensitivity D and noise N(0, sigma^2 I) is charged (D/sigma)^2. Charges add without loss under adaptive
// composition, also when each charge is chosen after the earlier releases were seen (Smith and Thakurta 2022; Koskela,
// Tobaben and Honkela 2022). A run whose charges a filter keeps within mu^2 is therefore mu-GDP as a whole.
//
// Releases that are amplified by sampling follow a [Schedule], which is fixed before the first of them. Package
// account/mechanism proves that a schedule is within its budget, and composes every other kind of mechanism.
package account
