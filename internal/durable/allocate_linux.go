package durable

import (
	"errors"
	"os"
	"syscall"
)

// allocate reserves disk space for the first size bytes of f without writing them. done is false, and err is
// nil, if the file system does not support this.
func allocate(f *os.File, size int64) (done bool, err error) {
	for {
		err = syscall.Fallocate(int(f.Fd()), 0, 0, size)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return false, nil
	}
	if err != nil {
		return true, &os.PathError{Op: "reserve space in", Path: f.Name(), Err: err}
	}
	return true, nil
}
