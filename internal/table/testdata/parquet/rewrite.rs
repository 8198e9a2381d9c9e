//! Rewrites a Parquet file by arrow-rs, in each of its codecs, page versions and encodings: see make.py.

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::ArrowWriter;
use parquet::basic::{BrotliLevel, Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};
use std::fs::File;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let small = args[3] == "small";
    let codecs = [
        ("none", Compression::UNCOMPRESSED),
        ("snappy", Compression::SNAPPY),
        ("gzip", Compression::GZIP(GzipLevel::default())),
        ("brotli", Compression::BROTLI(BrotliLevel::default())),
        ("zstd", Compression::ZSTD(ZstdLevel::default())),
        ("lz4", Compression::LZ4),
        ("lz4_raw", Compression::LZ4_RAW),
    ];
    for (name, codec) in codecs {
        for (page, version) in [("1.0", WriterVersion::PARQUET_1_0), ("2.0", WriterVersion::PARQUET_2_0)] {
            for dictionary in [true, false] {
                if small && (name, dictionary, page) != ("lz4", false, "2.0") && (name, dictionary, page) != ("lz4_raw", true, "1.0") {
                    continue;
                }
                let mut properties = WriterProperties::builder()
                    .set_compression(codec)
                    .set_writer_version(version)
                    .set_dictionary_enabled(dictionary)
                    .set_data_page_size_limit(900)
                    .set_write_batch_size(64)
                    .set_max_row_group_row_count(Some(1100));
                if !dictionary && name == "none" {
                    for column in ["double", "single"] {
                        properties = properties.set_column_encoding(column.into(), Encoding::BYTE_STREAM_SPLIT);
                    }
                }
                let input = ParquetRecordBatchReaderBuilder::try_new(File::open(&args[1]).unwrap()).unwrap();
                let suffix = if dictionary { "-dictionary" } else { "" };
                let output = File::create(format!("{}-{name}-{page}{suffix}.parquet", args[2])).unwrap();
                let mut w = ArrowWriter::try_new(output, input.schema().clone(), Some(properties.build())).unwrap();
                for batch in input.build().unwrap() {
                    w.write(&batch.unwrap()).unwrap();
                }
                w.close().unwrap();
            }
        }
    }
}
