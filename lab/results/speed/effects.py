"""Writes the generated table of lab/results/families.md, and its configuration: python effects.py FOLDER ROWS.

    stillpoint plan FOLDER/effects.yaml
    GOMAXPROCS=1 time stillpoint fit FOLDER/effects.yaml --out FOLDER/fit

12 numbers between 0 and 100 and 8 categories follow 4 normal factors. The target is a number that depends on single
columns and on pairs. Needs numpy and pandas.
"""

import pathlib
import sys

import numpy as np
import pandas as pd

LEVELS = [2, 3, 4, 5, 6, 8, 10, 12]
out, n = pathlib.Path(sys.argv[1]), int(sys.argv[2])
out.mkdir(parents=True, exist_ok=True)
r = np.random.default_rng(1)
z = r.normal(size=(n, 4))
table, text, of = {}, "data: effects.csv\nschema:\n  columns:\n", []
for j in range(12):
    v = z[:, j % 4] * 0.7 + r.normal(size=n) * 0.7
    table[f"n{j}"] = np.clip(np.round(v * 15 + 50, 1), 0, 100)
    text += f"    n{j}: {{number: [0, 100]}}\n"
for j, k in enumerate(LEVELS):
    level = np.clip(((z[:, j % 4] + r.normal(size=n) + 2.5) / 5 * k).astype(int), 0, k - 1)
    names = [f"v{i}" for i in range(k)]
    table[f"c{j}"] = np.array(names)[level]
    of.append(level / k)
    text += f"    c{j}: {{category: [{', '.join(names)}]}}\n"
x = [(table[f"n{j}"] - 50) / 15 for j in range(12)]
y = 10 * np.sin(x[0]) + 8 * x[1] * x[2] / (1 + x[1] ** 2) + 5 * np.abs(x[3]) + 6 * (of[3] > 0.5) * x[4]
y += 3 * of[5] + 4 * x[5] + r.normal(size=n) * 4
table["y"] = np.clip(np.round(y + 50, 2), 0, 100)
pd.DataFrame(table).to_csv(out / "effects.csv", index=False)
text += "  target: {column: y, number: [0, 100]}\nmodel: {loss: huber(0.1), family: auto}\n"
text += f"privacy: {{epsilon: 1, delta: 1e-6, relation: replace-one, records: {n}}}\n"
(out / "effects.yaml").write_text(text)
