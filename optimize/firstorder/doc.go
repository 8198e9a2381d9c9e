// Package firstorder (not frozen) implements the methods that make, in every step, a query about the gradients of all
// records or of a Poisson sample of them: gradient descent, SpiderBoost, STORM, DP-SGD, DP-Adam, Nesterov and
// Preconditioned. The comment of each method's type states citation, guarantee and deviations from the paper. Package
// optimize defines the symbols n, d, N, L0, L1, F0 and the words plan, law, charge and release.
package firstorder
