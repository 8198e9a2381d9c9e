package train

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/table"
)

// Files are the files of a table: one name, or a list of names of files that together are the table, in
// order. A name that is no file's may be a pattern with *, ? and [...]; it means all matching files,
// sorted by name.
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

// String returns the names, separated by commas.
func (f Files) String() string { return strings.Join(f, ", ") }

// isPattern reports whether a name is a pattern and not the name of an existing file.
func isPattern(path string) bool {
	if !strings.ContainsAny(path, "*?[") {
		return false
	}
	_, err := os.Lstat(path)
	return err != nil
}

// checkData returns an error if the files or the table's name are missing or invalid.
func (c *Config) checkData() error {
	if c.held() {
		return c.checkHeld()
	}
	several := len(c.Data) > 1
	for _, name := range c.Data {
		switch {
		case name == "":
			return errors.New("data: must name the table")
		case name == table.Standard && several:
			return errors.New("data: - is standard input: must be the only file of its table")
		case name == table.Standard && c.Table == "":
			return errors.New("table: must give the table a public name, by which its fits are summed, since data = -: is no file")
		}
		several = several || isPattern(c.resolve(name))
	}
	switch {
	case len(c.Data) == 0:
		return errors.New("data: must name the table")
	case several && c.Table == "":
		return errors.New("table: must give the table a public name, by which its fits are summed, since data: is not one file")
	case nameRule(c.Table) != "":
		return fmt.Errorf("table = %q: must %s", c.Table, nameRule(c.Table))
	}
	if err := c.CSV.Check(); err != nil {
		return fmt.Errorf("csv: %w", err)
	}
	return nil
}

// checkHeld is checkData for a table that the program holds.
func (c *Config) checkHeld() error {
	switch {
	case len(c.Data) > 0:
		return errors.New("data: must be left out where the program holds the table")
	case c.Rows != nil && c.Reader != nil:
		return errors.New("rows: must be left out where there is a reader")
	case nameRule(c.Table) != "":
		return fmt.Errorf("table = %q: must %s", c.Table, nameRule(c.Table))
	}
	if err := c.CSV.Check(); err != nil {
		return fmt.Errorf("csv: %w", err)
	}
	return nil
}

// DataPaths returns the table's files, resolved against the configuration's folder, or "-" alone. Each
// call looks for the files that match a pattern.
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

// files returns the files that a name in data: means.
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

// DataPath returns the name of the table's files for messages, resolved against the configuration's
// folder, or "-".
func (c *Config) DataPath() string {
	if c.held() {
		return c.TableName()
	}
	paths := make([]string, len(c.Data))
	for i, name := range c.Data {
		paths[i] = c.resolve(name)
	}
	return strings.Join(paths, ", ")
}

// TableName returns the name of the table for messages: its public name or, without one, the
// configuration's data.
func (c *Config) TableName() string {
	switch {
	case c.Table != "":
		return c.Table
	case c.held():
		return unnamed
	}
	return c.Data.String()
}

// Identity returns the name under which the fits of a table are summed: the name in the configuration
// or, without one, the absolute path of the one file with all links resolved. A copy of the file is
// then another table. Names that the configuration can give, absolute paths and the identity of unnamed
// rows never coincide.
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

// unnamed is the identity of all tables that programs hold without a name. Their fits are summed as
// fits of one table, which overstates what each of them costs.
const unnamed = "rows without a name"

// held reports whether the program holds the table.
func (c *Config) held() bool { return c.Rows != nil || c.Reader != nil }

func (c *Config) resolve(path string) string {
	if filepath.IsAbs(path) || path == table.Standard {
		return path
	}
	return filepath.Join(c.folder, path)
}
