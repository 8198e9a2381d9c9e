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

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/ledgerfile"
)

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

// Totals composes the reservations in the ledgers of output folders, separately for each table, relation and
// unit. Of a folder without a ledger, Totals reads the folders directly in it; if none of them has a ledger,
// Totals returns an error. Epsilons are stated at delta or, if delta is 0, at the largest delta of the
// composed fits.
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
