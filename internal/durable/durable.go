// Package durable writes files atomically and makes them survive a crash.
package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
)

// WriteFile writes data to path, and replaces an existing file. After a crash, path has the whole new content
// or is as before. The new content is on stable storage when WriteFile returns. Everybody can read the file,
// so data must be public.
func WriteFile(path string, data []byte) error { return writeFile(System{}, path, data) }

func writeFile(d Disk, path string, data []byte) (err error) {
	file, name, err := createBeside(d, path)
	if err != nil {
		return err
	}
	err = Fill(file, data)
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = d.Rename(name, path)
	}
	if err != nil {
		_ = d.Remove(name)
		return err
	}
	return d.SyncFolder(filepath.Dir(path))
}

// createBeside creates a file with an unused random name in the folder of path, and returns the file and its
// name.
func createBeside(d Disk, path string) (f File, name string, err error) {
	for range 1000 {
		name = filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s-%08x", filepath.Base(path), rand.Uint32()))
		if f, err = d.Create(name, Public); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return f, name, err
}

// Append adds a line and a line feed to the end of a file. If the file does not exist, Append creates it with
// the access Shared. The line is on stable storage when Append returns.
func Append(d Disk, path string, line []byte) error {
	file, err := d.Append(path)
	if errors.Is(err, fs.ErrNotExist) {
		file, err = d.Create(path, Shared)
	}
	if err != nil {
		return err
	}
	_, err = file.Write(append(line, '\n'))
	if err == nil {
		err = file.Sync()
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	return d.SyncFolder(filepath.Dir(path))
}

// Fill replaces the content of an open file by data. It cannot fail for lack of disk space if enough space
// was reserved ([File.Reserve]). The content is on stable storage when Fill returns.
func Fill(f File, data []byte) error {
	if _, err := f.WriteAt(data, 0); err != nil {
		return err
	}
	if err := f.Truncate(int64(len(data))); err != nil {
		return err
	}
	return f.Sync()
}

// ReadAll returns the content of a regular file. It returns an error if the file has more
// bytes than most.
func ReadAll(d Disk, path string, most int64) ([]byte, error) {
	f, err := d.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > most {
		return nil, fmt.Errorf("%s: must be of at most %d bytes", path, most)
	}
	return text, nil
}

// MakeFolder makes a folder and the missing folders above it. The names of the new folders are on stable
// storage when MakeFolder returns. It does nothing if path exists.
func MakeFolder(d Disk, path string) error {
	path = filepath.Clean(path)
	if _, err := d.Stat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(path)
	if parent != path {
		if err := MakeFolder(d, parent); err != nil {
			return err
		}
	}
	if err := d.Mkdir(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return d.SyncFolder(parent)
}
