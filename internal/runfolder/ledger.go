package runfolder

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
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
		return nil, inOutput(err)
	}
	if others, err = f.earlier(e.Data); err != nil {
		return nil, f.charged(inOutput(err))
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
	return inOutput(f.append(e))
}

// inOutput says of an error that it is one of the output folder.
func inOutput(err error) error {
	if err != nil {
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
	return nil, cmp.Or(file.Truncate(int64(end)), file.Close())
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

// Total is the privacy cost of all fits of one table under one relation and for one unit of privacy. Fits
// under another relation or for another unit have their own Total.
type Total struct {
	// Table is the table's public name after the word "table", or the table's path if it has no name.
	Table string
	// Guarantee holds for all the fits together: its Epsilon is an upper bound at its Delta. Its Mu is 0,
	// because the fits are composed by their privacy-loss distributions.
	account.Guarantee
	// Fits is the number of reservations. It includes the reservations of fits that were killed.
	Fits int
}

// MarshalJSON writes the members of a Total in the order in which earlier versions wrote them.
func (t Total) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Table    string           `json:"table"`
		Relation account.Relation `json:"relation"`
		Unit     string           `json:"unit,omitempty"`
		Fits     int              `json:"fits"`
		Epsilon  float64          `json:"epsilon"`
		Delta    float64          `json:"delta"`
	}{t.Table, t.Relation, t.Unit, t.Fits, t.Epsilon, t.Delta})
}

// Totals composes the reservations in the ledgers of output folders, separately for each table, relation and unit. Of a
// folder without a ledger, Totals reads the folders directly in it; if none of them has a ledger, Totals returns an
// error. Epsilons are stated at delta or, if delta is 0, at the largest delta of the composed fits.
func Totals(ctx context.Context, folders []string, delta float64) ([]Total, error) {
	if delta != 0 && !(delta > 0 && delta < 1) {
		return nil, fmt.Errorf("delta = %v: must be > 0 and < 1", delta)
	}
	entries, err := reservedIn(folders)
	if err != nil {
		return nil, err
	}
	type key struct {
		table, unit string
		relation    account.Relation
	}
	fits := map[key][]Entry{}
	for _, e := range entries {
		k := key{e.Data, e.Unit, e.Relation}
		fits[k] = append(fits[k], e)
	}
	var totals []Total
	for k, list := range fits {
		t := Total{Table: k.table, Guarantee: account.Guarantee{Relation: k.relation, Delta: delta, Unit: k.unit},
			Fits: len(list)}
		for _, e := range list {
			if delta == 0 {
				t.Delta = max(t.Delta, e.Delta)
			}
		}
		if t.Epsilon, err = ledgerfile.Together(ctx, list, t.Delta); err != nil {
			return nil, fmt.Errorf("table %s: %w", k.table, err)
		}
		totals = append(totals, t)
	}
	slices.SortFunc(totals, func(a, b Total) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Relation.String(), b.Relation.String()),
			cmp.Compare(a.Unit, b.Unit))
	})
	return totals, nil
}

// reservedIn returns the reservations in the ledgers of the given folders. Of a folder without a ledger, it
// reads the folders directly in it. It reads each ledger once, even if several paths lead to it.
func reservedIn(folders []string) (all []Entry, err error) {
	disk := machine{}
	f := &folder{disk: disk}
	seen := map[string]bool{}
	add := func(path string) (bool, error) {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return false, err
		}
		if real, err = filepath.Abs(real); err != nil || seen[real] {
			return seen[real], err
		}
		if _, err := disk.Stat(filepath.Join(path, LedgerFile)); errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		entries, err := f.read(path)
		if err == nil {
			own := &folder{disk: disk, path: path}
			err = own.behind(entries)
		}
		if err != nil {
			return false, err
		}
		seen[real] = true
		for _, e := range entries {
			if e.Entry == ledgerfile.Reserved {
				all = append(all, e)
			}
		}
		return true, nil
	}
	for _, path := range folders {
		found, err := add(path)
		if err != nil {
			return nil, err
		}
		if found {
			continue
		}
		inside, err := disk.ReadDir(path)
		if err != nil {
			return nil, err
		}
		for _, e := range inside {
			below := filepath.Join(path, e.Name())
			if info, err := disk.Stat(below); err != nil || !info.IsDir() {
				continue
			}
			one, err := add(below)
			if err != nil {
				return nil, err
			}
			found = found || one
		}
		if !found {
			return nil, fmt.Errorf("%s: must be the output folder of a fit, or hold some: there is no %s", path, LedgerFile)
		}
	}
	return all, nil
}
