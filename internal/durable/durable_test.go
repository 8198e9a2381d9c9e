package durable

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestWriteFileReplacesWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f.json")
	for _, text := range []string{"first", "second, longer", ""} {
		if err := WriteFile(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("read %q (%v), want %q", got, err, text)
		}
	}
	// The target cannot be replaced: it is a folder that is not empty.
	busy := filepath.Join(dir, "busy")
	if err := os.MkdirAll(filepath.Join(busy, "x"), 0o777); err != nil {
		t.Fatal(err)
	}
	if WriteFile(busy, []byte("no")) == nil {
		t.Error("wrote over a folder")
	}
	names, err := os.ReadDir(dir)
	if err != nil || len(names) != 2 {
		t.Errorf("%v are left (%v), want f.json and busy: temporary files must go", names, err)
	}
}

func TestAppend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.jsonl")
	for range 2 {
		if err := Append(System{}, path, []byte("line")); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := os.ReadFile(path); string(got) != "line\nline\n" {
		t.Errorf("read %q", got)
	}
	if Append(System{}, filepath.Join(path, "x"), []byte("line")) == nil {
		t.Error("appended below a file")
	}
}

// recorded is the real file system that also records a list of the operations on it.
type recorded struct {
	System
	ops []string
}

type recordedFile struct {
	File
	r *recorded
}

func (r *recorded) Create(path string, a Access) (File, error) {
	r.ops = append(r.ops, "create")
	f, err := r.System.Create(path, a)
	return recordedFile{f, r}, err
}

func (r *recorded) Rename(from, to string) error {
	r.ops = append(r.ops, "rename")
	return r.System.Rename(from, to)
}

func (r *recorded) Remove(path string) error {
	r.ops = append(r.ops, "remove")
	return r.System.Remove(path)
}

func (r *recorded) SyncFolder(path string) error {
	r.ops = append(r.ops, "sync-folder")
	return r.System.SyncFolder(path)
}

func (f recordedFile) Sync() error {
	f.r.ops = append(f.r.ops, "sync")
	return f.File.Sync()
}

// TestWriteFileSyncsInOrder tests that the content is on stable storage before the file gets its
// name, and that the folder is synced afterwards.
func TestWriteFileSyncsInOrder(t *testing.T) {
	r := new(recorded)
	if err := writeFile(r, filepath.Join(t.TempDir(), "f"), []byte("text")); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(r.ops); got != "[create sync rename sync-folder]" {
		t.Error(got)
	}
}
