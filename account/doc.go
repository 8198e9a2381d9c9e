// Package account computes privacy guarantees. It holds neighbouring relations, budgets, events,
// the ledger with its privacy filter, and the conversions between the notions in which a guarantee
// is stated: (epsilon, delta)-DP, Gaussian DP, zCDP, Renyi DP and privacy-loss distributions.
//
// The package reads no records, draws no random numbers and does no I/O. Every result is rounded to
// the private side: a reported epsilon or delta is never below the true value, and a permitted mu
// is never above it.
//
// Gaussian releases are counted in Gaussian differential privacy (GDP; Dong, Roth and Su 2022). A
// release of a vector with sensitivity D and noise N(0, sigma^2 I) is charged (D/sigma)^2. Charges
// add without loss under adaptive composition, also when each charge is chosen after the earlier
// releases were seen (Smith and Thakurta 2022; Koskela, Tobaben and Honkela 2022). A run whose
// charges a filter keeps within mu^2 is therefore mu-GDP as a whole.
//
// Releases that are not Gaussian, or that are amplified by sampling, are composed by privacy-loss
// distributions. A [Mechanism] is represented by its dominating pair. A [Composition] brackets the
// tight epsilon and delta of the composed pairs. The lower end of a bracket holds for the
// dominating pairs; a particular mechanism may cost less.
package account
