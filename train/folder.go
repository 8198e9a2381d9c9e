package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
)

// Files of an output folder.
const (
	ModelFile       = "model.json"
	CertificateFile = "certificate.json"
	// LedgerFile is append-only: one JSON line for each reservation and each
	// settlement. Overwriting a model never removes a line.
	LedgerFile = "ledger.jsonl"
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
	// Charged is the odometer's reading in units of mu^2 at the end.
	Charged float64 `json:"charged,omitempty"`
}

// folder is where a fit writes.
type folder struct {
	path string
	// base, if not empty, is the name that a numbered folder is made from.
	base      string
	overwrite bool
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

// create makes the folder.
func (f *folder) create() error {
	if f.base == "" {
		return os.MkdirAll(f.path, 0o777)
	}
	for i := 1; i <= maxNumbered; i++ {
		f.path = f.numbered(i)
		err := os.Mkdir(f.path, 0o777)
		if err == nil || !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return fmt.Errorf("output %s: %d numbered folders exist already: give --out", f.base, maxNumbered)
}

func (f *folder) numbered(i int) string {
	if i == 1 {
		return f.base
	}
	return fmt.Sprintf("%s-%d", f.base, i)
}

// reserve creates the folder and records the whole budget in its ledger, on
// stable storage, before anything is released. It returns the earlier
// reservations for the same table that it knows of.
func (f *folder) reserve(e Entry) (prior []Entry, err error) {
	if err := f.create(); err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	prior, err = f.earlier(e.Data)
	if err != nil {
		return nil, err
	}
	f.fit = 1
	own, err := readLedger(filepath.Join(f.path, LedgerFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, o := range own {
		f.fit = max(f.fit, o.Fit+1)
	}
	e.Entry, e.Fit = "reserved", f.fit
	f.entry = e
	return prior, f.append(e)
}

// settle records how the fit ended. The reservation stays.
func (f *folder) settle(charged float64, complete bool) error {
	e := f.entry
	e.Entry, e.Charged = "settled", charged
	if !complete {
		e.Entry = "interrupted"
	}
	return f.append(e)
}

// append writes a line and waits for it to be on stable storage.
func (f *folder) append(e Entry) error {
	e.Time = time.Now().UTC().Truncate(time.Second)
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	path := filepath.Join(f.path, LedgerFile)
	if err := dropTorn(path); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	_, err = file.Write(append(line, '\n'))
	if err == nil {
		err = file.Sync()
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return syncFolder(f.path)
}

// dropTorn removes what follows the last newline: an entry whose writing was cut
// short, and so one that nothing was released under.
func dropTorn(path string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if end := bytes.LastIndexByte(text, '\n') + 1; end < len(text) {
		return os.Truncate(path, int64(end))
	}
	return nil
}

// earlier returns the reservations for the same table in this folder and in
// the numbered folders beside it.
func (f *folder) earlier(data string) ([]Entry, error) {
	paths := []string{f.path}
	if f.base != "" {
		paths = nil
		for i := 1; i <= maxNumbered; i++ {
			if _, err := os.Stat(f.numbered(i)); err != nil {
				break
			}
			paths = append(paths, f.numbered(i))
		}
	}
	var prior []Entry
	for _, p := range paths {
		entries, err := readLedger(filepath.Join(p, LedgerFile))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
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

// readLedger reads a ledger file. A last line cut short by a crash is an
// unfinished entry that nothing was released under.
func readLedger(path string) ([]Entry, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for n := 1; ; n++ {
		line, rest, whole := bytes.Cut(text, []byte{'\n'})
		if !whole {
			return entries, nil
		}
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("ledger %s: line %d: not an entry: %w", path, n, err)
		}
		entries = append(entries, e)
		text = rest
	}
}

// syncFolder makes a folder's new names durable, where the system can.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	defer d.Close()
	// Some systems cannot sync a folder; its files are synced all the same.
	_ = d.Sync()
	return nil
}
