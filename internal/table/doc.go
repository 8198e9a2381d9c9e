// Package table reads tables of records: CSV, plain or compressed by gzip or zstd, and
// Parquet, told apart by content rather than by name.
//
// Text is UTF-8, or UTF-16 with a byte order mark, with commas between fields, quoting
// as in RFC 4180, lines ended by LF or CRLF, and a header row; dataset.CSV says
// otherwise. A byte order mark at its start and white space before a field are dropped;
// empty lines are skipped, so that an empty cell alone on its line needs quotes. A header
// row with a CR in it is refused: where lines end in CR alone, it is the whole file. What
// is no text in its encoding is U+FFFD in the cell where it stands.
//
// A file without a header row starts with a record, whose bytes must decide nothing but
// that record's row: it is never Parquet, it is compressed if its name ends in .gz or
// .zst, its encoding is what dataset.CSV says, and no format is recognised in order to
// refuse it.
//
// Several files may be one table: their rows follow each other, in the order of the files.
// Each has a header row, with the same names in the same order, or none has; a record
// never goes on in the next file. No file may be there twice, by whatever names.
//
// # Parallel reading
//
// A quote may join lines, so that no place of a text tells by itself whether it is
// inside a cell. Chunks are therefore cut where records end by the one rule, applied from
// the start of the text; chunks without quotes are cut at their last newline, which is
// the same. Taking records apart and encoding them is for several goroutines, and what
// comes of it is taken in the order of the rows. Neither how many there are nor where
// chunks end changes a row.
//
// # Parquet
//
// Columns that are not looked at are not read, and may be of any form; others are flat.
// A value is read as the cell that the same table has as CSV: text and bytes as they are;
// integers in decimal; true or false; decimals with all digits of their scale; floats as
// the shortest decimal that is the same float of their width, with an exponent below 1e-6
// and from 1e21 on; dates as 2006-01-02, moments as 2006-01-02T15:04:05 with as many
// digits of a fraction as they need, and Z if they are of UTC; times of a day likewise;
// UUIDs as they are written. A value that is null is an empty cell, which is missing; NaN
// is no number, as in CSV. Rows of Parquet are never malformed. A row group is a chunk.
// Package internal/parquet says what can be read and what memory it takes.
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
// A table is one regular file, or several. When the end of the last is reached, each must
// be the file it was when the table was opened: the same size, time of modification and
// inode behind the same name. One that changed is refused, since rows of two states are a table of
// neither.
package table
