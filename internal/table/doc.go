// Package table reads tables of records: CSV, plain or compressed by gzip or zstd, and Parquet. It
// recognises the format by content, not by name.
//
// Text is UTF-8, or UTF-16 with a byte order mark. Fields are separated by commas and quoted as in RFC 4180, lines end
// in LF or CRLF, and the first row is a header row. dataset.CSV declares other forms. A byte order mark at the start
// and white space before a field are dropped. Empty lines are skipped, so an empty cell alone on its line needs quotes.
// A file whose first line ends in CR alone is refused: if all lines end in CR alone, the header row would be the whole
// file. Bytes that are invalid in UTF-16 or windows-1252 become U+FFFD in their cell. Bytes of UTF-8 text stay as they
// are, and only a header row must be valid UTF-8.
//
// A file without a header row starts with a record. The bytes of this record must affect only their own row. A file
// without a header row is therefore never read as Parquet. It is decompressed if its name ends in .gz or .zst. Its
// encoding is the encoding that dataset.CSV declares. It is not refused for looking like another format.
//
// Several files may be one table: their rows follow each other, in the order of the files. Either
// all files have a header row, with the same names in the same order, or none has one. A record
// never continues in the next file. No file may be given twice, even under different names.
//
// # Parallel reading
//
// A quoted cell may span lines, so no part of a text shows by itself whether it is inside a cell. Chunks
// are therefore cut at ends of records, which are found by applying the rules from the start of the
// text. Chunks without quotes are cut at their last newline, which gives the same result. Several
// goroutines split and encode the records of chunks, and the results are used in the order of the
// rows. Neither the number of goroutines nor the cuts between chunks change a row.
//
// # Parquet
//
// Columns that the schema does not use are not read, and may have any type. All other columns must be
// flat: a row has at most one value. A value is read as the cell that the same table would have as CSV:
//
//   - Text and bytes are unchanged, integers are decimal, booleans are true or false, and UUIDs
//     have their usual form.
//   - Decimals have all digits of their scale. A float is the shortest decimal that is the same
//     float of its width, with an exponent below 1e-6 and from 1e21 on.
//   - Dates are written as 2006-01-02, timestamps as 2006-01-02T15:04:05, with as many digits of a
//     fraction as they need, and Z if they are in UTC. Times of day are written as 15:04:05, also with
//     as many digits of a fraction as they need.
//   - A null value is an empty cell, which is missing. NaN is not a number, as in CSV.
//
// A session uses readings ([Typed]), the numbers to which cells are mapped, in place of cells. The readings of typed
// values have the same bits as the readings of texts, but the text of a number or date need not be written, and each
// entry of a dictionary is read once. Rows of Parquet never have the wrong number of cells. A row group is a chunk.
// Package internal/parquet documents the supported features and the memory used.
//
// # Content of errors
//
// Error texts are published with the rest of a run's output, so they must not depend on records.
// Faults of a file (missing, not a table, damaged, cannot be read) are errors that name the file
// and the rule, never a line, an offset, a count or a cell. The position where reading stopped is
// not reported either, since the number of rows read before it would be a fact about the table.
//
// A record that is not valid CSV is not an error but a malformed row: Next returns nil cells for it
// and reading continues.
//
//   - A quote inside an unquoted field, or text after a closing quote, makes the record malformed
//     up to the end of that line. The next line starts a new record.
//   - A quoted field may span lines. A quote that is opened and not closed therefore includes the
//     following lines up to the next quote or, without one, up to 16 MiB of the rest of the file,
//     in one malformed row. This rule defines the rows before any privacy guarantee applies:
//     guarantees hold for replacing one parsed row, not one line of text. Tables whose free text
//     may contain stray quotes should be written by a program that escapes them.
//   - A record of more than 16 MiB, line ends and quotes included, is malformed and ends with the
//     line that makes it too long. Therefore neither an unclosed quote nor a line without end uses
//     more memory than 16 MiB. Only the record's own bytes decide whether it is too long.
//
// A record with too few cells is returned as it is. A record with too many cells is returned with one
// cell more than the header has.
//
// # Changes of files
//
// A table is one regular file, or several. When the end of the last file is reached, each file must
// still have the size, time of modification and inode that it had when the table was opened.
// Otherwise Next returns an error, since the rows would mix two states of the file.
package table
