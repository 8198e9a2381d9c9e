// Package kl (not frozen) implements the methods of Menart, Ullah, Arora, Bassily and Guzmán 2024 for losses under the
// KL condition F(w) - min F <= (gamma ||grad F(w)||)^kappa (see [optimize.KL]), and variants of them with
// smaller measured errors. The comment of each method's type states the paper's algorithm, the guarantee
// and the deviations from the paper. Line numbers in a Run method refer to the paper's algorithm.
//
// The paper counts privacy loss in zCDP, this package in Gaussian differential privacy: rho = mu^2/2.
//
// Symbols: n is the number of records, d the number of parameters and F the mean loss plus the
// regularizer. L0 is the norm at which a record's gradient is clipped, L1 the smoothness of F, and F0
// a public bound on F(w_0) - min F. N = n mu/sqrt(d) is the effective size; a gradient norm below
// about 2 L0/N cannot be distinguished from noise (see [optimize.Problem]). A charge is a part of the
// privacy budget mu^2. A release, or answer, is a noisy number or vector computed from records.
package kl
