package train

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/internal/strictyaml"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// TestDataIsFound tests the key data, which names the table's files. If a file of this name exists, the
// name means this file; otherwise it is a pattern for files in the order of their names. Files of a list
// keep the order of the list. A table that is not one file needs a public name.
func TestDataIsFound(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b-10.csv", "b-1.csv", "b-2.csv", "a[1].csv", "a1.csv"} {
		write(t, filepath.Join(dir, name), "x\n")
	}
	for _, c := range []struct {
		data    Files
		named   bool
		found   string
		refused string
	}{
		{Files{"b-1.csv"}, false, "b-1.csv", ""},
		{Files{"a[1].csv"}, false, "a[1].csv", ""},
		{Files{"b-?.csv"}, true, "b-1.csv b-2.csv", ""},
		{Files{"b-?.csv"}, false, "", "table: must give the table a public name"},
		{Files{"b-*.csv", "a1.csv"}, true, "b-1.csv b-10.csv b-2.csv a1.csv", ""},
		{Files{"a1.csv", "b-1.csv"}, false, "", "table: must give the table a public name"},
		{Files{"absent.csv"}, false, "absent.csv", ""}, // is reported only when the table is read
		{Files{"c-*.csv"}, true, "", "must be a file, or a pattern that fits one"},
		{Files{"b-[.csv"}, true, "", "must be a file, or a pattern that fits one"},
		{Files{"-", "a1.csv"}, true, "", "must be the only file"},
		{Files{"a1.csv", ""}, true, "", "must name the table"},
		{nil, true, "", "must name the table"},
	} {
		config := &Config{Data: c.data, folder: dir}
		if c.named {
			config.Table = "people"
		}
		err := config.checkData()
		var paths []string
		if err == nil {
			paths, err = config.DataPaths()
		}
		for i := range paths {
			paths[i] = filepath.Base(paths[i])
		}
		if c.refused == "" && err != nil || c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) ||
			strings.Join(paths, " ") != c.found {
			t.Errorf("%q: %q, %v: want %q, %q", c.data, paths, err, c.found, c.refused)
		}
	}
}

func TestTableNames(t *testing.T) {
	long := string(make([]byte, mostName+1))
	for change, want := range map[string]string{
		`data: "-"`:                                 "table: must give the table a public name",
		"data: people.csv\ntable: \"a \"":           `table = "a ": must not begin or end with white space`,
		`data: people.csv` + "\n" + `table: "a\tb"`: `table = "a\tb": must hold visible characters only`,
	} {
		path := write(t, filepath.Join(t.TempDir(), "people.yaml"), change+peopleYAML[len("data: people.csv"):])
		_, err := ReadConfig(path)
		wantError(t, err, want)
	}
	if nameRule(long) == "" || nameRule("Krankenhaus Süd, 2024") != "" {
		t.Error("rules of names")
	}
}

// TestIdentityIsOfTheFile: ledgers sum the fits of a file under one name, by whatever link the configuration reaches it, and a
// copy, another file, a public name and rows without a name are each another table.
func TestIdentityIsOfTheFile(t *testing.T) {
	dir := t.TempDir()
	table, copied := write(t, filepath.Join(dir, "a.csv"), "x\n"), write(t, filepath.Join(dir, "b.csv"), "x\n")
	for from, to := range map[string]string{"link": table, "again": filepath.Join(dir, "link"), "folder": dir} {
		if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
			t.Skip(err)
		}
	}
	of := func(c Config) string {
		t.Helper()
		c.folder = dir
		id, err := c.Identity()
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	own := of(Config{Data: Files{"a.csv"}})
	for _, name := range []string{table, "link", "again", filepath.Join("folder", "a.csv"), filepath.Join("folder", "folder", "link")} {
		if got := of(Config{Data: Files{name}}); got != own {
			t.Errorf("%s: %q: must be %q", name, got, own)
		}
	}
	seen := map[string]string{own: "the file"}
	for name, c := range map[string]Config{"a copy": {Data: Files{copied}}, "a name": {Data: Files{"a.csv"}, Table: own},
		"rows": {Reader: strings.NewReader("")}} {
		if other := seen[of(c)]; other != "" {
			t.Errorf("%s and %s are one table", name, other)
		}
		seen[of(c)] = name
	}
}

// TestFilesOfAPatternAreLinear tests that the work of finding, counting and reading the files of a pattern is
// proportional to their number. It counts allocations and their bytes.
func TestFilesOfAPatternAreLinear(t *testing.T) {
	work := func(n int) (allocations, bytes float64) {
		dir := t.TempDir()
		for i := range n {
			write(t, filepath.Join(dir, fmt.Sprintf("part-%04d.csv", i)), fmt.Sprintf("age,ill\n%d,no\n", i%90))
		}
		var config Config
		if err := strictyaml.Decode([]byte("data: part-*.csv\ntable: people\nmodel: {loss: logistic}\nschema:\n"+
			"  columns: {age: {number: [0, 90]}}\n  target: {column: ill, classes: [no, yes]}\n"), &config); err != nil {
			t.Fatal(err)
		}
		config.folder = dir
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := config.checkData(); err != nil {
			t.Fatal(err)
		}
		paths, err := config.DataPaths()
		if err != nil {
			t.Fatal(err)
		}
		c := curator.Config{Paths: paths, Schema: config.Schema, Loss: loss.Logistic(), Workers: 1}
		if c.Budget, err = account.NewBudget(1, 1e-6, account.ReplaceOne); err != nil {
			t.Fatal(err)
		}
		if rows, err := curator.Count(t.Context(), c); err != nil || rows != n {
			t.Fatalf("%d rows of %d files: %v", rows, n, err)
		}
		s, err := curator.Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		runtime.ReadMemStats(&after)
		return float64(after.Mallocs - before.Mallocs), float64(after.TotalAlloc - before.TotalAlloc)
	}
	work(10)
	few, fewBytes := work(100)
	many, manyBytes := work(400)
	// There are 4 times as many files. Work that does not depend on the number of files makes the ratio
	// smaller than 4.
	if many > 4.4*few || manyBytes > 4.4*fewBytes {
		t.Errorf("4 times the files take %.2f times the allocations and %.2f times their bytes", many/few,
			manyBytes/fewBytes)
	}
}
