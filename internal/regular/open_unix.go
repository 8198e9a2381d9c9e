//go:build unix

package regular

import (
	"io/fs"
	"syscall"
)

// nonblocking makes opening a pipe return at once, if a pipe has replaced the file: without it the
// open would wait for a writer. It has no effect on a regular file.
const nonblocking = syscall.O_NONBLOCK

// number returns the numbers of a file's device and of the file on it.
func number(info fs.FileInfo) (device, inode uint64, ok bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return uint64(s.Dev), uint64(s.Ino), true
}
