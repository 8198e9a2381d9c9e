package table

// Standard is the path of standard input. It is a pipe, or a file in memory, so that the table need
// not be on a disk, and can be read only once. A truncated text cannot be detected, so the caller
// must state the number of rows.
const Standard = "-"

// Stream is the name, in errors, of a table that is read from a stream.
const Stream = "the reader's table"
