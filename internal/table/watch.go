package table

import (
	"io/fs"
	"os"
)

// watch detects whether a file has changed since it was opened: whether its path has another file, another
// size or another time of modification. A watch without info reports no change.
type watch struct {
	path string
	info fs.FileInfo
}

func newWatch(path string, file *os.File) (watch, error) {
	info, err := file.Stat()
	return watch{path, info}, err
}

func (w watch) changed() bool {
	if w.info == nil {
		return false
	}
	now, err := os.Stat(w.path)
	if err != nil || !os.SameFile(w.info, now) {
		return true
	}
	return now.Size() != w.info.Size() || !now.ModTime().Equal(w.info.ModTime())
}

// name returns the file's name for errors.
func (w watch) name() string {
	if w.path == Standard {
		return "standard input"
	}
	return w.path
}
