package table

// Standard is the path of standard input: a pipe, whose table is never on a disk. It
// is read once, and an end that comes early cannot be told from the table's: whoever
// writes it states how many rows there are.
const Standard = "-"
