package durable

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFoldersThatMayNotBeRead tests that a folder in which the user may write, but which the user may not read, counts as
// synchronised, and that other failures to open it are told. The thread of the test has no rights of root.
func TestFoldersThatMayNotBeRead(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "closed")
	if err := os.Mkdir(folder, 0o333); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(folder, 0o777)
	done := make(chan error, 2)
	go func() {
		runtime.LockOSThread() // and the thread ends with the goroutine
		unix.Setfsuid(65534)
		_, err := os.ReadDir(folder)
		done <- err
		done <- System{}.SyncFolder(folder)
	}()
	if err := <-done; !os.IsPermission(err) {
		t.Skipf("the folder can be read: %v", err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := (System{}).SyncFolder(filepath.Join(folder, "absent")); !os.IsNotExist(err) {
		t.Errorf("a folder that is not there: %v", err)
	}
	if err := (System{}).SyncFolder(t.TempDir()); err != nil {
		t.Error(err)
	}
}
