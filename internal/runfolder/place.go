package runfolder

import (
	"errors"
	"io/fs"
	"os"

	"github.com/gofrs/flock"

	"github.com/stillpoint-dp/stillpoint/internal/durable"
)

// place is the file system of output folders. Tests replace it by a file system that fails.
type place interface {
	durable.Disk
	// Lock locks a file until unlock is called. If another process has locked the file, Lock does not wait,
	// and held is true.
	Lock(path string) (unlock func(), held bool, err error)
}

// machine is the machine's own file system, the usual place of output folders.
type machine struct{ durable.System }

// Lock locks a file in a folder, and creates the file if it does not exist. All users who may write in the
// folder use the same file. The lock ends with the process, so a killed fit leaves no lock.
func (m machine) Lock(path string) (unlock func(), held bool, err error) {
	f, err := m.Append(path)
	if errors.Is(err, fs.ErrNotExist) {
		if f, err = m.Create(path, durable.Shared); errors.Is(err, fs.ErrExist) { // by another process
			f, err = m.Append(path)
		}
	}
	if err != nil {
		return nil, false, err
	}
	if err := f.Close(); err != nil {
		return nil, false, err
	}
	lock := flock.New(path, flock.SetFlag(os.O_RDWR))
	free, err := lock.TryLock()
	return func() { _ = lock.Unlock() }, !free, err
}
