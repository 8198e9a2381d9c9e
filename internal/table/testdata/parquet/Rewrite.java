import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.column.ParquetProperties.WriterVersion;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.ParquetFileWriter;
import org.apache.parquet.hadoop.ParquetReader;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.example.ExampleParquetWriter;
import org.apache.parquet.hadoop.example.GroupReadSupport;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.parquet.schema.MessageType;

/** Rewrites a Parquet file by parquet-mr, in each of its codecs and page versions: see make.py. */
public class Rewrite {
  public static void main(String[] args) throws Exception {
    boolean small = args[2].equals("small");
    Path from = new Path(args[0]);
    Configuration conf = new Configuration();
    MessageType schema;
    try (ParquetFileReader r = ParquetFileReader.open(HadoopInputFile.fromPath(from, conf))) {
      schema = r.getFooter().getFileMetaData().getSchema();
    }
    String[] codecs = {"UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD", "LZ4_RAW", "LZ4"};
    for (String codec : codecs) {
      for (WriterVersion version : WriterVersion.values()) {
        for (boolean dictionary : new boolean[] {true, false}) {
          if (small && !(codec.equals("LZ4_RAW") && dictionary) && !(codec.equals("SNAPPY") && !dictionary)) {
            continue;
          }
          String page = version == WriterVersion.PARQUET_1_0 ? "1.0" : "2.0";
          String to = args[1] + "-" + codec + "-" + page + (dictionary ? "-dictionary" : "") + ".parquet";
          try (ParquetReader<Group> in = ParquetReader.builder(new GroupReadSupport(), from).withConf(conf).build();
              ParquetWriter<Group> out = ExampleParquetWriter.builder(new Path(to)).withType(schema).withConf(conf)
                  .withCompressionCodec(CompressionCodecName.valueOf(codec)).withWriterVersion(version)
                  .withDictionaryEncoding(dictionary).withByteStreamSplitEncoding(codec.equals("ZSTD"))
                  .withWriteMode(ParquetFileWriter.Mode.OVERWRITE).withPageSize(900).withRowGroupSize(200_000L).build()) {
            for (Group g = in.read(); g != null; g = in.read()) {
              out.write(g);
            }
          }
        }
      }
    }
  }
}
