package table

// Standard is the path that means standard input. Standard input may be a pipe or a file in memory, so that
// the table need not be on a disk. It can be read only once. A truncated text cannot be detected, so the
// caller must state the number of rows.
const Standard = "-"

// Stream is the name that errors give to a table that is read from a stream (OpenStream).
const Stream = "the reader's table"
