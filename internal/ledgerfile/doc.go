// Package ledgerfile reads and checks the ledger of an output folder: one JSON line for each
// reservation of a budget and for each end of a fit.
//
// Later fits and reports sum the budgets of a table's fits from the ledger. The package therefore
// never guesses the meaning of a line. A line that breaks a rule is an error that names the line and the
// rule. The only line that is skipped is a last line that a crash cut short (see [Parse]).
package ledgerfile
