// Package account holds privacy as values: relations, budgets, events, the
// ledger and its filter, and the conversions between the currencies in which
// a privacy guarantee is stated.
//
// It touches no records, draws no random numbers and does no I/O. Everything
// it computes is rounded to the private side: an epsilon or delta it reports
// is never below the truth, a mu it permits is never above.
//
// Gaussian parts of a run are counted in Gaussian differential privacy (Dong,
// Roth and Su 2022). A release of a vector with sensitivity D and noise
// N(0, sigma^2 I) is charged m = (D/sigma)^2; charges add under adaptive
// composition without loss, also when each charge is chosen after seeing the
// earlier releases (Smith and Thakurta 2022; Koskela, Tobaben and Honkela
// 2022), so a run that a filter keeps within mu^2 is mu-GDP as a whole.
//
// What is not Gaussian, or is amplified by sampling, is composed by
// privacy-loss distributions: a [Mechanism] is its dominating pair, and a
// [Composition] brackets the tight epsilon and delta of pairs used together.
// Its lower end is that of the dominating pairs; a particular mechanism may be
// better than its pair.
package account
