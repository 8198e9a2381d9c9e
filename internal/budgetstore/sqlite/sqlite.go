// Package sqlite keeps budgets in an SQLite file.
//
// A transaction that writes takes the file's only write lock before it reads. When it ends, its changes are on stable
// storage. The folder that contains SQLite's rollback journal is synced as well. Without this, a deleted journal could
// reappear after a power loss and undo a commit. The file must be on a local disk: locks of network file systems are
// not reliable. Teams use package postgres.
package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver

	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/internal/budgetstore/sqlstore"
)

// driverName is the name of the SQL driver. Tests set it to a driver that injects failures.
var driverName = "sqlite"

// Open opens the store in a file. If create is true and the file does not exist, Open creates the file, readable by its
// owner only. If create is false, a missing file is an error, so that a mistyped name does not begin a new budget.
func Open(ctx context.Context, path string, create bool) (budget.Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if create {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			err = f.Close()
		} else if errors.Is(err, fs.ErrExist) {
			err = nil
		}
		if err != nil {
			return nil, fmt.Errorf("budget: store: %w", err)
		}
	}
	if info, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("budget: store: %w (stillpoint budget create makes one)", err)
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("budget: store %s: must be a file", path)
	}
	db, err := sql.Open(driverName, address(path))
	if err != nil {
		return nil, fmt.Errorf("budget: store %s: %w", path, err)
	}
	// SQLite allows one writer at a time. Waiting in this process is cheaper than waiting for the
	// file's lock.
	db.SetMaxOpenConns(1)
	if err = check(ctx, db); err == nil {
		var s *sqlstore.Store
		if s, err = sqlstore.Open(ctx, db, dialect, create); err == nil {
			return s, nil
		}
	}
	db.Close()
	return nil, fmt.Errorf("budget: store %s: %w", path, err)
}

// patience is the longest time, in milliseconds, that a transaction waits for transactions of other
// processes.
const patience = 120_000

// address returns the URL by which the SQL driver opens the file at path. Its query contains the
// settings of every connection.
func address(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // a Windows path begins with a drive letter
		path = "/" + path
	}
	query := url.Values{"mode": {"rw"}, "_pragma": {
		fmt.Sprintf("busy_timeout(%d)", patience), "journal_mode(DELETE)", "synchronous(EXTRA)", "fullfsync(1)",
		"cell_size_check(1)",
	}}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + query.Encode()
}

// check returns an error unless commits are durable. It reads the settings journal_mode and
// synchronous from the database, since the driver ignores options that it does not know.
func check(ctx context.Context, db *sql.DB) error {
	var mode string
	var synchronous int
	if err := db.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
		return err
	}
	if err := db.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&synchronous); err != nil {
		return err
	}
	if mode != "delete" || synchronous != 3 {
		return fmt.Errorf("journal_mode = %s, synchronous = %d: must be delete and 3 (extra)", mode, synchronous)
	}
	return nil
}

// schema has a statement on each line.
//
//go:embed schema.sql
var schema string

var dialect = sqlstore.Dialect{
	Begin:  []string{"BEGIN IMMEDIATE"},
	Read:   "BEGIN",
	Draw:   "lower(hex(randomblob(16)))",
	Key:    "lower(hex(randomblob(32)))",
	Now:    "strftime('%Y-%m-%dT%H:%M:%SZ', 'now')",
	Leases: "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'stillpoint_leases'",
	Schema: schema,
}
