//go:build unix

package durable

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestAccessUnderEveryMask tests the permissions of a public file, of a shared file and of a folder, for folders of each
// kind and masks of each kind: those of a public file are always 0644; a shared file has those that the mask leaves, and
// reading and writing for the group and for all who may write in its folder.
func TestAccessUnderEveryMask(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	for _, mask := range []int{0, 0o002, 0o022, 0o027, 0o077} {
		for _, folder := range []fs.FileMode{0o700, 0o755, 0o720, 0o770, 0o775, 0o702, 0o707, 0o777} {
			syscall.Umask(0o022)
			dir := t.TempDir()
			if err := os.Chmod(dir, folder); err != nil {
				t.Fatal(err)
			}
			syscall.Umask(mask)
			at := func(name string) string { return filepath.Join(dir, name) }
			shared := 0o666 &^ fs.FileMode(mask)
			if folder&0o020 != 0 {
				shared |= 0o060
			}
			if folder&0o002 != 0 {
				shared |= 0o006
			}
			create := func(a Access) func(string) error {
				return func(path string) error {
					f, err := System{}.Create(path, a)
					if err == nil {
						err = f.Close()
					}
					return err
				}
			}
			for name, c := range map[string]struct {
				make func(path string) error
				want fs.FileMode
			}{
				"Create Public": {create(Public), 0o644},
				"Create Shared": {create(Shared), shared},
				"WriteFile":     {func(path string) error { return WriteFile(path, []byte("text")) }, 0o644},
				"Append":        {func(path string) error { return Append(System{}, path, []byte("line")) }, shared},
				"Mkdir":         {System{}.Mkdir, 0o777 &^ fs.FileMode(mask)},
				"MakeFolder":    {func(path string) error { return MakeFolder(System{}, path) }, 0o777 &^ fs.FileMode(mask)},
			} {
				what := fmt.Sprintf("%s, mask %03o, folder %03o", name, mask, folder)
				if err := c.make(at(name)); err != nil {
					t.Errorf("%s: %v", what, err)
					continue
				}
				info, err := os.Stat(at(name))
				if err != nil {
					t.Fatal(err)
				}
				if got := info.Mode().Perm(); got != c.want {
					t.Errorf("%s: %v: must be %v", what, got, c.want)
				}
			}
		}
	}
}

// TestAReplacedFileIsPublic tests that WriteFile replaces a file of any permissions by one that everybody reads, and that
// Append leaves the permissions of a file that exists.
func TestAReplacedFileIsPublic(t *testing.T) {
	dir := t.TempDir()
	for _, mode := range []fs.FileMode{0o600, 0o640, 0o666} {
		path := filepath.Join(dir, fmt.Sprintf("%o", mode))
		if err := os.WriteFile(path, []byte("old\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			change func() error
			mode   fs.FileMode
			text   string
		}{
			{func() error { return Append(System{}, path, []byte("line")) }, mode, "old\nline\n"},
			{func() error { return WriteFile(path, []byte("new")) }, 0o644, "new"},
		} {
			if err := c.change(); err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(path)
			text, reading := os.ReadFile(path)
			if err != nil || reading != nil || info.Mode().Perm() != c.mode || string(text) != c.text {
				t.Errorf("a file of mode %o: %v, %v, mode %v, %q: must have mode %v and %q", mode, err, reading, info.Mode(), text, c.mode,
					c.text)
			}
		}
	}
}
