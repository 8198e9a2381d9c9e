package durable

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestExtendWritesZeros tests that a file on a file system that reserves no space is filled with zeros to its size, of
// several blocks and a part, and that neither its text nor a longer file changes.
func TestExtendWritesZeros(t *testing.T) {
	for _, size := range []int64{0, 3, 4, 5, 1 << 16, 1<<16 + 4, 3<<16 + 17} {
		f, err := os.Create(filepath.Join(t.TempDir(), "file"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString("text"); err != nil {
			t.Fatal(err)
		}
		if err := extend(f, size); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(f.Name())
		want := append([]byte("text"), make([]byte, max(size-4, 0))...)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("size %d: %d bytes, %v: must be %d", size, len(got), err, len(want))
		}
	}
}

// TestExtendTells tests that a file that cannot be asked for its size, and one that cannot be written, are errors.
func TestExtendTells(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path) // for reading alone
	if err != nil {
		t.Fatal(err)
	}
	if err := extend(f, 5); err == nil {
		t.Error("a file that is open for reading is extended")
	}
	f.Close()
	for _, size := range []int64{0, 5} {
		if err := extend(f, size); !errors.Is(err, os.ErrClosed) {
			t.Errorf("a closed file, to %d bytes: %v", size, err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "text" {
		t.Errorf("%q, %v: must be as it was", got, err)
	}
}
