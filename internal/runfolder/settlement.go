package runfolder

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/internal/durable"
	"github.com/stillpoint-dp/stillpoint/internal/holder"
	"github.com/stillpoint-dp/stillpoint/internal/ledgerfile"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
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
	// Charged is the charge of the run in the store from now on, in units of mu^2. It is at least what the folder
	// proves and at least what the store had allowed the run to release.
	Charged float64 `json:"charged"`
	// Before is the charge at which the run was settled before, if Charged corrects it, in units of mu^2.
	Before float64 `json:"before,omitempty"`
	// Kept, if not empty, is the reason why the store keeps the run's full charge.
	Kept string `json:"kept,omitempty"`
}

// String describes the settlement in one sentence.
func (s Settlement) String() string {
	run := fmt.Sprintf("%s: run %s", safetext.Text(s.Dataset), safetext.Text(s.Run))
	switch {
	case s.Kept != "":
		return fmt.Sprintf("%s stays charged in full, %.6g (units of mu^2): %s; stillpoint budget settle %s --store %s "+
			"--in-full ends it so", run, s.Charged, safetext.Text(s.Kept), safetext.Text(s.Run), safetext.Text(s.Store))
	case s.Absent:
		return run + " was never reserved: the store is as it was"
	case s.Before > 0:
		return fmt.Sprintf("%s is charged %.6g (units of mu^2): this folder proves more than the %.6g at which it was "+
			"settled", run, s.Charged, s.Before)
	case s.Charged == 0:
		return run + " was reserved and released nothing: the store has all of it back"
	}
	return fmt.Sprintf("%s is charged %.6g (units of mu^2), all that it can have released", run, s.Charged)
}

// mostCertificate is the largest size of a certificate that is read, in bytes.
const mostCertificate = 512 << 20

// settleIntent tells the store the charge of the run of the intent i, the note of a reservation in a store of
// budgets. If the ledger (entries) has the run, the folder's files prove the charge (evidence). Otherwise the
// folder can prove that the run released nothing.
func (f *folder) settleIntent(ctx context.Context, open train.Stores, i intent, entries []Entry) (Settlement, error) {
	for _, e := range entries {
		if e.Entry == ledgerfile.Reserved && e.Run == i.Run {
			s, _, err := f.settleEntry(ctx, open, e, &i, entries)
			return s, err
		}
	}
	s, _, err := f.tellStore(ctx, open, Settlement{Store: i.Store, Dataset: i.Dataset, Run: i.Run}, f.nothing(i))
	return s, err
}

// settleEntry tells a store of budgets the charge of the run with the ledger's entry e. i is the run's intent, or
// nil if the folder has none. told is true if the store learned something.
func (f *folder) settleEntry(
	ctx context.Context, open train.Stores, e Entry, i *intent, entries []Entry,
) (s Settlement, told bool, err error) {
	s = Settlement{Store: e.Store, Dataset: e.Dataset, Run: e.Run, Fit: e.Fit}
	p, err := f.evidence(ctx, e, i, entries)
	if err != nil {
		return s, false, err
	}
	return f.tellStore(ctx, open, s, p)
}

// tellStore tells a store of budgets what a folder proves of a run. A run that has not ended is settled if the
// folder proves all of it; otherwise the store is told nothing, and s.Kept has the reason. A run that was settled
// is charged more if the folder proves more. told is true unless the store knew the run's end and keeps it. The
// error wraps budget.ErrHeld if the run's process may be alive.
func (f *folder) tellStore(ctx context.Context, open train.Stores, s Settlement, p evidence) (_ Settlement, told bool,
	err error) {
	book, err := open.Open(ctx, s.Store)
	if err != nil {
		return s, false, err
	}
	defer func() { err = errors.Join(err, book.Close()) }()
	before, found, err := stateOf(ctx, book, s)
	if err == nil && found {
		err = book.Held(ctx, s.Dataset, s.Run)
	}
	if err != nil {
		return s, false, err
	}
	if p.why == "" && !before.Settled && p.events >= 0 && before.Lease != nil && p.events < before.Lease.Events {
		p.why = fmt.Sprintf("the journal has %d events, and the store knows that it had %d", p.events, before.Lease.Events)
	}
	switch {
	case !found: // a reservation that is under way ends before Withdraw
		reserved, err := book.Withdraw(ctx, s.Dataset, s.Run)
		s.Absent = !reserved
		return s, true, err
	case p.why != "" && !before.Settled:
		s.Kept, s.Charged = p.why, before.Charged.Charge
		return s, true, nil
	case p.cert != nil:
		err = book.Settle(ctx, p.cert)
	case !before.Settled:
		if _, err = book.Withdraw(ctx, s.Dataset, s.Run); errors.Is(err, budget.ErrReleased) {
			s.Kept, s.Charged = err.Error(), before.Charged.Charge
			return s, true, nil
		}
	}
	if err != nil {
		return s, false, err
	}
	after, _, err := stateOf(ctx, book, s)
	if s.Charged = after.Charged.Charge; before.Settled && s.Charged > before.Charged.Charge {
		s.Before = before.Charged.Charge
	}
	return s, !before.Settled || s.Before > 0, err
}

// stateOf returns the state of a run in its store. found is false if the store does not have the run.
func stateOf(ctx context.Context, book *budget.Book, s Settlement) (r budget.RunState, found bool, err error) {
	d, err := book.Dataset(ctx, s.Dataset)
	if err != nil {
		return r, false, err
	}
	for _, r := range d.Runs {
		if r.Run == s.Run {
			return r, true, nil
		}
	}
	return r, false, nil
}

// held returns an error that wraps budget.ErrHeld if a process that may be alive holds a run of the folder: a run
// with an intent, or the run of the ledger's last reservation. A store that cannot be asked is no error here.
func (f *folder) held(ctx context.Context, open train.Stores, entries []Entry, left []intent) error {
	runs := slices.Clone(left)
	for _, e := range slices.Backward(entries) {
		if e.Entry == ledgerfile.Reserved {
			runs = append(runs, intent{Store: e.Store, Dataset: e.Dataset, Run: e.Run})
			break
		}
	}
	for _, i := range runs {
		if i.Run == "" {
			continue
		}
		book, err := open.Open(ctx, i.Store)
		if err != nil {
			continue
		}
		err = book.Held(ctx, i.Dataset, i.Run)
		_ = book.Close()
		if errors.Is(err, budget.ErrHeld) {
			return fmt.Errorf("%s: run %s: %w", f.path, i.Run, err)
		}
	}
	return nil
}

// Settle tells a run's store of budgets the run's final charge, as [Recover] does, but makes no model and no
// certificate. If the folder dir does not prove the charge, the store keeps the full charge and
// Settlement.Kept says why. Settle returns an error if the folder does not have the run, and one that wraps
// budget.ErrHeld if the process that holds the run may be alive.
func Settle(ctx context.Context, dir, run string, open train.Stores) (Settlement, error) {
	return settleIn(ctx, machine{}, dir, run, open)
}

func settleIn(ctx context.Context, disk place, dir, run string, open train.Stores) (Settlement, error) {
	f := &folder{disk: disk, path: dir}
	ctx = f.on(ctx)
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
			s, _, err := f.settleEntry(ctx, open, e, nil, entries)
			return s, err
		}
	}
	return Settlement{}, fmt.Errorf("%s: knows no run %s: must be the output folder of that run", dir, run)
}

// Runs finds the runs that were charged to stores of budgets, in root and all folders below it. It maps each
// run to all folders that have it: at most one is the run's own, and the others are copies. The root may be a link. Runs
// skips folders and files that cannot be read, but returns an error if the root cannot be read.
func Runs(ctx context.Context, root string) (folders map[string][]string, err error) {
	folders = map[string][]string{}
	root += string(filepath.Separator) // WalkDir follows a link with this ending
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && path == root {
			return err
		}
		path = filepath.Clean(path)
		if err != nil || !d.IsDir() {
			return nil
		}
		f := &folder{disk: machine{}, path: path}
		found := map[string]bool{}
		entries, _ := f.read(path)
		for _, e := range entries {
			found[e.Run] = true
		}
		left, _ := f.intents()
		for _, i := range left {
			found[i.Run] = true
		}
		for run := range found {
			if run != "" {
				folders[run] = append(folders[run], path)
			}
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
	return f.settleIntents(ctx, open, left, entries)
}

// settleIntents is reclaim for these intents. It returns the settlements that were made before an error.
func (f *folder) settleIntents(ctx context.Context, open train.Stores, left []intent, entries []Entry) (all []Settlement,
	err error) {
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

// intent is the content of a file in a fit's folder, a note that the fit asks a store of budgets for a reservation. The
// file is on stable storage before the request, and is removed when the store knows how much of the reservation was
// used. Every reservation of a killed fit in a store therefore has an intent in the fit's folder. There are two cases:
//
//   - the folder's ledger lacks the run: nothing was released, since the ledger has every fit, on stable
//     storage, before the fit's first release;
//   - the ledger has the run: the fit's journal or certificate states the releases.
//
// Both are true of the folder in which the fit ran, and not of a copy or of files that were put back. The intent
// therefore says which folder it is of.
type intent struct {
	// Version is the version of the file's format.
	Version int    `json:"intent"`
	Fit     int    `json:"fit"`
	Store   string `json:"store"`
	Dataset string `json:"dataset"`
	Run     string `json:"run"`
	// Place is the folder in which the fit runs, and Ledger the lines that its ledger had before. Both are nil
	// in files of version 1.
	Place  *holder.Place `json:"place,omitempty"`
	Ledger *beginning    `json:"ledger,omitempty"`
	// Sum is the SHA-256, in hexadecimal, of the file's JSON text with an empty Sum.
	Sum string `json:"sum"`
}

const (
	intentVersion = 2
	// mostIntent is the largest size, in bytes, of an intent's file (the note of a reservation in a
	// store of budgets). The file has an address and two names.
	mostIntent = 1 << 16
	// intentFile is the part of an intent's temporary name that names the kind of file (see partial). An
	// intent's file has the temporary name until it is complete.
	intentFile = "intent"
)

func (f *folder) intentFile(fit int) string { return f.file(fmt.Sprintf("intent-%d.json", fit)) }

// isIntent reports whether a file's name is the name of an intent, the note of a reservation in a store of
// budgets. It also returns the fit's number, which is part of the name.
func isIntent(name string) (fit int, ok bool) { return numberIn(name, "intent-", ".json") }

// text returns the bytes of the intent's file, with the checksum.
func (i intent) text() ([]byte, error) {
	i.Sum = ""
	bare, err := json.Marshal(i)
	if err != nil {
		return nil, err
	}
	i.Sum = sha(bare)
	text, err := json.Marshal(i)
	return append(text, '\n'), err
}

// parseIntent reads the text of an intent's file as the method text writes it. It returns an error if the
// text is not exactly what the method text writes, or if it is of another fit.
func parseIntent(text []byte, fit int) (i intent, err error) {
	if err := json.Unmarshal(text, &i); err == nil && i.Version > 0 && i.Version <= intentVersion && i.Fit == fit {
		if again, err := i.text(); err == nil && bytes.Equal(again, text) {
			return i, nil
		}
	}
	return intent{}, errors.New("is damaged: the run it names stays charged in full in its store; " +
		"stillpoint budget show lists runs that have not ended, stillpoint budget settle RUN --in-full ends one, and with " +
		"this file taken away the folder can be used")
}

// intend writes an intent, the note of a reservation in a store of budgets, to stable storage,
// whole or not at all.
func (f *folder) intend(i intent) error {
	ledger, err := f.text(f.path)
	if err != nil {
		return err
	}
	here := f.here(nil)
	i.Version, i.Fit, i.Place, i.Ledger = intentVersion, f.fit, &here, linesOf(ledger)
	text, err := i.text()
	if err != nil {
		return err
	}
	file, err := f.newPartial(intentFile)
	if err != nil {
		return err
	}
	if err = cmp.Or(durable.Fill(file, text), file.Close()); err == nil {
		err = f.disk.Rename(f.partial(intentFile), f.intentFile(f.fit))
	}
	if err != nil {
		_ = f.removeIfThere(f.partial(intentFile))
		return err
	}
	return f.disk.SyncFolder(f.path)
}

// forget removes a fit's intent, the note of its reservation in a store of budgets. It is called when the
// store knows the fit's final charge. A crash may undo the removal. The intent is then processed a second
// time, which changes nothing in the store.
func (f *folder) forget(fit int) error { return f.removeIfThere(f.intentFile(fit)) }

// intents returns the intents in the folder (notes of reservations in stores of budgets), in the order of
// their fits' numbers. A damaged intent is an error.
func (f *folder) intents() ([]intent, error) {
	entries, err := f.disk.ReadDir(f.path)
	if err != nil {
		return nil, err
	}
	var all []intent
	for _, e := range entries {
		fit, ok := isIntent(e.Name())
		if !ok {
			continue
		}
		text, err := durable.ReadAll(f.disk, f.file(e.Name()), mostIntent)
		if err != nil {
			return nil, err
		}
		i, err := parseIntent(text, fit)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.file(e.Name()), err)
		}
		all = append(all, i)
	}
	slices.SortFunc(all, func(a, b intent) int { return a.Fit - b.Fit })
	return all, nil
}
