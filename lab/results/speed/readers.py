"""Seconds of processor time of one thread that opening a table takes, beside pandas, polars, DuckDB and pyarrow in turn.

readers.py FOLDER TEST TURNS [NAME...]: each NAME.yaml in FOLDER is a configuration of tables.py; without names, csv, gz, num,
four-csv, four-parquet, long-csv and long-parquet. gz.yaml is csv.yaml with num.csv.gz (gzip -6). TEST is the test program of
results (go test -tags results -c ./lab/results). The import of the others, alone, is taken off.
"""

import os
import resource
import statistics
import subprocess
import sys

folder, test, turns = sys.argv[1], sys.argv[2], int(sys.argv[3])
names = sys.argv[4:] or ["csv", "gz", "num", "four-csv", "four-parquet", "long-csv", "long-parquet"]
env = {**os.environ, "GOMAXPROCS": "1", "POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

IMPORTS = {
    "pandas": "import pandas",
    "polars": "import polars",
    "duckdb": "import duckdb, numpy; c = duckdb.connect(); c.execute('set threads=1')",
    "pyarrow": "import pyarrow, pyarrow.csv, pyarrow.parquet; pyarrow.set_cpu_count(1)",
}
CSV = {
    "pandas": "pandas.read_csv(F)",
    "polars": "polars.read_csv(F)",
    "duckdb": "c.sql(f\"select * from read_csv('{F}')\").fetchnumpy()",
    "pyarrow": "pyarrow.csv.read_csv(F, read_options=pyarrow.csv.ReadOptions(use_threads=False))",
}
PARQUET = {
    "pandas": "pandas.read_parquet(F, use_threads=False)",
    "polars": "polars.read_parquet(F)",
    "duckdb": "c.sql(f\"select * from '{F}'\").fetchnumpy()",
    "pyarrow": "pyarrow.parquet.read_table(F, use_threads=False)",
}


def seconds(command, **more):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env={**env, **more}, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


taken = {}
for _ in range(turns):
    alone = {k: seconds([sys.executable, "-c", v]) for k, v in IMPORTS.items()}
    for config in names:
        with open(f"{folder}/{config}.yaml") as lines:
            file = lines.readline().removeprefix("data: ").strip()
        read = PARQUET if file.endswith("parquet") else CSV
        this = seconds([test, "-test.run", "TestReading$"], READING=f"{folder}/{config}.yaml")
        taken.setdefault((file, "this"), []).append(this)
        for k, code in read.items():
            other = seconds([sys.executable, "-c", f"{IMPORTS[k]}; F = '{folder}/{file}'; {code}"]) - alone[k]
            taken.setdefault((file, k), []).append(other)
            taken.setdefault((file, f"this over {k}"), []).append(this / other)
for what, values in taken.items():
    print(*what, f"{statistics.median(values):.2f}", [round(v, 2) for v in values])
