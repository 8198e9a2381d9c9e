"""Writes small Parquet files at the edges of the format, by several writers.

    python -m venv V && V/bin/pip install pyarrow pandas duckdb polars fastparquet arro3-core arro3-io pyspark
    V/bin/python make.py OUT

A file's name is its case, a hyphen and its writer. The rows of each case are the first rows of the table ROWS
below, in their order, which expected.csv beside the files holds; the case says how many:

    none    no row (0)                            one     a single row (1)
    first   an empty row group before the rows    middle  an empty row group between two others
    last    an empty row group after the rows     runs    pages of all null and of no null values (9)

A writer that cannot make a case has no file of it: DuckDB, polars, arrow-rs and parquet-mr, for example, never
write an empty row group between others. pyspark (parquet-mr) is left out where it is not installed.

The fixtures were made by pyarrow 26, DuckDB 2.0, polars 2.1, fastparquet 2026.9, arrow-rs (arro3 0.8) and
parquet-mr (Spark 4); the files' own footers tell which.
"""

import csv
import glob
import os
import pathlib
import shutil
import sys

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

NAMES = ["whole", "real", "word", "yes", "never", "nothing"]
ROWS = [(i, None if 3 <= i < 6 else i / 4, None if 3 <= i < 6 else "ab" * (i % 3), None if i == 4 else i % 2 == 0, i * 7, None)
        for i in range(9)]
SCHEMA = pa.schema([pa.field("whole", pa.int64()), pa.field("real", pa.float64()), pa.field("word", pa.string()),
                    pa.field("yes", pa.bool_()), pa.field("never", pa.int32(), nullable=False),
                    pa.field("nothing", pa.float64())])
COUNTS = {"none": 0, "one": 1}


def text(v):
    return "" if v is None else str(v).lower() if isinstance(v, bool) else f"{v:.15g}" if isinstance(v, float) else str(v)


def by_pyarrow(out, t):
    empty = t.slice(0, 0)
    cases = {"none": [empty], "one": [t.slice(0, 1)], "first": [empty, t], "middle": [t.slice(0, 4), empty, t.slice(4)],
             "last": [t, empty], "runs": [t]}
    for version in "1.0", "2.0":
        for dictionary in True, False:
            if version == "1.0" and not dictionary:
                continue
            name = f"pyarrow-{version}" + ("-dictionary" if dictionary else "")
            for case, parts in cases.items():
                with pq.ParquetWriter(out / f"{case}-{name}.parquet", SCHEMA, data_page_version=version, use_dictionary=dictionary,
                                      data_page_size=1, write_batch_size=3, write_page_checksum=version == "2.0",
                                      compression="snappy" if dictionary else "none") as w:
                    for part in parts:
                        w.write_table(part)
    pq.ParquetWriter(out / "none-pyarrow-no-group.parquet", SCHEMA).close()
    t.to_pandas().iloc[:0].to_parquet(out / "none-pandas.parquet", engine="pyarrow", index=False)


def by_duckdb(out, t):
    import duckdb

    c = duckdb.connect()
    for case in "none", "one", "runs":
        c.register("t", t.slice(0, COUNTS.get(case, len(ROWS))))
        for version in "V1", "V2":
            c.execute(f"copy (select * from t) to '{out}/{case}-duckdb-{version}.parquet' "
                      f"(format parquet, parquet_version {version}, row_group_size 2048)")


def by_polars(out, t):
    import polars

    p = polars.from_arrow(t)
    for case in "none", "one", "runs":
        part = p.head(COUNTS.get(case, len(ROWS)))
        part.write_parquet(out / f"{case}-polars.parquet", row_group_size=3, data_page_size=1)
        part.lazy().filter(polars.col("never") >= 0).sink_parquet(out / f"{case}-polars-sink.parquet")


def by_fastparquet(out, t):
    import fastparquet

    f = pd.DataFrame({"whole": pd.array([r[0] for r in ROWS], "Int64"), "real": [r[1] for r in ROWS],
                      "word": pd.Series([r[2] for r in ROWS], dtype=object), "yes": pd.array([r[3] for r in ROWS], "boolean"),
                      "never": pd.Series([r[4] for r in ROWS], dtype="int32"),
                      "nothing": pd.Series([None] * len(ROWS), dtype="float64")})
    for case, offsets in {"none": [0], "one": [0], "first": [0, 0], "middle": [0, 4, 4], "last": [0, 9], "runs": [0, 3, 6]}.items():
        part = f.iloc[: COUNTS.get(case, len(ROWS))]
        try:
            fastparquet.write(str(out / f"{case}-fastparquet.parquet"), part, row_group_offsets=offsets, object_encoding="utf8",
                              write_index=False)
        except Exception as error:  # some releases refuse a table of no rows
            print(f"fastparquet {case}: {type(error).__name__}: {error}")
            (out / f"{case}-fastparquet.parquet").unlink(missing_ok=True)


def by_arrow_rs(out, t):
    import arro3.core
    import arro3.io

    empty = t.slice(0, 0)
    for case, parts in {"none": [empty], "one": [t.slice(0, 1)], "runs": [t.slice(0, 4), empty, t.slice(4)]}.items():
        for version in "parquet_1_0", "parquet_2_0":
            batches = [b for part in parts for b in (part.to_batches() or [pa.RecordBatch.from_pylist([], SCHEMA)])]
            arro3.io.write_parquet(arro3.core.Table.from_batches([arro3.core.RecordBatch.from_arrow(b) for b in batches],
                                                                 schema=arro3.core.Schema.from_arrow(SCHEMA)),
                                   out / f"{case}-arrow-rs-{version[-3:]}.parquet", writer_version=version,
                                   max_row_group_size=3, data_page_size_limit=1, write_batch_size=1)


def by_spark(out, t):
    try:
        from pyspark.sql import SparkSession, types as k
    except ImportError:
        print("pyspark is not installed: left out")
        return
    schema = k.StructType([k.StructField("whole", k.LongType()), k.StructField("real", k.DoubleType()),
                           k.StructField("word", k.StringType()), k.StructField("yes", k.BooleanType()),
                           k.StructField("never", k.IntegerType(), False), k.StructField("nothing", k.DoubleType())])
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    for case in "none", "one", "runs":
        for version in "v1", "v2":
            spark.conf.set("parquet.writer.version", version)
            rows = spark.createDataFrame(ROWS[: COUNTS.get(case, len(ROWS))], schema).coalesce(1)
            folder = out / "spark"
            rows.write.mode("overwrite").option("parquet.page.size", "100").option("parquet.writer.version", version).parquet(str(folder))
            (found,) = glob.glob(str(folder / "part-*.parquet"))
            os.replace(found, out / f"{case}-parquet-mr-{version}.parquet")
            shutil.rmtree(folder)
    spark.stop()


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    with open(out / "expected.csv", "w", newline="") as f:
        w = csv.writer(f, lineterminator="\n")
        w.writerow(NAMES)
        w.writerows([text(v) for v in row] for row in ROWS)
    t = pa.Table.from_pylist([dict(zip(NAMES, row)) for row in ROWS], SCHEMA)
    for write in by_pyarrow, by_duckdb, by_polars, by_fastparquet, by_arrow_rs, by_spark:
        write(out, t)


main()
