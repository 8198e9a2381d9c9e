// Package parquet reads the flat columns of Parquet files, as batches of typed values. Files may come from any origin,
// and may be damaged or hostile. Their rows are people's records. [Writer] writes files of doubles and texts.
//
// # Isolation of rows
//
// A row's values depend only on the file's metadata and on the bytes stored for the row. Every decoded byte was read
// from the file, or decompressed from it, for the current page. A page whose contents are not exactly as long as its
// header states is an error. Therefore no earlier content of memory can appear as a value.
//
// # Supported features
//
// All codecs are supported except LZO. Of the older LZ4 codec only Hadoop's framing is supported. Both versions of data
// pages are supported, and all encodings except bit-packed levels, which no writer has used since 2014. Checksums of
// pages are verified if present. An unsupported feature is an error of type [Unsupported]. Its text gives the rule, and
// names the column if the feature belongs to a column. These errors and [ErrDamaged] reveal no values.
//
// # Memory
//
// Before memory is allocated for a size that the file states, the size is compared with a bound. For the metadata the
// bound is the size of the file. For a page it is MostPage or MostDictionary, and the largest size to which the codec
// can expand the page's bytes. No memory is allocated for stated counts of rows, values or dictionary entries.
//
// A column being read keeps its decompressed page in memory while the decompressed pages of all columns,
// and the bytes that callers declare with [Reader.Hold], take at most File.Limit bytes together. Beyond the
// limit, a page is decompressed again for each batch of rows. In addition, each row group being read has
// one page of compressed bytes and one dictionary in memory.
package parquet
