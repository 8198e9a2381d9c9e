package table

import (
	"io/fs"
	"os"
)

// watch tells whether a file is what it was when it was opened: the same file
// behind its name, of the same size and time of modification. The zero watch
// watches nothing.
type watch struct {
	path string
	file *os.File
	info fs.FileInfo
}

func newWatch(path string, file *os.File) (watch, error) {
	info, err := file.Stat()
	return watch{path, file, info}, err
}

func (w watch) changed() bool {
	if w.file == nil {
		return false
	}
	behind, err := os.Stat(w.path)
	if err != nil || !os.SameFile(w.info, behind) {
		return true
	}
	now, err := w.file.Stat()
	return err != nil || now.Size() != w.info.Size() || !now.ModTime().Equal(w.info.ModTime())
}
