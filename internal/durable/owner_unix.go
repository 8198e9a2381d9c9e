//go:build unix

package durable

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// openFlags keep an open from following a link and from waiting for the other
// end of a pipe.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// share lets those write to a new file who may write in its folder, in spite of
// the umask: the group, to which the file is given if that is possible, and
// others.
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
		// Only the owner may, and only to a group of theirs; where it fails, the
		// group of a folder that is not setgid is left without.
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

// mayUnlink reports whether a folder's sticky bit keeps this user from taking
// another's file away.
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
