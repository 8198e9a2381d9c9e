package runfolder

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/durable"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// Readers never see a model without its certificate. First both files are put on stable storage under
// temporary names, and the journal's last line says that they are ready. Then an earlier model is removed.
// Then the certificate gets its final name, and after it the model. If the process stops at any point,
// Recover can continue from the journal and the files.

// pair is the model and the certificate of a fit, under temporary names that readers do not see.
type pair struct {
	f                  *folder
	model, certificate durable.File
	// size is the size, in bytes, of the part of the certificate before its first event. events is the number
	// of events for which space is reserved.
	size   int64
	events int
}

// partial returns the temporary name that a file of this fit has until it is complete.
func (f *folder) partial(name string) string { return f.file(fmt.Sprintf(".%s-%d", name, f.fit)) }

// newPair creates the run's model and certificate under temporary names. It reserves disk space for the
// largest model, and for a certificate with one event for each planned step and spareEvents more.
func (f *folder) newPair(h train.Header, r train.Released) (*pair, error) {
	p := &pair{f: f}
	if err := p.make(h, r); err != nil {
		p.discard()
		return nil, err
	}
	return p, nil
}

func (p *pair) make(h train.Header, r train.Released) (err error) {
	model, certificate, err := h.Room(r)
	if err != nil {
		return err
	}
	if p.model, err = p.f.newPartial(p.f.product()); err != nil {
		return err
	}
	if p.certificate, err = p.f.newPartial(CertificateFile); err != nil {
		return err
	}
	if err := p.model.Reserve(model); err != nil {
		return err
	}
	p.size = certificate
	return p.reserve(h.Plan.Steps + spareEvents)
}

// spareEvents is the number of events for which space is reserved in addition to the steps of a plan.
const spareEvents = 64

func (f *folder) newPartial(name string) (durable.File, error) {
	if err := f.removeIfThere(f.partial(name)); err != nil {
		return nil, err
	}
	return f.disk.Create(f.partial(name), durable.Public)
}

func (f *folder) removeIfThere(path string) error {
	if err := f.disk.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// reserve reserves disk space for a certificate with the given number of events (charges).
func (p *pair) reserve(events int) error {
	if err := p.certificate.Reserve(p.size + train.PerEvent*int64(events)); err != nil {
		return err
	}
	p.events = events
	return nil
}

// grow makes sure that the certificate has reserved space for the given number of events. If fewer than spareEvents/2
// events would stay free, it reserves space for a quarter more events than needed and spareEvents more.
func (p *pair) grow(events int) error {
	if events+spareEvents/2 <= p.events {
		return nil
	}
	return p.reserve(events + events/4 + spareEvents)
}

// fill writes the model and the certificate of a run, under their temporary names, to stable storage. After
// that, show gives them their final names.
func (p *pair) fill(model, certificate []byte) (r ready, err error) {
	r.Certificate = sha(certificate)
	if err := durable.Fill(p.certificate, certificate); err != nil {
		return r, err
	}
	if model != nil {
		r.Model = sha(model)
		if err := durable.Fill(p.model, model); err != nil {
			return r, err
		}
	}
	return r, p.f.disk.SyncFolder(p.f.path)
}

// close closes the two files. It does not remove them; discard does.
func (p *pair) close() {
	for _, file := range []durable.File{p.model, p.certificate} {
		if file != nil {
			_ = file.Close()
		}
	}
}

func (p *pair) discard() {
	p.close()
	for _, name := range []string{p.f.product(), CertificateFile} {
		_ = p.f.removeIfThere(p.f.partial(name))
	}
}

// show gives the complete files of a fit, the model and the certificate, their final names. r has the hashes
// of the files. If an earlier call was interrupted at any point, another call completes its work.
func (f *folder) show(r ready) error {
	for _, other := range []string{ModelFile, DescriptionFile} { // what an earlier run made beside its certificate
		if other != f.product() {
			if err := f.removeIfThere(f.file(other)); err != nil {
				return err
			}
		}
	}
	seen, err := f.digest(f.file(f.product()))
	if err != nil {
		return err
	}
	certified, err := f.digest(f.file(CertificateFile))
	if err != nil {
		return err
	}
	if seen != "" && (seen != r.Model || certified != r.Certificate) {
		// This model is from another run, or from this run before its certificate had its final name.
		if err := f.disk.Remove(f.file(f.product())); err != nil {
			return err
		}
		if err := f.disk.SyncFolder(f.path); err != nil {
			return err
		}
		seen = ""
	}
	if certified != r.Certificate {
		if err := f.see(CertificateFile); err != nil {
			return err
		}
	}
	if seen == r.Model {
		return nil
	}
	return f.see(f.product())
}

// see gives a complete file its final name, and returns after the name is on stable storage.
func (f *folder) see(name string) error {
	if err := f.disk.MayReplace(f.file(name)); err != nil {
		return err
	}
	if err := f.disk.Rename(f.partial(name), f.file(name)); err != nil {
		return err
	}
	return f.disk.SyncFolder(f.path)
}

// digest returns the SHA-256 of a regular file, in hexadecimal; "" if the file does not exist.
func (f *folder) digest(path string) (string, error) {
	file, err := f.disk.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// sweep removes the journals and the temporary files of this fit and of earlier fits. Recovery no longer
// needs them. The files of an earlier fit stay if its intent exists (the note of its reservation in a store
// of budgets), since only these files can prove how much of the reservation the fit used.
func (f *folder) sweep() error {
	entries, err := f.disk.ReadDir(f.path)
	if err != nil {
		return err
	}
	open := map[int]bool{}
	for _, e := range entries {
		if fit, ok := isIntent(e.Name()); ok && fit != f.fit {
			open[fit] = true
		}
	}
	for _, e := range entries {
		if fit, ok := leftover(e.Name()); ok && fit <= f.fit && !open[fit] {
			if err := f.removeIfThere(f.file(e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// leftover reports whether a name is the name of a fit's journal or of a fit's temporary file. It also
// returns the number of the fit.
func leftover(name string) (fit int, ok bool) {
	fit, ok = numberIn(name, "journal-", ".jsonl")
	for _, file := range []string{ModelFile, DescriptionFile, CertificateFile, intentFile} {
		if !ok {
			fit, ok = numberIn(name, "."+file+"-", "")
		}
	}
	return fit, ok
}

// numberIn returns the number of the fit in a file's name, between the texts before and after.
func numberIn(name, before, after string) (fit int, ok bool) {
	number, ok := strings.CutPrefix(name, before)
	number, also := strings.CutSuffix(number, after)
	fit, err := strconv.Atoi(number)
	return fit, ok && also && err == nil && fit > 0 && strconv.Itoa(fit) == number
}

func sha(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
