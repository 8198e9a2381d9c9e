// Package parquet reads columns of Parquet files: those of flat columns, by parts of typed
// values. It is written for files of any origin, damaged and hostile ones included, whose
// rows are people's records.
//
// # What a row depends on
//
// A row's values are decided by the file's description of itself and by what is stored for
// the row. Every byte that is decoded was read from the file or decompressed from it in
// this page: a page whose contents are not exactly as long as it claims is damaged, and
// so nothing that memory held before can be read.
//
// # What can be read
//
// All codecs but LZO, where LZ4 is framed as Hadoop does; both versions of pages; all
// encodings but levels packed by bits, which no writer has used since 2014; checksums of
// pages are verified where they are. What cannot be read is an error of type Unsupported,
// which names the column and the rule. Such errors and ErrDamaged say nothing of values.
//
// # What memory is taken
//
// A claimed size is compared with what the file can hold before memory is taken for it:
// that of the description with the file, that of a page with MostPage or
// MostDictionary and with what its
// codec can make of its bytes. Counts of rows, values, and entries of dictionaries
// allocate nothing. A column being read holds a page as long as all pages held take less
// than File.Limit, and otherwise decompresses it again for each part.
package parquet
