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

// Help returns the text that the help of the command prints below its flags.
func (budgetSettle) Help() string {
	return `Charges a run that was killed by what its output folder proves, and frees the rest:

  its ledger lacks the run         nothing was released: the ledger has every fit before
                                   its first release
  it was killed on the way         what its journal holds: every release is in it, on
                                   stable storage, before it is handed out
  it ended, its store out of reach what its ledger and its certificate say alike

A run is never charged less than the store had allowed it to release. A fit notes that in
the store before it releases. A fit that may still run is refused: its process holds the
run. The store takes it to have ended when its machine says so, or when another machine
asks two minutes after it was last heard of.

A run that was killed is charged less than its reservation only by the folder in which it
ran, with its ledger, its journal and the note of its reservation. A copy, files that were
put back, and a journal that is damaged, cut off or of an earlier version prove nothing,
and the run stays charged in full. --in-full ends such a run: it is charged its whole
reservation for good.

A settlement only rises. If a folder proves later that a run released more, this command
charges more, even past the cap, and budget show says by how much people were overspent.

stillpoint recover does the same for all runs of a folder, at the store that the folder
names, and saves model and certificate.`
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
	if b.JSON {
		return printJSON(c.out, s)
	}
	_, err = fmt.Fprintf(c.out, "%-13s%v\n", "settled", s)
	return err
}

// whole settles the run at its whole reservation. It looks for the run in all datasets of the store.
func (b *budgetSettle) whole(ctx context.Context, c *console) error {
	return b.with(ctx, func(book *budget.Book) error {
		names, err := book.Names(ctx)
		if err != nil {
			return err
		}
		for _, name := range names {
			d, err := book.Dataset(ctx, name)
			if err != nil {
				return err
			}
			for _, r := range d.Runs {
				if r.Run != b.ID {
					continue
				}
				if err := book.SettleInFull(ctx, name, b.ID); err != nil {
					return err
				}
				s := runfolder.Settlement{Store: b.Store, Dataset: name, Run: b.ID, Charged: r.Reserved.Charge}
				if b.JSON {
					return printJSON(c.out, s)
				}
				_, err = fmt.Fprintf(c.out, "%-13s%v\n", "settled", s)
				return err
			}
		}
		return fmt.Errorf("run %s: must be a run of the store %s", b.ID, b.Store)
	})
}
