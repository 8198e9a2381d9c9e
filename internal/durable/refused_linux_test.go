package durable

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// refusing runs do on a thread of its own whose calls of the system with the given number fail with an error.
func refusing(t *testing.T, call uint32, fails unix.Errno, do func() error) error {
	t.Helper()
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: call},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(fails)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	type result struct{ refused, err error }
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // and the thread ends with the goroutine
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			err = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
		}
		if err != nil {
			done <- result{refused: err}
			return
		}
		done <- result{err: do()}
	}()
	r := <-done
	if r.refused != nil {
		t.Skipf("calls of the system cannot be refused here: %v", r.refused)
	}
	return r.err
}

// descriptors returns the number of open files of this process.
func descriptors(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(names)
}

// TestSyncsReachTheSystem tests that folders and files are synchronised by the system: its error is told, unless it
// cannot synchronise a folder.
func TestSyncsReachTheSystem(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := WriteFile(path, []byte("before")); err != nil {
		t.Fatal(err)
	}
	before := descriptors(t)
	for fails, want := range map[unix.Errno]error{unix.EIO: unix.EIO, unix.ENOSPC: unix.ENOSPC, unix.EINVAL: nil, unix.EOPNOTSUPP: nil} {
		if err := refusing(t, unix.SYS_FSYNC, fails, func() error { return System{}.SyncFolder(dir) }); !errors.Is(err, want) {
			t.Errorf("a folder's synchronisation fails by %v: %v: must be %v", fails, err, want)
		}
		if err := refusing(t, unix.SYS_FSYNC, fails, func() error { return WriteFile(path, []byte("after")) }); !errors.Is(err, fails) {
			t.Errorf("a file's synchronisation fails by %v: %v", fails, err)
		}
		if err := refusing(t, unix.SYS_FSYNC, fails, func() error { return Append(System{}, path, nil) }); !errors.Is(err, fails) {
			t.Errorf("a file's synchronisation fails by %v: %v", fails, err)
		}
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("%v, %v: one file must be left", names, err)
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d files are open, %d were before", after, before)
	}
}

// TestSpaceThatCannotBeReserved tests a file system that reserves no space, where zeros are written, and one without
// space.
func TestSpaceThatCannotBeReserved(t *testing.T) {
	dir := t.TempDir()
	for fails, want := range map[unix.Errno]error{unix.EOPNOTSUPP: nil, unix.ENOSYS: nil, unix.ENOSPC: unix.ENOSPC, unix.EIO: unix.EIO} {
		path := filepath.Join(dir, strconv.Itoa(int(fails)))
		f, err := System{}.Create(path, Public)
		if err != nil {
			t.Fatal(err)
		}
		const size = 70_001
		err = refusing(t, unix.SYS_FALLOCATE, fails, func() error { return f.Reserve(size) })
		var told *os.PathError
		if !errors.Is(err, want) || want != nil && (!errors.As(err, &told) || told.Path != path || told.Op != "reserve space in") {
			t.Errorf("a reservation fails by %v: %v: must be %v", fails, err, want)
		}
		f.Close()
		text, err := os.ReadFile(path)
		if zeros := make([]byte, size); err != nil || want == nil && !bytes.Equal(text, zeros) || want != nil && len(text) > 0 {
			t.Errorf("a reservation fails by %v: %d bytes, %v", fails, len(text), err)
		}
	}
}

// TestNewFilesWithoutTheirAccess tests that a new file which cannot get its access is removed and closed, and that the
// error is told; and the same of a file that cannot be described when it is open.
func TestNewFilesWithoutTheirAccess(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	before := descriptors(t)
	for name, c := range map[string]struct {
		access Access
		call   uint32
	}{"public": {Public, unix.SYS_FCHMOD}, "shared": {Shared, unix.SYS_FCHMOD}, "unknown": {Shared, unix.SYS_FSTAT}} {
		path := filepath.Join(dir, name)
		var f File
		err := refusing(t, c.call, unix.EPERM, func() (err error) { f, err = System{}.Create(path, c.access); return err })
		if !errors.Is(err, unix.EPERM) || f != nil {
			t.Errorf("%s: %v, %v: must be %v", name, f, err, unix.EPERM)
		}
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s: the file is left: %v", name, err)
		}
	}
	path := filepath.Join(dir, "file")
	if err := WriteFile(path, []byte("text")); err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func(string) (File, error){"open": System{}.Open, "append": System{}.Append, "update": System{}.Update} {
		var f File
		err := refusing(t, unix.SYS_FSTAT, unix.EIO, func() (err error) { f, err = open(path); return err })
		if !errors.Is(err, unix.EIO) || f != nil {
			t.Errorf("%s: %v, %v: must be %v", name, f, err, unix.EIO)
		}
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d files are open, %d were before", after, before)
	}
}
