package runfolder

import (
	"errors"
	"io/fs"
	"os"

	"github.com/gofrs/flock"

	"github.com/stillpoint-dp/stillpoint/internal/durable"
)

// place is the file system of output folders.
type place interface {
	durable.Disk
	// Lock locks a file until unlock is called. held is true if another process has locked it.
	Lock(path string) (unlock func(), held bool, err error)
}

// machine is the machine's own file system.
type machine struct{ durable.System }

// Lock locks a file that everybody who may write in its folder shares. The lock ends with the process, so a
// killed fit leaves none.
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
