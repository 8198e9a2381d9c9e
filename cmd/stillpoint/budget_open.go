package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/budget/stores"
	"github.com/stillpoint-dp/stillpoint/internal/printable"
	"github.com/stillpoint-dp/stillpoint/internal/runfolder"
)

// openRun is a run in a store of budgets whose end the store does not know. Its whole budget stays charged.
type openRun struct {
	Run  string `json:"run"`
	Row  int    `json:"row"`
	Time string `json:"time"`
	// Charge is the charge that is reserved for the run, in units of mu^2.
	Charge float64 `json:"charge"`
	// Folder is the run's output folder; empty if it was not found.
	Folder string `json:"folder,omitempty"`
}

// open lists the runs of a dataset that have not ended. It looks for their output folders below the folders
// of --in.
func (b *budgetShow) open(ctx context.Context, d *budget.Dataset) (all []openRun, err error) {
	folders := map[string]string{}
	for _, root := range b.In {
		found, err := runfolder.Runs(ctx, root)
		if err != nil {
			return nil, err
		}
		for run, folder := range found {
			folders[run] = folder
		}
	}
	for _, r := range d.Runs {
		if !r.Settled {
			all = append(all, openRun{r.Run, r.Row, r.Time, r.Charged.Charge, folders[r.Run]})
		}
	}
	return all, nil
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
		if r.Folder != "" {
			where = fmt.Sprintf("stillpoint budget settle %s --store %s --from %s", printable.Text(r.Run),
				printable.Text(store), printable.Text(r.Folder))
		}
		fmt.Fprintf(&b, "%-13srow %d, run %s: %s\n", name, r.Row, printable.Text(r.Run), where)
	}
	return b.String()
}

type budgetSettle struct {
	ID   string `arg:"" name:"run" help:"Id of the run, as budget show lists it." placeholder:"RUN"`
	From string `help:"Output folder of the run." required:"" placeholder:"FOLDER"`
	storeFlag
}

// Help returns the text that the help of the command prints below its flags.
func (budgetSettle) Help() string {
	return `Charges a run that was killed by what its output folder proves, and has the rest back:

  its ledger lacks the run         nothing was released: the ledger has every fit before
                                   its first release
  it was killed on the way         what its journal holds: every release is in it, on
                                   stable storage, before it is handed out
  it ended, its store out of reach what its ledger and its certificate say alike

A journal with a damaged line, with lines missing, or that was cut off proves nothing,
and the run stays charged in full; so does one without checksums, of stillpoint before
journals had them, unless the fit had made its files. A fit that still runs holds its
folder, and is refused. stillpoint recover does the same for all runs of a folder, at the
store that the folder names, and saves model and certificate.`
}

func (b *budgetSettle) Run(ctx context.Context, c *console) error {
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
