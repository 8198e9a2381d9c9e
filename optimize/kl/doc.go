// Package kl has the methods of Menart, Ullah, Arora, Bassily and Guzmán 2024 for
// losses that rise away from their minimum, F(w) - min F <= (gamma ||grad
// F(w)||)^kappa, and what practice makes of them. Each file is an algorithm:
// citation, guarantee and deviations, settings, plan and law, loop, with the line
// numbers of its page.
//
// The paper counts in zCDP, here it is Gaussian differential privacy: rho = mu^2/2.
package kl
