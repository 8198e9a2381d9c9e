"""Writes one table as Parquet by several writers, and as the text it must be read as.

    python -m venv V && V/bin/pip install pyarrow duckdb polars numpy
    V/bin/python make.py OUT            the corpus: every writer, codec, encoding and page version
    V/bin/python make.py --small OUT    the fixtures beside this script

Each file of OUT holds some columns of the table OUT/expected.csv, by their names and with
all rows. The texts there are computed here, from the values that are handed to the writers:
no reader of Parquet has a part in them. expected.csv quotes every cell.

parquet-mr and arrow-rs rewrite a plain file of pyarrow's if their programs are given:

    --mr 'java -cp DIR:LIB/* Rewrite'   Rewrite.java, compiled with parquet-hadoop and hadoop-client
    --rs PATH                           rewrite.rs, built with the crate "parquet"

The fixtures were made by pyarrow 26, DuckDB 2.0, polars 2.1, parquet-mr 1.15.2 and
arrow-rs 60.1; the files' own footers tell which.
"""

import argparse
import csv
import datetime as dt
import decimal
import pathlib
import random
import shlex
import subprocess
import uuid

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

EPOCH = dt.date(1970, 1, 1)


def number(x, kind):
    """The shortest decimal of a float, as the package comment of internal/table spells it."""
    x = kind(x)
    if np.isnan(x):
        return "NaN"
    if np.isinf(x):
        return "+Inf" if x > 0 else "-Inf"
    if x != 0 and not 1e-6 <= abs(np.float64(x)) < 1e21:
        mantissa, exponent = np.format_float_scientific(x, unique=True, trim="-", exp_digits=2).split("e")
        return mantissa + "e" + exponent
    return np.format_float_positional(x, unique=True, trim="-")


def fraction(nanoseconds):
    return ("." + f"{nanoseconds:09d}").rstrip("0").rstrip(".")


def clock(nanoseconds):
    seconds, rest = divmod(nanoseconds, 10**9)
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}" + fraction(rest)


def moment(ticks, per_second, ending=""):
    days, rest = divmod(ticks * (10**9 // per_second), 86400 * 10**9)
    return f"{EPOCH + dt.timedelta(days=days)}T{clock(rest)}{ending}"


def money(unscaled, scale):
    digits = str(abs(unscaled)).rjust(scale + 1, "0")
    return "-" * (unscaled < 0) + digits[: len(digits) - scale] + "." + digits[len(digits) - scale :]


def table(n, seed=7):
    """Returns the columns as (name, Arrow array, texts)."""
    r = random.Random(seed)
    columns = []

    def add(name, kind, make, text, nulls="some"):
        values = [make(i) for i in range(n)]
        if nulls == "some":
            values = [None if r.random() < 0.15 else v for v in values]
        elif nulls == "runs":
            values = [None if i // 37 % 2 else v for i, v in enumerate(values)]
        elif nulls == "all":
            values = [None] * n
        texts = ["" if v is None else text(v) for v in values]
        array = pa.array([None if v is None else arrow(name, v) for v in values], kind)
        columns.append((pa.field(name, kind, nullable=nulls != "never"), array, texts))

    def arrow(name, v):
        if name.startswith("money"):
            return decimal.Decimal(money(v, 9 if name == "money_38" else 2))
        if name == "half":
            return np.float16(v)
        return v

    boolean = lambda v: "true" if v else "false"
    add("yes", pa.bool_(), lambda i: r.random() < 0.4, boolean)
    add("yes_never_null", pa.bool_(), lambda i: r.random() < 0.7, boolean, "never")
    add("yes_runs", pa.bool_(), lambda i: i // 100 % 2 == 0, boolean, "runs")
    for bits in (8, 16, 32, 64):
        low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        ends = [low, high, 0, -1, 1]
        add(f"int{bits}", getattr(pa, f"int{bits}")(), lambda i: ends[i] if i < 5 else r.randint(low, high), str)
        add(f"uint{bits}", getattr(pa, f"uint{bits}")(), lambda i: ends[i] % 2**bits if i < 5 else r.randint(0, 2**bits - 1), str)
    add("small", pa.int32(), lambda i: r.randint(-3, 20), str, "never")
    add("steps", pa.int64(), lambda i: 10**12 + 1000 * i + r.randint(0, 3), str, "runs")
    add("few", pa.int64(), lambda i: r.choice([5, -7, 2**40]), str)
    odd = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1e21, 1e-7, 1e-6, 0.1, 1 / 3]
    add("half", pa.float16(), lambda i: float(np.float16(r.gauss(0, 10))), lambda v: number(v, np.float32))
    add("single", pa.float32(), lambda i: float(np.float32(odd[i] if i < 10 else r.gauss(0, 10 ** r.randint(-8, 22)))), lambda v: number(v, np.float32))
    add("double", pa.float64(), lambda i: odd[i] if i < 10 else r.gauss(0, 10 ** r.randint(-8, 22)), lambda v: number(v, np.float64))
    add("double_few", pa.float64(), lambda i: r.choice([1.5, -2.25, 1e300]), lambda v: number(v, np.float64), "never")
    words = ["", "a, b", 'with "quotes"', "é", "line\nbreak", " space ", "x" * 70, "NULL", "0"]
    add("word", pa.string(), lambda i: r.choice(words), str)
    add("text", pa.string(), lambda i: f"prefix/{i // 10:05d}/" + "y" * r.randint(0, 9), str)
    add("text_runs", pa.string(), lambda i: f"{r.randint(0, 10**9)}", str, "runs")
    add("bytes", pa.binary(), lambda i: bytes(r.choice(b"abcXYZ") for _ in range(r.randint(0, 5))), lambda v: v.decode(), "never")
    add("fixed", pa.binary(5), lambda i: bytes(r.choice(b"abcXYZ") for _ in range(5)), lambda v: v.decode())
    add("money_9", pa.decimal128(9, 2), lambda i: r.randint(-(10**9) + 1, 10**9 - 1), lambda v: money(v, 2))
    add("money_18", pa.decimal128(18, 2), lambda i: r.randint(-(10**18) + 1, 10**18 - 1), lambda v: money(v, 2))
    add("money_38", pa.decimal128(38, 9), lambda i: r.randint(-(10**38) + 1, 10**38 - 1), lambda v: money(v, 9))
    add("day", pa.date32(), lambda i: r.randint(-(10**5), 10**5), lambda v: str(EPOCH + dt.timedelta(days=v)))
    for unit, per_second in (("ms", 10**3), ("us", 10**6), ("ns", 10**9)):
        tick = lambda i: r.randint(-(2**31), 2**32) * per_second + r.choice([0, 5, per_second // 2])
        add(f"at_{unit}", pa.timestamp(unit), tick, lambda v: moment(v, per_second))
        add(f"utc_{unit}", pa.timestamp(unit, "UTC"), tick, lambda v: moment(v, per_second, "Z"))
        of_day = lambda i: r.randint(0, 86400 * per_second - 1)
        time = pa.time32(unit) if unit == "ms" else pa.time64(unit)
        add(f"time_{unit}", time, of_day, lambda v: clock(v * (10**9 // per_second)))
    add("id", pa.uuid(), lambda i: uuid.UUID(int=r.getrandbits(128)).bytes, lambda v: str(uuid.UUID(bytes=v)))
    add("nothing", pa.float64(), lambda i: 1.0, str, "all")
    add("empty", pa.null(), lambda i: None, str, "all")
    return columns


def select(t, *prefixes):
    return t.select([c for c in t.column_names if any(c == p or c.startswith(p + "_") or c.rstrip("0123456789") == p for p in prefixes)])


CODECS = ("none", "snappy", "gzip", "brotli", "zstd", "lz4")
ENCODINGS = (
    ("RLE", ("yes",)),
    ("PLAIN", ("yes", "int", "double", "word")),
    ("DELTA_BINARY_PACKED", ("int", "uint", "small", "steps", "few", "day", "at")),
    ("DELTA_LENGTH_BYTE_ARRAY", ("word", "text", "bytes")),
    ("DELTA_BYTE_ARRAY", ("word", "text", "bytes", "fixed", "money_38")),
    ("BYTE_STREAM_SPLIT", ("single", "double", "int", "half", "fixed", "money", "nothing")),
)


def by_pyarrow(out, t, n, small):
    def write(name, t, **options):
        pq.write_table(t, out / f"pyarrow-{name}.parquet", **options)

    for codec in CODECS:
        for page in "1.0", "2.0":
            for dictionary in True, False:
                if small and (dictionary != (page == "1.0") or codec in ("none", "gzip")):
                    continue
                part = select(t, "small", "double", "word", "yes", "steps") if small else t
                write(f"{codec}-{page}-{'dictionary' if dictionary else 'values'}", part, compression=codec,
                      data_page_version=page, use_dictionary=dictionary, data_page_size=1000, row_group_size=n if small else 1100)
    for encoding, names in ENCODINGS:
        part = select(t, *names)
        for page in "1.0", "2.0":
            for codec in ("none", "snappy", "lz4"):
                if small and (codec != "none" or page == "1.0" and encoding != "RLE"):
                    continue
                write(f"{encoding}-{page}-{codec}", part, compression=codec, data_page_version=page, use_dictionary=False,
                      column_encoding={c: encoding for c in part.column_names}, data_page_size=700 if not small else 200)
    for size in (1, 7, n):
        if small and size != 7:
            continue
        write(f"groups-of-{size}", select(t.slice(0, n), "yes", "word", "double") if small or size == 1 else t, row_group_size=size, compression="none")
    write("checksum", select(t, "int", "text"), write_page_checksum=True, data_page_size=500)
    write("mixed", select(t, "word", "text", "double", "int"), dictionary_pagesize_limit=300, data_page_size=200, compression="none")
    write("overflow", select(t, "word", "single", "double", "int32", "int64", "money_38", "at_us"), dictionary_pagesize_limit=100,
          data_page_size=64, write_batch_size=8, compression="none")
    write("int96", pa.table({"at_ns": t["at_ns"]}), use_deprecated_int96_timestamps=True)
    write("categories", pa.table({c: t[c].dictionary_encode() for c in ("word", "text")}))
    write("integers-as-decimals", select(t, "money"), store_decimal_as_integer=True)


def by_duckdb(out, t, n, small):
    import duckdb

    c = duckdb.connect()
    c.execute("set timezone = 'UTC'")
    part = t.drop_columns(["empty", "half", "time_ms", "time_ns", "utc_ms", "utc_ns", "fixed"])
    c.register("t", part if not small else select(part, "yes", "int", "double", "word", "text"))
    for codec in ("uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4", "lz4_raw"):
        for version in "V1", "V2":
            if small and (codec, version) not in (("snappy", "V1"), ("lz4_raw", "V2")):
                continue
            path = out / f"duckdb-{codec}-{version}.parquet"
            c.execute(f"copy t to '{path}' (format parquet, compression {codec}, parquet_version {version}, row_group_size 2048)")


def by_polars(out, t, n, small):
    import polars

    part = t.drop_columns(["empty", "half", "time_ms", "time_us", "fixed", "id"])
    p = polars.from_arrow(part if not small else select(part, "yes", "small", "double", "word", "text"))
    for codec in ("uncompressed", "snappy", "gzip", "brotli", "zstd", "lz4"):
        for size in 500, n:
            if small and (codec, size) not in (("lz4", n), ("zstd", n)):
                continue
            p.write_parquet(out / f"polars-{codec}-{size}.parquet", compression=codec, row_group_size=size, data_page_size=2000)


def main():
    a = argparse.ArgumentParser()
    a.add_argument("out", type=pathlib.Path)
    a.add_argument("--small", action="store_true")
    a.add_argument("--mr")
    a.add_argument("--rs")
    a = a.parse_args()
    a.out.mkdir(parents=True, exist_ok=True)
    n = 60 if a.small else 3000
    columns = table(n)
    t = pa.table([array for _, array, _ in columns], pa.schema([field for field, _, _ in columns]))
    with open(a.out / "expected.csv", "w", newline="") as f:
        w = csv.writer(f, quoting=csv.QUOTE_ALL, lineterminator="\n")
        w.writerow(t.column_names)
        w.writerows(zip(*(texts for _, _, texts in columns)))
    by_pyarrow(a.out, t, n, a.small)
    by_duckdb(a.out, t, n, a.small)
    by_polars(a.out, t, n, a.small)
    plain = a.out / "plain.parquet"
    part = select(t, "yes", "small", "steps", "double", "word", "text") if a.small else t.drop_columns(["empty"])
    # arrow-rs without its extensions forgets that bytes are a UUID.
    for name, program, dropped in ("parquet-mr", a.mr, []), ("arrow-rs", a.rs, [] if a.small else ["id"]):
        if program:
            pq.write_table(part.drop_columns(dropped), plain, compression="none", use_dictionary=False)
            subprocess.run([*shlex.split(program), str(plain), str(a.out / name), "small" if a.small else "all"], check=True)
            plain.unlink()
    for path in a.out.glob(".*.crc"):  # parquet-mr's
        path.unlink()


main()
