package train

import (
	"path/filepath"
	"strings"
	"testing"
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
