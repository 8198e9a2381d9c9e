package train

import (
	"context"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/internal/ledgerfile"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Keeper keeps a fit beyond its process: a folder does (package runfolder). Fit calls its
// methods in the order in which they are listed, from one goroutine. An error of any ends
// the fit; up to Reserve nothing was charged then.
type Keeper interface {
	// Look refuses what can never be kept, before anything is read.
	Look() error
	// Claim keeps other fits out until Release, and settles Number and Place. The table's
	// name is the one by which its fits are summed.
	Claim(ctx context.Context, table string) error
	Release()
	// Number is the fit's among those that are kept there, from 1.
	Number() int
	// Place is where stillpoint recover finds the fit; empty if nowhere.
	Place() string
	// Intend notes a run of a store of budgets before the store is asked to reserve it.
	// Forget takes the note away once the store knows what the run used.
	Intend(store, dataset, run string) error
	Forget() error
	// Begin makes room for what the run will release.
	Begin(Head, Released) (Log, error)
	// Reserve has the whole budget on stable storage before the first answer, and Settle
	// how the run ended. The reservation stays.
	Reserve(Entry) error
	Settle(charged float64, complete bool) error
	// Charged says of what ended a fit where the whole budget stays charged.
	Charged(err error) error
}

// Log takes what a run releases: events and released numbers before they are handed out.
// An error of Events withholds the answer and ends the run.
type Log interface {
	Events([]account.Event) error
	Step(Step) error
	Measured(optimize.Measured) error
	Compared(optimize.Compared) error
	// Sync has all of it on stable storage.
	Sync() error
	// Publish keeps the run's model, nil if there is none, and its certificate, and settles
	// the reservation.
	Publish(model []byte, c *certificate.Certificate) error
	// Discard gives up what was to become of the files.
	Discard()
	Close()
}

// unkept is the keeper of a fit that is kept nowhere: its caller has all of it.
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

// ChargedError is an error after the budget was reserved, which stays so.
type ChargedError struct {
	// Ledger and Folder are where; empty if the fit is kept nowhere.
	Ledger, Folder string
	// Err is what ended the fit.
	Err error
}

// Error says what the error cost, and what can be saved.
func (e *ChargedError) Error() string {
	if e.Folder == "" {
		return fmt.Sprintf("%v\nthe whole budget stays charged: what was released before that cannot be taken back", e.Err)
	}
	return fmt.Sprintf("%v\nthe whole budget stays charged in %s; stillpoint recover %s saves what the journal there proves", e.Err, e.Ledger, e.Folder)
}

// Unwrap returns what ended the fit.
func (e *ChargedError) Unwrap() error { return e.Err }
