// Package secondorder holds algorithms that look for second-order stationary points: points where
// the gradient is small and no eigenvalue of the Hessian is far below zero.
package secondorder
