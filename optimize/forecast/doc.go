// Package forecast says what a plan may be expected to reach: it follows the
// second moments of a run, by the plan's law, on a quadratic with an assumed
// spectrum. It uses public quantities only, and nothing but choices between plans
// rests on it.
package forecast
