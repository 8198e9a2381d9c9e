//go:build unix

package durable

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// TestSharedFiles tests who may read and write a shared file, in folders of each kind, and that it gets the folder's
// group.
func TestSharedFiles(t *testing.T) {
	plain := t.TempDir()
	if err := os.WriteFile(filepath.Join(plain, "x"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(plain, "x"))
	if err != nil {
		t.Fatal(err)
	}
	usual := info.Mode().Perm()
	for mode, more := range map[os.FileMode]os.FileMode{0o700: 0, 0o755: 0, 0o770: 0o060, 0o777: 0o066, 0o707: 0o006} {
		dir := t.TempDir()
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		if os.Geteuid() == 0 {
			if err := os.Chown(dir, -1, 4711); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(dir, "f")
		f, err := System{}.Create(path, Shared)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := info.Mode().Perm(), usual|more; got != want {
			t.Errorf("in a folder of mode %v a shared file has %v: must have %v", mode, got, want)
		}
		if gid := info.Sys().(*syscall.Stat_t).Gid; os.Geteuid() == 0 && (gid == 4711) != (more&0o060 != 0) {
			t.Errorf("in a folder of mode %v a shared file has group %d", mode, gid)
		}
	}
}

// TestReserveTells tests that a reservation that the system refuses is told, and is not tried in another way.
func TestReserveTells(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("space is reserved by the system on Linux alone")
	}
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := System{}.Open(path) // for reading alone
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	err = f.Reserve(10_000)
	if fault, ok := errors.AsType[*os.PathError](err); !ok || fault.Op != "reserve space in" || fault.Path != path {
		t.Errorf("%v: must be about reserving space in %s", err, path)
	}
}

// TestStickyFolders tests which files a user who is not root may replace. Root runs the test again as another user.
func TestStickyFolders(t *testing.T) {
	const folder = "DURABLE_STICKY"
	dir := os.Getenv(folder)
	if dir == "" {
		if os.Geteuid() != 0 {
			t.Skip("files of two users are made by root alone")
		}
		dir = t.TempDir()
		for _, parent := range []string{dir, filepath.Dir(dir)} {
			if err := os.Chmod(parent, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for name, owner := range map[string][2]int{"sticky/theirs": {0, 0}, "sticky/own": {0, 65534}, "plain/theirs": {0, 0},
			"ours/theirs": {65534, 0}} {
			path := filepath.Join(dir, name)
			mode := os.FileMode(0o777) | os.ModeSticky
			if strings.HasPrefix(name, "plain") {
				mode = 0o777
			}
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.Chmod(filepath.Dir(path), mode),
				os.WriteFile(path, nil, 0o600), os.Chown(path, owner[1], -1), os.Chown(filepath.Dir(path), owner[0], -1)); err != nil {
				t.Fatal(err)
			}
			if err := (System{}).MayReplace(path); err != nil {
				t.Errorf("root may not replace %s: %v", name, err)
			}
		}
		if err := os.Mkdir(filepath.Join(dir, "closed"), 0o333); err != nil {
			t.Fatal(err)
		}
		own, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		program := filepath.Join(dir, "program") // where another user may run it
		from, err := os.Open(own)
		if err != nil {
			t.Fatal(err)
		}
		defer from.Close()
		to, err := os.OpenFile(program, os.O_WRONLY|os.O_CREATE, 0o755)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(to, from)
		if err = errors.Join(err, to.Close()); err != nil {
			t.Fatal(err)
		}
		c := exec.Command(program, "-test.run=^TestStickyFolders$", "-test.count=1")
		c.Env, c.Dir = append(os.Environ(), folder+"="+dir), dir
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if out, err := c.CombinedOutput(); errors.Is(err, os.ErrPermission) {
			t.Skip(err)
		} else if err != nil {
			t.Errorf("as another user: %v: %s", err, out)
		}
		return
	}
	for name, want := range map[string]bool{"sticky/theirs": false, "sticky/own": true, "plain/theirs": true,
		"ours/theirs": true} {
		err := System{}.MayReplace(filepath.Join(dir, name))
		if (err == nil) != want || err != nil && !strings.Contains(err.Error(), "belongs to another user") {
			t.Errorf("%s: %v: may be replaced: %v", name, err, want)
		}
	}
	// A folder that may be written in, but not opened, cannot be synced, and that is no fault.
	if err := (System{}).SyncFolder(filepath.Join(dir, "closed")); err != nil {
		t.Errorf("a folder that may not be opened: %v", err)
	}
}
