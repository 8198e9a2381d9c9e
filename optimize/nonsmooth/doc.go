// Package nonsmooth holds optimizers for losses whose slope jumps: the pinball loss of
// quantiles, the hinge, losses that are capped.
//
// Such losses have no bound on their curvature, and the norm of the gradient tells
// nothing: at the minimum of |w| it is 1 beside the minimum and 0 on it. What is
// measured instead is Goldstein's (1977): w is (r, b)-stationary if some mean of
// gradients at points within r of w has norm at most b (Zhang et al. 2020; privately
// Kornowski, Liu and Talwar 2024).
package nonsmooth
