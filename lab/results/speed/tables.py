"""Writes the tables of turns.sh and readers.py into a folder: python tables.py FOLDER. Needs pyarrow and numpy."""

import pathlib
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

out = pathlib.Path(sys.argv[1])


def config(name, table, columns, target, loss):
    text = f"data: {table}\nschema:\n  columns:\n"
    text += "".join(f"    {c}: {{number: [{low}, {high}]}}\n" for c, low, high in columns)
    text += f"  target: {target}\nmodel: {{loss: {loss}}}\nprivacy: {{epsilon: 1, delta: 1e-6, relation: replace-one}}\n"
    (out / f"{name}.yaml").write_text(text)


# 200,000 rows of 50 numbers of six decimals and a class: 94 MB of CSV, 91 of Parquet.
r, n = np.random.default_rng(1), 200_000
x = {f"x{i}": np.round(r.normal(size=n) * 0.3, 6) for i in range(50)}
y = (sum(x[f"x{i}"] for i in range(5)) + r.logistic(size=n) > 0).astype(np.int64)
num = pa.table({**x, "y": y})
pq.write_table(num, out / "num.parquet")
pa.csv.write_csv(num, out / "num.csv")
pq.write_table(pa.table({**{k: v.astype(np.float32) for k, v in x.items()}, "y": y}), out / "num32.parquet")
for name, table in ("num", "num.parquet"), ("csv", "num.csv"), ("num32", "num32.parquet"):
    config(name, table, [(c, -1, 1) for c in x], '{column: y, classes: ["0", "1"]}', "logistic")

# A million rows of 20 numbers of four decimals, and of all digits: 140 and 387 MB of CSV, 36 and 166 of Parquet.
r, n = np.random.default_rng(1), 1_000_000
x = r.random((n, 20))
y = (2 * r.random(n) - 1 + x[:, ::2].sum(1) - x[:, 1::2].sum(1) > 0).astype(np.int64)
for name, numbers in ("four", np.round(x, 4)), ("long", x):
    table = pa.table({**{f"x{i}": numbers[:, i] for i in range(20)}, "y": y})
    pq.write_table(table, out / f"{name}.parquet")
    pa.csv.write_csv(table, out / f"{name}.csv", pa.csv.WriteOptions(quoting_style="none"))
    for ext in "csv", "parquet":
        columns = [(f"x{i}", 0, 1) for i in range(20)]
        config(f"{name}-{ext}", f"{name}.{ext}", columns, '{column: y, classes: ["0", "1"]}', "logistic")

# 20,000 rows of 784 numbers, of which 19% are not zero, and ten classes.
r, n = np.random.default_rng(2), 20_000
prototypes, y = r.random((10, 784)) < 0.19, r.integers(0, 10, n)
lit = r.random((n, 784)) < np.where(prototypes[y], 0.55, 0.10)
pixels = (lit * r.integers(1, 256, (n, 784))).astype(np.int16)
pq.write_table(pa.table({**{f"p{i}": pixels[:, i] for i in range(784)}, "y": y}), out / "digits.parquet")
classes = ", ".join(f'"{k}"' for k in range(10))
config("digits", "digits.parquet", [(f"p{i}", 0, 255) for i in range(784)], f"{{column: y, classes: [{classes}]}}", "softmax")
