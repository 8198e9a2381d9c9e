"""Figures of losses.md about the metric of ordered classes and their intervals.

    python ordered.py STILLPOINT metric DIAMONDS.csv.gz ADULT.csv.gz
    python ordered.py STILLPOINT coverage [DESIGN EPSILON FITS]...

The first prints the mean log loss on rows that were not fitted, of Nesterov's method and of the method with a metric. The
second draws tables with known coefficients, fits each with intervals and prints how often they hold the truth. It needs numpy
and pandas, and a fit takes about a second.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

COMMAND, PART = sys.argv[1:3]
FOLDER = Path(tempfile.mkdtemp())
SEEDS = 3


def run(*args):
    return subprocess.run([COMMAND, *args], check=True, capture_output=True, text=True).stdout


def fit(config, epsilon):
    path, out = FOLDER / "config.yaml", Path(tempfile.mkdtemp(dir=FOLDER)) / "fit"
    path.write_text(json.dumps({**config, "privacy": {"epsilon": epsilon, "delta": 1e-6, "relation": "replace-one"}}))
    run("fit", path, "--out", out)
    return out


def diamonds(path):
    d = pd.read_csv(path)
    numbers = ["carat", "depth", "table", "price", "x", "y", "z"]
    columns = {c: {"number": [float(np.floor(d[c].quantile(0.001))), float(np.ceil(d[c].quantile(0.999)))]} for c in numbers}
    columns |= {c: {"category": sorted(d[c].unique())} for c in ["color", "clarity"]}
    d["split"] = np.where(np.random.default_rng(0).random(len(d)) < 0.25, "test", "train")
    return d[[*columns, "cut", "split"]], columns, "cut", ["Fair", "Good", "Very Good", "Premium", "Ideal"]


def degrees(path):
    classes = ["none", "high-school", "some-college", "bachelor", "higher"]
    d = pd.read_csv(path)
    d["degree"] = pd.cut(d.education_num, [0, 8, 9, 12, 13, 16], labels=classes)
    columns = {"age": {"number": [17, 90]}, "hours_per_week": {"number": [1, 99]}}
    columns |= {c: {"category": sorted(str(v) for v in d[c].unique())} for c in ["sex", "race", "income", "occupation", "workclass", "marital_status"]}
    return d[[*columns, "degree", "split"]], columns, "degree", classes


def drawn(_):
    """Four classes of 25, 35, 30 and 10 per cent of 3,000 rows to fit and as many to test."""
    random, n = np.random.default_rng(1), 6000
    x, g = random.random((n, 6)), random.choice(4, n)
    z = x @ [2, -1.5, 1, 0, 0.5, 0] + np.array([0, 0.8, -0.5, 0.3])[g] + random.logistic(size=n)
    d = pd.DataFrame(x.round(4), columns=list("abcdef"))
    d["g"], d["y"] = np.array(list("wxyz"))[g], np.array(["k0", "k1", "k2", "k3"])[np.searchsorted(np.quantile(z, [0.25, 0.6, 0.9]), z)]
    d["split"] = np.where(np.arange(n) < n // 2, "train", "test")
    return d, {**{c: {"number": [0, 1]} for c in "abcdef"}, "g": {"category": list("wxyz")}}, "y", ["k0", "k1", "k2", "k3"]


def metric():
    print("| table | epsilon | Nesterov's method | with a metric |\n|---|---|---|---|")
    for table, path in [(diamonds, sys.argv[3]), (degrees, sys.argv[4]), (drawn, "")]:
        d, columns, target, classes = table(path)
        d.to_csv(FOLDER / "t.csv", index=False)
        config = {"data": str(FOLDER / "t.csv"), "model": {"loss": "ordered", "family": "lines"},
                  "schema": {"columns": {**columns, "split": {"public": ["train", "test"]}},
                             "target": {"column": target, "classes": classes}, "where": "split=train"}}  # fmt: skip
        for epsilon in [0.5, 1, 2]:
            cells = []
            for algorithm in ["nesterov", "preconditioned"]:
                found = [json.loads(run("evaluate", fit({**config, "train": {"algorithm": algorithm}}, epsilon) / "model.json", config["data"],
                                        "--where", "split=test", "--json"))["log_loss"] for _ in range(SEEDS)]  # fmt: skip
                cells.append(f"{np.mean(found):.4f} ± {np.std(found):.4f}")
            print(f"| {table.__name__} | {epsilon} | {cells[0]} | {cells[1]} |")


SHARES = [0.02, 0.05, 0.1, 0.25, 0.5]
LEVELS, NUMBERS = [0.5, -0.5, 0.4, -0.3, 0.3], [0.8, -0.5]
DESIGNS = {"four": [0.25] * 4, "first": [0.01, 0.33, 0.33, 0.33], "five": [0.2] * 5}


def draw(random, n):
    x, u = (random.random((n, 5)) < SHARES).astype(int), random.random((n, 2)).round(5)
    return x, u, x @ LEVELS + u @ NUMBERS + random.logistic(size=n)


def coverage():
    asked = sys.argv[3:] or [w for name in DESIGNS for epsilon in "14" for w in (name, epsilon, "40")]
    for name, epsilon, fits in zip(asked[::3], asked[1::3], asked[2::3]):
        cuts = np.quantile(draw(np.random.default_rng(99), 2_000_000)[2], np.cumsum(DESIGNS[name])[:-1])
        classes = [f"k{c}" for c in range(len(cuts) + 1)]
        names = [f"b{100 * s:.0f}" for s in SHARES]
        truth = {**{f"{c}=1": b for c, b in zip(names, LEVELS)}, "u": NUMBERS[0], "v": NUMBERS[1],
                 **{f"threshold {k + 1}": c - cuts[0] for k, c in enumerate(cuts) if k > 0}}  # fmt: skip
        config = {"data": str(FOLDER / "t.csv"), "model": {"loss": "ordered", "family": "lines"}, "inference": {"level": 0.95},
                  "schema": {"columns": {**{c: {"category": [0, 1]} for c in names}, "u": {"number": [0, 1]}, "v": {"number": [0, 1]}},
                             "target": {"column": "y", "classes": classes}}}  # fmt: skip
        random, held, wide = np.random.default_rng([7, len(name), int(epsilon)]), {}, {}
        for _ in range(int(fits)):
            x, u, z = draw(random, 20_000)
            d = pd.DataFrame(np.column_stack([x, u]), columns=[*names, "u", "v"]).astype({c: int for c in names})
            d["y"] = np.array(classes)[np.searchsorted(cuts, z)]
            d.to_csv(FOLDER / "t.csv", index=False)
            said = json.loads(run("coefficients", fit(config, float(epsilon)), "--json"))["intervals"]
            for e in said["coefficients"] + said["thresholds"]:
                if e["term"] in truth and e["state"] == "reported":
                    held.setdefault(e["term"], []).append(e["low"] <= truth[e["term"]] <= e["high"])
                    wide.setdefault(e["term"], []).append(e["high"] - e["low"])
        print(f"\n{name}, epsilon {epsilon}, {fits} fits: {np.mean([h for list in held.values() for h in list]):.3f} of all intervals")
        print("\n| term | reported | cover | mean width |\n|---|---|---|---|")
        for term in truth:
            if term in held:
                print(f"| {term} | {len(held[term])} | {np.mean(held[term]):.3f} | {np.mean(wide[term]):.3f} |", flush=True)
            else:
                print(f"| {term} | 0 | - | - |")


{"metric": metric, "coverage": coverage}[PART]()
