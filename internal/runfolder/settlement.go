package runfolder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/internal/durable"
	"github.com/stillpoint-dp/stillpoint/internal/ledgerfile"
	"github.com/stillpoint-dp/stillpoint/internal/printable"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// Settlement is a message that told a store of budgets the final charge of a run, or the reason why the store
// got no message.
type Settlement struct {
	Store   string `json:"store"`
	Dataset string `json:"dataset"`
	Run     string `json:"run"`
	// Fit is the run's number in the folder's ledger. It is 0 if the run is not in the ledger; the run then
	// released nothing.
	Fit int `json:"fit"`
	// Absent is true if the store of budgets has no reservation of the run.
	Absent bool `json:"absent"`
	// Charged is the run's final charge, in units of mu^2.
	Charged float64 `json:"charged"`
	// Kept, if not empty, is the reason why the store keeps the run's full charge.
	Kept string `json:"kept,omitempty"`
}

// String describes the settlement in one sentence.
func (s Settlement) String() string {
	run := fmt.Sprintf("%s: run %s", printable.Text(s.Dataset), printable.Text(s.Run))
	switch {
	case s.Kept != "":
		return fmt.Sprintf("%s stays charged in full: %s", run, printable.Text(s.Kept))
	case s.Absent:
		return run + " was never reserved: the store is as it was"
	case s.Fit == 0:
		return run + " was reserved and released nothing: the store has all of it back"
	}
	return fmt.Sprintf("%s is charged %.6g (units of mu^2), all that it can have released; the store has the rest back",
		run, s.Charged)
}

// mostCertificate is the largest size of a certificate that is read, in bytes.
const mostCertificate = 512 << 20

// errKept is the error of a folder that does not prove how much of its budget a run used. why is the reason.
// The store of budgets then keeps the run's full charge.
type errKept struct{ why string }

func (e errKept) Error() string { return e.why }

func kept(format string, args ...any) error { return errKept{fmt.Sprintf(format, args...)} }

// settleIntent settles the run of the intent i, the note of a reservation in a store of budgets. If the
// ledger (entries) has the run, settleIntent calls settleEntry. Otherwise the run released nothing, and
// settleIntent withdraws its reservation from the store.
func (f *folder) settleIntent(ctx context.Context, open train.Stores, i intent, entries []Entry) (Settlement, error) {
	for _, e := range entries {
		if e.Entry == ledgerfile.Reserved && e.Run == i.Run {
			s, _, err := f.settleEntry(ctx, open, e, entries)
			return s, err
		}
	}
	s := Settlement{Store: i.Store, Dataset: i.Dataset, Run: i.Run}
	book, err := open.Open(ctx, i.Store)
	if err != nil {
		return s, err
	}
	reserved, err := book.Withdraw(ctx, i.Dataset, i.Run)
	s.Absent = !reserved
	return s, errors.Join(err, book.Close())
}

// settleEntry tells a store of budgets the final charge of the run with the ledger's entry e. If the folder
// does not prove the charge, settleEntry sets s.Kept and tells the store nothing. told is true if the store
// did not know the run's end before.
func (f *folder) settleEntry(
	ctx context.Context, open train.Stores, e Entry, entries []Entry,
) (s Settlement, told bool, err error) {
	s = Settlement{Store: e.Store, Dataset: e.Dataset, Run: e.Run, Fit: e.Fit}
	proof, err := f.proof(ctx, e, entries)
	why := errKept{}
	if err != nil && !errors.As(err, &why) {
		return s, false, err
	}
	book, err := open.Open(ctx, e.Store)
	if err != nil {
		return s, false, err
	}
	defer func() { err = errors.Join(err, book.Close()) }()
	known, err := ended(ctx, book, e)
	if err != nil {
		return s, false, err
	}
	if s.Kept = why.why; s.Kept != "" {
		return s, !known, nil
	}
	s.Charged = proof.Charged()
	return s, !known, book.Settle(ctx, proof)
}

// ended reports whether a store of budgets has been told that the run has ended.
func ended(ctx context.Context, book *budget.Book, e Entry) (bool, error) {
	d, err := book.Dataset(ctx, e.Dataset)
	if err != nil {
		return false, err
	}
	for _, r := range d.Runs {
		if r.Run == e.Run {
			return r.Settled, nil
		}
	}
	return false, nil
}

// proof returns a certificate of the largest charge that the fit with the entry e can have. The folder must
// be locked. If the folder has the fit's journal, proof uses it (journalled). Otherwise it reads the fit's
// certificate (certified). If the charge is not proved, the error is errKept.
func (f *folder) proof(ctx context.Context, e Entry, entries []Entry) (*certificate.Certificate, error) {
	own := *f
	own.fit, own.entry = e.Fit, e
	t, err := own.tells()
	switch {
	case isAbsent(err):
		return own.certified(ctx, entries)
	case err != nil:
		return nil, kept("%v", err)
	}
	if err := t.belongs(e); err != nil {
		return nil, kept("%s: %v", own.journalFile(), err)
	}
	return own.journalled(ctx, t)
}

// journalled makes a certificate of the charge of the folder's fit from the fit's journal t. A journal of
// version 1 does not prove its charges; if it says that the files are ready and they exist, journalled
// returns the fit's own certificate. Otherwise, and if the journal is damaged, it returns errKept.
func (f *folder) journalled(ctx context.Context, t *told) (*certificate.Certificate, error) {
	if t.damaged > 0 {
		return nil, kept("%s: line %d is damaged or cut off, and what was released after it is not known", f.journalFile(),
			t.damaged)
	}
	if !t.proves() && t.ready != nil && f.has(*t.ready) {
		return f.sealed(ctx, *t.ready)
	}
	if !t.proves() {
		return nil, kept("%s: its lines have no checksums, as those of version 1, and do not prove that they are all",
			f.journalFile())
	}
	_, cert, err := t.files(ctx)
	if err != nil {
		return nil, kept("%s: %v", f.journalFile(), err)
	}
	return cert, nil
}

// sealed reads the fit's certificate whose hash is in r, the journal's last line. It returns errKept if no
// such file exists.
func (f *folder) sealed(ctx context.Context, r ready) (*certificate.Certificate, error) {
	for _, path := range []string{f.file(CertificateFile), f.partial(CertificateFile)} {
		if digest, err := f.digest(path); err == nil && digest == r.Certificate {
			return f.charges(ctx, path, r.Charged)
		}
	}
	return nil, kept("%s: is not the one that the journal speaks of", f.file(CertificateFile))
}

// certified reads the certificate under its final name in the folder, for a fit whose journal is gone. It
// returns errKept if the ledger lacks the fit's end or states another charge than the certificate.
func (f *folder) certified(ctx context.Context, entries []Entry) (*certificate.Certificate, error) {
	for _, e := range entries {
		if e.Fit == f.fit && e.Entry != ledgerfile.Reserved {
			return f.charges(ctx, f.file(CertificateFile), e.Charged)
		}
	}
	return nil, kept("fit %d has left no journal", f.fit)
}

// charges reads the certificate at path. The certificate must be valid, belong to the folder's run, be made
// by the fit itself instead of from a journal, and state the charge want. Otherwise charges returns errKept.
func (f *folder) charges(ctx context.Context, path string, want float64) (*certificate.Certificate, error) {
	text, err := durable.ReadAll(f.disk, path, mostCertificate)
	if err != nil {
		return nil, kept("%v", err)
	}
	cert, err := certificate.Parse(text)
	if err == nil {
		_, err = cert.Verify(ctx)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, kept("%s: %v", path, err)
	}
	if r, _ := cert.Budget(); r.Run != f.entry.Run || r.Dataset != f.entry.Dataset {
		return nil, kept("%s: is not that of fit %d", path, f.fit)
	}
	if isRecovered(cert) {
		return nil, kept("%s: was made from a journal that does not prove to be whole", path)
	}
	if cert.Charged() != want {
		return nil, kept("%s: charged = %v: must be %v, as fit %d said elsewhere", path, cert.Charged(), want, f.fit)
	}
	return cert, nil
}

// isRecovered reports whether a certificate was made from a journal, and not by the fit itself.
func isRecovered(c *certificate.Certificate) bool {
	var plan struct {
		Recovered *runrecord.Rebuilt `json:"recovered"`
	}
	return json.Unmarshal(c.Algorithm().Plan, &plan) != nil || plan.Recovered != nil
}

// Settle tells a run's store of budgets the run's final charge, as [Recover] does, but makes no model and no
// certificate. If the folder dir does not prove the charge, the store keeps the full charge and
// Settlement.Kept says why. Settle returns an error if the folder does not have the run.
func Settle(ctx context.Context, dir, run string, open train.Stores) (Settlement, error) {
	f := &folder{disk: machine{}, path: dir}
	entries, left, err := f.enter()
	if err != nil {
		return Settlement{}, err
	}
	defer f.release()
	for _, i := range left {
		if i.Run != run {
			continue
		}
		s, err := f.settleIntent(ctx, open, i, entries)
		if err == nil && s.Kept == "" && !s.Absent { // an absent run may be in another store: its intent stays
			err = f.forget(i.Fit)
		}
		return s, err
	}
	for _, e := range entries {
		if e.Entry == ledgerfile.Reserved && e.Run == run {
			s, _, err := f.settleEntry(ctx, open, e, entries)
			return s, err
		}
	}
	return Settlement{}, fmt.Errorf("%s: knows no run %s: must be the output folder of that run", dir, run)
}

// Runs finds the runs that were charged to stores of budgets, in root and all folders below it. It maps each
// run to its folder. It skips folders and files that cannot be read, but returns an error if the root cannot
// be read.
func Runs(ctx context.Context, root string) (folders map[string]string, err error) {
	folders = map[string]string{}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && path == root {
			return err
		}
		if err != nil || !d.IsDir() {
			return nil
		}
		f := &folder{disk: machine{}, path: path}
		entries, _ := f.read(path)
		for _, e := range entries {
			if e.Run != "" {
				folders[e.Run] = path
			}
		}
		left, _ := f.intents()
		for _, i := range left {
			folders[i.Run] = path
		}
		return nil
	})
	return folders, err
}

// reclaim tells stores of budgets the final charges of earlier fits in the folder that have an intent, and
// removes their intents. If the folder does not prove a run's charge, the store keeps the full charge, the
// intent stays, and reclaim returns no error.
func (f *folder) reclaim(ctx context.Context, open train.Stores) (all []Settlement, err error) {
	left, err := f.intents()
	if err != nil || len(left) == 0 {
		return nil, err
	}
	entries, err := f.read(f.path)
	if err != nil {
		return nil, err
	}
	for _, i := range left {
		s, err := f.settleIntent(ctx, open, i, entries)
		if err != nil {
			return all, fmt.Errorf("%s: the run that it names is not settled: %w", f.intentFile(i.Fit), err)
		}
		all = append(all, s)
		if s.Kept != "" {
			continue
		}
		if err := f.forget(i.Fit); err != nil {
			return all, err
		}
	}
	return all, nil
}
