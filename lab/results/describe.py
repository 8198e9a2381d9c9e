#!/usr/bin/env python3
"""How near private descriptions are to the truth, and what bounds from them are worth: the tables of describe.md.

    python lab/results/describe.py --data FOLDER [--command stillpoint] [--runs 20] [--coverage 200]

FOLDER has adult.csv.gz, cps1988.csv.gz and diamonds.csv.gz (lab/results/tables and examples/adult describe them). Each
table is described with number: auto for every number, at epsilon .1 and 1, some times each. A fit with the bounds of a
description is compared with one that states public bounds and has the whole budget. Intervals are tried on a small
simulated table. The tables are public, so that nothing here is charged. Needs PyYAML.
"""

from __future__ import annotations

import argparse
import bisect
import csv
import gzip
import json
import math
import random
import statistics
import subprocess
import tempfile
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
DELTA = 1e-6
QUANTILES = {0.25: "quartiles", 0.5: "median", 0.75: "quartiles"}


def run(command, *args):
    done = subprocess.run([command, *args], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{args}: {done.stderr[-400:]}")
    return done.stdout


class Table:
    """A table with its configuration, all numbers of which are known by their rank."""

    def __init__(self, name, config, data, folder):
        self.config = yaml.safe_load(config.read_text())
        self.schema = self.config["schema"]
        with gzip.open(data / f"{name}.csv.gz", "rt") as f:
            rows = list(csv.DictReader(f))
        if "split" not in rows[0]:
            coin = random.Random(1)
            for r in rows:
                r["split"] = "test" if coin.random() < 0.25 else "train"
        self.name, self.path = name, folder / f"{name}.csv"
        with open(self.path, "w", newline="") as f:
            out = csv.DictWriter(f, rows[0].keys())
            out.writeheader()
            out.writerows(rows)
        self.rows = [r for r in rows if r["split"] == "train"]
        self.config["data"] = str(self.path)

    def auto(self):
        config = json.loads(json.dumps(self.config))
        for c in config["schema"]["columns"].values():
            if isinstance(c, dict) and "number" in c:
                c["number"] = "auto"
                c.pop("transform", None)
        return config

    def numbers(self):
        for name, c in self.schema["columns"].items():
            if isinstance(c, dict) and "number" in c:
                yield name, sorted(float(r[name]) for r in self.rows if r[name] not in ("", "NA"))


def described(command, config, folder, epsilon, *args):
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    out = folder / f"told-{random.random()}"
    text = run(command, "describe", str(path), "--epsilon", str(epsilon), "--delta", str(DELTA), "--out", str(out),
               "--json", *args)
    return json.loads(text), out


def rank_error(values, x, q):
    """How far the share of numbers below x is from q: 0 if it passes q at x."""
    low, high = bisect.bisect_left(values, x) / len(values), bisect.bisect_right(values, x) / len(values)
    return max(low - q, q - high, 0)


def errors(tables, command, folder, runs):
    print("| table, rows | epsilon | shares: median and largest error | median: error in rank | quartiles: error in rank "
          "| mean: error in sd | intervals that hold |")
    print("|---|---|---|---|---|---|---|")
    for t in tables:
        for epsilon in (0.1, 1):
            found = {"share": [], "median": [], "quartiles": [], "mean": []}
            held = stated = 0
            for _ in range(runs):
                d, _ = described(command, t.auto(), folder, epsilon)
                columns = {c["name"]: c for c in d["columns"]}
                for name, c in columns.items():
                    counts = {}
                    for r in t.rows:
                        counts[r[name]] = counts.get(r[name], 0) + 1
                    known = [level["name"] for level in c.get("levels", [])]
                    for level in c.get("levels", []):
                        truth = counts.get(level["name"], 0) / len(t.rows)
                        if level["name"] == "other":
                            truth = sum(n for v, n in counts.items() if v not in known[:-1]) / len(t.rows)
                        share = level["share"]
                        found["share"].append(abs(share["estimate"] - truth))
                        held, stated = held + (share["low"] <= truth <= share["high"]), stated + 1
                for name, values in t.numbers():
                    c = columns[name]
                    for q in c.get("quantiles", []):
                        if q["share"] in QUANTILES:
                            found[QUANTILES[q["share"]]].append(rank_error(values, q["estimate"], q["share"]))
                        i, j = math.ceil(q["share"] * len(values)) - 1, math.floor(q["share"] * len(values))
                        held += q["low"] <= values[min(j, len(values) - 1)] and q["high"] >= values[max(i, 0)]
                        stated += 1
                    if "mean" in c:
                        low, high = c["within"]
                        truth = statistics.fmean(min(max(x, low), high) for x in values)
                        held, stated = held + (c["mean"]["low"] <= truth <= c["mean"]["high"]), stated + 1
                        spread = statistics.pstdev(values)
                        found["mean"].append(abs(c["mean"]["estimate"] - statistics.fmean(values)) / spread)
            def middle(list): return f"{100 * statistics.median(list):.2f} %"
            print(f"| {t.name}, {len(t.rows):,} | {epsilon} | {middle(found['share'])}, {100 * max(found['share']):.1f} % "
                  f"| {middle(found['median'])} | {middle(found['quartiles'])} "
                  f"| {statistics.median(found['mean']):.3f} | {100 * held / stated:.1f} % of {stated:,} |")


def beside(tables, command, folder):
    """One description of each table at either epsilon, beside the truth."""
    print("\n| table | column | quantity | truth | epsilon 0.1 | epsilon 1 |")
    print("|---|---|---|---|---|---|")
    for t in tables:
        told = [{c["name"]: c for c in described(command, t.auto(), folder, e)[0]["columns"]} for e in (0.1, 1)]
        for name, values in list(t.numbers())[:3]:
            for q in QUANTILES:
                cells = []
                for d in told:
                    v = [v for v in d[name].get("quantiles", []) if v["share"] == q]
                    cells.append(" | ".join(f"{x['estimate']:.4g} ({x['low']:.4g} to {x['high']:.4g})" if abs(x["low"]) < 1e12
                                            and abs(x["high"]) < 1e12 else f"{x['estimate']:.4g} (no end)" for x in v) or "-")
                print(f"| {t.name} | {name} | {q:.0%} quantile | {values[math.ceil(q * len(values)) - 1]:g} | "
                      + " | ".join(cells) + " |")


def fits(tables, command, folder, runs):
    print("\n| table | figure on the held-out rows | public bounds, epsilon 1 | description at 0.3, fit at 0.95 |")
    print("|---|---|---|---|")
    for t in tables:
        figures = {"public": [], "told": []}
        for k in range(runs):
            for kind, epsilon in (("public", 1), ("told", 0.95)):
                config = json.loads(json.dumps(t.config))
                if kind == "told":
                    config = t.auto()
                    config["described"] = str(described(command, t.auto(), folder, 0.3)[1] / "describe.json")
                path, out = folder / "fit.yaml", folder / f"fit-{kind}-{t.name}-{k}"
                path.write_text(yaml.safe_dump(config, sort_keys=False))
                run(command, "fit", str(path), "--epsilon", str(epsilon), "--delta", str(DELTA), "--out", str(out), "--anyway")
                values = json.loads(run(command, "evaluate", str(out / "model.json"), str(t.path), "--where", "split=test", "--json"))
                name = "auc" if "auc" in values else "mae"
                figures[kind].append(values[name])
        print(f"| {t.name} | {name}, median of {runs} | {statistics.median(figures['public']):.4g} "
              f"| {statistics.median(figures['told']):.4g} |")


def coverage(command, folder, runs):
    """Intervals of level .95 over descriptions of one simulated table of 2,000 rows at epsilon 1."""
    coin = random.Random(7)
    path = folder / "simulated.csv"
    weights, costs, groups = [], [], []
    with open(path, "w") as f:
        f.write("weight,cost,group,ill\n")
        for _ in range(2000):
            group = coin.choice("aab")
            weights.append(round(coin.gauss(65 + 15 * (group == "b"), 9), 1))
            costs.append(round(math.exp(coin.gauss(5, 1)), 2))
            groups.append(group)
            f.write(f"{weights[-1]},{costs[-1]},{group},{coin.choice(['no', 'no', 'yes'])}\n")
    config = {"data": str(path), "schema": {
        "columns": {"weight": {"number": "auto"}, "cost": {"number": "auto"}, "group": {"category": ["a", "b"]}},
        "target": {"column": "ill", "classes": ["no", "yes"]}},
        "privacy": {"epsilon": 1, "delta": DELTA, "relation": "replace-one"}}
    held, stated, widths = {}, {}, {}

    def tell(kind, v, low, high):
        held[kind] = held.get(kind, 0) + (v["low"] <= high and v["high"] >= low)
        stated[kind] = stated.get(kind, 0) + 1
        widths.setdefault(kind, []).append(v["high"] - v["low"])

    for _ in range(runs):
        d, _ = described(command, config, folder, 1, "--by", "group")
        for c in d["columns"]:
            values = {"weight": weights, "cost": costs}.get(c["name"])
            if c["name"] == "group":
                for level in c["levels"]:
                    truth = groups.count(level["name"]) / len(groups)
                    tell("share of a level", level["share"], truth, truth)
                    for of in level.get("columns", []):
                        if of["name"] == "weight" and "mean" in of:
                            mine = [w for w, g in zip(weights, groups) if g == level["name"]]
                            truth = statistics.fmean(min(max(x, of["within"][0]), of["within"][1]) for x in mine)
                            tell("mean of weight in a group", of["mean"], truth, truth)
            if values is None:
                continue
            tell(f"{c['name']}: share missing", c["missing"], 0, 0)
            ordered = sorted(values)
            for q in c.get("quantiles", []):
                i = math.ceil(q["share"] * len(ordered)) - 1
                tell(f"{c['name']}: {q['share']:.0%} quantile", q, ordered[i], ordered[min(i + 1, len(ordered) - 1)])
            if "mean" in c:
                clamped = [min(max(x, c["within"][0]), c["within"][1]) for x in values]
                mean, spread = statistics.fmean(clamped), statistics.pstdev(clamped)
                tell(f"{c['name']}: mean", c["mean"], mean, mean)
                tell(f"{c['name']}: standard deviation", c["standard_deviation"], spread, spread)
    print("\n| value | intervals that hold it | median width |")
    print("|---|---|---|")
    for kind, n in stated.items():
        width = statistics.median(widths[kind])
        print(f"| {kind} | {held[kind]} of {n} | {'no end' if width > 1e9 else f'{width:.3g}'} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--command", default="stillpoint")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--fits", type=int, default=5)
    parser.add_argument("--coverage", type=int, default=200)
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        tables = [Table("adult", ROOT / "examples/adult/adult.yaml", a.data, folder),
                  Table("cps1988", ROOT / "lab/results/tables/cps1988.yaml", a.data, folder),
                  Table("diamonds", ROOT / "lab/results/tables/diamonds.yaml", a.data, folder)]
        coverage(a.command, folder, a.coverage)
        errors(tables, a.command, folder, a.runs)
        beside(tables, a.command, folder)
        fits(tables, a.command, folder, a.fits)


if __name__ == "__main__":
    main()
