// Package forecast predicts the gradient norm and the excess risk that a plan reaches. It computes
// the second moments of a run, by the plan's noise law ([optimize.Law]), on a quadratic with an assumed
// spectrum. It uses public quantities only. Forecasts decide the choice between plans and nothing else.
package forecast
