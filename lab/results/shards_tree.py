"""A step of gradient descent over Spark: a fit of stillpoint beside MLlib's way, treeAggregate, with numpy.

    python lab/results/shards_tree.py [ROWS [STEPS]]    in the environment of lab/results/shards.sh

Both hold the rows in the memory of two tasks of local[2] and send a gradient of the logistic loss to the driver at
each step. treeAggregate sums floats, without clipping, noise or ledger. Prints the seconds of a step: the time of a
run of 20 + STEPS steps less that of 20, over STEPS; of a fit, whose start takes longer than its steps, 20 times STEPS.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from shards import COLUMNS, CONFIG, config, table

FEW = 20


def slope(run, steps):
    times = []
    for count in (FEW, FEW + steps):
        began = time.time()
        run(count)
        times.append(time.time() - began)
    return (times[1] - times[0]) / steps


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 400_000
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    from pyspark.sql import SparkSession

    import stillpoint.spark

    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    frame = table(rows)
    with tempfile.TemporaryDirectory() as folder:
        stored = Path(folder) / "people.parquet"
        frame.to_parquet(stored, row_group_size=len(frame) // 4)
        people = spark.read.parquet(stored.as_uri()).coalesce(2)
        path = config(folder, "shared", "table: people")
        text = path.read_text()
        made = iter(range(10))

        def ours(count):
            path.write_text(text.replace("steps: 200", f"steps: {count}"))
            stillpoint.spark.fit(people, path, out=Path(folder) / f"fit{next(made)}", progress=False)

        def hold(part):
            cells = np.array([tuple(row) for row in part])
            yield np.column_stack([cells[:, :COLUMNS], np.ones(len(cells))]), 2 * cells[:, COLUMNS] - 1

        held = people.rdd.mapPartitions(hold).cache()
        held.count()

        def theirs(count):
            w = np.zeros(COLUMNS + 1)
            for _ in range(count):
                at = spark.sparkContext.broadcast(w)

                def add(total, part, at=at):
                    x, y = part
                    return total - x.T @ (y / (1 + np.exp(y * (x @ at.value))))

                w = w - held.treeAggregate(np.zeros(COLUMNS + 1), add, lambda a, b: a + b) / rows
                at.unpersist()

        assert "steps: 200" in CONFIG
        print(f"| {rows} rows, a step | seconds |\n|---|---|")
        for name, run, more in (("a fit", ours, 20), ("treeAggregate", theirs, 1), ("a fit, again", ours, 20)):
            print(f"| {name} | {slope(run, more * steps):.4f} |", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
