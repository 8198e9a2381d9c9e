// Package secondorder holds algorithms that look for second-order stationary points:
// where the gradient is small and the Hessian has no eigenvalue much below zero.
package secondorder
