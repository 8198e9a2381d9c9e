"""Loss and processor time of fits with the metric of the whole second moment and with a diagonal one, on tables with wide
categories, as rows of Markdown.

    metric.py FOLDER FULL DIAGONAL

FULL and DIAGONAL are commands: DIAGONAL is built after the function Diagonal of optimize/firstorder was changed to
return whether there are more than 300 features. Numbers of a row share a part (rho), and their effects have alternating signs. It needs numpy.
"""

import json
import os
import resource
import statistics
import subprocess
import sys

import numpy as np

folder, commands = sys.argv[1], [os.path.abspath(c) for c in sys.argv[2:4]]
os.makedirs(folder, exist_ok=True)
os.chdir(folder)

# levels of a category, categories, share of levels in common, numbers, rho, family, epsilons
DESIGNS = [(1000, 1, 0, 10, 0, "lines", [0.5, 2]), (500, 1, 0, 10, 0, "lines", [0.5, 2]), (300, 3, 0, 10, 0, "lines", [0.5, 2]),
           (400, 1, 0, 10, 0.8, "lines", [1]), (400, 1, 0, 6, 0, "curves", [1]), (80, 6, 0.5, 10, 0, "lines", [1]),
           (1000, 1, 0, 20, 0.8, "lines", [1]), (300, 3, 0.7, 6, 0.8, "curves", [1])]


def table(name, rows, seed, levels, categories, common, numbers, rho):
    fixed, draw = np.random.default_rng(7), np.random.default_rng(seed)
    effects = [fixed.normal(size=levels) for _ in range(categories)]
    w = fixed.normal(size=numbers) * np.where(np.arange(numbers) % 2, 1, -1) * (1 + 4 * rho)
    shared = draw.random(rows) * draw.random(rows)
    cells = []
    for _ in range(categories):
        own = draw.random(rows) * draw.random(rows)
        cells.append((levels * np.where(draw.random(rows) < common, shared, own)).astype(int))
    x = (1 - rho) * draw.uniform(-1, 1, (rows, numbers)) + rho * draw.uniform(-1, 1, (rows, 1))
    z = 1.2 * sum(e[c] for e, c in zip(effects, cells)) / np.sqrt(categories) + x @ w
    y = draw.random(rows) < 1 / (1 + np.exp(-z))
    with open(name, "w") as f:
        f.write(",".join([f"c{i}" for i in range(categories)] + [f"a{j}" for j in range(numbers)] + ["ill"]) + "\n")
        for i in range(rows):
            f.write(",".join([f"t{c[i]}" for c in cells] + [f"{v:.3f}" for v in x[i]] + ["yes" if y[i] else "no"]) + "\n")


def fit(command):
    """Returns the processor seconds of a fit, and its mean loss on the other table."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([command, "fit", "wide.yaml", "--out", "fit", "--anyway"], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    shown = subprocess.run([commands[0], "evaluate", "fit/model.json", "test.csv", "--json"], check=True, capture_output=True)
    subprocess.run(["rm", "-r", "fit"], check=True)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, json.loads(shown.stdout)["log_loss"]


print("| levels | categories | numbers | rho | family | rows | epsilon | s, whole | s, diagonal | loss, whole | loss, diagonal |")
print("|---|---|---|---|---|---|---|---|---|---|---|")
for levels, categories, common, numbers, rho, family, epsilons in DESIGNS:
    for rows in (10_000, 40_000):
        table("train.csv", rows, 1, levels, categories, common, numbers, rho)
        table("test.csv", 10_000, 2, levels, categories, common, numbers, rho)
        for epsilon in epsilons:
            with open("wide.yaml", "w") as f:
                f.write("data: train.csv\nschema:\n  columns:\n")
                values = ", ".join(f"t{k}" for k in range(levels))
                f.write("".join(f"    c{i}: {{category: [{values}]}}\n" for i in range(categories)))
                f.write("".join(f"    a{j}: {{number: [-1, 1]}}\n" for j in range(numbers)))
                f.write('  target: {column: ill, classes: ["no", "yes"]}\n')
                f.write(f"model: {{loss: logistic, family: {family}}}\n")
                f.write(f"privacy: {{epsilon: {epsilon}, delta: 1.0e-5, relation: replace-one}}\n")
            runs = [[fit(c) for c in commands] for _ in range(3)]
            medians = [statistics.median(r[c][v] for r in runs) for v in (0, 1) for c in (0, 1)]
            print(f"| {levels} | {categories} | {numbers} | {rho} | {family} | {rows:,} | {epsilon} | "
                  + " | ".join(f"{m:.2f}" for m in medians[:2]) + " | " + " | ".join(f"{m:.4f}" for m in medians[2:]) + " |",
                  flush=True)
