package train

import (
	"context"
	"fmt"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/internal/ledgerfile"
)

// Recovered is what Recover saved of a fit that did not end.
type Recovered struct {
	// Fit is its number in the folder's ledger; Budget what it had reserved.
	Fit    int
	Budget account.Budget
	// Unit says whose rows made up one record; the zero Unit if each was one.
	Unit certificate.Unit
	// Complete says that the fit had made its files, and only they were not seen.
	Complete bool
	// Step of Steps is the one whose iterate the model is; 0 without a model, and
	// when the fit had made its files.
	Step, Steps int
	// Releases is how many the journal proves, and Charged what they were charged,
	// in units of mu^2. There may have been more; all are within the budget.
	Releases int
	Charged  float64
	// Dataset is the one whose store of budgets was told what the journal proves; empty
	// for none.
	Dataset string
	// Folder holds the files; ModelPath is empty if there is no model.
	Folder, ModelPath, CertificatePath string
}

// recovered is what a certificate says of having been made from a journal.
type recovered struct {
	// Step is the one whose iterate the model is.
	Step int    `json:"step"`
	Note string `json:"note"`
}

const recoveredNote = "made from the journal of a run that was stopped: the model is the last iterate that the journal holds, " +
	"not the planned output; the events are those that the journal proves, and some that came last may be missing. " +
	"The claim covers those too: the whole budget was reserved before the first."

// RecoverOptions say how a fit is recovered.
type RecoverOptions struct {
	// Overwrite lets the files of a journal replace those of an earlier fit.
	Overwrite bool
	// Stores opens the store of budgets that the fit was charged to; nil where none is.
	Stores Stores
}

// Recover makes model and certificate of the last fit in a folder if that was
// killed, or could not write them: from the files it had made, or else from its
// journal, certified as incomplete. Nothing is charged, and what was reserved
// stays reserved in the folder's ledger; a store of budgets is told what the journal
// proves was charged, and has the rest back. It replaces the files of an earlier fit by
// those of a journal only if it is told to. What Recover does can itself be stopped anywhere, and be
// done again.
func Recover(ctx context.Context, dir string, o RecoverOptions) (*Recovered, error) {
	return recoverIn(ctx, machine{}, dir, o)
}

func recoverIn(ctx context.Context, disk place, dir string, o RecoverOptions) (*Recovered, error) {
	f := &folder{disk: disk, path: dir, overwrite: o.Overwrite}
	if info, err := disk.Stat(dir); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s: must be the output folder of a fit", dir)
	}
	// A folder of something else is left without a lock file.
	entries, err := f.read(dir)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("%s: no fit has reserved a budget there: there is nothing to recover", dir)
	}
	if err := f.hold(); err != nil {
		return nil, err
	}
	defer f.release()
	if entries, err = f.read(dir); err != nil {
		return nil, err
	}
	ended := f.last(entries)
	t, err := f.tells()
	switch {
	case isAbsent(err) && ended:
		if err := f.settleStored(ctx, o.Stores); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%s: fit %d has ended: there is nothing to recover", dir, f.fit)
	case isAbsent(err):
		return nil, fmt.Errorf("%s: fit %d has left no journal to recover from: its whole budget stays charged in %s", dir, f.fit, f.ledger())
	case err != nil:
		return nil, err
	}
	r := &Recovered{Fit: f.fit, Folder: dir}
	if r.Budget, err = account.NewBudget(f.entry.Epsilon, f.entry.Delta, f.entry.Relation); err != nil {
		return nil, err
	}
	if err := t.belongs(f.entry); err != nil {
		return nil, fmt.Errorf("%s: %w", f.journalFile(), err)
	}
	r.Unit = t.head.unit()
	done, err := f.save(ctx, t, r)
	if err != nil {
		return nil, err
	}
	if !ended {
		if err := f.settle(done.Charged, done.Complete); err != nil {
			return nil, err
		}
	}
	if err := f.settleStored(ctx, o.Stores); err != nil {
		return nil, err
	}
	r.Dataset = f.entry.Dataset
	return r, f.sweep()
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
		if !f.overwrite && f.holds() {
			return ready{}, fmt.Errorf("%s: holds the files of an earlier fit, complete or not: --overwrite replaces them by what the journal of fit %d proves", f.path, f.fit)
		}
		var err error
		if done, err = f.remake(ctx, t, r); err != nil {
			return ready{}, err
		}
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

// remake makes files of what a journal tells, and says so in the journal.
func (f *folder) remake(ctx context.Context, t *told, r *Recovered) (*ready, error) {
	h := *t.head
	out := run{weights: t.weights, events: t.events, conduct: conduct{
		Summary: h.Plan, GradientNorms: t.norms, Measured: t.measured, Compared: t.compared, Recovered: &recovered{t.step, recoveredNote},
	}}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(h.Schedule) > 0 {
		var err error
		if out.schedule, err = account.NewSchedule(ctx, r.Budget, h.Mu, h.Schedule...); err != nil {
			return nil, fmt.Errorf("%s: %w", f.journalFile(), err)
		}
	}
	text, cert, err := h.files(out)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.journalFile(), err)
	}
	certText, err := cert.Bytes()
	if err != nil {
		return nil, err
	}
	p := &pair{f: f}
	if p.model, err = f.newPartial(ModelFile); err != nil {
		return nil, err
	}
	defer p.close()
	if p.certificate, err = f.newPartial(CertificateFile); err != nil {
		return nil, err
	}
	done, err := p.fill(text, certText)
	if err != nil {
		return nil, err
	}
	done.Charged = cert.Charged()
	j, err := f.resume(t)
	if err != nil {
		return nil, err
	}
	defer j.close()
	if err := j.ready(done); err != nil {
		return nil, err
	}
	r.Step = t.step
	return &done, nil
}
