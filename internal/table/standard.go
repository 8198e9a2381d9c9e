package table

// Standard is the path of standard input: a pipe, so that the table need not be on a disk. It can
// be read only once. A truncated input cannot be detected, so the caller must state the number of
// rows.
const Standard = "-"

// Stream is what errors call a table that is read from a stream.
const Stream = "the reader's table"
