// Package nonsmooth (not frozen) contains optimizers for losses whose derivative jumps, such as the pinball loss
// of quantiles, the hinge loss and capped losses.
//
// The curvature of a loss whose derivative jumps has no bound, and the norm of its gradient does not measure progress.
// For the loss |w| the norm is 1 next to the minimum and 0 at the minimum. The quality of a point is therefore stated
// by Goldstein's (1977) measure. A point w is (r, b)-stationary if some mean of gradients at points within distance r
// of w has norm at most b (Zhang et al. 2020; under differential privacy Kornowski, Liu and Talwar 2024).
//
// Package optimize defines the symbols n, d, N, L0, L1, F0, F and the words charge, release and cohort.
package nonsmooth
