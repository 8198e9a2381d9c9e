package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

var errFault = errors.New("fault")

// failing is the real file system, of whose operations one fails: the one with the number at, from 1.
type failing struct {
	System
	at  int
	ops []string
}

func (f *failing) next(op string) error {
	if f.ops = append(f.ops, op); len(f.ops) == f.at {
		return errFault
	}
	return nil
}

func (f *failing) opened(op string, open func() (File, error)) (File, error) {
	if err := f.next(op); err != nil {
		return nil, err
	}
	file, err := open()
	return failingFile{file, f}, err
}

func (f *failing) Create(path string, a Access) (File, error) {
	return f.opened("create", func() (File, error) { return f.System.Create(path, a) })
}

func (f *failing) Open(path string) (File, error) {
	return f.opened("open", func() (File, error) { return f.System.Open(path) })
}

func (f *failing) Append(path string) (File, error) {
	return f.opened("append", func() (File, error) { return f.System.Append(path) })
}

func (f *failing) Stat(path string) (fs.FileInfo, error) {
	if err := f.next("stat"); err != nil {
		return nil, err
	}
	return f.System.Stat(path)
}

func (f *failing) Mkdir(path string) error {
	if err := f.next("mkdir"); err != nil {
		return err
	}
	return f.System.Mkdir(path)
}

func (f *failing) Rename(from, to string) error {
	if err := f.next("rename"); err != nil {
		return err
	}
	return f.System.Rename(from, to)
}

func (f *failing) SyncFolder(path string) error {
	if err := f.next("sync folder"); err != nil {
		return err
	}
	return f.System.SyncFolder(path)
}

type failingFile struct {
	File
	of *failing
}

func (f failingFile) Read(b []byte) (int, error) {
	if err := f.of.next("read"); err != nil {
		return 0, err
	}
	return f.File.Read(b)
}

func (f failingFile) Write(b []byte) (int, error) {
	if err := f.of.next("write"); err != nil {
		return 0, err
	}
	return f.File.Write(b)
}

func (f failingFile) WriteAt(b []byte, at int64) (int, error) {
	if err := f.of.next("write at"); err != nil {
		return 0, err
	}
	return f.File.WriteAt(b, at)
}

func (f failingFile) Truncate(size int64) error {
	if err := f.of.next("truncate"); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

func (f failingFile) Sync() error {
	if err := f.of.next("sync"); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f failingFile) Close() error {
	err := f.of.next("close")
	return errors.Join(err, f.File.Close())
}

// TestEveryFaultIsTold tests, for each function and each of its operations on the disk, that the function returns the
// error of the operation, that a file is whole before and after, and that no other file is left.
func TestEveryFaultIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		ops  []string
		mute string // an operation whose error says nothing about the result
		do   func(d Disk, dir string) error
	}{
		"WriteFile": {[]string{"create", "write at", "truncate", "sync", "close", "rename", "sync folder"}, "",
			func(d Disk, dir string) error { return writeFile(d, filepath.Join(dir, "old"), []byte("new")) }},
		"Append": {[]string{"append", "write", "sync", "close", "sync folder"}, "",
			func(d Disk, dir string) error { return Append(d, filepath.Join(dir, "old"), []byte("line")) }},
		"Append to none": {[]string{"append", "create", "write", "sync", "close", "sync folder"}, "",
			func(d Disk, dir string) error { return Append(d, filepath.Join(dir, "none"), []byte("line")) }},
		"ReadAll": {[]string{"open", "read", "read", "close"}, "close",
			func(d Disk, dir string) error { _, err := ReadAll(d, filepath.Join(dir, "old"), 3); return err }},
		"MakeFolder": {[]string{"stat", "stat", "stat", "mkdir", "sync folder", "mkdir", "sync folder"}, "",
			func(d Disk, dir string) error { return MakeFolder(d, filepath.Join(dir, "a", "b")) }},
	} {
		for at := 0; at <= len(c.ops); at++ { // at 0 none fails
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "old"), []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			d := &failing{at: at}
			err := c.do(d, dir)
			if at == 0 {
				if err != nil || !slices.Equal(d.ops, c.ops) {
					t.Errorf("%s: %v, operations %q: must be none and %q", name, err, d.ops, c.ops)
				}
				continue
			}
			if c.ops[at-1] == c.mute {
				if err != nil {
					t.Errorf("%s: %s fails: %v", name, c.mute, err)
				}
			} else if !errors.Is(err, errFault) {
				t.Errorf("%s: %s fails: error %v", name, c.ops[at-1], err)
			}
			if name != "WriteFile" {
				continue
			}
			want := "old"
			if c.ops[at-1] == "sync folder" {
				want = "new"
			}
			if text, _ := os.ReadFile(filepath.Join(dir, "old")); string(text) != want {
				t.Errorf("%s: %s fails: the file is %q: must be %q", name, c.ops[at-1], text, want)
			}
			if names, _ := os.ReadDir(dir); len(names) != 1 {
				t.Errorf("%s: %s fails: %v are left", name, c.ops[at-1], names)
			}
		}
	}
}

// TestSystemTells tests the errors of the real file system's operations on what does not exist or is of another kind.
func TestSystemTells(t *testing.T) {
	d, dir := System{}, t.TempDir()
	file, none := filepath.Join(dir, "file"), filepath.Join(dir, "none")
	if err := WriteFile(file, []byte("text")); err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func(string) (File, error){"open": d.Open, "append": d.Append, "update": d.Update,
		"create": func(path string) (File, error) { return d.Create(filepath.Join(path, "x"), Public) },
		"share":  func(path string) (File, error) { return d.Create(filepath.Join(path, "x"), Shared) }} {
		if f, err := open(none); f != nil || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, %v: must be %v", name, f, err, fs.ErrNotExist)
		}
	}
	for name, err := range map[string]error{"sync": d.SyncFolder(none), "remove": d.Remove(none),
		"rename": d.Rename(none, file), "made": d.Mkdir(filepath.Join(none, "x"))} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v: must be %v", name, err, fs.ErrNotExist)
		}
	}
	below := errFault // another error
	if runtime.GOOS == "windows" {
		below = nil
	}
	for path, want := range map[string]error{file: nil, none: nil, dir: ErrIrregular, filepath.Join(file, "x"): below} {
		if err := d.MayReplace(path); (err == nil) != (want == nil) || want == ErrIrregular && !errors.Is(err, want) {
			t.Errorf("%s may be replaced: %v", path, err)
		}
	}
	if err := MakeFolder(d, filepath.Join(file, "x")); err == nil {
		t.Error("a folder is made below a file")
	}
	if err := MakeFolder(d, dir); err != nil {
		t.Errorf("a folder that exists: %v", err)
	}
	info, err := d.Stat(file)
	again, err2 := d.Lstat(file)
	folder, err3 := d.Stat(dir)
	if errors.Join(err, err2, err3) != nil {
		t.Fatal(err, err2, err3)
	}
	device, inode := Identity(info)
	device2, inode2 := Identity(again)
	device3, inode3 := Identity(folder)
	if device != device2 || inode != inode2 || device != device3 || inode == inode3 && inode != 0 {
		t.Errorf("(%d, %d), the same (%d, %d), its folder (%d, %d)", device, inode, device2, inode2, device3, inode3)
	}
	if device, inode := Identity(numbered{info}); device != 7 || inode != 8 {
		t.Errorf("its own numbers are (%d, %d): must be (7, 8)", device, inode)
	}
	if device, inode := Identity(bare{info}); device != 0 || inode != 0 {
		t.Errorf("unknown numbers are (%d, %d): must be (0, 0)", device, inode)
	}
}

type numbered struct{ fs.FileInfo }

func (numbered) Identity() (device, inode uint64) { return 7, 8 }

type bare struct{ fs.FileInfo }

func (bare) Sys() any { return nil }

// taken is a disk on which the first names of new files are taken.
type taken struct {
	System
	names, tried int
}

func (d *taken) Create(path string, a Access) (File, error) {
	if d.tried++; d.tried <= d.names {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrExist}
	}
	return d.System.Create(path, a)
}

// TestNamesThatAreTaken tests that a file is written under another name beside its own while names are taken, up to a
// thousand of them, and that the error is told then.
func TestNamesThatAreTaken(t *testing.T) {
	for names, want := range map[int]error{0: nil, 1: nil, 999: nil, 1000: fs.ErrExist} {
		d, path := &taken{names: names}, filepath.Join(t.TempDir(), "file")
		if err := writeFile(d, path, []byte("text")); !errors.Is(err, want) {
			t.Errorf("%d names are taken: %v: must be %v", names, err, want)
		}
		if text, _ := os.ReadFile(path); (string(text) == "text") != (want == nil) || d.tried != min(names+1, 1000) {
			t.Errorf("%d names are taken: %q after %d tries", names, text, d.tried)
		}
	}
}

// sudden is a disk on which another process makes each folder just before this one.
type sudden struct{ System }

func (d sudden) Mkdir(path string) error {
	return errors.Join(d.System.Mkdir(path), d.System.Mkdir(path))
}

// TestFoldersThatOthersMake tests that a folder is made although another process makes it at the same time.
func TestFoldersThatOthersMake(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b")
	if err := MakeFolder(sudden{}, path); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		t.Errorf("%v, %v", info, err)
	}
}
