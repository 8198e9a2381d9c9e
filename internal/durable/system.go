package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// ErrIrregular is the error for opening or replacing something that is not a regular file, such as a folder,
// pipe or device.
var ErrIrregular = errors.New("must be a regular file")

// System is the real file system.
type System struct{}

var _ Disk = System{}

// Mkdir implements Disk.
func (System) Mkdir(path string) error { return os.Mkdir(path, 0o777) }

// Stat implements Disk.
func (System) Stat(path string) (fs.FileInfo, error) { return os.Stat(path) }

// Lstat implements Disk.
func (System) Lstat(path string) (fs.FileInfo, error) { return os.Lstat(path) }

// ReadDir implements Disk.
func (System) ReadDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }

// Open implements Disk.
func (System) Open(path string) (File, error) { return open(path, os.O_RDONLY) }

// Append implements Disk.
func (System) Append(path string) (File, error) { return open(path, os.O_WRONLY|os.O_APPEND) }

// Update implements Disk.
func (System) Update(path string) (File, error) { return open(path, os.O_WRONLY) }

// open opens a regular file. It checks the type of the file before opening it, because opening a device may
// have an effect. It checks the type again after opening, because the file may have been replaced in between.
func open(path string, flag int) (File, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w", path, ErrIrregular)
	}
	f, err := os.OpenFile(path, flag|openFlags, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: %w", path, ErrIrregular)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return systemFile{f}, nil
}

// Create implements Disk.
func (System) Create(path string, access Access) (File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	if access == Public {
		err = f.Chmod(0o644)
	} else {
		err = share(f, filepath.Dir(path))
	}
	if err != nil {
		f.Close()
		os.Remove(path)
		return nil, err
	}
	return systemFile{f}, nil
}

// MayReplace implements Disk.
func (System) MayReplace(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: %w", path, ErrIrregular)
	}
	return mayUnlink(path, info)
}

// Rename implements Disk.
func (System) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements Disk.
func (System) Remove(path string) error { return os.Remove(path) }

// SyncFolder implements Disk. It returns nil if the system cannot sync a folder, or if the user may write in
// the folder but not open it.
func (System) SyncFolder(path string) error {
	d, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	err = d.Sync()
	if runtime.GOOS == "windows" || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}

type systemFile struct{ *os.File }

// Reserve implements File.
func (f systemFile) Reserve(size int64) error {
	if done, err := allocate(f.File, size); done {
		return err
	}
	return extend(f.File, size)
}

// extend writes zeros to the end of f until it has size bytes.
func extend(f *os.File, size int64) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	zeros := make([]byte, 1<<16)
	for at := info.Size(); at < size; {
		n, err := f.WriteAt(zeros[:min(int64(len(zeros)), size-at)], at)
		if err != nil {
			return err
		}
		at += int64(n)
	}
	return nil
}
