// Package choose chooses between plans before any record is touched: it plans every
// algorithm, within a limit on passes, and compares what they are predicted to
// reach. What it knows of a plan are its forecast and its declared properties.
package choose
