package sqlite

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStoresThatAreRefused tests the error of a path that is no file, of a file that is none of the database and of a
// store of another version, and that none of them stays open.
func TestStoresThatAreRefused(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("text"), []byte(strings.Repeat("this is no database\n", 200)), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), at("newer"), true)
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	db, err := sql.Open(driverName, address(at("newer")))
	if err == nil {
		_, err = db.ExecContext(t.Context(), "UPDATE stillpoint_store SET version = 7")
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = db.Close()
	open := func() int {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			return 0 // the system does not say which files are open
		}
		return len(names)
	}
	_, absent := os.Stat(at("none"))
	before := open()
	for path, want := range map[string]string{
		dir:         "budget: store " + dir + ": must be a file",
		at("none"):  "budget: store: " + absent.Error() + " (stillpoint budget create makes one)",
		at("text"):  "budget: store " + at("text") + ": file is not a database",
		at("newer"): "budget: store " + at("newer") + ": version = 7: must be 1, the only version this program reads",
	} {
		for range 3 {
			if s, err := Open(t.Context(), path, false); s != nil || err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%v, %v: must be %s", s, err, want)
			}
		}
	}
	if after := open(); after > before {
		t.Errorf("%d files are open, %d were before", after, before)
	}
	if _, err := os.Stat(at("none")); !os.IsNotExist(err) {
		t.Errorf("a store that was not to be made is there: %v", err)
	}
}
