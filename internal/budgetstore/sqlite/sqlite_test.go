package sqlite

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/internal/budgetstore/budgettest"
)

func TestConformance(t *testing.T) {
	budgettest.Run(t, func(t *testing.T) func() budget.Store {
		path := filepath.Join(t.TempDir(), "budgets of a #?% team.db")
		return func() budget.Store {
			s, err := Open(context.Background(), path, true)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
	})
}

// TestSettingsOfAConnection reads the settings of a connection back from the database, since the driver ignores those that
// it does not know: commits are durable, and writers wait for each other.
func TestSettingsOfAConnection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "budgets.db")
	s, err := Open(t.Context(), path, true)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("%v, %v: the file must be its owner's alone", info, err)
	}
	db, err := sql.Open(driverName, address(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for setting, want := range map[string]string{"journal_mode": "delete", "synchronous": "3", "fullfsync": "1", "cell_size_check": "1",
		"busy_timeout": "120000"} {
		var got string
		if err := db.QueryRowContext(t.Context(), "PRAGMA "+setting).Scan(&got); err != nil || got != want {
			t.Errorf("%s = %s, %v: must be %s", setting, got, err, want)
		}
	}
}

// TestVersionsOfStores tests that a store of another version is refused, whether it is older or newer.
func TestVersionsOfStores(t *testing.T) {
	path := filepath.Join(t.TempDir(), "budgets.db")
	s, err := Open(t.Context(), path, true)
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	db, err := sql.Open(driverName, address(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for version, want := range map[int]string{0: "version = 0: must be 1, the only version this program reads", 1: "",
		2: "version = 2: must be 1, the only version this program reads"} {
		if _, err := db.ExecContext(t.Context(), "UPDATE stillpoint_store SET version = ?", version); err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), path, false)
		if err == nil {
			_ = s.Close()
		}
		if (err == nil) != (want == "") || err != nil && !strings.HasSuffix(err.Error(), want) {
			t.Errorf("version %d: %v", version, err)
		}
	}
}

// TestEachSettingIsChecked tests that a database is refused for each of the two settings without which a commit may be lost.
func TestEachSettingIsChecked(t *testing.T) {
	for query, want := range map[string]string{
		"_pragma=journal_mode(DELETE)&_pragma=synchronous(EXTRA)": "",
		"_pragma=journal_mode(DELETE)&_pragma=synchronous(FULL)":  "journal_mode = delete, synchronous = 2: must be delete and 3 (extra)",
		"_pragma=journal_mode(MEMORY)&_pragma=synchronous(EXTRA)": "journal_mode = memory, synchronous = 3: must be delete and 3 (extra)",
	} {
		db, err := sql.Open(driverName, "file:"+filepath.ToSlash(filepath.Join(t.TempDir(), "s.db"))+"?"+query)
		if err != nil {
			t.Fatal(err)
		}
		if err := check(t.Context(), db); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v: must be %q", query, err, want)
		}
		_ = db.Close()
	}
}
