package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/durable"
)

// Files of an output folder.
const (
	ModelFile       = "model.json"
	CertificateFile = "certificate.json"
	// LedgerFile is append-only: one JSON line for each reservation and each
	// settlement. Overwriting a model never removes a line.
	LedgerFile = "ledger.jsonl"
	// lockFile keeps two fits from writing to one folder at a time.
	lockFile = ".lock"
)

// Entry is a line of a ledger file.
type Entry struct {
	Time time.Time `json:"time"`
	// Entry is "reserved", "settled" or "interrupted". A reservation without
	// either of the others belongs to a run that was killed: it counts in full,
	// as every reservation does.
	Entry string `json:"entry"`
	// Fit numbers the fits of a folder from 1.
	Fit int `json:"fit"`
	// Data is the table's absolute path.
	Data string `json:"data,omitempty"`

	Algorithm string           `json:"algorithm,omitempty"`
	Relation  account.Relation `json:"relation"`
	Epsilon   float64          `json:"epsilon"`
	Delta     float64          `json:"delta"`
	// Mu is the whole budget, reserved before the first release.
	Mu float64 `json:"mu"`
	// Schedule, where a fit samples, is what its budget went into instead of mu.
	Schedule []account.SampledSteps `json:"schedule,omitempty"`
	// Charged is the odometer's reading in units of mu^2 at the end.
	Charged float64 `json:"charged,omitempty"`
}

// folder is where a fit writes.
type folder struct {
	path string
	// base, if not empty, is the name that a numbered folder is made from.
	base      string
	overwrite bool
	lock      *flock.Flock
	fit       int
	entry     Entry
}

// newFolder settles where to write and refuses to write over an earlier fit
// unless told to. Nothing is created yet.
func newFolder(out, name string, overwrite bool) (*folder, error) {
	if out == "" {
		return &folder{base: name + "-fit"}, nil
	}
	f := &folder{path: out, overwrite: overwrite}
	if info, err := os.Stat(out); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("output %s: is a file: must be a folder", out)
	}
	if overwrite {
		return f, nil
	}
	for _, file := range []string{ModelFile, CertificateFile, LedgerFile} {
		if _, err := os.Lstat(filepath.Join(out, file)); err == nil {
			return nil, fmt.Errorf("output %s: holds an earlier fit (%s): choose another --out, or --overwrite to replace its model; its charge stays in %s", out, file, LedgerFile)
		}
	}
	return f, nil
}

// maxNumbered bounds the search for a free numbered folder.
const maxNumbered = 10000

// create makes the folder and waits for its name to be on stable storage.
func (f *folder) create() error {
	if f.base == "" {
		return makeFolders(f.path)
	}
	for i := 1; i <= maxNumbered; i++ {
		f.path = f.numbered(i)
		err := os.Mkdir(f.path, 0o777)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		return durable.SyncFolder(filepath.Dir(f.path))
	}
	return fmt.Errorf("%s: %d numbered folders exist already: give --out", f.base, maxNumbered)
}

// makeFolders makes a folder and those above it that are missing.
func makeFolders(path string) error {
	var parents []string // of what is missing
	for p := filepath.Clean(path); p != filepath.Dir(p); p = filepath.Dir(p) {
		if _, err := os.Stat(p); err == nil {
			break
		}
		parents = append(parents, filepath.Dir(p))
	}
	if err := os.MkdirAll(path, 0o777); err != nil {
		return err
	}
	for _, p := range parents {
		if err := durable.SyncFolder(p); err != nil {
			return err
		}
	}
	return nil
}

func (f *folder) numbered(i int) string {
	if i == 1 {
		return f.base
	}
	return fmt.Sprintf("%s-%d", f.base, i)
}

// reserve creates the folder and records the whole budget in its ledger, on
// stable storage, before anything is released. It returns the earlier
// reservations for the same table that it knows of. A ledger that cannot be
// read is an error before anything is created.
func (f *folder) reserve(e Entry) (prior []Entry, err error) {
	if _, err := f.earlier(e.Data); err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	if err := f.create(); err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	if err := f.claim(); err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	// Once more: another fit may have reserved since.
	if prior, err = f.earlier(e.Data); err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	own, err := readLedger(f.ledger())
	if err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	f.fit = 1
	for _, o := range own {
		f.fit = max(f.fit, o.Fit+1)
	}
	e.Entry, e.Fit = "reserved", f.fit
	f.entry = e
	return prior, f.append(e)
}

// claim keeps other fits out of the folder until release. The lock goes with the
// process, so a killed fit leaves none behind.
func (f *folder) claim() error {
	f.lock = flock.New(filepath.Join(f.path, lockFile))
	held, err := f.lock.TryLock()
	if err != nil {
		return err
	}
	if !held {
		return fmt.Errorf("%s: another fit is writing there: wait for it or choose another --out", f.path)
	}
	return nil
}

// release ends the claim.
func (f *folder) release() {
	if f.lock != nil {
		_ = f.lock.Unlock()
	}
}

func (f *folder) ledger() string { return filepath.Join(f.path, LedgerFile) }

// settle records how the fit ended. The reservation stays.
func (f *folder) settle(charged float64, complete bool) error {
	e := f.entry
	e.Entry, e.Charged = "settled", charged
	if !complete {
		e.Entry = "interrupted"
	}
	return f.append(e)
}

// charged says of an error after the reservation what it cost.
func (f *folder) charged(err error) error {
	return fmt.Errorf("%w; the whole budget stays charged in %s", err, f.ledger())
}

// append writes a line and waits for it to be on stable storage.
func (f *folder) append(e Entry) error {
	e.Time = time.Now().UTC().Truncate(time.Second)
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	path := f.ledger()
	start, err := mendTail(path)
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	if err := durable.Append(path, slices.Concat(start, line)); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}

var newline = []byte{'\n'}

// mendTail sees to what follows the last newline. A whole entry, whose newline
// an editor has dropped, is kept: start is the newline it lacks. Anything else
// is an entry whose writing was cut short, and so one that nothing was released
// under: it is removed.
func mendTail(path string) (start []byte, err error) {
	text, err := readRegular(path)
	if err != nil {
		return nil, err
	}
	end := bytes.LastIndexByte(text, '\n') + 1
	switch tail := text[end:]; {
	case len(tail) == 0:
		return nil, nil
	case json.Unmarshal(tail, new(Entry)) == nil:
		return newline, nil
	}
	return nil, os.Truncate(path, int64(end))
}

// earlier returns the reservations for the same table in this folder or, for a
// numbered one, in those that exist, whatever numbers are missing.
func (f *folder) earlier(data string) ([]Entry, error) {
	paths := []string{f.path}
	if f.base != "" {
		var err error
		if paths, err = f.siblings(); err != nil {
			return nil, err
		}
	}
	var prior []Entry
	for _, p := range paths {
		entries, err := readLedger(filepath.Join(p, LedgerFile))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.Entry == "reserved" && e.Data == data {
				prior = append(prior, e)
			}
		}
	}
	return prior, nil
}

// siblings returns the folders named base or base-NUMBER.
func (f *folder) siblings() ([]string, error) {
	entries, err := os.ReadDir(filepath.Dir(f.base))
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), f.base)
		if number, numbered := strings.CutPrefix(rest, "-"); numbered {
			_, err := strconv.ParseUint(number, 10, 64)
			ok = ok && err == nil
		} else {
			ok = ok && rest == ""
		}
		if info, err := os.Stat(e.Name()); ok && err == nil && info.IsDir() {
			paths = append(paths, e.Name())
		}
	}
	return paths, nil
}

// readLedger reads a ledger file; one that does not exist is empty. A last line
// cut short by a crash is an unfinished entry that nothing was released under.
func readLedger(path string) ([]Entry, error) {
	text, err := readRegular(path)
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for n := 1; len(text) > 0; n++ {
		line, rest, whole := bytes.Cut(text, newline)
		var e Entry
		err := json.Unmarshal(line, &e)
		switch {
		case err == nil:
			entries = append(entries, e)
		case whole:
			return nil, fmt.Errorf("ledger %s: line %d: not an entry: %w", path, n, err)
		}
		text = rest
	}
	return entries, nil
}

// readRegular reads a file whole; one that does not exist is empty. It refuses
// devices and pipes, which may never end.
func readRegular(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("ledger %s: must be a regular file", path)
	}
	return os.ReadFile(path)
}
