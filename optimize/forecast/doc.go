// Package forecast predicts the gradient norm and the excess risk of a plan's result. It follows the mean
// squares of error and gradient through the steps of the run, on a quadratic objective with an assumed
// spectrum. The plan's law ([optimize.Law]) states the noise and the size of each step. The package uses
// public quantities only. Forecasts decide the choice between plans and nothing else.
package forecast
