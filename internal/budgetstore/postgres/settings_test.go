package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"strings"
	"testing"
)

// settings are the settings of a server, by name, which its connections tell. A setting that is missing is an error.
type settings map[string]string

func (s settings) Connect(context.Context) (driver.Conn, error) { return telling{s}, nil }
func (s settings) Driver() driver.Driver                        { return nil }

type telling struct{ settings }

var errSetting = errors.New("no such setting")

func (telling) Prepare(string) (driver.Stmt, error) { return nil, errSetting }
func (telling) Begin() (driver.Tx, error)           { return nil, errSetting }
func (telling) Close() error                        { return nil }

func (c telling) QueryContext(_ context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if version, ok := c.settings["version"]; ok && query == "SELECT version FROM stillpoint_store" {
		return &row{value: version}, nil
	}
	if len(args) == 0 {
		return nil, errSetting
	}
	value, ok := c.settings[args[0].Value.(string)]
	if !ok || !strings.Contains(query, "current_setting($1)") {
		return nil, errSetting
	}
	return &row{value: value}, nil
}

type row struct {
	value string
	read  bool
}

func (*row) Columns() []string { return []string{"value"} }
func (*row) Close() error      { return nil }
func (r *row) Next(to []driver.Value) error {
	if r.read {
		return io.EOF
	}
	to[0], r.read = r.value, true
	return nil
}

// TestServersThatForget tests that a server is refused whose settings let it lose commits, or cannot be read.
func TestServersThatForget(t *testing.T) {
	for _, c := range []struct {
		server settings
		want   string
	}{
		{settings{"fsync": "on", "full_page_writes": "on"}, ""},
		{settings{"fsync": "off", "full_page_writes": "on"}, "fsync = off: must be on: the server would forget reservations"},
		{settings{"fsync": "on", "full_page_writes": "off"}, "full_page_writes = off: must be on: the server would forget reservations"},
		{settings{"full_page_writes": "on"}, errSetting.Error()},
		{settings{"fsync": "on"}, errSetting.Error()},
	} {
		db := sql.OpenDB(c.server)
		got := ""
		if err := check(t.Context(), db); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%v: %q: must be %q", c.server, got, c.want)
		}
		db.Close()
	}
}

// TestOpeningByHand opens the stores of servers that are made up: one with the tables of this version, with those of
// another, without any, and one that would forget.
func TestOpeningByHand(t *testing.T) {
	before := connector
	defer func() { connector = before }()
	for want, server := range map[string]settings{
		"": {"fsync": "on", "full_page_writes": "on", "version": "1"},
		"budget: store people on db.example: version = 2: must be 1, the only version this program reads": {"fsync": "on",
			"full_page_writes": "on", "version": "2"},
		"budget: store people on db.example: " + errSetting.Error(): {"fsync": "on", "full_page_writes": "on"},
		"budget: store people on db.example: fsync = off: must be on: the server would forget reservations": {"fsync": "off",
			"full_page_writes": "on", "version": "1"},
	} {
		connector = func(driver.Connector) driver.Connector { return server }
		store, err := Open(t.Context(), "postgres://me@db.example/people", false)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want || (store != nil) != (want == "") {
			t.Errorf("%v: %v, %q: must be %q", server, store, got, want)
		}
	}
}
