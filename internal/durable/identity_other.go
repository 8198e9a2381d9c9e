//go:build !unix

package durable

import "io/fs"

func identity(fs.FileInfo) (device, inode uint64) { return 0, 0 }
