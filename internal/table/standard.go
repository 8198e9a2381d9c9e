package table

// Standard is the path of standard input: a pipe, so that the table need not be on a disk. It can
// be read only once. A truncated input cannot be detected, so the caller must state the number of
// rows.
const Standard = "-"
