// Package kl (not frozen) implements the methods of Menart, Ullah, Arora, Bassily and Guzmán 2024 for losses under the
// KL condition F(w) - min F <= (gamma ||grad F(w)||)^kappa (see [optimize.KL]), and variants of them with
// smaller measured errors. The comment of each method's type states the paper's algorithm, the guarantee
// and the deviations from the paper. Line numbers in a Run method refer to the paper's algorithm.
//
// The paper counts privacy loss in zCDP, this package in Gaussian differential privacy: rho = mu^2/2.
//
// Package optimize defines the symbols n, d, N, L0, L1, F0, F and the words charge, release and cohort.
package kl
