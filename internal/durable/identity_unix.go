//go:build unix

package durable

import (
	"io/fs"
	"syscall"
)

// identity returns the device and the number of a file of the real file system.
func identity(info fs.FileInfo) (device, inode uint64) {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Dev), stat.Ino
	}
	return 0, 0
}
