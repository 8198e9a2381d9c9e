"""Fits a generated table in one process, over Dask and over Spark, and kills a process of Dask.

    lab/results/shards.sh            makes an environment and runs this in it
    python lab/results/shards.py N   N rows, 400000 if left out

Prints seconds until the fit is done. Models are compared in Go to the bit
(TestModelsOverShards), by seeded coins; fits here draw secret ones.
"""

import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd

import stillpoint

CONFIG = """
{table}
schema:
  columns:
{columns}
  target: {{column: y, classes: ["0", "1"]}}
model: {{loss: logistic}}
privacy: {{epsilon: 1, delta: 1.0e-6, relation: replace-one}}
train: {{algorithm: gd, steps: 200}}
"""
COLUMNS = 12


def table(rows):
    coins = np.random.default_rng(1)
    x = coins.random((rows, COLUMNS)).round(3)
    y = (x[:, 0] + coins.normal(size=rows) / 3 > 0.5).astype(int)
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(COLUMNS)]).assign(y=y)


def config(folder, name, first):
    path = Path(folder) / f"{name}.yaml"
    columns = "\n".join(f"    x{j}: {{number: [0, 1]}}" for j in range(COLUMNS))
    path.write_text(CONFIG.format(table=first, columns=columns))
    return path


def killing(folder, kill):
    """Calls kill once the fit in a folder has released something."""

    def wait():
        while not (folder / "journal-1.jsonl").exists():
            time.sleep(0.01)
        kill()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()


def timed(name, run, folder):
    began = time.time()
    fit = run()
    seconds = time.time() - began
    assert fit.report["complete"] and fit.verify()["epsilon"] == 1
    print(f"| {name} | {seconds:.1f} |", flush=True)
    shutil.rmtree(folder)


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 400_000
    frame = table(rows)
    with tempfile.TemporaryDirectory() as folder:
        whole, out = Path(folder) / "whole.csv", Path(folder) / "fit"
        frame.to_csv(whole, index=False)
        print(f"| {rows} rows | seconds |\n|---|---|")
        alone = config(folder, "alone", f"data: {whole}\ntable: people")
        shared = config(folder, "shared", "table: people")
        timed("one process", lambda: stillpoint.fit(alone, out=out, progress=False), out)
        over_dask(frame, shared, out)
        over_spark(frame, shared, out, Path(folder) / "people.parquet")


def over_spark(frame, path, out, stored):
    if shutil.which("java") is None:
        print("Spark: there is no Java here: left out")
        return
    from pyspark.sql import SparkSession

    import stillpoint.spark

    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    frame.to_parquet(stored, row_group_size=len(frame) // 4)
    people = spark.read.parquet(stored.as_uri()).coalesce(2)
    timed("Spark, two tasks", lambda: stillpoint.spark.fit(people, path, out=out, progress=False), out)
    spark.stop()


def over_dask(frame, path, out):
    import dask.dataframe as dd
    import distributed

    import stillpoint.dask

    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster:
        with distributed.Client(cluster) as client:
            parts = dd.from_pandas(frame, npartitions=2)
            timed("Dask, two workers", lambda: stillpoint.dask.fit(parts, path, out=out, progress=False), out)
            pids = list(client.run(os.getpid).values())
            killing(out, lambda: os.kill(pids[0], signal.SIGKILL))
            timed("Dask, a process of Dask killed", lambda: stillpoint.dask.fit(parts, path, out=out, progress=False), out)


if __name__ == "__main__":
    main()
