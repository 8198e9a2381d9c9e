package runfolder

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/internal/ledgerfile"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// Recovered describes the files and the settlements that Recover made for a fit that was killed.
type Recovered struct {
	// Fit is the fit's number in the folder's ledger. Budget is the budget that the fit reserved.
	Fit    int
	Budget account.Budget
	// Unit is the unit of privacy. The zero Unit means that each row was one record.
	Unit account.Unit
	// Files is true if Recover made the model and the certificate or gave them their final names. If it is
	// false, the fit had ended with both files or had released nothing. Of the fields below, only Settlements
	// and Folder are then set.
	Files bool
	// Complete is true if the fit itself had made the files of a run with all its steps, and Recover only
	// gave them their final names.
	Complete bool
	// Step is the number of the step whose iterate is the model's weights, and Steps the number of steps
	// planned. Step is 0 if there is no model, and also if the fit itself had made its files.
	Step, Steps int
	// Releases is the number of releases that the journal proves. Charged is their charge, in units of mu^2.
	// The fit may have made further releases; all of them are within the budget.
	Releases int
	Charged  float64
	// Damaged is the number of the journal's first line that was damaged or cut off after it was written. It
	// is 0 if no damage was found. The content of this line and of all later lines is lost.
	Damaged int
	// Settlements are the messages that told stores of budgets the final charges of runs, or the reasons why
	// no message was sent.
	Settlements []Settlement
	// Folder is the folder of the files. ModelPath is empty if there is no model.
	Folder, ModelPath, CertificatePath string

	// unproven is true if a store of budgets keeps the whole charge because the folder does not prove a
	// smaller charge. The journal then stays, and no end of the fit is written to the ledger.
	unproven bool
}

const recoveredNote = "made from the journal of a run that was stopped: the model is the last iterate that the " +
	"journal holds, not the planned output; the events are those that the journal proves, and some that came last may " +
	"be missing. " +
	"The claim covers those too: the whole budget was reserved before the first."

// RecoverOptions are the options of Recover.
type RecoverOptions struct {
	// Overwrite allows the files made from a journal to replace the files of an earlier fit.
	Overwrite bool
	// Stores opens the store of budgets to which the fit was charged. It is nil if no store was
	// charged.
	Stores train.Stores
}

// Recover completes the last fit in a folder, if the fit was killed or could not write its model and
// certificate. If the fit had made these files, Recover gives them their final names. Otherwise it makes them
// from the fit's journal and certifies the result as incomplete. Nothing is charged. The reservation in the
// folder's ledger stays. Files made from a journal replace the files of an earlier fit only with Overwrite.
// Recover can be stopped at any point and can then be run again.
//
// Recover also tells stores of budgets the final charges of runs in the folder whose end they do not know.
// The stores then free the rest of these runs' budgets. A run that is not in the folder's ledger released
// nothing and is charged nothing. The charge of another run is the charge that its journal states or, if the
// journal is gone, its certificate. A run whose journal is damaged or cut off stays charged in full. If a
// store cannot be reached, Recover returns the results so far together with the error.
func Recover(ctx context.Context, dir string, o RecoverOptions) (*Recovered, error) {
	return recoverIn(ctx, machine{}, dir, o)
}

func recoverIn(ctx context.Context, disk place, dir string, o RecoverOptions) (*Recovered, error) {
	f := &folder{disk: disk, path: dir, overwrite: o.Overwrite}
	ctx = f.on(ctx)
	entries, left, err := f.enter()
	if err != nil {
		return nil, err
	}
	defer f.release()
	if err := f.held(ctx, o.Stores, entries, left); err != nil {
		return nil, err
	}
	r := &Recovered{Folder: dir}
	ended := f.last(entries)
	r.Fit = f.fit
	if err := f.lost(entries); err != nil {
		return r, errors.Join(err, f.tell(ctx, o.Stores, r, left))
	}
	t, err := f.tells()
	switch {
	case len(entries) == 0, isAbsent(err):
	case err != nil:
		return nil, err
	default:
		if err := f.recover(ctx, t, r, ended, entries, left, o.Stores); err != nil {
			return nil, err
		}
	}
	if err := f.tell(ctx, o.Stores, r, left); err != nil {
		return r, err
	}
	switch {
	case r.Files:
		if !r.unproven {
			return r, f.sweep()
		}
	case len(entries) > 0 && !ended:
		return r, fmt.Errorf("%s: fit %d has left no journal to recover from: its whole budget stays charged in %s", dir,
			f.fit, f.ledger())
	case len(r.Settlements) == 0:
		return nil, fmt.Errorf("%s: fit %d has ended: there is nothing to recover", dir, f.fit)
	}
	return r, nil
}

// enter locks the folder. It returns the entries of the folder's ledger and its intents, which are the notes
// of reservations in stores of budgets. It returns an error if the folder has neither.
func (f *folder) enter() (entries []Entry, left []intent, err error) {
	if info, err := f.disk.Stat(f.path); err != nil {
		return nil, nil, err
	} else if !info.IsDir() {
		return nil, nil, fmt.Errorf("%s: must be the output folder of a fit", f.path)
	}
	read := func() error {
		if entries, err = f.read(f.path); err == nil {
			left, err = f.intents()
		}
		return err
	}
	// The folder is read once before it is locked, so that no lock file is created in a folder without fits.
	if err := read(); err != nil {
		return nil, nil, err
	}
	if len(entries) == 0 && len(left) == 0 {
		return nil, nil, fmt.Errorf("%s: no fit has reserved a budget there: there is nothing to recover", f.path)
	}
	if err := f.hold(); err != nil {
		return nil, nil, err
	}
	return entries, left, read()
}

// recover makes the missing model and certificate of the folder's fit from the journal t, gives them their
// final names, and sets r. It writes the fit's end to the ledger, unless the ledger has it (ended) or a store
// of budgets keeps the whole charge (r.unproven).
func (f *folder) recover(
	ctx context.Context, t *journalContent, r *Recovered, ended bool, entries []Entry, left []intent, open train.Stores,
) (err error) {
	if r.Budget, err = account.NewBudget(f.entry.Epsilon, f.entry.Delta, f.entry.Relation); err != nil {
		return err
	}
	if err := t.belongs(f.entry); err != nil {
		return fmt.Errorf("%s: %w", f.journalFile(), err)
	}
	r.Unit, f.describes = t.head.RecordUnit(), t.head.Describes
	if t.stored() {
		r.Damaged = t.damaged
	}
	done, err := f.save(ctx, t, r)
	if err != nil {
		return err
	}
	r.Files = true
	if t.stored() {
		p, err := f.evidence(ctx, f.entry, intentOf(left, f.entry.Run), entries)
		if err != nil {
			return err
		}
		r.unproven = p.why != "" && !f.ended(ctx, open)
	}
	if ended || r.unproven {
		return nil
	}
	return f.settle(done.Charged, done.Complete, done.Certificate)
}

// tell tells stores of budgets the final charges of runs: of all runs with an intent (the note of a reservation) in the
// folder, and of the ledger's last run. The last run is included because folders of earlier versions have no intents.
func (f *folder) tell(ctx context.Context, open train.Stores, r *Recovered, left []intent) error {
	entries, err := f.read(f.path) // again, since recover may have added the fit's end
	if err != nil {
		return err
	}
	if r.Settlements, err = f.settleIntents(ctx, open, left, entries); err != nil {
		return err
	}
	if f.entry.Run == "" || intentOf(left, f.entry.Run) != nil {
		return nil
	}
	s, told, err := f.settleEntry(ctx, open, f.entry, nil, entries)
	if told {
		r.Settlements = append(r.Settlements, s)
	}
	return err
}

// ended reports whether the store of budgets has been told that the folder's run has ended.
func (f *folder) ended(ctx context.Context, open train.Stores) bool {
	book, err := open.Open(ctx, f.entry.Store)
	if err != nil {
		return false
	}
	defer book.Close()
	state, _, err := stateOf(ctx, book, Settlement{Dataset: f.entry.Dataset, Run: f.entry.Run})
	return err == nil && state.Settled
}

// intentOf returns the intent of a run, or nil.
func intentOf(left []intent, run string) *intent {
	for _, i := range left {
		if i.Run == run {
			return &i
		}
	}
	return nil
}

// last sets the folder's fit and entry to those of the last reservation in the ledger. ended is true if the
// ledger has the end of that fit.
func (f *folder) last(entries []Entry) (ended bool) {
	for _, e := range entries {
		if e.Entry == ledgerfile.Reserved {
			f.fit, f.entry, ended = e.Fit, e, false
		} else if e.Fit == f.fit {
			ended = true
		}
	}
	return ended
}

// belongs returns an error if the journal's head and the reservation e differ in the fit's number, relation,
// epsilon, delta, schedule or run in a store. The journal is then of another fit.
func (t *journalContent) belongs(e Entry) error {
	h, run := t.head, ""
	if h.Budget != nil {
		run = h.Budget.Run
	}
	if h.Fit != e.Fit || h.Relation != e.Relation || h.Epsilon != e.Epsilon || h.Delta != e.Delta || run != e.Run ||
		!slices.Equal(h.Schedule, e.Schedule) {
		return fmt.Errorf("is not the journal of fit %d as %s has it", e.Fit, LedgerFile)
	}
	return nil
}

// save gives the model and the certificate of the journal's fit their final names, and sets r. If the journal
// t does not say that the files are ready, or they are missing, save makes them from t first.
func (f *folder) save(ctx context.Context, t *journalContent, r *Recovered) (ready, error) {
	r.Steps = t.head.Plan.Steps
	done := t.ready
	if done == nil || !f.has(*done) {
		var err error
		if done, err = f.remake(ctx, t); err != nil {
			return ready{}, err
		}
		r.Step = t.step
	}
	if err := f.show(*done); err != nil {
		return ready{}, err
	}
	r.Complete, r.Charged, r.Releases = done.Complete, done.Charged, len(t.events)
	r.CertificatePath = f.file(CertificateFile)
	if done.Model != "" {
		r.ModelPath = f.file(f.product())
	}
	return *done, nil
}

// holds reports whether the folder has a model or a certificate under its final name.
func (f *folder) holds() bool {
	return slices.ContainsFunc([]string{ModelFile, DescriptionFile, CertificateFile}, func(name string) bool {
		_, err := f.disk.Lstat(f.file(name))
		return err == nil
	})
}

// has reports whether the folder has the model and the certificate with the hashes in r, each under its final
// or its temporary name.
func (f *folder) has(r ready) bool {
	for name, want := range map[string]string{f.product(): r.Model, CertificateFile: r.Certificate} {
		seen, err := f.digest(f.file(name))
		partial, err2 := f.digest(f.partial(name))
		if want != "" && (err != nil || seen != want) && (err2 != nil || partial != want) {
			return false
		}
	}
	return true
}

// remake makes the model and the certificate from a journal under temporary names, and adds the line to the
// journal that says that they are ready. If a store of budgets was charged and the journal does not prove the
// charge, remake does not change the journal. If the folder has the files of an earlier fit and overwriting
// is not allowed, remake returns an error.
func (f *folder) remake(ctx context.Context, t *journalContent) (*ready, error) {
	text, cert, err := t.files(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.journalFile(), err)
	}
	certText, err := cert.Bytes()
	if err != nil {
		return nil, err
	}
	done := ready{Certificate: sha(certText), Charged: cert.Charged()}
	if text != nil {
		done.Model = sha(text)
	}
	if seen, err := f.digest(f.file(CertificateFile)); err == nil && seen == done.Certificate && f.has(done) {
		return &done, nil // an earlier recovery has made these files
	}
	if !f.overwrite && f.holds() {
		return nil, fmt.Errorf("%s: holds the files of an earlier fit, complete or not: --overwrite replaces them by "+
			"the model that the journal of fit %d proves", f.path, f.fit)
	}
	p := &pair{f: f}
	defer p.close()
	if _, err := p.whole(text, certText); err != nil {
		return nil, err
	}
	if t.stored() && !t.proves() {
		return &done, nil
	}
	j, err := f.resume(t)
	if err != nil {
		return nil, err
	}
	defer j.close()
	return &done, j.ready(done)
}

// files makes the model and the certificate of a fit from its journal and returns their bytes.
func (t *journalContent) files(ctx context.Context) (model []byte, cert *certificate.Certificate, err error) {
	h, note := *t.head, recoveredNote
	if t.stored() && t.damaged > 0 {
		note += fmt.Sprintf(" Line %d of the journal was damaged or cut off after it was written: "+
			"the releases after it are not known.", t.damaged)
	}
	out := train.Released{Weights: t.weights, Events: t.events, Run: runrecord.Run{
		Plan: h.Plan, GradientNorms: t.norms, Base: t.base, Measured: t.measured, Compared: t.compared,
		Recovered: &runrecord.Rebuilt{Step: t.step, Note: note},
	}}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if len(h.Schedule) > 0 {
		b, err := account.NewBudget(h.Epsilon, h.Delta, h.Relation)
		if err != nil {
			return nil, nil, err
		}
		if out.Schedule, err = account.NewSchedule(ctx, b, h.ScheduleMu, h.Schedule...); err != nil {
			return nil, nil, err
		}
	}
	m, cert, err := h.Files(out)
	if err != nil || m == nil {
		return nil, cert, err
	}
	model, err = m.Bytes()
	return model, cert, err
}

// stored reports whether the journal's run was also charged to a store of budgets.
func (t *journalContent) stored() bool { return t.head.Budget != nil }
