package train

import (
	"context"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/ledgerfile"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Storage stores a fit so that it survives the process. Package runfolder implements it with a folder. Fit
// calls the methods from one goroutine, in this order: Look, Claim, Intend, Begin, Reserve, Settle, Forget,
// Release. It calls Settle only for a run that has no model; for other runs it calls Log.Publish instead. It
// calls Intend and Forget only if a store of budgets is used. If a method returns an error, the fit ends.
// Nothing is charged to the folder's ledger before Reserve.
type Storage interface {
	// Look returns an error if the fit cannot be stored in this place. Fit calls Look before it makes a plan
	// and before it opens a store. It may have counted the table's records before.
	Look() error
	// Claim locks the place where the fit is stored, so that no other fit uses it until Release is called.
	// After Claim, Number and Folder return their values for this fit. table is the string under which
	// ledgers sum the table's fits (Config.Identity).
	Claim(ctx context.Context, table string) error
	Release()
	// Number returns the fit's number among the fits stored in the same ledger, from 1.
	Number() int
	// Folder returns the folder from which stillpoint recover can recover the fit; "" if the fit is not
	// stored in a folder.
	Folder() string
	// Intend writes a note that names the run and its dataset in the store of budgets. Fit calls it before it
	// asks the store to reserve the run's budget. Forget removes the note. Fit calls it when the store knows
	// how much of the reservation the run used.
	Intend(store, dataset, run string) error
	Forget() error
	// Begin reserves disk space for the run's files and opens its log.
	Begin(Header, Released) (Log, error)
	// Reserve writes the reservation of the whole budget to stable storage. Fit calls it before the first
	// release. Settle adds how the run ended: the sum of its charges, in units of mu^2, and whether it made
	// all its steps. The reservation stays.
	Reserve(Entry) error
	Settle(charged float64, complete bool) error
	// Charged wraps err, the error that ended a fit whose whole budget stays charged.
	Charged(err error) error
}

// Log stores a run's events (its charges) and its released numbers. Fit calls Events after each query, before
// the algorithm gets the answer. If Events returns an error, the algorithm does not get the answer and the
// run ends. Fit calls Step after each step, and Measured and Compared after the measurement and the
// comparison.
type Log interface {
	Events([]account.Event) error
	Step(Step) error
	// Found stores the effects that the first stage of a fit found. Later steps are about rows with features of
	// them.
	Found(dataset.Effects) error
	// Begun stores the released base rate and the plan of the fit that begins there. Fit calls it before the first
	// step.
	Begun(Begun) error
	Measured(optimize.Measured) error
	Compared(optimize.Compared) error
	// Refined stores the schema that takes the place of the head's. Fit calls it before the first step.
	Refined(*dataset.Schema) error
	// Sync puts everything that the log has stored on stable storage.
	Sync() error
	// Publish stores the run's model and its certificate, and notes beside the reservation that the run has
	// ended. model is nil if the run has no model.
	Publish(model []byte, c *certificate.Certificate) error
	// Discard removes the empty files that were reserved for the model and the certificate, after a run that
	// has no model. The events that the log has stored remain.
	Discard()
	Close()
}

// unstored is the Storage and the Log of a fit that is not stored. Everything is in the values that Fit
// returns.
type unstored struct{}

func (unstored) Look() error                                    { return nil }
func (unstored) Claim(context.Context, string) error            { return nil }
func (unstored) Release()                                       {}
func (unstored) Number() int                                    { return 1 }
func (unstored) Folder() string                                 { return "" }
func (unstored) Intend(_, _, _ string) error                    { return nil }
func (unstored) Forget() error                                  { return nil }
func (unstored) Begin(h Header, r Released) (Log, error)        { return unstored{}, h.possible(r) }
func (unstored) Reserve(Entry) error                            { return nil }
func (unstored) Settle(float64, bool) error                     { return nil }
func (unstored) Charged(err error) error                        { return &ChargedError{Err: err} }
func (unstored) Events([]account.Event) error                   { return nil }
func (unstored) Step(Step) error                                { return nil }
func (unstored) Found(dataset.Effects) error                    { return nil }
func (unstored) Begun(Begun) error                              { return nil }
func (unstored) Measured(optimize.Measured) error               { return nil }
func (unstored) Compared(optimize.Compared) error               { return nil }
func (unstored) Refined(*dataset.Schema) error                  { return nil }
func (unstored) Sync() error                                    { return nil }
func (unstored) Publish([]byte, *certificate.Certificate) error { return nil }
func (unstored) Discard()                                       {}
func (unstored) Close()                                         {}

// Entry is a line of a folder's ledger: the reservation of one fit.
type Entry = ledgerfile.Entry

// ChargedError is an error that occurred after the budget was reserved.
type ChargedError = account.ChargedError
