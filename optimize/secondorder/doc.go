// Package secondorder (not frozen) contains algorithms that search for second-order stationary points: points
// where the gradient is small and no eigenvalue of the Hessian is far below zero.
//
// Package optimize defines the symbols n, d, N, L0, L1, F0, F and the words charge, release and cohort. A prefix sum is
// a sequence of items (gradients or gradient differences) of which every partial sum is released ([query.Prefix]).
package secondorder
