// Package firstorder implements the methods that release, in every step, an answer about the gradients
// of all records or of a Poisson sample: gradient descent, SpiderBoost, STORM, DP-SGD, DP-Adam,
// Nesterov and Preconditioned. Each file holds one algorithm: citation, guarantee, deviations from the
// paper, settings, plan, law and loop. For the symbols n, d, N, L0, L1, F0 see package optimize.
package firstorder
