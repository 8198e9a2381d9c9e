package durable

import (
	"io"
	"io/fs"
)

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
	return identity(info)
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
