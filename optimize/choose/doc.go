// Package choose (not frozen) chooses the optimizer for a problem before any record is used. It makes the plan of
// every algorithm, within a limit on passes over the table, and orders the plans by their forecasts and
// by measured errors of such forecasts.
package choose
