package runfolder

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"encoding/json"

	"github.com/stillpoint-dp/stillpoint/internal/durable"
	"github.com/stillpoint-dp/stillpoint/internal/ledgerfile"
)

// Entry is a line of a ledger file.
type Entry = ledgerfile.Entry

// mostLedger is the largest size of a ledger that is read, in bytes. This is enough for about 100,000 fits.
const mostLedger = 64 << 20

// reserve writes the whole budget to the folder's ledger, on stable storage, before anything is released. It
// returns the reservations of other fits for the same table, in this folder and in the folders of the same
// name with another number. It reads them after it has written its own. If several fits reserve at the same
// time, each fit therefore sees all reservations written before its own, and the last fit sees all of them.
func (f *folder) reserve(e Entry) (others []Entry, err error) {
	e.Entry, e.Fit = ledgerfile.Reserved, f.fit
	f.entry = e
	if err := f.append(e); err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	if others, err = f.earlier(e.Data); err != nil {
		return nil, f.charged(fmt.Errorf("output: %w", err))
	}
	return others, nil
}

// settle writes the end of the fit to the folder's ledger: the charge, in units of mu^2, and whether the run
// made all its steps. certificate is the hash of its certificate, or empty. The line with the reservation stays.
func (f *folder) settle(charged float64, complete bool, certificate string) error {
	e := f.entry
	e.Entry, e.Charged, e.Certificate = ledgerfile.Settled, charged, certificate
	if !complete {
		e.Entry = ledgerfile.Interrupted
	}
	if err := f.append(e); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}

// append writes a line to the folder's ledger and returns after the line is on stable storage.
func (f *folder) append(e Entry) error {
	e.Time = time.Now().UTC().Truncate(time.Second)
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	start, err := f.mendTail()
	if err != nil {
		return err
	}
	return durable.Append(f.disk, f.ledger(), slices.Concat(start, line))
}

var newline = []byte{'\n'}

// mendTail repairs the text after the ledger's last newline before a line is appended. If this text is a
// whole entry, an editor has dropped its newline: mendTail keeps the entry and returns the newline as start,
// to be written first. Otherwise the text is an entry whose writing was cut short. Nothing was released under
// such an entry, so mendTail removes it.
func (f *folder) mendTail() (start []byte, err error) {
	text, err := f.text(f.path)
	if err != nil || len(text) == 0 {
		return nil, err
	}
	end, unended := ledgerfile.Torn(text)
	if unended {
		return newline, nil
	}
	if end == len(text) {
		return nil, nil
	}
	file, err := f.disk.Append(f.ledger())
	if err != nil {
		return nil, err
	}
	err = file.Truncate(int64(end))
	if closing := file.Close(); err == nil {
		err = closing
	}
	return nil, err
}

// earlier returns the reservations of other fits for the table data in this folder. If base is set, it reads
// all existing folders of the series (siblings) instead of this folder alone.
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
		entries, err := f.read(p)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			own := p == f.path && f.fit == e.Fit
			if e.Entry == ledgerfile.Reserved && e.Data == data && !own {
				prior = append(prior, e)
			}
		}
	}
	return prior, nil
}

// siblings returns the existing folders of this folder's series: the folder named base, and the folders named
// base, a hyphen and any decimal number. Numbers may be missing.
func (f *folder) siblings() ([]string, error) {
	entries, err := f.disk.ReadDir(filepath.Dir(f.base))
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
		if info, err := f.disk.Stat(e.Name()); ok && err == nil && info.IsDir() {
			paths = append(paths, e.Name())
		}
	}
	return paths, nil
}

// read reads the ledger of the folder path. A ledger that does not exist has no entries; a damaged one is an
// error.
func (f *folder) read(path string) ([]Entry, error) {
	text, err := f.text(path)
	if err != nil {
		return nil, err
	}
	entries, err := ledgerfile.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("ledger %s: %w", filepath.Join(path, LedgerFile), err)
	}
	return entries, nil
}

func (f *folder) text(path string) ([]byte, error) {
	text, err := durable.ReadAll(f.disk, filepath.Join(path, LedgerFile), mostLedger)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ledger %w", err)
	}
	return text, nil
}
