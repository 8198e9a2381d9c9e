package runfolder

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/internal/ledgerfile"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// TestNamedTablesAreOne: a fit finds the earlier fits of files with the same public name, whatever the files.
// It must not find fits under another name. A fit with a name must not find fits without a name.
func TestNamedTablesAreOne(t *testing.T) {
	c := config(t, 30)
	c.Train.Algorithm, c.Train.Settings = "gd", train.Settings{"steps": 1}
	copied := write(t, filepath.Join(t.TempDir(), "copy.csv"), read(t, c.DataPath()))
	for i, step := range []struct {
		table, data string
		earlier     int
	}{
		{"", "people.csv", 0}, {"patients", "people.csv", 0}, {"patients", copied, 1}, {"others", copied, 0},
		{"patients", "people.csv", 2}, {"", "people.csv", 1},
	} {
		c.Table, c.Data = step.table, train.Files{step.data}
		f, err := fit(t.Context(), c, options{Software: "test"})
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Earlier) != step.earlier {
			t.Errorf("fit %d: %d earlier fits of %q at %s are known, there were %d", i, len(f.Earlier), step.table, step.data,
				step.earlier)
		}
	}
}

// TestTotals: Totals sums the ledgers of folders, and of folders in them, by table, each ledger
// once. The total of two fits is the sum that the second fit states.
func TestTotals(t *testing.T) {
	c := config(t, 30)
	c.Train.Algorithm, c.Train.Settings, c.Table = "gd", train.Settings{"steps": 1}, "patients"
	var last *Fitted
	for range 2 {
		f, err := fit(t.Context(), c, options{Software: "test"})
		if err != nil {
			t.Fatal(err)
		}
		last = f
	}
	want, ok := last.Sum(t.Context())
	if !ok || !(want > 1.4 && want < 1.5) { // mu sqrt(2) at delta 1e-6
		t.Fatalf("two fits of epsilon 1 cost %v together", want)
	}
	c.Table = "others"
	if _, err := fit(t.Context(), c, options{Software: "test"}); err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	links := t.TempDir()
	for name, to := range map[string]string{"all": here, "fit": filepath.Join(here, "people-fit"), "again": "fit"} {
		if err := os.Symlink(to, filepath.Join(links, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, folders := range [][]string{{"."}, {here, "."}, {"people-fit", "people-fit-2", "people-fit-3", "people-fit"},
		{filepath.Join(links, "fit"), ".", filepath.Join(links, "again")}, {".", filepath.Join(links, "all")},
		{filepath.Join(links, "all"), "people-fit-2", filepath.Join(links, "fit")}} {
		totals, err := Totals(t.Context(), folders, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(totals) != 2 || totals[0].Table != "table others" || totals[0].Fits != 1 || totals[1].Fits != 2 ||
			totals[1].Epsilon != want || totals[1].Delta != 1e-6 || !(math.Abs(totals[0].Epsilon-1) <= 2e-3) {
			t.Errorf("%v: %+v, want two of epsilon %v together", folders, totals, want)
		}
	}
	write(t, filepath.Join("killed", LedgerFile), wholeLine+"\n") // a reservation, and no end
	killed, err := Totals(t.Context(), []string{"killed"}, 0)
	if err != nil || len(killed) != 1 || killed[0].Fits != 1 {
		t.Errorf("a killed fit: %+v, %v", killed, err)
	}
	if err := os.RemoveAll("killed"); err != nil {
		t.Fatal(err)
	}
	looser, err := Totals(t.Context(), []string{"."}, 1e-4)
	if err != nil || looser[1].Delta != 1e-4 || !(looser[1].Epsilon < want) {
		t.Errorf("at delta 1e-4: %+v, %v", looser, err)
	}
	write(t, filepath.Join("people-fit", LedgerFile), "{\n")
	for want, folders := range map[string][]string{"line 1: not an entry": {"."},
		"must be the output folder of a fit": {t.TempDir()}, "no such file": {"absent"}} {
		_, err := Totals(t.Context(), folders, 0)
		wantError(t, err, want)
	}
}

// TestRoundUp tests that RoundUp returns a number that is never below its argument, and above it by
// at most 0.16 %.
func TestRoundUp(t *testing.T) {
	for x := 1e-9; x < 1e9; x *= 1.0007 {
		if y := RoundUp(x); y < x || y > x*1.0016 {
			t.Fatalf("RoundUp(%v) = %v", x, y)
		}
	}
}

// TestHeldTablesAreSummed tests fits of rows that a program passes in memory. They must find each
// other by the rows' public name. Fits of rows without a name must find all other such fits.
func TestHeldTablesAreSummed(t *testing.T) {
	c := config(t, 30)
	c.Train.Algorithm, c.Train.Settings, c.Data = "gd", train.Settings{"steps": 1}, nil
	for i, step := range []struct {
		table   string
		earlier int
	}{{"", 0}, {"patients", 0}, {"", 1}, {"patients", 1}} {
		c.Table = step.table
		c.Rows = curator.RowsOf(make([]struct{}, 40+i),
			curator.Number("age", func(struct{}) float64 { return 50 }),
			curator.Text("sex", func(struct{}) string { return "f" }),
			curator.Text("note", func(struct{}) string { return "" }),
			curator.Text("sick", func(struct{}) string { return "1" }))
		f, err := fit(t.Context(), c, options{Software: "test"})
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Earlier) != step.earlier {
			t.Errorf("fit %d: %d earlier fits of %q are known, there were %d", i, len(f.Earlier), step.table, step.earlier)
		}
	}
}

// TestTotalsAreInOrder tests the order of the totals of one table: by relation first, and of one relation by unit. Each
// total has the epsilon of its one fit, and the largest delta.
func TestTotalsAreInOrder(t *testing.T) {
	var folders []string
	for _, of := range []struct {
		relation account.Relation
		unit     string
	}{{account.ReplaceOne, "b"}, {account.ReplaceOne, "a"}, {account.AddOrRemove, "c"}} {
		b, err := account.NewBudget(1, 1e-6, of.relation)
		if err != nil {
			t.Fatal(err)
		}
		line, err := json.Marshal(Entry{Time: time.Unix(1e9, 0).UTC(), Entry: ledgerfile.Reserved, Fit: 1, Data: "/people.csv", Algorithm: "gd",
			Guarantee: b.Guarantee(of.unit)})
		if err != nil {
			t.Fatal(err)
		}
		folder := t.TempDir()
		write(t, filepath.Join(folder, LedgerFile), string(line)+"\n")
		folders = append(folders, folder)
	}
	totals, err := Totals(t.Context(), folders, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range totals {
		got = append(got, fmt.Sprintf("%v %s %.2f %v", l.Relation, l.Unit, l.Epsilon, l.Delta))
	}
	if want := []string{"add-or-remove c 1.00 1e-06", "replace-one a 1.00 1e-06", "replace-one b 1.00 1e-06"}; !slices.Equal(got, want) {
		t.Errorf("%q: must be %q", got, want)
	}
}
