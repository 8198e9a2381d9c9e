package sqlite

import (
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
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

// TestAddressesOfFiles tests the address by which the driver opens a file: the file's path, whatever letters it has, and the
// settings of each connection. The driver makes no file, since a file that has been lost would begin a new budget.
func TestAddressesOfFiles(t *testing.T) {
	want := url.Values{"mode": {"rw"}, "_pragma": {"busy_timeout(120000)", "journal_mode(DELETE)", "synchronous(EXTRA)", "fullfsync(1)", "cell_size_check(1)"}}
	for _, path := range []string{"/b.db", "/a b/c.db", "/a?mode=rwc/b#c.db", "/a%41/b&c;d=e+f.db", "/ä/日.db", "C:/b.db"} {
		text := address(path)
		u, err := url.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		whole := path
		if whole[0] != '/' {
			whole = "/" + whole
		}
		if u.Scheme != "file" || u.Path != whole || u.Fragment != "" || u.Host != "" || !reflect.DeepEqual(u.Query(), want) {
			t.Errorf("%s: %s: path %s, settings %v", path, text, u.Path, u.Query())
		}
	}
	path := filepath.Join(t.TempDir(), "b.db")
	db, err := sql.Open(driverName, address(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := check(t.Context(), db); err == nil {
		t.Error("a file that is not there is opened")
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file is made: %v", err)
	}
}

// TestAccessOfANewStore tests that a new store is read and written by its owner alone, and that an older file
// keeps its access and its content.
func TestAccessOfANewStore(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("access is not by mode there")
	}
	path := filepath.Join(t.TempDir(), "b.db")
	for i, mode := range []fs.FileMode{0o600, 0o640} {
		if i > 0 {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
		}
		s, err := Open(t.Context(), path, true)
		if err != nil {
			t.Fatal(err)
		}
		key, err := s.Key(t.Context())
		if err != nil || len(key) != 64 || s.Close() != nil {
			t.Errorf("%s, %v", key, err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%v, %v: must be %v", info.Mode(), err, mode)
		}
		again, err := Open(t.Context(), path, false)
		if err != nil {
			t.Fatal(err)
		}
		if same, err := again.Key(t.Context()); err != nil || same != key || again.Close() != nil {
			t.Errorf("another key %s, %v: must be %s", same, err, key)
		}
	}
}
