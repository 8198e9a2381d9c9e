"""Loss and processor time of fits before and with a metric of blocks, in pairs on tables with columns of many levels, as
rows of Markdown.

    blocks.py FOLDER BEFORE NOW REPETITIONS DATA [NAMES]

BEFORE and NOW are two builds of the command, whose fits take turns on the same table. DATA is a folder with adult.csv.gz and
pnwflights.csv.gz. NAMES are the tables to try. Times are those of one thread, with reading. It needs numpy.
"""

import json
import os
import resource
import statistics
import subprocess
import sys

import numpy as np

folder, repetitions, data = sys.argv[1], int(sys.argv[4]), os.path.abspath(sys.argv[5])
commands = [os.path.abspath(c) for c in sys.argv[2:4]]
names = sys.argv[6:]
os.makedirs(folder, exist_ok=True)
os.chdir(folder)

# levels of a category, categories, share of rows with levels in common, numbers, their correlation, family, loss
MADE = {
    "1000 levels": (1000, 1, 0, 10, 0, "lines", "logistic"),
    "1000 levels, numbers alike": (1000, 1, 0, 20, 0.8, "lines", "logistic"),
    "400 levels, curves": (400, 1, 0, 6, 0, "curves", "logistic"),
    "3 x 300 levels, alike, curves": (300, 3, 0.7, 6, 0.8, "curves", "logistic"),
    "6 x 80 levels, alike": (80, 6, 0.5, 10, 0, "lines", "logistic"),
    "400 levels, numbers alike": (400, 1, 0, 10, 0.8, "lines", "logistic"),
    "number, 2 x 400 levels": (400, 2, 0.3, 10, 0.5, "lines", "huber(0.2)"),
    "3 classes, 500 levels": (500, 1, 0, 8, 0.5, "lines", "softmax(3)"),
    "5 x 150 buckets of words": (150, 5, 0, 0, 0, "lines", "logistic"),
    "3000 levels, curves": (3000, 1, 0, 6, 0.5, "curves", "logistic"),
}


def made(name, rows, seed, levels, categories, common, numbers, rho, loss):
    fixed, draw = np.random.default_rng(7), np.random.default_rng(seed)
    outputs = 3 if loss.startswith("softmax") else 1
    effects = [fixed.normal(size=(levels, outputs)) for _ in range(categories)]
    w = fixed.normal(size=(numbers, outputs)) * np.where(np.arange(numbers) % 2, 1, -1)[:, None] * (1 + 4 * rho)
    shared = draw.random(rows) * draw.random(rows)
    cells = []
    for _ in range(categories):
        own = draw.random(rows) * draw.random(rows)
        if not numbers:  # words by Zipf's law
            own = np.minimum(levels ** draw.random(rows) / levels, .999)
        cells.append((levels * np.where(draw.random(rows) < common, shared, own)).astype(int))
    x = (1 - rho) * draw.uniform(-1, 1, (rows, numbers)) + rho * draw.uniform(-1, 1, (rows, 1))
    z = 1.2 * sum(e[c] for e, c in zip(effects, cells)) / np.sqrt(categories) + x @ w + np.sin(4 * x[:, :2]).sum(1, keepdims=True)
    if loss.startswith("huber"):
        y = [f"{v:.3f}" for v in np.clip(z[:, 0] + draw.normal(size=rows), -10, 10)]
    elif outputs > 1:
        y = [f"k{k}" for k in np.argmax(z + draw.gumbel(size=z.shape), axis=1)]
    else:
        y = ["yes" if v else "no" for v in draw.random(rows) < 1 / (1 + np.exp(-z[:, 0]))]
    with open(name, "w") as f:
        f.write(",".join([f"c{i}" for i in range(categories)] + [f"a{j}" for j in range(numbers)] + ["y"]) + "\n")
        for i in range(rows):
            f.write(",".join([f"t{c[i]}" for c in cells] + [f"{v:.3f}" for v in x[i]] + [y[i]]) + "\n")


def schema(levels, categories, numbers, loss):
    kind = "{hash: %d}" % levels if not numbers else "{category: [%s]}" % ", ".join(f"t{k}" for k in range(levels))
    target = {"h": "{column: y, number: [-10, 10]}", "s": "{column: y, classes: [k0, k1, k2]}"}
    return ("data: train.csv\nschema:\n  columns:\n" + "".join(f"    c{i}: {kind}\n" for i in range(categories))
            + "".join(f"    a{j}: {{number: [-1, 1]}}\n" for j in range(numbers))
            + "  target: " + target.get(loss[0], '{column: y, classes: ["no", "yes"]}') + "\n")


# changes of the examples' schemas; the tables have few rows of some levels
REAL = {
    "adult, occupation x education": ("adult", "logistic", "lines", "  interactions: [[occupation, education]]\n"),
    "adult, occupation x country": ("adult", "logistic", "lines", "  interactions: [[occupation, native_country]]\n"),
    "flights, carrier x destination": ("flights", "huber(0.01)", "lines", "  interactions: [[carrier, dest]]\n"),
    "flights, month x destination, curves": ("flights", "huber(0.01)", "curves", "  interactions: [[month, dest]]\n"),
}


def fit(command):
    """Returns the processor seconds of a fit, its error on the other table, and what its plan released about the rows."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    alone = dict(os.environ, GOMAXPROCS="1")
    subprocess.run([command, "fit", "wide.yaml", "--out", "fit", "--anyway"], check=True, capture_output=True, env=alone)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    test = ["test.csv"] if os.path.exists("test.csv") else [real, "--where", "split=test"]
    shown = json.loads(subprocess.run([commands[0], "evaluate", "fit/model.json", *test, "--json"], check=True,
                                      capture_output=True).stdout)
    subprocess.run(["rm", "-r", "fit"], check=True)
    error = shown["log_loss"] if "log_loss" in shown else shown["rmse"]
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, error


print("| table | rows | epsilon | s, before | s, now | error, before | error, now | now less before, with its standard error |")
print("|---|---|---|---|---|---|---|---|")
for name in list(MADE) + list(REAL):
    if names and name not in names:
        continue
    for rows in (10_000, 40_000) if name in MADE else (0,):
        if name in MADE:
            levels, categories, common, numbers, rho, family, loss = MADE[name]
            made("train.csv", rows, 1, levels, categories, common, numbers, rho, loss)
            made("test.csv", 10_000, 2, levels, categories, common, numbers, rho, loss)
            text = schema(levels, categories, numbers, loss)
        else:
            example, loss, family, more = REAL[name]
            root = os.path.join(data, example)
            text = open(os.path.join(root, example + ".yaml")).read().split("\nmodel:")[0]
            table = {"adult": "adult.csv.gz", "flights": "pnwflights.csv.gz"}[example]
            real = os.path.join(root, table)
            text = text.replace(f"data: {table}", f"data: {real}").replace("  where:", more + "  where:")
            if os.path.exists("test.csv"):
                os.remove("test.csv")
        for epsilon in (0.5, 1, 2):
            with open("wide.yaml", "w") as f:
                f.write(text + f"\nmodel: {{loss: {loss}, family: {family}}}\n"
                        + f"privacy: {{epsilon: {epsilon}, delta: 1.0e-6, relation: replace-one}}\n")
            runs = [[fit(c) for c in commands] for _ in range(repetitions)]
            seconds = [statistics.median(r[c][0] for r in runs) for c in (0, 1)]
            errors = [statistics.mean(r[c][1] for r in runs) for c in (0, 1)]
            apart = [r[1][1] - r[0][1] for r in runs]
            spread = statistics.stdev(apart) / len(apart) ** .5 if repetitions > 1 else float("nan")
            print(f"| {name} | {rows or 'all'} | {epsilon} | {seconds[0]:.2f} | {seconds[1]:.2f} | {errors[0]:.4f} | "
                  f"{errors[1]:.4f} | {statistics.mean(apart):+.4f} +- {spread:.4f} |", flush=True)
