package train

import (
	"context"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/internal/ledgerfile"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Keeper stores a fit beyond its process; package runfolder implements it with a folder. Fit calls its
// methods in the listed order, from one goroutine. An error of any method ends the fit. Nothing is
// charged before Reserve.
type Keeper interface {
	// Look returns an error, before anything is read, if the fit could never be stored.
	Look() error
	// Claim excludes other fits until Release, and determines Number and Place. table is the name under
	// which the table's fits are summed.
	Claim(ctx context.Context, table string) error
	Release()
	// Number returns the number of the fit among the fits that are stored there, from 1.
	Number() int
	// Place returns the place where stillpoint recover finds the fit; empty for none.
	Place() string
	// Intend notes a run before the store of budgets is asked to reserve it. Forget removes the note
	// when the store knows how much the run used.
	Intend(store, dataset, run string) error
	Forget() error
	// Begin reserves space for the run's files and opens its log.
	Begin(Head, Released) (Log, error)
	// Reserve writes the reservation of the whole budget to stable storage before the first answer.
	// Settle writes how the run ended. The reservation stays.
	Reserve(Entry) error
	Settle(charged float64, complete bool) error
	// Charged wraps the error that ended a fit whose whole budget stays charged.
	Charged(err error) error
}

// Log stores a run's events and released numbers before they are returned to the algorithm. If Events
// returns an error, the answer is withheld and the run ends.
type Log interface {
	Events([]account.Event) error
	Step(Step) error
	Measured(optimize.Measured) error
	Compared(optimize.Compared) error
	// Sync writes everything to stable storage.
	Sync() error
	// Publish stores the run's model, nil if there is none, and its certificate, and settles the
	// reservation.
	Publish(model []byte, c *certificate.Certificate) error
	// Discard removes the files reserved for the model and the certificate. The stored events stay.
	Discard()
	Close()
}

// unkept is the keeper of a fit that is stored nowhere. The caller of Fit gets all of it.
type unkept struct{}

func (unkept) Look() error                                    { return nil }
func (unkept) Claim(context.Context, string) error            { return nil }
func (unkept) Release()                                       {}
func (unkept) Number() int                                    { return 1 }
func (unkept) Place() string                                  { return "" }
func (unkept) Intend(_, _, _ string) error                    { return nil }
func (unkept) Forget() error                                  { return nil }
func (unkept) Begin(h Head, r Released) (Log, error)          { return unkept{}, h.possible(r) }
func (unkept) Reserve(Entry) error                            { return nil }
func (unkept) Settle(float64, bool) error                     { return nil }
func (unkept) Charged(err error) error                        { return &ChargedError{Err: err} }
func (unkept) Events([]account.Event) error                   { return nil }
func (unkept) Step(Step) error                                { return nil }
func (unkept) Measured(optimize.Measured) error               { return nil }
func (unkept) Compared(optimize.Compared) error               { return nil }
func (unkept) Sync() error                                    { return nil }
func (unkept) Publish([]byte, *certificate.Certificate) error { return nil }
func (unkept) Discard()                                       {}
func (unkept) Close()                                         {}

// Entry is a line of a folder's ledger.
type Entry = ledgerfile.Entry

// ChargedError is an error that occurred after the budget was reserved. The budget stays reserved.
type ChargedError struct {
	// Ledger and Folder are the ledger file and the folder of the reservation; empty if the fit is
	// stored nowhere.
	Ledger, Folder string
	// Err is the error that ended the fit.
	Err error
}

// Error says what the error cost and what can be recovered.
func (e *ChargedError) Error() string {
	if e.Folder == "" {
		return fmt.Sprintf("%v\nthe whole budget stays charged: what was released before that cannot be taken back", e.Err)
	}
	return fmt.Sprintf("%v\nthe whole budget stays charged in %s; stillpoint recover %s saves what the journal there proves", e.Err, e.Ledger, e.Folder)
}

// Unwrap returns the error that ended the fit.
func (e *ChargedError) Unwrap() error { return e.Err }
