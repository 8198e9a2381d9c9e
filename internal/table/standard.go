package table

// Standard is the path of standard input: a pipe, whose table is never on a disk. It
// is read once, and an end that comes early cannot be told from the table's: whoever
// writes it states how many rows there are.
const Standard = "-"

// Stream is what errors call a table that is read from a stream.
const Stream = "the reader's table"
