// Package ledgerfile reads and checks the ledger of an output folder: one JSON
// line for each reservation of a budget and for each end of a fit.
//
// What it reads decides what later fits and reports say the fits of a table cost
// together, so nothing in it is guessed or skipped: a line that does not follow
// every rule is an error that names the line and the rule.
package ledgerfile
