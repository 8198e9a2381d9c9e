package durable

import (
	"io"
	"io/fs"
)

// Disk is what a folder of results asks of a file system. What it promises to
// outlast a crash is only what was synced: a file's content by File.Sync, names
// by SyncFolder of the folder that holds them. [System] is the real one; tests
// have one that crashes.
type Disk interface {
	// Mkdir makes one folder; the error is fs.ErrExist if the name is taken.
	Mkdir(path string) error
	// Stat follows links, Lstat does not.
	Stat(path string) (fs.FileInfo, error)
	Lstat(path string) (fs.FileInfo, error)
	ReadDir(path string) ([]fs.DirEntry, error)
	// Open opens a file to read, Append one to add to its end, Update one to write
	// in place. None of them creates it, follows a link in place of it, or takes
	// anything but a regular file: a pipe or device may never end. The error is then
	// ErrIrregular.
	Open(path string) (File, error)
	Append(path string) (File, error)
	Update(path string) (File, error)
	// Create makes a new file to write; the error is fs.ErrExist if the name is
	// taken.
	Create(path string, access Access) (File, error)
	// MayReplace reports why Rename could not put a file in the place of path,
	// as far as can be told beforehand; nil if nothing is there.
	MayReplace(path string) error
	// Rename gives a file another name in its folder, in the place of a file of
	// that name.
	Rename(from, to string) error
	Remove(path string) error
	// SyncFolder puts the names in a folder on stable storage.
	SyncFolder(path string) error
}

// File is an open file.
type File interface {
	io.Reader
	io.Writer
	io.WriterAt
	Truncate(size int64) error
	// Reserve makes room for size bytes on the disk, so that writing them does
	// not fail for want of it. The file is at least that long afterwards.
	Reserve(size int64) error
	// Sync puts the content on stable storage.
	Sync() error
	Stat() (fs.FileInfo, error)
	io.Closer
}

// Access says who may use a new file.
type Access int

const (
	// Public files may be read by everybody: what is in them is public.
	Public Access = iota
	// Shared files may also be written by whoever may write in their folder:
	// what the umask leaves, and what the folder grants.
	Shared
)
