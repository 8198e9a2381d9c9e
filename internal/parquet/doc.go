// Package parquet reads the flat columns of Parquet files, as batches of typed values. It is
// written for files of any origin, damaged and hostile files included, whose rows are people's
// records.
//
// # Isolation of rows
//
// A row's values depend only on the file's metadata and on the bytes stored for the row. Every byte
// that is decoded was read from the file or decompressed from it for this page: a page whose
// contents are not exactly as long as it claims is damaged, so no earlier content of memory can be
// read.
//
// # Supported features
//
// All codecs except LZO (of the older LZ4 codec only Hadoop's framing); both versions of data
// pages; all encodings except bit-packed levels, which no writer has used since 2014. Checksums of
// pages are verified if present. An unsupported feature is an error of type [Unsupported], which
// names the column and the rule. These errors and [ErrDamaged] reveal no values.
//
// # Memory
//
// Before memory is allocated for a claimed size, the size is compared with a bound: for the
// metadata the size of the file; for a page MostPage or MostDictionary, and the largest size to
// which its codec can expand its bytes. Counts of rows, values and dictionary entries allocate
// nothing. A column being read keeps its page in memory as long as all pages held take less than
// File.Limit; otherwise it decompresses the page again for each batch.
package parquet
