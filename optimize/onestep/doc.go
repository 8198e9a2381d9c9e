// Package onestep plans and runs fits with confidence intervals for the coefficients: it releases a
// preconditioner (metric), fits in it, and makes two Newton steps whose gradient and curvature are
// released with known noise. Package inference computes the estimate and the intervals from these
// releases.
package onestep
