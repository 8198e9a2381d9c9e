// Package regularfile opens regular files and reads small files whole.
//
// A path may lead to a folder, to a device that never ends or to a pipe without a writer. Opening these is
// an error, and nothing is read. A file may also be larger than memory. Read returns an error if a file is
// larger than a limit, and reads at most one byte more than the limit.
package regularfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Document is the largest size, in bytes, of files that are read whole: configurations, certificates, models. The
// largest file that Stillpoint writes, a model of 10^5 columns with their names, is smaller than a fourth of this size.
const Document = 64 << 20

// Open opens a regular file for reading. Errors are [fs.PathError].
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if fault := (*fs.PathError)(nil); errors.As(err, &fault) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fault.Err}
	}
	if err == nil {
		err = check(path, info)
	}
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDONLY|nonblocking, 0)
	if err != nil {
		return nil, err
	}
	// Check the opened file: another file may have replaced the checked file between Stat and OpenFile.
	if info, err = file.Stat(); err == nil {
		err = check(path, info)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

func check(path string, info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return &fs.PathError{Op: "open", Path: path, Err: errors.New("is a directory, not a file")}
	}
	return &fs.PathError{Op: "open", Path: path, Err: errors.New("is a device, pipe or socket: must be a regular file")}
}

// Read returns the content of a regular file. It returns an error if the file has more
// bytes than most.
func Read(path string, most int64) ([]byte, error) {
	file, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	large := &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("is larger than %d bytes", most)}
	if info, err := file.Stat(); err == nil && info.Size() > most {
		return nil, large
	}
	// Reading one byte more than most detects a file that is larger than its description says.
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > most {
		return nil, large
	}
	return text, nil
}

// Identity is a key for finding the same file among many. Files that are the same by [os.SameFile] have equal
// identities. On Unix different files have different identities. On other systems different files have equal
// identities if their sizes and times of modification are equal.
type Identity struct {
	device, inode  uint64
	size, modified int64
}

// IdentityOf returns the identity of the file that info, a result of [os.File.Stat], describes.
func IdentityOf(info fs.FileInfo) Identity {
	if device, inode, ok := Number(info); ok {
		return Identity{device: device, inode: inode}
	}
	return Identity{size: info.Size(), modified: info.ModTime().UnixNano()}
}
