package train

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/table"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// Files are the files of a table: one name, or a list of names of files that form the table in this order.
// A name that is not the name of an existing file may be a pattern with *, ? and [...]; it means all
// matching files, sorted by name.
type Files []string

// UnmarshalYAML reads a name or a list of names.
func (f *Files) UnmarshalYAML(unmarshal func(any) error) error {
	var name string
	if unmarshal(&name) == nil {
		*f = Files{name}
		return nil
	}
	var list []string
	if err := unmarshal(&list); err != nil || len(list) == 0 {
		return errors.New("data: must name a file, or be a list of files")
	}
	*f = list
	return nil
}

// String returns the names, separated by a comma and a space.
func (f Files) String() string { return strings.Join(f, ", ") }

// isPattern reports whether a name contains *, ? or [ and is not the name of an existing file.
func isPattern(path string) bool {
	if !strings.ContainsAny(path, "*?[") {
		return false
	}
	_, err := os.Lstat(path)
	return err != nil
}

// checkData returns an error if the configuration does not say which table to read. It also returns an error
// if a required public name of the table is missing, or if the public name or the text format is invalid.
func (c *Config) checkData() error {
	check := c.checkFiles
	if c.held() {
		check = c.checkHeld
	}
	if err := check(); err != nil {
		return err
	}
	if rule := nameRule(c.Table); rule != "" {
		return fmt.Errorf("table = %q: must %s", c.Table, rule)
	}
	if err := c.CSV.Check(); err != nil {
		return fmt.Errorf("csv: %w", err)
	}
	return nil
}

// checkFiles checks which files hold the table, and that a table of several files, or of no file, has a name.
func (c *Config) checkFiles() error {
	several := len(c.Data) > 1
	for _, name := range c.Data {
		switch {
		case name == "":
			return errors.New("data: must name the table")
		case name == table.Standard && several:
			return errors.New("data: - is standard input: must be the only file of its table")
		case name == table.Standard && c.Table == "":
			return errors.New("table: must give the table a public name, by which its fits are summed, since data = -: is no " +
				"file")
		}
		several = several || isPattern(c.resolve(name))
	}
	switch {
	case len(c.Data) == 0:
		return errors.New("data: must name the table")
	case several && c.Table == "":
		return errors.New("table: must give the table a public name, by which its fits are summed, since data: is not one " +
			"file")
	}
	return nil
}

// checkHeld makes the checks of checkData for a table that the calling program or workers provide.
// It also returns an error if the configuration names another source of rows.
func (c *Config) checkHeld() error {
	switch {
	case c.Shards != nil && (c.Rows != nil || c.Reader != nil):
		return errors.New("rows: must be left out where shards hold the table")
	case c.Shards != nil && len(c.Data) > 0:
		return errors.New("data: must be left out where shards hold the table")
	case c.Shards != nil && c.Table == "":
		return errors.New("table: must give the table a public name, by which its fits are summed, since shards hold it")
	case c.Shards != nil && c.Memory != (Memory{}):
		return errors.New("memory: must be left out where shards hold the table: each worker has its own (stillpoint " +
			"shard --memory)")
	case len(c.Data) > 0:
		return errors.New("data: must be left out where the program holds the table")
	case c.Rows != nil && c.Reader != nil:
		return errors.New("rows: must be left out where there is a reader")
	}
	return nil
}

// DataPaths returns the paths of the table's files, resolved against the configuration's folder. For standard input it
// returns "-" alone. A pattern is matched anew at each call. A pattern that matches no file is an error.
func (c *Config) DataPaths() (paths []string, err error) {
	for _, name := range c.Data {
		found, err := c.files(name)
		if err != nil {
			return nil, err
		}
		paths = append(paths, found...)
	}
	return paths, nil
}

// files returns the paths of the files for one entry of the key data. The entry is a file's name or a
// pattern. A pattern that matches no file is an error.
func (c *Config) files(name string) ([]string, error) {
	path := c.resolve(name)
	if !isPattern(path) {
		return []string{path}, nil
	}
	found, err := filepath.Glob(path)
	if err != nil || len(found) == 0 {
		return nil, fmt.Errorf("data: %s: must be a file, or a pattern that fits one", path)
	}
	slices.Sort(found)
	return found, nil
}

// DataPath returns the table's files for messages, joined by commas and resolved against the configuration's
// folder; or "-"; or the table's name if the calling program or workers provide the table.
func (c *Config) DataPath() string {
	if c.held() {
		return c.TableName()
	}
	return strings.Join(vector.Map(c.Data, c.resolve), ", ")
}

// TableName returns the name of the table for messages. It is the public name; without one, the names in the
// key data. For a table without a public name that the calling program provides, it is the constant unnamed.
func (c *Config) TableName() string {
	switch {
	case c.Table != "":
		return c.Table
	case c.held():
		return unnamed
	}
	return c.Data.String()
}

// Identity returns the string under which ledgers sum the fits of a table: the public name if the configuration gives
// one, otherwise the absolute path of the one file with all symbolic links resolved. A copy of the file is therefore
// another table. A public name, a path and the identity of unnamed rows never coincide.
func (c *Config) Identity() (string, error) {
	switch {
	case c.Table != "":
		return "table " + c.Table, nil
	case c.held():
		return unnamed, nil
	}
	path, err := filepath.Abs(c.DataPath())
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// unnamed is the string under which ledgers sum the fits of all tables that programs provide without a name. These fits
// are summed as fits of one table, so the sum overstates the privacy loss of each table.
const unnamed = "rows without a name"

// held reports whether the program, or workers in other processes, provide the table, so that the
// configuration names no files.
func (c *Config) held() bool { return c.Rows != nil || c.Reader != nil || c.Shards != nil }

func (c *Config) resolve(path string) string {
	if filepath.IsAbs(path) || path == table.Standard {
		return path
	}
	return filepath.Join(c.folder, path)
}

// units returns the loss of a record, given the loss of a row. If the schema has a privacy unit (a person, say), a
// record is all rows of a unit, and its loss is the mean or the sum of the rows' losses; otherwise a record is a row.
func (c *Config) units(row loss.Loss) (loss.Loss, error) {
	unit := c.Schema.Unit()
	if _, twice := row.(loss.Units); twice {
		return nil, fmt.Errorf("model.loss = %q: must be the loss of one row: schema.unit says whose rows are one record",
			row.Name())
	}
	switch counting := c.Model.Units; {
	case counting != "" && counting != string(account.Mean) && counting != string(account.Sum):
		return nil, fmt.Errorf("model.units = %q: must be %s or %s", counting, account.Mean, account.Sum)
	case unit == (dataset.Unit{}) && counting != "":
		return nil, fmt.Errorf("model.units = %q: must be left out where schema.unit is, and each row is a record",
			counting)
	case unit == (dataset.Unit{}):
		return row, nil
	}
	l, err := loss.NewUnits(row, unit.Rows, c.Model.Units == string(account.Sum))
	if err != nil {
		return nil, fmt.Errorf("model.loss: schema.unit: %w", err)
	}
	return l, nil
}

// unitOf says which rows form one record under the loss l, in the certificate's form. It returns the zero
// Unit if each row is a record.
func unitOf(s *dataset.Schema, l loss.Loss) account.Unit {
	u, ok := l.(loss.Units)
	if !ok {
		return account.Unit{}
	}
	count := account.Mean
	if u.Summed() {
		count = account.Sum
	}
	return account.Unit{Column: s.Unit().Column, Rows: u.Rows(), Count: count}
}
