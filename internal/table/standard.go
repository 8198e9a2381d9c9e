package table

import (
	"io"
	"os"
)

// Standard is the path of standard input: a pipe, whose table is never on a disk. It
// is read once, and an end that comes early cannot be told from the table's: whoever
// writes it states how many rows there are.
const Standard = "-"

// standard opens the table that standard input holds. Errors call it by that name.
func standard() (Reader, error) {
	return read("standard input", io.NopCloser(os.Stdin), watch{})
}
