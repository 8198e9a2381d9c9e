package runfolder

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/budget/stores"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// tree returns the content of every file below a folder, by the file's path.
func tree(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files[path] = read(t, path)
		} else if err == nil {
			files[path] = "folder"
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestDryRunSaysNothingOfRecords makes dry runs on tables that differ in one row, in all rows, in
// malformed rows and, under add-or-remove, in their number of rows. All must return the same and
// leave all files as they are. The test fails if a dry run makes a query or writes.
func TestDryRunSaysNothingOfRecords(t *testing.T) {
	for _, relation := range []string{"replace-one", "add-or-remove, records: 60"} {
		table := people(60)
		lines := strings.SplitAfter(table, "\n")
		tables := []string{
			table,
			strings.Replace(table, lines[30], "9,f,x,1\n", 1),
			strings.Replace(table, lines[30], "malformed\n", 1),
			strings.Replace(table, lines[30], ",,,\n", 1),
			lines[0] + strings.Repeat("1e99,?,,2\n", 60),
		}
		if strings.HasPrefix(relation, "add") {
			tables = append(tables, lines[0], lines[0]+lines[1])
		}
		var first *Dry
		for i, text := range tables {
			c := config(t, 60, "replace-one", relation)
			c.Data = train.Files{write(t, filepath.Join(t.TempDir(), "people.csv"), text)}
			c.Table = "people"
			before := tree(t, ".")
			d, err := dryRun(context.Background(), c, options{Software: "test", Step: func(train.Step) { t.Error("a step") }})
			if err != nil {
				t.Fatalf("%s, table %d: %v", relation, i, err)
			}
			if after := tree(t, "."); !reflect.DeepEqual(before, after) {
				t.Errorf("%s, table %d: files change from %v to %v", relation, i, before, after)
			}
			if i == 0 {
				first = d
			}
			if d.Seed == 0 {
				t.Error("no public coins")
			}
			d.Seed = 0   // fresh public random bits
			d.Plan = nil // contains functions, which cannot be compared; the summaries are
			for k := range d.Candidates {
				d.Candidates[k].Plan = nil
			}
			if !reflect.DeepEqual(d, first) {
				t.Errorf("%s, table %d: %+v: want %+v", relation, i, d, first)
			}
		}
		if first.Folder != "people-fit" || first.Measured != nil || first.Charged != 0 || first.Releases != 0 {
			t.Errorf("%+v", first)
		}
	}
}

// TestDryRunRefusesAsFitDoes: a dry run returns the same error as a fit for an occupied folder,
// a folder in which a directory has the name of the model file, a wrong number of records, a
// missing table, and a store without enough budget. It does not change the store.
func TestDryRunRefusesAsFitDoes(t *testing.T) {
	ctx := context.Background()
	both := func(c *train.Config, o options) (dry, fitted error) {
		o.Software, o.Stores = "test", stores.Open
		_, dry = dryRun(ctx, c, o)
		_, fitted = fit(ctx, c, o)
		return dry, fitted
	}
	c := config(t, 60)
	if _, err := fit(ctx, c, options{Out: "full", Software: "test"}); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*train.Config) options{
		"full":    func(*train.Config) options { return options{Out: "full"} },
		"records": func(c *train.Config) options { c.Privacy.Records = 61; return options{} },
		"table":   func(c *train.Config) options { c.Data = train.Files{"absent.csv"}; return options{} },
		"link": func(*train.Config) options {
			if err := os.MkdirAll(filepath.Join("linked", ModelFile), 0o777); err != nil {
				t.Fatal(err)
			}
			return options{Out: "linked", Overwrite: true}
		},
	} {
		d := *c
		dry, fit := both(&d, change(&d))
		if dry == nil || fit == nil || dry.Error() != fit.Error() {
			t.Errorf("%s: a dry run says %v, a fit %v", name, dry, fit)
		}
	}
	book, err := stores.Make(ctx, "sqlite:budgets.db")
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	limit, err := budget.NewCap(1.2, 1e-6, account.ReplaceOne, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := book.Create(ctx, "people", limit); err != nil {
		t.Fatal(err)
	}
	c.Data = train.Files{mustAbs(t, c.DataPath())}
	c = beside(t, c)
	c.Budget = &train.StoredBudget{Store: "sqlite:budgets.db", Dataset: "people"}
	d, err := dryRun(ctx, c, options{Software: "test", Stores: stores.Open})
	if err != nil || d.Cost == nil {
		t.Fatalf("%+v, %v", d, err)
	}
	f, err := fit(ctx, c, options{Software: "test", Stores: stores.Open})
	if err != nil {
		t.Fatal(err)
	}
	if f.Folder != d.Folder || f.ModelPath != d.ModelPath || len(f.Earlier) != len(d.Earlier) {
		t.Errorf("would be %+v, is %+v", d, f)
	}
	state, err := book.Dataset(ctx, "people")
	if err != nil || len(state.Runs) != 1 || state.Runs[0].Reserved != *d.Cost {
		t.Errorf("%+v, %v: want one run, of %+v", state, err, d.Cost)
	}
	var over *account.BudgetError
	dry, fit := both(c, options{})
	if !errors.As(dry, &over) || fit == nil || dry.Error() != fit.Error() {
		t.Errorf("over the cap a dry run says %v, a fit %v", dry, fit)
	}
	if after, err := book.Dataset(ctx, "people"); err != nil || after.Head != state.Head {
		t.Errorf("the store has changed: %+v, %v", after, err)
	}
}

func mustAbs(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

// TestDryRunsCountTheEarlierFits: a dry run knows the fits of the same table in its folder, and adds up their epsilon with its
// own, as a fit does; fits of another table do not count.
func TestDryRunsCountTheEarlierFits(t *testing.T) {
	ctx := context.Background()
	c := config(t, 60)
	c.Table = "people"
	alone := 0.
	for n := range 3 {
		again := options{Out: "out", Software: "test", Overwrite: true}
		d, err := dryRun(ctx, c, again)
		if err != nil {
			t.Fatal(err)
		}
		epsilon, ok := d.Sum(ctx)
		if n == 0 {
			alone = epsilon
		}
		if len(d.Earlier) != n || !ok || n > 0 && !(epsilon > alone*math.Sqrt(float64(n+1))*.9 && epsilon < 1.3*alone*float64(n+1)) {
			t.Errorf("after %d fits: %d earlier ones, together epsilon %v", n, len(d.Earlier), epsilon)
		}
		other := *c
		if other.Table = "pets"; n > 0 {
			if d, err := dryRun(ctx, &other, again); err != nil || len(d.Earlier) != 0 {
				t.Errorf("another table: %v, %+v", err, d)
			}
		}
		f, err := fit(ctx, c, again)
		if err != nil {
			t.Fatal(err)
		}
		if together, ok := f.Sum(ctx); len(f.Earlier) != n || !ok || together != epsilon {
			t.Errorf("fit %d: %d earlier ones, together epsilon %v: a dry run says %v", n+1, len(f.Earlier), together, epsilon)
		}
	}
}
