// Package durable writes files atomically and makes them survive a crash.
package durable

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"

	"github.com/stillpoint-dp/stillpoint/internal/regularfile"
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
	if err = cmp.Or(Fill(file, data), file.Close()); err == nil {
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
	if err = cmp.Or(err, file.Close()); err != nil {
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

// Disk has the operations of a file system that a folder of results needs. Only synced state survives a crash for
// certain: a file's content after File.Sync, and the names in a folder after SyncFolder of that folder. [System] is the
// real file system. Tests use a file system in memory that simulates crashes (package durabletest).
type Disk interface {
	// Mkdir makes one folder. The error is fs.ErrExist if the name is taken.
	Mkdir(path string) error
	// Stat and Lstat describe a file or folder. Stat follows links, and Lstat does not.
	Stat(path string) (fs.FileInfo, error)
	Lstat(path string) (fs.FileInfo, error)
	ReadDir(path string) ([]fs.DirEntry, error)
	// Open opens a file for reading, Append for adding to its end, Update for writing in place.
	// They do not create the file, and do not follow a link. If the file is not a regular file, the error
	// is ErrIrregular: a pipe or device may never end.
	Open(path string) (File, error)
	Append(path string) (File, error)
	Update(path string) (File, error)
	// Create makes a new file and opens it for writing. The error is fs.ErrExist if the name is taken.
	Create(path string, access Access) (File, error)
	// MayReplace returns nil if Rename may replace path with a file, or if path does not exist.
	// Otherwise it returns the reason why Rename would fail, as far as it can be known in advance.
	MayReplace(path string) error
	// Rename renames a file within its folder. An existing file of the new name is replaced.
	Rename(from, to string) error
	Remove(path string) error
	// SyncFolder writes the names in a folder to stable storage.
	SyncFolder(path string) error
}

// Identity returns the device of a file or folder and its number on the device, by which a copy differs from
// it. Both are 0 if they are not known.
func Identity(info fs.FileInfo) (device, inode uint64) {
	if known, ok := info.(interface{ Identity() (device, inode uint64) }); ok {
		return known.Identity()
	}
	device, inode, _ = regularfile.Number(info)
	return device, inode
}

// File is an open file.
type File interface {
	io.Reader
	io.Writer
	io.WriterAt
	Truncate(size int64) error
	// Reserve reserves disk space for the first size bytes of the file, so that writing them cannot fail
	// for lack of space. Afterwards the file has at least size bytes.
	Reserve(size int64) error
	// Sync writes the content to stable storage.
	Sync() error
	Stat() (fs.FileInfo, error)
	io.Closer
}

// Access says who may use a new file.
type Access int

const (
	// Public files can be read by everybody: their content is public.
	Public Access = iota
	// Shared files can also be written by everybody who may write in their folder, in spite of the
	// umask.
	Shared
)
