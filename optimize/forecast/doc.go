// Package forecast (not frozen) predicts the gradient norm and the excess risk of a plan's result. For each step of the
// run it computes the mean squares of error and gradient, on a quadratic objective whose Hessian has an
// assumed spectrum. The plan's update rule ([optimize.UpdateRule]) states the noise and the size of each step. The package
// uses public quantities only. Forecasts decide the choice between plans and nothing else.
package forecast
