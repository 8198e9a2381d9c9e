// Package nonsmooth (not frozen) contains optimizers for losses whose derivative jumps, such as the pinball loss
// of quantiles, the hinge loss and capped losses.
//
// The curvature of a loss whose derivative jumps has no bound, and the norm of its gradient does not measure progress.
// For the loss |w| the norm is 1 next to the minimum and 0 at the minimum. The quality of a point is therefore stated
// by Goldstein's (1977) measure. A point w is (r, b)-stationary if some mean of gradients at points within distance r
// of w has norm at most b (Zhang et al. 2020; under differential privacy Kornowski, Liu and Talwar 2024).
//
// Symbols: n is the number of records, d the number of parameters and F the mean loss plus the
// regularizer. L0 is the norm at which a record's gradient is clipped, L1 the smoothness of F, and F0
// a public bound on F(w_0) - min F. N = n mu/sqrt(d) is the effective size; a gradient norm below
// about 2 L0/N cannot be distinguished from noise (see [optimize.Problem]). A charge is a part of the
// privacy budget mu^2. A release, or answer, is a noisy number or vector computed from records.
package nonsmooth
