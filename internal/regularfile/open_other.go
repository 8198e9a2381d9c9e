//go:build !unix

package regularfile

import "io/fs"

// nonblocking is a flag for opening files without waiting. It is 0, which is no flag, since this system has
// no flag for this.
const nonblocking = 0

// Number returns ok = false: on this system it cannot read the numbers of a file's device and inode.
func Number(fs.FileInfo) (device, inode uint64, ok bool) { return 0, 0, false }
