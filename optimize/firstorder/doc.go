// Package firstorder has the methods that ask about all records, or Poisson
// samples of them, in every step: gradient descent, SpiderBoost, STORM, DP-SGD and
// DP-Adam. Each file is an algorithm: citation, guarantee and deviations, settings,
// plan and law, loop.
package firstorder
