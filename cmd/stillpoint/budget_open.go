package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/budget/stores"
	"github.com/stillpoint-dp/stillpoint/internal/runfolder"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
)

// openRun is a run in a store of budgets whose end the store does not know. Its whole budget stays charged.
type openRun struct {
	Run  string `json:"run"`
	Row  int    `json:"row"`
	Time string `json:"time"`
	// Charge is the charge that is reserved for the run, in units of mu^2.
	Charge float64 `json:"charge"`
	// Folder is the run's output folder; empty if it was not found, or if several were.
	Folder string `json:"folder,omitempty"`
	// Copies are the folders that have the run, if there are several: at most one is the run's own.
	Copies []string `json:"copies,omitempty"`
	// Holder is the process that holds the run, and when the store last heard of it; empty for a run of an
	// earlier version.
	Holder string `json:"holder,omitempty"`
	// Allowed is the charge up to which the run may have released answers by now, in units of mu^2.
	Allowed float64 `json:"allowed,omitempty"`
}

// open lists the runs of a dataset that have not ended. It looks for their output folders below the folders
// of --in.
func (b *budgetShow) open(ctx context.Context, d *budget.Dataset) (all []openRun, err error) {
	folders := map[string][]string{}
	for _, root := range b.In {
		found, err := runfolder.Runs(ctx, root)
		if err != nil {
			return nil, err
		}
		for run, list := range found {
			folders[run] = append(folders[run], list...)
		}
	}
	for _, r := range d.Runs {
		if r.Settled {
			continue
		}
		o := openRun{Run: r.Run, Row: r.Row, Time: r.Time, Charge: r.Charged.Charge}
		if list := distinct(folders[r.Run]); len(list) == 1 {
			o.Folder = list[0]
		} else {
			o.Copies = list
		}
		if r.Lease != nil {
			o.Holder, o.Allowed = r.Lease.String(), r.Lease.Charge
		}
		all = append(all, o)
	}
	return all, nil
}

// distinct returns the paths of folders without those that lead to the same folder as an earlier one.
func distinct(paths []string) (list []string) {
	seen := map[string]bool{}
	for _, path := range paths {
		full, err := filepath.Abs(path)
		if err != nil {
			full = path
		}
		if !seen[full] {
			seen[full] = true
			list = append(list, path)
		}
	}
	return list
}

// listed returns a text with one line for each run that has not ended. The line has the command that reports
// the run's final charge to the store or, if the run's folder was not found, the flag that looks for it.
func listed(all []openRun, store string) string {
	var b strings.Builder
	for i, r := range all {
		name := ""
		if i == 0 {
			name = "open"
		}
		where := "its folder was not found: --in DIR,... looks for it"
		switch {
		case r.Folder != "":
			where = fmt.Sprintf("stillpoint budget settle %s --store %s --from %s", safetext.Text(r.Run),
				safetext.Text(store), safetext.Text(r.Folder))
		case len(r.Copies) > 0:
			where = fmt.Sprintf("%d folders have it, of which one at most is its own: %s", len(r.Copies),
				safetext.Text(strings.Join(r.Copies, ", ")))
		}
		fmt.Fprintf(&b, "%-13srow %d, run %s: %s\n", name, r.Row, safetext.Text(r.Run), where)
		if r.Holder != "" {
			fmt.Fprintf(&b, "%-13s  held by %s; may have released up to %.3g (units of mu^2)\n", "", safetext.Text(r.Holder),
				r.Allowed)
		}
	}
	return b.String()
}

type budgetSettle struct {
	ID     string `arg:"" name:"run" help:"Id of the run, as budget show lists it." placeholder:"RUN"`
	From   string `help:"Output folder of the run." placeholder:"FOLDER"`
	InFull bool   `help:"Charge the run its whole reservation, for good." name:"in-full"`
	storeFlag
}

func (b *budgetSettle) Run(ctx context.Context, c *console) error {
	if (b.From == "") != b.InFull {
		return errors.New("--from, --in-full: must be one of the two: a folder that proves the charge, or the whole charge")
	}
	if b.InFull {
		return b.whole(ctx, c)
	}
	// The address of --store is used instead of the one in the folder's ledger, since the store's address may
	// have changed.
	open := func(ctx context.Context, _ string) (*budget.Book, error) { return stores.Open(ctx, b.Store) }
	s, err := runfolder.Settle(ctx, b.From, b.ID, open)
	if err != nil {
		return err
	}
	return b.settled(c, s)
}

// settled prints a settlement.
func (b *budgetSettle) settled(c *console, s runfolder.Settlement) error {
	if b.JSON {
		return printJSON(c.out, s)
	}
	_, err := fmt.Fprintf(c.out, "%-13s%v\n", "settled", s)
	return err
}

// whole settles the run at its whole reservation. It looks for the run in all datasets of the store.
func (b *budgetSettle) whole(ctx context.Context, c *console) error {
	return b.with(ctx, func(book *budget.Book) error {
		for d, err := range datasets(ctx, book) {
			if err != nil {
				return err
			}
			for _, r := range d.Runs {
				if r.Run != b.ID {
					continue
				}
				if err := book.SettleInFull(ctx, d.Name, b.ID); err != nil {
					return err
				}
				return b.settled(c, runfolder.Settlement{Store: b.Store, Dataset: d.Name, Run: b.ID, Charged: r.Reserved.Charge})
			}
		}
		return fmt.Errorf("run %s: must be a run of the store %s", b.ID, b.Store)
	})
}
