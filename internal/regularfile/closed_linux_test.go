package regularfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestClosedFiles tests a file that the user may not read, in a folder that the user may see. The thread of the test
// has no rights of root.
func TestClosedFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "log")
	if err := errors.Join(os.WriteFile(path, []byte("line\n"), 0), os.Chmod(dir, 0o711), os.Chmod(filepath.Dir(dir), 0o711)); err != nil {
		t.Fatal(err)
	}
	type result struct {
		seen error
		file *os.File
		text []byte
		errs [2]error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // and the thread ends with the goroutine
		unix.Setfsuid(65534)
		var r result
		_, r.seen = os.Stat(path)
		r.file, r.errs[0] = Open(path)
		r.text, r.errs[1] = Read(path, 10)
		done <- r
	}()
	r := <-done
	if r.seen != nil {
		t.Skipf("the folder cannot be seen: %v", r.seen)
	}
	for _, err := range r.errs {
		if told := (*fs.PathError)(nil); !errors.Is(err, fs.ErrPermission) || !errors.As(err, &told) || told.Path != path {
			t.Errorf("error %v: must be %v", err, fs.ErrPermission)
		}
	}
	if r.file != nil || r.text != nil {
		t.Errorf("%v, %q: must be nothing", r.file, r.text)
	}
}

// TestFilesAreClosed tests that no file stays open that was read, or that is too large to be.
func TestFilesAreClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func() int {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(names)
	}
	before := open()
	for range 3 {
		if text, err := Read(path, 5); string(text) != "line\n" || err != nil {
			t.Errorf("%q, %v", text, err)
		}
		if text, err := Read(path, 4); text != nil || err == nil {
			t.Errorf("%q, %v: must be too large", text, err)
		}
	}
	if after := open(); after > before {
		t.Errorf("%d files are open, %d were before", after, before)
	}
}
