package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/budget/stores"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/internal/runfolder"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

type budgetCommand struct {
	Create budgetCreate `cmd:"" help:"Register a dataset with a cap on all its releases together."`
	List   budgetList   `cmd:"" help:"List the datasets of a store and the rest of the cap of each."`
	Show   budgetShow   `cmd:"" help:"Show the spending under the cap of a dataset, run by run, and write its certificate."`
	Settle budgetSettle `cmd:"" help:"Settle a killed run: charge the releases that its output folder records."`
	Close  budgetClose  `cmd:"" help:"Close a dataset for ever: the store refuses all later runs."`
}

type storeFlag struct {
	Store string `help:"Store of budgets: sqlite:FILE or postgres://USER@HOST/DATABASE." required:"" placeholder:"STORE"`
	JSON  bool   `help:"Print JSON." name:"json"`
}

// with opens the store of budgets that the flag names, calls f and closes the store.
func (s storeFlag) with(ctx context.Context, f func(*budget.Book) error) error {
	book, err := stores.Open(ctx, s.Store)
	if err != nil {
		return err
	}
	defer book.Close()
	return f(book)
}

type budgetCreate struct {
	Name        string  `arg:"" help:"Public name of the dataset." placeholder:"NAME"`
	Epsilon     float64 `help:"Epsilon of everything together." required:"" placeholder:"E"`
	Delta       float64 `help:"Delta of everything together." required:"" placeholder:"D"`
	Relation    string  `help:"Neighbouring tables: replace-one or add-or-remove." required:"" placeholder:"RELATION"`
	SampledRuns int     `help:"Number of runs that may sample (dp-sgd, dp-adam); if it is not 0, a tenth of delta is set aside for them." placeholder:"N"`
	Unit        string  `help:"Column whose equal values make rows one record (schema.unit); without it each row is a record." placeholder:"COLUMN"`
	Table       string  `help:"Keep a keyed fingerprint of FILE, and warn if it is registered under another name." placeholder:"FILE"`
	storeFlag
	csvFlags
}

func (b *budgetCreate) Run(ctx context.Context, c *console) error {
	relation, err := account.ParseRelation(b.Relation)
	if err != nil {
		return err
	}
	limit, err := budget.NewCap(b.Epsilon, b.Delta, relation, b.SampledRuns)
	if err != nil {
		return err
	}
	limit.Unit = b.Unit
	book, err := stores.Make(ctx, b.Store)
	if err != nil {
		return err
	}
	defer book.Close()
	if err := book.Create(ctx, b.Name, limit); err != nil {
		return err
	}
	var copies []string
	if b.Table != "" {
		copies, err = book.Mark(ctx, b.Name, func(key string) (string, error) { return fingerprint(ctx, b.Table, b.csv(), key) })
		if err != nil {
			return err
		}
	}
	d, err := book.Dataset(ctx, b.Name)
	if err != nil {
		return err
	}
	if b.JSON {
		return printJSON(c.out, struct {
			*budget.Dataset
			Copies []string `json:"copies,omitempty"`
		}{d, copies})
	}
	fmt.Fprintf(c.out, "dataset      %s, with a cap of %v\n", b.Name, d.Cap)
	for _, other := range copies {
		fmt.Fprintf(c.out, "WARNING      %s holds the same cells as the dataset %s: their charges add up\n",
			safetext.Text(b.Table), safetext.Text(other))
	}
	fmt.Fprintf(c.out, "head         %s\n", d.Head)
	fmt.Fprintf(c.out, "configure    budget: {store: %q, dataset: %q}\n", b.Store, b.Name)
	return nil
}

type budgetList struct{ storeFlag }

func (b *budgetList) Run(ctx context.Context, c *console) error {
	return b.with(ctx, func(book *budget.Book) error {
		all := []*budget.Dataset{}
		for d, err := range datasets(ctx, book) {
			if err != nil {
				return err
			}
			all = append(all, d)
		}
		lines := vector.Map(all, func(d *budget.Dataset) string {
			return fmt.Sprintf("%s  %s  %s of %v, %s%s\n", bar(d, 20), safetext.Text(d.Name), spentOf(d), d.Cap,
				counted(len(d.Runs), "run"), closedWord(d))
		})
		return c.answer(b.JSON, all, strings.Join(lines, ""))
	})
}

// datasets returns the datasets of a store, one after the other, or the error that stands in the way.
func datasets(ctx context.Context, book *budget.Book) iter.Seq2[*budget.Dataset, error] {
	return func(yield func(*budget.Dataset, error) bool) {
		names, err := book.Names(ctx)
		if err != nil {
			yield(nil, err)
		}
		for _, name := range names {
			if !yield(book.Dataset(ctx, name)) {
				return
			}
		}
	}
}

type budgetShow struct {
	Name        string   `arg:"" help:"Name of the dataset." placeholder:"NAME"`
	Certificate string   `help:"Write the whole chain as a certificate, which stillpoint verify rechecks." placeholder:"FILE"`
	In          []string `help:"Search below these folders for the output folders of runs that have not ended." placeholder:"DIR,..."`
	Against     []string `help:"Check that the store has the runs of these certificates. A store that was restored from a backup lacks the later ones." placeholder:"CERTIFICATE,..."`
	storeFlag
}

func (b *budgetShow) Run(ctx context.Context, c *console) error {
	return b.with(ctx, func(book *budget.Book) error {
		d, err := book.Dataset(ctx, b.Name)
		if err != nil {
			return err
		}
		for _, path := range b.Against {
			if err := against(ctx, d, path); err != nil {
				return err
			}
		}
		if b.Certificate != "" {
			text, err := book.Certificate(ctx, b.Name)
			if err != nil {
				return err
			}
			if err := writeFile(b.Certificate, nil, writes(text)); err != nil {
				return err
			}
		}
		open, err := b.open(ctx, d)
		if err != nil {
			return err
		}
		if b.JSON {
			return printJSON(c.out, struct {
				*budget.Dataset
				Open []openRun `json:"open_runs,omitempty"`
			}{d, open})
		}
		fmt.Fprint(c.out, spent(d), listed(open, b.Store))
		if b.Certificate != "" {
			fmt.Fprintf(c.out, "certificate  %s\nrecheck      stillpoint verify %s\n", safetext.Text(b.Certificate),
				safetext.Text(b.Certificate))
		}
		return nil
	})
}

// against returns an error if the dataset's chain of rows does not have the run of the certificate at path.
func against(ctx context.Context, d *budget.Dataset, path string) error {
	cert, err := certificate.Read(path)
	if err != nil {
		return err
	}
	if err := d.Holds(ctx, cert); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

type budgetClose struct {
	Name string `arg:"" help:"Name of the dataset." placeholder:"NAME"`
	storeFlag
}

func (b *budgetClose) Run(ctx context.Context, c *console) error {
	return b.with(ctx, func(book *budget.Book) error {
		if err := book.Shut(ctx, b.Name); err != nil {
			return err
		}
		d, err := book.Dataset(ctx, b.Name)
		if err != nil {
			return err
		}
		return c.answer(b.JSON, d, spent(d))
	})
}

// spent returns a text with a dataset's cap, the spent part of it, and one line for each run.
func spent(d *budget.Dataset) string {
	var b facts
	line := b.add
	line("dataset", "%s%s", safetext.Text(d.Name), closedWord(d))
	line("cap", "%v, for everything ever released together", d.Cap)
	line("spent", "%s %s", bar(d, 50), spentOf(d))
	line("charged", "%.6g of %.6g (units of mu^2), of which %.6g by runs that have not ended; %.6g left", d.Spent,
		d.Charge, d.Open, d.Left)
	if d.Over > 0 {
		line("OVERSPENT", "by %.6g (units of mu^2): runs released more than the cap allows, so its guarantee does not hold", d.Over)
	}
	if d.Epsilon > 0 {
		line("so far", "epsilon %.4g at delta %v", runfolder.RoundUp(d.Epsilon), d.Cap.Delta)
	}
	if n := d.Cap.SampledRuns; n > 0 {
		line("sampled", "%d of %d runs that may sample", d.Sampled, n)
	}
	for i, r := range d.Runs {
		state := "reserved, has not ended"
		if r.Settled {
			state = fmt.Sprintf("ended, reserved %.3g", r.Reserved.Charge)
		}
		if r.Corrected > 0 {
			state += fmt.Sprintf(", corrected upwards %s", times(r.Corrected))
		}
		line(first(i, "runs"), "%6.2f%%  row %d, %s  %s: epsilon %v, delta %v, charged %.3g (%s)", 100*r.Charged.Charge/d.Charge, r.Row,
			r.Time, safetext.Text(r.Label), r.Limit.Epsilon, r.Limit.Delta, r.Charged.Charge, state)
	}
	line("rows", "%d, each with a hash of the one before", d.Rows)
	line("head", "%s", d.Head)
	return b.String()
}

// times says how often something was done.
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// bar draws a dataset's cap as a bar of width characters: # for charges of runs that ended, + for
// reservations of runs that have not ended, and a dot for the part that is left.
func bar(d *budget.Dataset, width int) string {
	// Both numbers are rounded up, so that a small charge or reservation has at least one character.
	all := min(width, int(math.Ceil(d.Spent/d.Charge*float64(width))))
	open := min(all, int(math.Ceil(d.Open/d.Charge*float64(width))))
	return "[" + strings.Repeat("#", all-open) + strings.Repeat("+", open) + strings.Repeat(".", width-all) + "]"
}

func spentOf(d *budget.Dataset) string { return fmt.Sprintf("%.1f%% spent", 100*d.Spent/d.Charge) }

func closedWord(d *budget.Dataset) string {
	if d.Closed {
		return ", closed"
	}
	return ""
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

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
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		full, err := filepath.Abs(path)
		if err != nil {
			full = path
		}
		if real, err := filepath.EvalSymlinks(full); err == nil {
			full = real
		}
		was := seen[full]
		seen[full] = true
		return was
	})
}

// listed returns a text with one line for each run that has not ended. The line has the command that reports
// the run's final charge to the store or, if the run's folder was not found, the flag that looks for it.
func listed(all []openRun, store string) string {
	var b strings.Builder
	for i, r := range all {
		where := "its folder was not found: --in DIR,... searches for it"
		switch {
		case r.Folder != "":
			where = fmt.Sprintf("stillpoint budget settle %s --store %s --from %s", safetext.Text(r.Run),
				safetext.Text(store), safetext.Text(r.Folder))
		case len(r.Copies) > 0:
			where = fmt.Sprintf("%d folders have this run, and at most one of them is its own: %s", len(r.Copies),
				safetext.Text(strings.Join(r.Copies, ", ")))
		}
		fmt.Fprintf(&b, "%-13srow %d, run %s: %s\n", first(i, "open"), r.Row, safetext.Text(r.Run), where)
		if r.Holder != "" {
			fmt.Fprintf(&b, "%-13s  held by %s; may have released up to %.3g (units of mu^2)\n", "", safetext.Text(r.Holder),
				r.Allowed)
		}
	}
	return b.String()
}

type budgetSettle struct {
	ID     string `arg:"" name:"run" help:"Id of the run in the output of budget show." placeholder:"RUN"`
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
	return c.answer(b.JSON, s, fmt.Sprintf("%-13s%v\n", "settled", s))
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
