package account

import "fmt"

// ChargedError is an error of a fit that occurred after the budget was reserved. The budget stays reserved.
type ChargedError struct {
	// Ledger and Folder are the ledger file and the folder of the reservation; empty if the fit is
	// stored nowhere.
	Ledger, Folder string
	// Err is the error that ended the fit.
	Err error
}

// Error returns the text of the error that ended the fit, and adds that the whole budget stays charged. If
// the fit is stored, the text names the ledger and the folder from which the fit can be recovered.
func (e *ChargedError) Error() string {
	if e.Folder == "" {
		return fmt.Sprintf("%v\nthe whole budget stays charged: earlier releases cannot be taken back", e.Err)
	}
	return fmt.Sprintf("%v\nthe whole budget stays charged in %s; stillpoint recover %s saves the model "+
		"in the journal there", e.Err, e.Ledger, e.Folder)
}

// Unwrap returns the error that ended the fit.
func (e *ChargedError) Unwrap() error { return e.Err }
