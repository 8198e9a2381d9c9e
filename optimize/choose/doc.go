// Package choose chooses between plans before any record is used. It plans every algorithm, within
// a limit on passes, and compares the plans' forecasts and declared properties.
package choose
