package regularfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// described is a file of a system that does not number its files.
type described struct {
	fs.FileInfo
	size int64
	at   time.Time
}

func (d described) Sys() any           { return nil }
func (d described) Size() int64        { return d.size }
func (d described) ModTime() time.Time { return d.at }

// TestIdentities tests that a file has one identity by each of its names, that other files have others, also where files
// have no numbers, and that no file without a number has that of a file with one.
func TestIdentities(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(at(name), []byte("12345"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(at("a"), at("c")); err != nil {
		t.Skip(err)
	}
	moment := time.Unix(1_700_000_000, 123)
	if err := errors.Join(os.Chtimes(at("a"), moment, moment), os.Chtimes(at("b"), moment, moment)); err != nil {
		t.Fatal(err)
	}
	of := func(name string) Identity {
		info, err := os.Stat(at(name))
		if err != nil {
			t.Fatal(err)
		}
		return IdentityOf(info)
	}
	if of("a") != of("c") {
		t.Error("two names of a file have two identities")
	}
	if runtime.GOOS != "windows" && of("a") == of("b") {
		t.Error("two files of one size and time have one identity")
	}
	info, err := os.Stat(at("a"))
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range []described{{info, 5, moment}, {info, 6, moment}, {info, 5, moment.Add(1)}} {
		want := Identity{size: d.size, modified: d.at.UnixNano()}
		if got := IdentityOf(d); got != want {
			t.Errorf("file %d without a number: %v: must be %v", i, got, want)
		}
	}
}

// TestOpenings tests the errors of opening and reading.
func TestOpenings(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "log")
	if err := os.WriteFile(path, []byte("line\nline\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := Read(path, 10); err != nil || string(text) != "line\nline\n" {
		t.Errorf("%q, %v", text, err)
	}
	f, err := Open(filepath.Join(dir, "none", "x"))
	if _, ok := errors.AsType[*fs.PathError](err); f != nil || !ok || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file in a folder that does not exist: %v, %v", f, err)
	}
	if f, err := Open(dir); f != nil || err == nil || err.Error() != "open "+dir+": is a directory, not a file" {
		t.Errorf("a folder: %v, %v", f, err)
	}
	if os.Geteuid() > 0 { // root may read everything
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
		if f, err := Open(path); f != nil || !errors.Is(err, fs.ErrPermission) {
			t.Errorf("a closed file: %v, %v", f, err)
		}
	}
	if runtime.GOOS == "linux" { // a file whose first byte cannot be read
		if text, err := Read("/proc/self/mem", 10); text != nil || err == nil {
			t.Errorf("%q, %v: must be an error", text, err)
		}
	}
}
