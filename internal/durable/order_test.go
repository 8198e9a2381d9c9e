package durable_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/durable"
	"github.com/stillpoint-dp/stillpoint/internal/durable/durabletest"
)

// TestAppendOutlastsACrash tests that a crash after Append has returned loses no line, and that a
// crash while Append runs loses no earlier line.
func TestAppendOutlastsACrash(t *testing.T) {
	d := durabletest.New()
	want := ""
	for i := range 3 {
		if err := durable.Append(d, "ledger", fmt.Appendf(nil, "line %d", i)); err != nil {
			t.Fatal(err)
		}
		before := want
		want += fmt.Sprintf("line %d\n", i)
		for _, fate := range []durabletest.Fate{durabletest.Lost{}, durabletest.Kept{}, durabletest.Names{},
			durabletest.Names{Zeros: true}} {
			ops := d.Ops()
			if text, _ := d.Crash(len(ops), fate).Text("ledger"); text != want {
				t.Errorf("%T: %q is left of %q", fate, text, want)
			}
			for n := range ops {
				if text, _ := d.Crash(n, fate).Text("ledger"); n >= len(ops)-2 && !strings.HasPrefix(text, before) {
					t.Errorf("%T after %d operations: %q is left of %q", fate, n, text, before)
				}
			}
		}
	}
}

// TestFailedAppendIsToldOf tests that Append returns an error if any of its operations on the disk
// fails.
func TestFailedAppendIsToldOf(t *testing.T) {
	full := errors.New("full")
	d := durabletest.New()
	if err := durable.Append(d, "ledger", []byte("line")); err != nil {
		t.Fatal(err)
	}
	for i := range d.Ops() {
		d := durabletest.New()
		n := 0
		d.Fail = func(durabletest.Op) error {
			if n++; n == i+1 {
				return full
			}
			return nil
		}
		if err := durable.Append(d, "ledger", []byte("line")); !errors.Is(err, full) {
			t.Errorf("operation %d failed: %v", i, err)
		}
	}
}

// TestFillOutlastsACrash tests that after Fill the file has exactly the new content, and that this
// content survives a crash.
func TestFillOutlastsACrash(t *testing.T) {
	d := durabletest.New()
	f, err := d.Create("file", durable.Public)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Reserve(100), d.SyncFolder("."), durable.Fill(f, []byte("text"))); err != nil {
		t.Fatal(err)
	}
	for _, fate := range []durabletest.Fate{durabletest.Lost{}, durabletest.Kept{}, durabletest.Names{Zeros: true}} {
		if text, _ := d.Crash(len(d.Ops()), fate).Text("file"); text != "text" {
			t.Errorf("%T: %q", fate, text)
		}
	}
}

// TestMakeFolderOutlastsACrash tests that the name of every folder made survives a crash.
func TestMakeFolderOutlastsACrash(t *testing.T) {
	d := durabletest.New()
	if err := durable.MakeFolder(d, filepath.Join("a", "b", "c")); err != nil {
		t.Fatal(err)
	}
	if info, err := d.Crash(len(d.Ops()), durabletest.Lost{}).Stat(filepath.Join("a", "b", "c")); err != nil ||
		!info.IsDir() {
		t.Error(info, err)
	}
	if err := durable.MakeFolder(d, filepath.Join("a", "b")); err != nil {
		t.Error(err)
	}
}

// TestSystem tests that the real file system opens regular files only, reserves the requested size,
// and reads no more than the limit.
func TestSystem(t *testing.T) {
	dir := t.TempDir()
	d := durable.System{}
	path := filepath.Join(dir, "file")
	f, err := d.Create(path, durable.Public)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Reserve(10_000); err != nil {
		t.Fatal(err)
	}
	if info, err := f.Stat(); err != nil || info.Size() != 10_000 {
		t.Errorf("reserved %v, %v", info.Size(), err)
	}
	if err := durable.Fill(f, []byte("text")); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if text, err := durable.ReadAll(d, path, 4); err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := durable.ReadAll(d, path, 3); err == nil {
		t.Error("read more than the most")
	}
	if _, err := d.Create(path, durable.Public); !errors.Is(err, fs.ErrExist) {
		t.Errorf("created over a file: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v: must be public", info.Mode(), err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("file", link); err == nil {
		for name, open := range map[string]func(string) (durable.File,
			error){"open": d.Open, "append": d.Append, "update": d.Update} {
			if _, err := open(link); !errors.Is(err, durable.ErrIrregular) {
				t.Errorf("%s followed a link: %v", name, err)
			}
		}
		if err := d.MayReplace(link); !errors.Is(err, durable.ErrIrregular) {
			t.Errorf("a link may be replaced: %v", err)
		}
	}
	if _, err := d.Open(dir); !errors.Is(err, durable.ErrIrregular) {
		t.Errorf("opened a folder: %v", err)
	}
	if err := d.MayReplace(filepath.Join(dir, "none")); err != nil {
		t.Errorf("nothing may not be replaced: %v", err)
	}
}
