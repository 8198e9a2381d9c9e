// Package kl implements the methods of Menart, Ullah, Arora, Bassily and Guzmán 2024 for losses
// under the KL condition F(w) - min F <= (gamma ||grad F(w)||)^kappa (see [optimize.KL]), and
// variants of them that were found to work better in practice. Each file holds one algorithm:
// citation, guarantee, deviations from the paper, settings, plan, noise law and loop. Comments in a
// loop give line numbers of the paper's pseudocode.
//
// The paper accounts in zCDP, this package in Gaussian differential privacy: rho = mu^2/2.
//
// Symbols: n is the number of records, d the number of parameters and F the mean loss plus the
// regularizer. L0 is the norm at which a record's gradient is clipped, L1 the smoothness of F, and F0
// a public bound on F(w_0) - min F. N = n mu/sqrt(d) is the effective size; gradient norms below
// about 2 L0/N are noise (see [optimize.Problem]). A charge is a part of the budget mu^2. A release, or
// answer, is a noisy number or vector computed from records.
package kl
