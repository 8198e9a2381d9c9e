package runfolder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// as runs f as another user. It uses a thread of its own, which ends with f, because the kernel
// keeps user ids for each thread.
func as(user, group int, f func() error) error {
	end := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with its ids
		for _, call := range [][2]int{{syscall.SYS_SETRESGID, group}, {syscall.SYS_SETRESUID, user}} {
			if _, _, e := syscall.RawSyscall(uintptr(call[0]), uintptr(call[1]), uintptr(call[1]), uintptr(call[1])); e != 0 {
				end <- e
				return
			}
		}
		end <- f()
	}()
	return <-end
}

// TestSecondUser: a user of the folder's group can write a fit over the model of another user.
// In a folder with the sticky bit this is refused before anything is reserved. Only root can
// run the test.
func TestSecondUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("for root")
	}
	const group, first, second = 4242, 4301, 4302
	dir, err := os.MkdirTemp("", "shared") // t.TempDir is for its owner alone
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	os.Chmod(dir, 0o755)
	for _, sticky := range []bool{false, true} {
		out := filepath.Join(dir, fmt.Sprint("out", sticky))
		mode := os.FileMode(0o770) | os.ModeSetgid
		if sticky {
			mode |= os.ModeSticky
		}
		if err := errors.Join(os.Mkdir(out, 0o777), os.Chown(out, 0, group), os.Chmod(out, mode)); err != nil {
			t.Fatal(err)
		}
		old := syscall.Umask(0o077)
		for _, user := range []int{first, second} {
			err := as(user, group, func() error {
				f, err := looked(nil, out, "", true)
				if err != nil {
					return err
				}
				defer f.release()
				if _, err := claimAndReserve(f); err != nil {
					return err
				}
				for _, name := range []string{CertificateFile, ModelFile} {
					file, err := f.newPartial(name)
					if err != nil {
						return err
					}
					file.Close()
					if err := f.see(name); err != nil {
						return err
					}
				}
				return nil
			})
			if refused := sticky && user == second; refused != (err != nil &&
				strings.Contains(err.Error(), "belongs to another user")) {
				t.Errorf("user %d, sticky %v: %v", user, sticky, err)
			}
		}
		syscall.Umask(old)
		want := 2
		if sticky {
			want = 1
		}
		if got := strings.Count(read(t, filepath.Join(out, LedgerFile)), "reserved"); got != want {
			t.Errorf("sticky %v: %d reservations, must be %d", sticky, got, want)
		}
	}
}
