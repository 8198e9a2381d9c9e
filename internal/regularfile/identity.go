package regularfile

import "io/fs"

// Identity is a key for finding the same file among many. Files that are the same by [os.SameFile] have equal
// identities. On Unix different files have different identities. On other systems different files have equal
// identities if their sizes and times of modification are equal.
type Identity struct {
	device, inode  uint64
	size, modified int64
}

// IdentityOf returns the identity of the file that info, a result of [os.File.Stat], describes.
func IdentityOf(info fs.FileInfo) Identity {
	if device, inode, ok := number(info); ok {
		return Identity{device: device, inode: inode}
	}
	return Identity{size: info.Size(), modified: info.ModTime().UnixNano()}
}
