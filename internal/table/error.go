package table

import (
	"errors"
	"io/fs"
)

// Error is a fault of a file. Its text depends on the file's name, on the file's bytes that are not records,
// such as a header row, and on the operating system's answer. It never depends on records.
type Error struct {
	Path string
	Rule string
	err  error
}

func (e *Error) Error() string { return "table: " + e.Path + ": " + e.Rule }

// Unwrap returns the operating system's error, such as [fs.ErrNotExist]. It returns nil if the fault is in
// the file's content.
func (e *Error) Unwrap() error { return e.err }

// fault converts an error of opening or reading into an Error that may be shown. Only errors of the
// operating system and of this package are kept: errors of decoders may contain offsets.
func fault(path string, err error) error {
	var sys *fs.PathError
	var own *Error
	switch {
	case errors.As(err, &own):
		return &Error{path, own.Rule, own.err}
	case errors.As(err, &sys):
		return &Error{path, sys.Err.Error(), sys.Err}
	}
	return &Error{path, "the file is damaged: it ends early or fails its checksum", nil}
}
