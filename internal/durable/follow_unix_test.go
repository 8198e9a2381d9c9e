//go:build unix

package durable

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestFlagsRefuseLinks tests that the system itself refuses a link in place of a file, and does not wait for the other
// end of a pipe: the file may be replaced between the check of its type and its opening.
func TestFlagsRefuseLinks(t *testing.T) {
	dir := t.TempDir()
	link, pipe := filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	if err := os.Symlink("file", link); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flag := range []int{os.O_RDONLY, os.O_WRONLY, os.O_WRONLY | os.O_APPEND} {
		if f, err := os.OpenFile(link, flag|openFlags, 0); !errors.Is(err, syscall.ELOOP) && !errors.Is(err, syscall.EMLINK) {
			f.Close()
			t.Errorf("flag %d: a link is opened: error %v", flag, err)
		}
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip("no pipe can be made here")
	}
	done := make(chan error, 1)
	go func() {
		f, err := os.OpenFile(pipe, os.O_RDONLY|openFlags, 0)
		f.Close()
		done <- err
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Error("the opening of a pipe waits for its other end")
	}
}

// TestALinkThatComesBetween tests that a file that is replaced by a link again and again, while it is opened, is never
// read or written at the other end of the link.
func TestALinkThatComesBetween(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("secret"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	var over atomic.Bool
	var ended sync.WaitGroup
	for _, name := range []string{"one", "two", "three"} {
		ended.Go(func() {
			new := at(name)
			for !over.Load() {
				if os.WriteFile(new, []byte("plain"), 0o600) != nil || os.Rename(new, at("path")) != nil ||
					os.Symlink("secret", new) != nil || os.Rename(new, at("path")) != nil {
					return
				}
			}
		})
	}
	plain := 0
	for start := time.Now(); time.Since(start) < 3*time.Second && plain < 30_000; {
		f, err := System{}.Open(at("path"))
		if err != nil {
			continue
		}
		var b [6]byte
		n, _ := f.Read(b[:])
		f.Close()
		if string(b[:n]) == "secret" {
			t.Error("a link was followed")
			break
		}
		plain++
	}
	over.Store(true)
	ended.Wait()
	if plain == 0 {
		t.Error("the file was never opened")
	}
}

// TestAPipeThatComesBetween tests that a file that is replaced by a pipe again and again, while it is opened, is a regular
// file when it is open.
func TestAPipeThatComesBetween(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := syscall.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Skip(err)
	}
	if err := os.WriteFile(at("file"), []byte("plain"), 0o600); err != nil {
		t.Fatal(err)
	}
	var over atomic.Bool
	var ended sync.WaitGroup
	ended.Go(func() {
		for i := 0; !over.Load(); i++ {
			_ = os.Link(at([]string{"file", "pipe"}[i%2]), at("next"))
			_ = os.Rename(at("next"), at("path"))
			_ = os.Remove(at("next"))
		}
	})
	for start := time.Now(); time.Since(start) < 150*time.Millisecond; {
		f, err := System{}.Open(at("path"))
		if err != nil {
			continue
		}
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%v, %v is open", info, err)
		}
		_ = f.Close()
	}
	over.Store(true)
	ended.Wait()
}
