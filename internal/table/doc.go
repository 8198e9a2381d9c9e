// Package table reads tables of records: CSV, plain or gzipped, told apart by
// content rather than by name.
//
// A table is UTF-8 text with commas between fields, quoting as in RFC 4180,
// lines ended by LF or CRLF, and a header row. A byte order mark at its start
// and white space before a field are dropped; empty lines are skipped, so that
// an empty cell alone on its line needs quotes. A header row with a CR in it is
// refused: where lines end in CR alone, it is the whole file.
//
// # What a fault may say
//
// Error texts are published with the rest of a run's output, so they must not
// depend on records. Faults of a file (missing, not a table, damaged, cannot be
// read) are errors that name the file and the rule: never a line, an offset, a
// count or a cell. Where reading stopped is not told either, since the number
// of rows read before it would be a fact about the table.
//
// A record that is no valid CSV is not an error but a malformed row: Next
// returns nil cells for it and reading goes on.
//
//   - A quote inside an unquoted field, or text after a closing quote, spoils
//     the record up to the end of that line. The next line starts a new one.
//
//   - A quoted field may span lines. A quote that is opened and not closed
//     therefore takes in the following lines up to the next quote, and without
//     one up to 16 MiB of the rest of the file, as one malformed row. What counts as a
//     row is settled by this rule before any privacy guarantee applies:
//     guarantees speak of replacing one parsed row, not one line of text.
//     Tables whose free text may hold stray quotes should be written by a
//     program that escapes them.
//
//   - A record of more than 16 MiB, line ends and quotes included, is malformed
//     and ends with the line that makes it too long: neither a quote that is not
//     closed nor a line without end takes more memory than that. Its own bytes
//     alone decide it.
//
// A record with too few cells is returned as it is, one with too many with one
// cell more than the header has.
//
// # What a table is
//
// A table is a regular file. When its end is reached it must be the file it was
// when it was opened: the same size, time of modification and inode behind the
// same name. One that changed is refused, since rows of two states are a table of
// neither.
package table
