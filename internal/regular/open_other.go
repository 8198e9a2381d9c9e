//go:build !unix

package regular

import "io/fs"

// nonblocking is a flag for opening files without waiting. It is 0, no flag, since this system has
// none.
const nonblocking = 0

// number returns false: files have no numbers that can be read here.
func number(fs.FileInfo) (device, inode uint64, ok bool) { return 0, 0, false }
