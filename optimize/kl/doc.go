// Package kl implements the methods of Menart, Ullah, Arora, Bassily and Guzmán 2024 for losses
// under the KL condition F(w) - min F <= (gamma ||grad F(w)||)^kappa (see [optimize.KL]), and
// variants of them that were found to work better in practice. Each file holds one algorithm:
// citation, guarantee, deviations from the paper, settings, plan, noise law and loop. Comments in a
// loop give line numbers of the paper's pseudocode.
//
// The paper accounts in zCDP, this package in Gaussian differential privacy: rho = mu^2/2. A charge
// is a share of mu^2.
package kl
