package regular

import "io/fs"

// Identity is a key for finding equal files among many: files that [os.SameFile] holds to be the same
// have equal identities. Different files have different ones on Unix. Elsewhere they may have the
// same one, if their sizes and times of modification are equal.
type Identity struct {
	device, inode  uint64
	size, modified int64
}

// IdentityOf returns the identity of a file, given what [os.File.Stat] returned for it.
func IdentityOf(info fs.FileInfo) Identity {
	if device, inode, ok := number(info); ok {
		return Identity{device: device, inode: inode}
	}
	return Identity{size: info.Size(), modified: info.ModTime().UnixNano()}
}
