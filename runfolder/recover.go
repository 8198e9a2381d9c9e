package runfolder

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/internal/ledgerfile"
	"github.com/stillpoint-dp/stillpoint/runrecord"
	"github.com/stillpoint-dp/stillpoint/train"
)

// Recovered is what Recover saved of a fit that did not end.
type Recovered struct {
	// Fit is its number in the folder's ledger; Budget what it had reserved.
	Fit    int
	Budget account.Budget
	// Unit says whose rows made up one record; the zero Unit if each was one.
	Unit certificate.Unit
	// Files says that model and certificate were made or put in their places. If not, the
	// fit had ended with them or released nothing, and what follows is not given but for
	// Settlements.
	Files bool
	// Complete says that the fit had made its files, and only they were not seen.
	Complete bool
	// Step of Steps is the one whose iterate the model is; 0 without a model, and
	// when the fit had made its files.
	Step, Steps int
	// Releases is how many the journal proves, and Charged what they were charged,
	// in units of mu^2. There may have been more; all are within the budget.
	Releases int
	Charged  float64
	// Damaged is the journal's first line that a kill cannot have left as it is; 0 if
	// there is none. What it and those behind it told is lost.
	Damaged int
	// Settlements is what stores of budgets were told, or why they were not.
	Settlements []Settlement
	// Folder holds the files; ModelPath is empty if there is no model.
	Folder, ModelPath, CertificatePath string

	// unproven says that the journal is kept, and the ledger without an end, since a store
	// keeps the whole charge.
	unproven bool
}

const recoveredNote = "made from the journal of a run that was stopped: the model is the last iterate that the journal holds, " +
	"not the planned output; the events are those that the journal proves, and some that came last may be missing. " +
	"The claim covers those too: the whole budget was reserved before the first."

// RecoverOptions say how a fit is recovered.
type RecoverOptions struct {
	// Overwrite lets the files of a journal replace those of an earlier fit.
	Overwrite bool
	// Stores opens the store of budgets that the fit was charged to; nil where none is.
	Stores train.Stores
}

// Recover makes model and certificate of the last fit in a folder if that was
// killed, or could not write them: from the files it had made, or else from its
// journal, certified as incomplete. Nothing is charged, and what was reserved
// stays reserved in the folder's ledger. It replaces the files of an earlier fit by
// those of a journal only if it is told to. What Recover does can itself be stopped
// anywhere, and be done again.
//
// Stores of budgets are told what the folder proves of the runs in it that have not
// settled, and have the rest back: nothing was released by a run that the ledger lacks;
// others are charged by their journals, or certificates once they have ended. A run
// whose journal is damaged or cut off stays charged in full. Where a store cannot be
// reached, what was done is returned together with the error.
func Recover(ctx context.Context, dir string, o RecoverOptions) (*Recovered, error) {
	return recoverIn(ctx, machine{}, dir, o)
}

func recoverIn(ctx context.Context, disk place, dir string, o RecoverOptions) (*Recovered, error) {
	f := &folder{disk: disk, path: dir, overwrite: o.Overwrite}
	entries, left, err := f.enter()
	if err != nil {
		return nil, err
	}
	defer f.release()
	r := &Recovered{Folder: dir}
	ended := f.last(entries)
	r.Fit = f.fit
	t, err := f.tells()
	switch {
	case len(entries) == 0, isAbsent(err):
	case err != nil:
		return nil, err
	default:
		if err := f.recover(ctx, t, r, ended); err != nil {
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
		return r, fmt.Errorf("%s: fit %d has left no journal to recover from: its whole budget stays charged in %s", dir, f.fit, f.ledger())
	case len(r.Settlements) == 0:
		return nil, fmt.Errorf("%s: fit %d has ended: there is nothing to recover", dir, f.fit)
	}
	return r, nil
}

// enter claims a folder that holds fits, and reads its ledger and intents.
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
	// A folder of something else is left without a lock file.
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

// recover makes the files of the folder's fit seen, and records its end.
func (f *folder) recover(ctx context.Context, t *told, r *Recovered, ended bool) (err error) {
	if r.Budget, err = account.NewBudget(f.entry.Epsilon, f.entry.Delta, f.entry.Relation); err != nil {
		return err
	}
	if err := t.belongs(f.entry); err != nil {
		return fmt.Errorf("%s: %w", f.journalFile(), err)
	}
	r.Unit = t.head.Unit()
	if t.stored() {
		r.Damaged = t.damaged
	}
	done, err := f.save(ctx, t, r)
	if err != nil {
		return err
	}
	r.Files = true
	if why := (errKept{}); t.stored() {
		if _, err := f.journalled(ctx, t); err != nil && !errors.As(err, &why) {
			return err
		}
		r.unproven = why.why != ""
	}
	if ended || r.unproven {
		return nil
	}
	return f.settle(done.Charged, done.Complete)
}

// tell settles in their stores the runs that have an intent, and the last that the
// ledger has: folders of earlier versions have no intents.
func (f *folder) tell(ctx context.Context, open train.Stores, r *Recovered, left []intent) error {
	entries, err := f.read(f.path) // with the end that may just have been recorded
	if err != nil {
		return err
	}
	last := f.entry.Run != ""
	for _, i := range left {
		last = last && i.Run != f.entry.Run
		s, err := f.settleIntent(ctx, open, i, entries)
		if err != nil {
			return err
		}
		r.Settlements = append(r.Settlements, s)
		if s.Kept == "" {
			if err := f.forget(i.Fit); err != nil {
				return err
			}
		}
	}
	if !last {
		return nil
	}
	s, told, err := f.settleEntry(ctx, open, f.entry, entries)
	if told {
		r.Settlements = append(r.Settlements, s)
	}
	return err
}

// last makes the folder that of the last fit in its ledger; ended says that the
// ledger has its end.
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

// belongs checks that a journal is that of a reservation.
func (t *told) belongs(e Entry) error {
	if h := t.head; h.Fit != e.Fit || h.Relation != e.Relation || h.Epsilon != e.Epsilon || h.Delta != e.Delta || !slices.Equal(h.Schedule, e.Schedule) {
		return fmt.Errorf("is not the journal of fit %d as %s has it", e.Fit, LedgerFile)
	}
	return nil
}

// save makes the files seen that a journal is for.
func (f *folder) save(ctx context.Context, t *told, r *Recovered) (ready, error) {
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
		r.ModelPath = f.file(ModelFile)
	}
	return *done, nil
}

// holds reports whether a model or a certificate is to be seen.
func (f *folder) holds() bool {
	for _, name := range []string{ModelFile, CertificateFile} {
		if _, err := f.disk.Lstat(f.file(name)); err == nil {
			return true
		}
	}
	return false
}

// has reports whether the files that a journal calls ready are there, seen or
// not.
func (f *folder) has(r ready) bool {
	for name, want := range map[string]string{ModelFile: r.Model, CertificateFile: r.Certificate} {
		seen, err := f.digest(f.file(name))
		partial, err2 := f.digest(f.partial(name))
		if want != "" && (err != nil || seen != want) && (err2 != nil || partial != want) {
			return false
		}
	}
	return true
}

// remake makes files of what a journal tells, and says so in the journal. One that does
// not prove what a store might be settled at is left as it is.
func (f *folder) remake(ctx context.Context, t *told) (*ready, error) {
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
		return &done, nil // by an earlier recovery
	}
	if !f.overwrite && f.holds() {
		return nil, fmt.Errorf("%s: holds the files of an earlier fit, complete or not: --overwrite replaces them by what the journal of fit %d proves", f.path, f.fit)
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

// files are those of what a journal tells.
func (t *told) files(ctx context.Context) (model []byte, cert *certificate.Certificate, err error) {
	h, note := *t.head, recoveredNote
	if t.stored() && t.damaged > 0 {
		note += fmt.Sprintf(" Line %d of the journal was damaged or cut off after it was written: "+
			"what was released from there on is not known.", t.damaged)
	}
	out := train.Released{Weights: t.weights, Events: t.events, Run: runrecord.Run{
		Plan: h.Plan, GradientNorms: t.norms, Measured: t.measured, Compared: t.compared, Recovered: &runrecord.Rebuilt{Step: t.step, Note: note},
	}}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if len(h.Schedule) > 0 {
		b, err := account.NewBudget(h.Epsilon, h.Delta, h.Relation)
		if err != nil {
			return nil, nil, err
		}
		if out.Schedule, err = account.NewSchedule(ctx, b, h.Mu, h.Schedule...); err != nil {
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

// stored reports whether the run was charged to a store, too.
func (t *told) stored() bool { return t.head.Budget != nil }
