package durable

import (
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
	// The target cannot be replaced: it is a folder with something in it.
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
