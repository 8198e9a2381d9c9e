package runfolder

import (
	"errors"
	"io/fs"
	"os"

	"github.com/gofrs/flock"

	"github.com/stillpoint-dp/stillpoint/internal/durable"
)

// place is the file system in which output folders are; tests replace it by one that fails.
type place interface {
	durable.Disk
	// Lock locks a file until unlock is called. held is true if another process has locked it.
	Lock(path string) (unlock func(), held bool, err error)
}

// machine is the machine's own file system, the usual place of output folders.
type machine struct{ durable.System }

// Lock locks a file in a folder. All users who may write in the folder share this file. The lock ends with
// the process, so a killed fit leaves no lock.
func (m machine) Lock(path string) (unlock func(), held bool, err error) {
	f, err := m.Append(path)
	if errors.Is(err, fs.ErrNotExist) {
		if f, err = m.Create(path, durable.Shared); errors.Is(err, fs.ErrExist) { // another was faster
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
