// Package onestep (not frozen) plans and runs fits with confidence intervals for the coefficients. A run releases the
// second moment of the rows, computes a preconditioner (metric) from it, and fits the model with this
// preconditioner. It then makes two Newton steps whose gradient and curvature are released with known
// noise. Package inference computes the estimate and the intervals from these releases.
package onestep
