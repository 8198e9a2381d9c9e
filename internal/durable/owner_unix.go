//go:build unix

package durable

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// openFlags are flags of the system call open. With these flags, open does not follow a link and does not
// wait until another process opens the other end of a pipe.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// share gives a new file the write permissions of its folder, in spite of the umask. If the folder's group
// may write in the folder, the file's group may read and write the file, and the folder's group becomes the
// file's group if possible. If all users may write in the folder, all users may read and write the file.
func share(f *os.File, folder string) error {
	info, err := os.Stat(folder)
	if err != nil {
		return err
	}
	own, err := f.Stat()
	if err != nil {
		return err
	}
	mode := own.Mode().Perm()
	if info.Mode()&0o020 != 0 {
		mode |= 0o060
		// Only the owner of a file may change its group, and only to a group of which the owner is a
		// member. If Chown fails and the folder is not setgid, the folder's group gets no access.
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			_ = f.Chown(-1, int(stat.Gid))
		}
	}
	if info.Mode()&0o002 != 0 {
		mode |= 0o006
	}
	if mode == own.Mode().Perm() {
		return nil
	}
	return f.Chmod(mode)
}

// mayUnlink returns an error if the folder's sticky bit prevents this user from removing the file
// because another user owns it.
func mayUnlink(path string, info fs.FileInfo) error {
	folder, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return err
	}
	file, ok := info.Sys().(*syscall.Stat_t)
	dir, also := folder.Sys().(*syscall.Stat_t)
	me := os.Geteuid()
	if ok && also && folder.Mode()&os.ModeSticky != 0 && me != 0 && int(file.Uid) != me && int(dir.Uid) != me {
		return fmt.Errorf("%s: belongs to another user, and its folder is sticky: only they can replace it", path)
	}
	return nil
}
