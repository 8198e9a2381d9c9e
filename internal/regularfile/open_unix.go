//go:build unix

package regularfile

import (
	"io/fs"
	"syscall"
)

// nonblocking is a flag for opening files without waiting. If a pipe has replaced a file, opening it without
// this flag would wait for a writer. The flag has no effect on a regular file.
const nonblocking = syscall.O_NONBLOCK

// Number returns the number of a file's device and the file's inode number on this device. ok is false if
// info does not have them.
func Number(info fs.FileInfo) (device, inode uint64, ok bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return uint64(s.Dev), uint64(s.Ino), true
}
