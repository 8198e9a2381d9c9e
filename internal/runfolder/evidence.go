package runfolder

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/internal/durable"
	"github.com/stillpoint-dp/stillpoint/internal/holder"
	"github.com/stillpoint-dp/stillpoint/internal/ledgerfile"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
)

// evidence is what a folder proves of the charge of a run.
type evidence struct {
	// cert has the releases that the folder proves; nil if it proves none.
	cert *certificate.Certificate
	// events is the number of events in the journal that cert was made from. It is -1 if cert was not made from
	// a journal.
	events int
	// why is empty if the folder proves that the run released nothing but what cert has, or nothing at all if
	// cert is nil. Otherwise why is the reason, and the run may have released more.
	why string
}

func unproved(format string, args ...any) evidence {
	return evidence{events: -1, why: fmt.Sprintf(format, args...)}
}

// machine returns the machine of the folder's disk.
func (f *folder) machine(ctx context.Context) holder.Machine {
	if m, ok := f.disk.(holder.Machine); ok {
		return m
	}
	return holder.From(ctx)
}

// on returns the context in which stores of budgets are asked about runs of the folder.
func (f *folder) on(ctx context.Context) context.Context { return holder.On(ctx, f.machine(ctx)) }

// here returns the place of the folder, as far as it is known. If journal is not nil, it is the file of the
// journal.
func (f *folder) here(journal durable.File) holder.Place {
	self := f.machine(context.Background()).Self()
	p := holder.Place{Host: self.Host, Boot: self.Boot}
	known := func(info fs.FileInfo, err error) (file holder.File) {
		if err == nil {
			file.Device, file.Inode = durable.Identity(info)
		}
		return file
	}
	p.Folder, p.Lock = known(f.disk.Stat(f.path)), known(f.disk.Lstat(f.file(lockFile)))
	if journal != nil {
		p.Journal = known(journal.Stat())
	}
	return p
}

// away returns the reason why the files of a run are not those that its fit wrote in this folder. It returns ""
// if they are. noted is the place that the fit noted in the file with the given name.
func away(noted *holder.Place, here holder.Place, file string) string {
	switch {
	case noted == nil:
		return file + ": does not say which folder it is of, as files of earlier versions"
	case !noted.Is(here):
		return file + ": is of another folder, or was put back: only the folder in which the fit ran proves that it is whole"
	}
	return ""
}

// evidence returns what the folder proves of the charge of the fit with the ledger's entry e. i is the fit's
// intent, or nil if the folder has none. The folder must be locked.
//
// The certificate of a fit that has ended is whole wherever it is. The journal of a fit that was killed is
// whole only where the fit wrote it: a copy may have been made before the end.
func (f *folder) evidence(ctx context.Context, e Entry, i *intent, entries []Entry) (evidence, error) {
	own := *f
	own.fit, own.entry = e.Fit, e
	file, err := own.disk.Open(own.journalFile())
	if isAbsent(err) {
		return own.certified(ctx, entries), ctx.Err()
	}
	if err != nil {
		return unproved("%v", err), nil
	}
	defer file.Close()
	t, err := readJournal(file, mostLine)
	if err != nil {
		return unproved("%s: %v", own.journalFile(), err), nil
	}
	if err := t.belongs(e); err != nil {
		return unproved("%s: %v", own.journalFile(), err), nil
	}
	if t.ready != nil && own.has(*t.ready) {
		if sealed := own.sealed(ctx, *t.ready); sealed.why == "" || !t.proves() {
			return sealed, ctx.Err()
		}
	}
	_, cert, err := t.files(ctx)
	if ctx.Err() != nil {
		return evidence{}, ctx.Err()
	}
	if err != nil {
		return unproved("%s: %v", own.journalFile(), err), nil
	}
	found := evidence{cert: cert, events: len(t.events)}
	switch {
	case t.damaged > 0:
		found.why = fmt.Sprintf("%s: line %d is damaged or cut off, and the releases after it are not known",
			own.journalFile(), t.damaged)
	case !t.proves():
		found.why = own.journalFile() + ": its lines have no checksums, as those of version 1, and do not prove that they " +
			"are all"
	case i == nil:
		found.why = own.intentFile(e.Fit) + ": is not there, and the journal alone proves nothing"
	default:
		here := own.here(nil)
		if found.why = away(i.Place, here, own.intentFile(e.Fit)); found.why == "" {
			found.why = away(t.head.Place, own.here(file), own.journalFile())
		}
	}
	return found, nil
}

// sealed reads the fit's certificate whose hash is in r, the journal's last line.
func (f *folder) sealed(ctx context.Context, r ready) evidence {
	for _, path := range []string{f.file(CertificateFile), f.partial(CertificateFile)} {
		if digest, err := f.digest(path); err == nil && digest == r.Certificate {
			return f.charges(ctx, path, r.Charged)
		}
	}
	return unproved("%s: is not the one that the journal speaks of", f.file(CertificateFile))
}

// certified reads the certificate under its final name in the folder, for a fit whose journal is gone. It
// proves nothing if the ledger lacks the fit's end or states another charge than the certificate.
func (f *folder) certified(ctx context.Context, entries []Entry) evidence {
	for _, e := range entries {
		if e.Fit == f.fit && e.Entry != ledgerfile.Reserved {
			return f.charges(ctx, f.file(CertificateFile), e.Charged)
		}
	}
	return unproved("fit %d has left no journal", f.fit)
}

// charges reads the certificate at path. It proves the run's charge if it is valid, belongs to the folder's run,
// was made by the fit itself instead of from a journal, and states the charge want.
func (f *folder) charges(ctx context.Context, path string, want float64) evidence {
	text, err := durable.ReadAll(f.disk, path, mostCertificate)
	if err != nil {
		return unproved("%v", err)
	}
	cert, err := certificate.Parse(text)
	if err == nil {
		_, err = cert.Verify(ctx)
	}
	if err != nil {
		return unproved("%s: %v", path, err)
	}
	if r, _ := cert.Budget(); r.Run != f.entry.Run || r.Dataset != f.entry.Dataset {
		return unproved("%s: is not that of fit %d", path, f.fit)
	}
	found := evidence{cert: cert, events: -1}
	if isRecovered(cert) {
		found.why = path + ": was made from a journal that does not prove to be whole"
	} else if cert.Charged() != want {
		found.why = fmt.Sprintf("%s: charged = %v: must be %v, as fit %d said elsewhere", path, cert.Charged(), want, f.fit)
	}
	return found
}

// isRecovered reports whether a certificate was made from a journal, and not by the fit itself.
func isRecovered(c *certificate.Certificate) bool {
	var plan struct {
		Recovered *runrecord.Rebuilt `json:"recovered"`
	}
	return json.Unmarshal(c.Algorithm().Plan, &plan) != nil || plan.Recovered != nil
}

// nothing returns what the folder proves of a run that its ledger lacks: that the run released nothing, if the folder
// is the one in which the fit wrote the intent i, its ledger still has what it had then, and no release was journalled.
func (f *folder) nothing(i intent) evidence {
	if why := away(i.Place, f.here(nil), f.intentFile(i.Fit)); why != "" {
		return unproved("%s", why)
	}
	text, err := f.text(f.path)
	if err != nil {
		return unproved("%v", err)
	}
	if !i.Ledger.begins(text) {
		return unproved("%s: lacks lines that it had before the run began", f.ledger())
	}
	own := *f
	own.fit = i.Fit
	if t, err := own.tells(); err == nil && (t.damaged > 0 || len(t.events) > 0) {
		return unproved("%s: lacks fit %d, whose journal is there", f.ledger(), i.Fit)
	}
	return evidence{events: -1}
}

// beginning identifies the first lines of a file.
type beginning struct {
	Size int `json:"size"`
	// Sum is the SHA-256 of the lines, in hexadecimal.
	Sum string `json:"sum"`
}

// linesOf returns the beginning of text that consists of whole lines.
func linesOf(text []byte) *beginning {
	n := bytes.LastIndexByte(text, '\n') + 1
	return &beginning{n, sha(text[:n])}
}

// begins reports whether the text begins with the lines b.
func (b *beginning) begins(text []byte) bool {
	return b != nil && b.Size >= 0 && b.Size <= len(text) && sha(text[:b.Size]) == b.Sum
}

// lost returns an error if the folder has the journal of a fit that released something and the ledger (entries)
// lacks the fit. The ledger was lost or an earlier one was put back, and a sum over its fits would be too small.
func (f *folder) lost(entries []Entry) error {
	files, err := f.disk.ReadDir(f.path)
	if isAbsent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	known := map[int]bool{}
	for _, e := range entries {
		known[e.Fit] = true
	}
	for _, file := range files {
		own := *f
		fit, is := leftover(file.Name())
		if own.fit = fit; !is || known[fit] || f.file(file.Name()) != own.journalFile() {
			continue
		}
		// A fit that was killed before its reservation has left no events, and perhaps not even a head.
		if t, err := own.tells(); err == nil && (t.damaged > 0 || len(t.events) > 0) {
			return fmt.Errorf("%s: lacks fit %d, whose journal is in %s: it was lost, or an earlier one was put back: put back "+
				"the one that has the fit", f.ledger(), fit, f.path)
		}
	}
	return nil
}

// behind returns an error if the folder's files show a fit that the ledger (entries) lacks.
func (f *folder) behind(entries []Entry) error {
	return errors.Join(f.lost(entries), f.unknown(entries))
}

// unknown returns an error if the folder has a certificate and the ledger (entries) lacks its fit, like lost.
func (f *folder) unknown(entries []Entry) error {
	text, err := durable.ReadAll(f.disk, f.file(CertificateFile), mostCertificate)
	if isAbsent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	cert, err := certificate.Parse(text)
	if err != nil {
		return nil // no certificate: it says nothing of a fit
	}
	ended := map[int]bool{}
	for _, e := range entries {
		ended[e.Fit] = e.Entry != ledgerfile.Reserved
	}
	for _, e := range entries {
		switch {
		case e.Entry == ledgerfile.Reserved && !ended[e.Fit], e.Certificate == sha(text):
			return nil // a fit that was killed may have left its certificate
		case e.Entry != ledgerfile.Reserved && e.Certificate == "" && (e.Charged == cert.Charged() || isRecovered(cert)):
			return nil // the line is of an earlier version, or its fit had no certificate until it was recovered
		}
	}
	return fmt.Errorf("%s: has no fit of %s: the ledger was lost, or an earlier one was put back: put back the one that "+
		"has the fit", f.ledger(), f.file(CertificateFile))
}
