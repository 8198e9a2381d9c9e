//go:build unix

package regularfile

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestOnlyRegularFiles tests that anything but a regular file is refused without being read, also
// through a link, and so is a file that is too large.
func TestOnlyRegularFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := syscall.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for name, target := range map[string]string{"zeros": "/dev/zero", "link to a pipe": at("pipe"), "loop": at("loop"),
		"link to a file": at("file")} {
		if err := os.Symlink(target, at(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(at("file"), []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	// A sparse file of a terabyte of zeros.
	if err := os.WriteFile(at("sparse"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(at("sparse"), 1<<40); err != nil {
		t.Fatal(err)
	}
	for path, rule := range map[string]string{
		"/dev/zero": "is a device, pipe or socket", "/dev/null": "is a device, pipe or socket",
		at("zeros"): "is a device, pipe or socket",
		at("pipe"):  "is a device, pipe or socket", at("link to a pipe"): "is a device, pipe or socket",
		at("socket"): "is a device, pipe or socket",
		dir:          "is a directory", at("loop"): "too many levels of symbolic links", at("sparse"): "is larger than 5 bytes",
	} {
		text, err := Read(path, 5)
		if text != nil || err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), rule) {
			t.Errorf("%s: %d bytes, error %v: must say %q", path, len(text), err, rule)
		}
	}
	for _, path := range []string{at("file"), at("link to a file")} {
		if text, err := Read(path, 5); string(text) != "12345" || err != nil {
			t.Errorf("%s: %q, %v", path, text, err)
		}
		if _, err := Read(path, 4); err == nil {
			t.Errorf("%s: 5 bytes are taken for 4", path)
		}
	}
	if _, err := Read(at("missing"), 5); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v: must be %v", err, fs.ErrNotExist)
	}
	if runtime.GOOS == "linux" { // where a file may report no size
		if text, err := Read("/proc/self/status", 5); text != nil || err == nil ||
			!strings.Contains(err.Error(), "is larger than 5 bytes") {
			t.Errorf("a file that tells no size: %d bytes, error %v", len(text), err)
		}
	}
	// A pipe that replaces the file between Stat and open must not make open wait.
	if file, err := os.OpenFile(at("pipe"), os.O_RDONLY|nonblocking, 0); err != nil {
		t.Error(err)
	} else {
		file.Close()
	}
}

// TestAFileThatIsReplaced opens a name that other goroutines exchange for a pipe and back. Whatever is opened is a regular
// file, and no opening waits for somebody to write to the pipe.
func TestAFileThatIsReplaced(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := syscall.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at("file"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			target := at([]string{"file", "pipe"}[i%2])
			_ = os.Link(target, at("next"))
			_ = os.Rename(at("next"), at("name"))
			_ = os.Remove(at("next"))
		}
	}()
	opened := make(chan error, 1)
	go func() {
		for began := time.Now(); time.Since(began) < 150*time.Millisecond; {
			f, err := Open(at("name"))
			if err != nil {
				continue
			}
			info, err := f.Stat()
			_ = f.Close()
			if err != nil || !info.Mode().IsRegular() {
				opened <- fmt.Errorf("%v, %v: must be a regular file", info.Mode(), err)
				return
			}
		}
		opened <- nil
	}()
	select {
	case err := <-opened:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("an opening waits")
		if f, err := os.OpenFile(at("pipe"), os.O_RDWR, 0); err == nil {
			defer f.Close()
		}
	}
	close(stop)
	<-done
}
