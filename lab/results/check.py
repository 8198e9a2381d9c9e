"""Recomputes figures of lab/results/ and compares them with what is written.

    lab/results/check.py LAB            a sample, in minutes (lab/results/check.sh builds lab/cmd/lab and runs it)
    lab/results/check.py LAB --all      every table that recipes.py can make again: hours
    lab/results/check.py --list         every table, how it is made, or why not; runs nothing

--all goes on from where it was stopped: runs and what commands print are kept in the folder --work. Another program
needs another folder, or an empty one. --page and --only take the pages, headings and sources that have a text;
--minutes ends each source after so long and compares what there is, and --kept runs nothing. --rewrite mends tables;
the sentences around them are left to a reader. A figure that is not within its interval, or whose text is not on its
page any more, is listed, and the exit status is 1. Tables that are not in this repository are those of the folder
--data (recipes.py says which); what needs them is left out without it.
"""

import argparse
import collections
import hashlib
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
from typing import NamedTuple

import recipes
from pages import HERE, cells, like, numbers, tables

# page, text, family, d, rows, n, settings, runs, figure, lowest, highest.
# A figure is the gradient norm ("g"), the same over the noise level r ("g/r"), or the share S1 for a gap.
# fmt: off
SAMPLES = [
    ("theorems.md", "| tanh | 20 | 1 | 10000 | 529 | 3.15 |", "tanh", 20, 1000, 10_000,
     {"algorithm": "gd", "output": "last"}, 5, "g/r", 2.5, 3.9),
    ("theorems.md", "| tanh | 100 | 1 | 100000 | 2044 | 3.81 | 1.15 | 1.61 | 4.03 | 1.26 |", "tanh", 100, 1000,
     100_000, {"algorithm": "gd"}, 5, "g/r", 1.0, 1.3),
    ("theorems.md", "| tanh | 100 | 1 | 100000 | 2044 | 3.81 | 1.15 | 1.61 | 4.03 | 1.26 |", "tanh", 100, 1000,
     100_000, {"algorithm": "storm"}, 5, "g/r", 1.1, 1.45),
    ("theorems.md", "| storm | 3.6e-4 | .150 | 1.00 | 1.00 | 125 | 11 |", "saddle(0.15)", 100, 2000, 100_000,
     {"algorithm": "storm"}, 3, "g", 2.8e-4, 4.2e-4),
    ("theorems.md", "| autoencoder(1) | 4.7e-4 (1) |", "autoencoder(1)", 20, 400, 100_000, {"algorithm": "gd"}, 5,
     "g", 3.6e-4, 6e-4),
    ("theorems.md", "| 7.5e-3 (1) | 9.1e-3 (1) | 6.2e-3 (1) | 7.3e-3 (1) |", "autoencoder(1)", 20, 400, 100_000,
     {"algorithm": "one-pass-sgd"}, 5, "g", 6e-3, 9e-3),
    ("theorems.md", "| 7.5e-3 (1) | 9.1e-3 (1) | 6.2e-3 (1) | 7.3e-3 (1) |", "autoencoder(1)", 20, 400, 100_000,
     {"algorithm": "second-order", "gap": 0.2}, 5, "g", 4.5e-3, 1.1e-2),
    ("theorems.md", "| autoencoder(3) | 7.9e-4 (1) |", "autoencoder(3)", 20, 400, 100_000,
     {"algorithm": "second-order", "gap": 0.2}, 5, 0.2, 0.6, 1),
    ("theorems.md", "| phase | 9.3e-4 (1) |", "phase", 20, 400, 100_000, {"algorithm": "gd"}, 5, "g", 5.5e-4, 1.1e-3),
    ("theorems.md", "| tanh-net | 7.4e-4 (1) |", "tanh-net", 16, 400, 100_000, {"algorithm": "gd"}, 3, "g", 6e-4,
     9.5e-4),
    ("theorems.md", "| | 1e5 | .017 | .053 | .0172 |", "capped(0.4)", 100, 1000, 100_000,
     {"algorithm": "o2nc", "radius": 0.4, "oracle": "single-pass"}, 3, "g", 0.014, 0.021),
    ("theorems.md", "| | 1e5 | .017 | .053 | .0172 |", "capped(0.4)", 100, 1000, 100_000,
     {"algorithm": "subgradient", "one_pass": True}, 3, "g", 0.014, 0.021),
    ("theorems.md", "| 4.1, multi-pass | 1e3 | .121 (.045-.204)", "capped(0.4)", 20, 1000, 1000,
     {"algorithm": "o2nc", "radius": 0.4, "oracle": "multi-pass", "theorem": True}, 9, "g", 0.045, 0.205),
    ("theorems.md", "| 4.1, ramp | 1e4 | .02 (.013-.21) | .015 (.012-.02) |", "ramp(0.4)", 20, 400, 10_000,
     {"algorithm": "o2nc", "radius": 0.4, "oracle": "multi-pass", "theorem": True, "look": 8}, 3, "g", 0.011, 0.022),
    ("theorems.md", "| zero | .0056 (.0048-.0057) | .039 (.033-.042) |", "capped(0.4)", 20, 400, 50_000,
     {"algorithm": "o2nc", "radius": 0.4, "oracle": "multi-pass", "order": "zero", "steps": 600}, 1, "g", 0.03, 0.045),
]
# fmt: on


def median(lab, work, number, family, d, rows, n, settings, runs, figure):
    algorithm = dict(settings)
    name = algorithm.pop("algorithm")
    spec = {
        "name": "check",
        "question": "Does it repeat?",
        "families": [family],
        "dimensions": [d],
        "rows": rows,
        "records": [n],
        "epsilons": [1],
        "seeds": runs,
        "workers": 1,
        "algorithms": [{"name": name, "settings": algorithm}],
    }
    share = isinstance(figure, float)
    if share:
        spec["gap"] = figure
    path, out = work / f"{number}.yaml", work / str(number)
    path.write_text(json.dumps(spec))  # JSON is YAML
    subprocess.run([lab, "experiment", "run", str(path), "--out", str(out)], check=True, capture_output=True)
    outcomes = [json.loads(line)["outcome"] for line in (out / "runs.jsonl").read_text().splitlines()]
    if share:
        near = [o["gradient_norm"] <= figure**2 and o["least_eigenvalue"]["value"] >= -figure / 2 for o in outcomes]
        return sum(near) / len(near)
    return statistics.median(o["gradient_norm"] / (o["floor"] if figure == "g/r" else 1) for o in outcomes)


# README, what it says of the file's table at epsilon .1, and the intervals for ten fits.
TABLE = ("at epsilon .1 .884 and .838", {"auc": (0.878, 0.889), "accuracy": (0.832, 0.844)})


def table():
    """Returns the medians of ten fits of Adult by lab/results/metric.sh."""
    example = HERE.parent.parent / "examples" / "adult"
    command = [str(HERE / "metric.sh"), str(example / "adult.yaml"), str(example / "adult.csv.gz"), "10", ".1"]
    words = subprocess.run(command, check=True, capture_output=True, text=True).stdout.replace("|", " ").split()
    return {key: float(words[words.index(key) + 1]) for key in TABLE[1]}


def sample(lab):
    """Recomputes SAMPLES and TABLE, and returns the number of figures that are not reproduced."""
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, (page, text, *run, low, high) in enumerate(SAMPLES):
            written = text in (HERE / page).read_text()
            got = median(lab, pathlib.Path(folder), number, *run)
            fine = written and low <= got <= high
            bad += not fine
            where = "" if written else f", and {page} does not say {text!r}"
            print(
                f"{'ok ' if fine else 'NOT'} {run[0]}, n = {run[3]}, {run[4]}: {got:.3g}, "
                f"written {low:g} to {high:g}{where}",
                flush=True,
            )
    medians, written = table(), TABLE[0] in (HERE.parent.parent / "README.md").read_text()
    for key, (low, high) in TABLE[1].items():
        fine = written and low <= medians[key] <= high
        bad += not fine
        print(
            f"{'ok ' if fine else 'NOT'} Adult, epsilon .1, {key}: {medians[key]:.4g}, written {low:g} to {high:g}",
            flush=True,
        )
    print(f"{bad} of {len(SAMPLES) + len(TABLE[1])} figures are not reproduced")
    return bad


class Figure(NamedTuple):
    """A number of a page."""

    line: int
    column: int
    written: float
    unit: float
    span: tuple[int, int]  # where it stands in its cell
    ask: object  # a reason, or what finds it again: (fields, measure), or (command, keys, column, index, share)


class Found(NamedTuple):
    value: float
    low: float
    high: float


def recipe_of(table):
    """Returns the recipe or the reason of a table; None if it has none."""
    for r in recipes.RECIPES:
        if (r.page, r.heading, r.nth) == (table.page, table.heading, table.nth):
            return r
    for r in recipes.REASONS:
        if r.page == table.page and r.heading in ("", table.heading) and r.nth in (None, table.nth):
            return r
    return None


def figures(table, recipe):
    """Returns all figures of a table that has a recipe or a reason."""
    if isinstance(recipe, recipes.Runs):
        return list(of_runs(table, recipe))
    if isinstance(recipe, recipes.Printed):
        return list(of_printed(table, recipe))
    if isinstance(recipe, recipes.Said):
        return list(of_said(table, recipe))
    return [
        Figure(row.line, i, n.value, n.unit, n.span, recipe.why)
        for row in table.rows
        for i, cell in enumerate(row.cells)
        if i
        for n in numbers(cell)
    ]


def plain(text):
    return re.sub(r"[*`]", "", text)


def parts(column):
    """Returns what a column of Runs is: a key, figures or a reason, or a key and figures in brackets after it."""
    return column if type(column) is tuple else (column,)


def keys_of(row, recipe):
    """Returns the fields that the keys of a row say, without those whose cell is empty."""
    said = {}
    for cell, column in zip(row.cells, recipe.columns):
        key, text = parts(column)[0], plain(cell)
        if not isinstance(key, recipes.Key) or not text or text in recipe.rows and text not in recipe.labels:
            continue
        text = next((t for t in (text, re.sub(r" \([^()]*\)$", "", text)) if t in recipe.labels), text)
        value = recipe.labels.get(text, text)
        for field, v in value.items() if isinstance(value, dict) else [(key.field, value)]:
            if field in ("dimension", "epsilon", "records", "N"):
                v = numbers(v)[0].value if numbers(v) else None
            said[field] = v
    return said


def of_runs(table, recipe):
    above = {}
    for row in table.rows:
        above.update(keys_of(row, recipe))
        other = recipe.rows.get(plain(row.cells[0]))
        fields, measures = other if isinstance(other, tuple) else ({}, None)
        here = {k: v for k, v in {**recipe.where, **above, **fields}.items() if v is not None}
        for i, column in enumerate(recipe.columns):
            part, cell = parts(column)[-1], row.cells[i]
            if isinstance(part, recipes.Key):
                continue
            if recipe.aside:
                cell = re.sub(recipe.aside, lambda m: " " * len(m[0]), cell)
            if len(parts(column)) > 1:
                cell = " " * cell.rfind("(") + cell[cell.rfind("(") :]
            for k, n in enumerate(numbers(cell)):
                if isinstance(part, str) or isinstance(other, str):
                    yield Figure(row.line, i, n.value, n.unit, n.span, part if isinstance(part, str) else other)
                    continue
                wanted = measures or part.measures
                if k >= len(wanted):
                    yield Figure(row.line, i, n.value, n.unit, n.span, f"number {k + 1} of a cell of {len(wanted)}")
                    continue
                where = {f: v.format(**here) if isinstance(v, str) else v for f, v in part.where.items()}
                unit = 0.01 if wanted[k] in ("S1", "S2") else n.unit  # shares of 0 and 1 are written without decimals
                yield Figure(row.line, i, n.value, unit, n.span, ({**here, **where}, wanted[k]))


def of_printed(table, recipe):
    above = {}
    for row in table.rows:
        for j in recipe.keys:
            above[j] = plain(row.cells[j]) and recipe.labels.get(row.cells[j], plain(row.cells[j])) or above.get(j, "")
        for i, cell in enumerate(row.cells):
            if i in recipe.keys:
                continue
            where = recipe.rows.get(plain(row.cells[0]), recipe.columns.get(i, "no figure"))
            for k, n in enumerate(numbers(cell)):
                which = row.cells[recipe.which]
                command = recipe.command.get(which) if isinstance(recipe.command, dict) else recipe.command
                command = command and command.replace("{row}", plain(which))
                if command is None and not isinstance(where, str):
                    where = "no command for the row"
                ask = (command, tuple(above[j] for j in recipe.keys), where, k, recipe.keep.get(i, 0))
                yield Figure(row.line, i, n.value, n.unit, n.span, where if isinstance(where, str) else ask)


def of_said(table, recipe):
    above = {}
    for row in table.rows:
        for j, name in recipe.keys.items():
            if text := plain(row.cells[j]):
                value = recipe.labels.get(text, text)
                above.update(value if isinstance(value, dict) else {name: value})
        texts = " | ".join(plain(row.cells[j]) for j in recipe.keys)
        above["row"] = recipe.labels.get(texts, texts)
        for i, cell in enumerate(row.cells):
            if i in recipe.keys:
                continue
            where = recipe.rows.get(texts, recipe.columns.get(i, "no figure"))
            reason = isinstance(where, str) and not where.startswith("^")
            pattern, words = (where, None) if isinstance(where, str) else where
            for k, n in enumerate(numbers(cell)):
                if reason:
                    yield Figure(row.line, i, n.value, n.unit, n.span, where)
                    continue
                known = pattern.format(**{name: re.escape(text) for name, text in above.items()})
                groups = re.compile(known).groups
                if k >= max(groups, len(words or ())):
                    yield Figure(row.line, i, n.value, n.unit, n.span, "the number of a note")
                    continue
                ask = (recipe.command, known, k + 1 if groups > 1 else 1, words[k] if words else "median")
                yield Figure(row.line, i, n.value, n.unit, n.span, (*ask, recipe.keep.get(i, 0)))


class Experiments:
    """The runs of specifications, kept in a folder."""

    def __init__(self, lab, work, minutes, kept):
        self.lab, self.work, self.minutes, self.kept, self.read = lab, work, minutes, kept, {}

    def of(self, spec):
        """Returns the summary of a specification and its runs; None for the summary if there are none."""
        if spec not in self.read:
            path, out = str(HERE / "specs" / f"{spec}.yaml"), self.work / spec
            try:
                if not self.kept:
                    subprocess.run(
                        [self.lab, "experiment", "run", path, "--out", str(out), "--workers", "1"],
                        check=True,
                        capture_output=True,
                        timeout=self.minutes and 60 * self.minutes,
                    )
            except subprocess.TimeoutExpired:
                pass
            done = subprocess.run(
                [self.lab, "experiment", "report", path, "--out", str(out), "--json"],
                capture_output=True,
                text=True,
            )
            runs = [json.loads(line) for line in (out / "runs.jsonl").read_text().splitlines()] if done.stdout else []
            self.read[spec] = (json.loads(done.stdout) if done.stdout else None, runs)
        return self.read[spec]

    def find(self, specs, where, measure):
        """Returns the figure again with the interval in which what is written may lie; None if there are no runs.

        Measures are those of runs (g, g/r, loss, excess, passes, steps, runs), the ends of their range (.min, .max),
        the shares S1 and S2, the least eigenvalue, the number of saddles returned, the excess risk over the first
        algorithm's, ratios and exponents with their ends. Intervals are quartiles over runs, or bootstraps; ends may
        be off by the width of theirs, shares by a run, steps by a twentieth. Cells that lack runs are left out.
        """
        for spec in [where["spec"]] if "spec" in where else specs:
            summary, runs = self.of(spec)
            if not summary or not summary["cells"]:
                continue
            those = [c for c in summary["cells"] if fits(c, where)]
            text = (HERE / "specs" / f"{spec}.yaml").read_text()
            seeds = int(re.search(r"(?m)^seeds: (\d+)", text)[1])
            if any(c["runs"] < seeds for c in those):
                return None
            sizes = re.search(r"(?m)^(?:records|effective): \[(.*)\]", text)[1].count(",") + 1
            lack = summary["missing"] and len({c["records"] for c in those}) < sizes
            if lack and measure.startswith(("slope", "risk")):
                return None
            if measure.split(".")[0] in ("slope", "risk") and measure != "slope.n":
                key = "slopes" if measure.startswith("slope") else "excess_risk_slopes"
                hits = [s for s in summary.get(key) or [] if fits(s, where)]
                if len(hits) == 1:
                    return ends(hits[0]["value"], hits[0]["low"], hits[0]["high"], measure)
                continue
            if measure == "slope.n" and len(those) > 1:
                x, y = (
                    [math.log(v) for v in vs]
                    for vs in zip(*((c["records"], c["gradient_norm"]["median"]) for c in those))
                )
                slope = statistics.linear_regression(x, y).slope
                return Found(slope, slope - 0.03, slope + 0.03)
            if len(those) == 1:
                return self.figure(summary, runs, those[0], measure)
        return None

    def figure(self, summary, runs, cell, measure):
        name, _, end = measure.partition(".")
        same = [c for c in summary["comparisons"] if all(c[k] == cell[k] for k in ("label", *PROBLEM))]
        if name == "ratio":
            return ends(same[0]["value"], same[0]["low"], same[0]["high"], measure) if same else None
        if name == "excess/first":
            firsts = [c for c in summary["cells"] if all(c[k] == cell[k] for k in PROBLEM)]
            firsts = [c for c in firsts if same and c["label"] == same[0]["baseline"]]
            a, b = cell.get("excess_risk"), firsts[0].get("excess_risk") if firsts else None
            return Found(a["median"] / b["median"], a["low"] / b["high"], a["high"] / b["low"]) if a and b else None
        if name in ("steps", "runs"):
            return Found(
                cell[name], *((0.95 * cell[name], 1.05 * cell[name]) if name == "steps" else (cell[name],) * 2)
            )
        if name in ("S1", "S2"):
            value, one = cell["second_order"]["near" if name == "S1" else "close"], 1 / cell["runs"]
            return Found(value, value - one, value + one)
        if name == "saddles":
            value = sum(r["outcome"]["least_eigenvalue"]["value"] < -r["gap"] / 2 for r in runs if same_cell(r, cell))
            return Found(value, value, value)
        unit = cell["floor"] if name == "g/r" else 1
        q = {
            "g": cell["gradient_norm"],
            "g/r": cell["gradient_norm"],
            "loss": cell["loss"],
            "passes": cell["passes"],
            "excess": cell.get("excess_risk"),
            "eigenvalue": (cell.get("second_order") or {}).get("least_eigenvalue"),
        }[name]
        if end:
            norms = [r["outcome"]["gradient_norm"] / unit for r in runs if same_cell(r, cell)]
            value, width = {"min": min, "max": max}[end](norms), (q["high"] - q["low"]) / unit
            return Found(value, value - width, value + width)
        return Found(q["median"] / unit, q["low"] / unit, q["high"] / unit)


PROBLEM = ("family", "dimension", "epsilon", "records")


def ends(value, low, high, measure):
    width = (high - low) / 2
    _, _, end = measure.partition(".")
    return {
        "": Found(value, low, high),
        "low": Found(low, low - width, low + width),
        "high": Found(high, high - width, high + width),
    }[end]


def fits(cell, where):
    """Reports whether a cell of a summary has the fields. A size N is written rounded."""
    for field, value in where.items():
        if field == "N":
            if "effective_size" in cell and abs(cell["effective_size"] / value - 1) > 0.03:
                return False
        elif field in cell and cell[field] != value:
            return False
    return True


def same_cell(run, cell):
    return (run["label"], run["settings"], run["rows"] * run["repeat"]) == (
        cell["label"],
        cell["settings"],
        cell["records"],
    ) and all(run[k] == cell[k] for k in PROBLEM[:3])


class Commands:
    """What commands print, kept in a folder. Those that name $DATA are run if there is a folder of that name."""

    def __init__(self, work, minutes, kept, data=None):
        self.work, self.minutes, self.kept, self.data, self.read = work, minutes, kept, data, {}

    def of(self, command):
        if command not in self.read:
            kept = self.work / (hashlib.sha256(command.encode()).hexdigest()[:16] + ".txt")
            if not kept.exists() and not self.kept and (self.data or "$DATA" not in command):
                try:
                    done = subprocess.run(
                        command,
                        shell=True,
                        cwd=HERE.parent.parent,
                        env={**os.environ, "DATA": str(self.data)},
                        capture_output=True,
                        text=True,
                        timeout=self.minutes and 60 * self.minutes,
                    )
                    kept.write_text(done.stdout)
                except subprocess.TimeoutExpired:
                    pass
            self.read[command] = kept.read_text() if kept.exists() else ""
        return self.read[command]

    def find(self, recipe, command, keys, column, index, share):
        """Returns a figure of the printed row with the keys, give or take a share of it; None if there is none.

        Of a pair of columns it is the quotient of their figures.
        """
        text = self.of(command)
        if recipe.before:
            _, _, text = text.partition(recipe.before)
        for line in text.splitlines():
            row = cells(line) if line.startswith("|") else line.split()
            columns = column if isinstance(column, tuple) else (column,)
            if len(row) > max(columns) and all(alike(keys[k], row[j]) for k, j in enumerate(recipe.keys)):
                found = [numbers(row[c])[index:] for c in columns]
                if all(found) and (len(columns) == 1 or found[1][0].value):
                    value = found[0][0].value / (found[1][0].value if len(columns) > 1 else 1)
                    return Found(value, value - share * abs(value), value + share * abs(value))
        return None

    def search(self, command, pattern, group, word, share):
        """Returns the median, or what the word says, of all numbers that the pattern finds; None if there is none.

        A quotient is that of the two groups of the pattern.
        """
        hits = list(re.finditer(pattern, self.of(command), re.MULTILINE))
        if word == "quotient":
            pairs = [(numbers(m[1])[:1], numbers(m[2])[:1]) for m in hits]
            found = [a[0].value / b[0].value for a, b in pairs if a and b and b[0].value]
        else:
            found = [n.value for m in hits for n in numbers(m[group])[:1]]
        if not found:
            return None
        value = {"min": min, "max": max}.get(word, statistics.median)(found)
        return Found(value, value - share * abs(value), value + share * abs(value))


def alike(a, b):
    a, b = plain(a), plain(b)
    x, y = numbers(a), numbers(b)
    return a == b or len(x) == 1 == len(y) and re.fullmatch(r"[-+.,\de]+", a) and math.isclose(x[0].value, y[0].value)


def every(page, only):
    """Returns all tables of the pages with their recipes, of those that have the texts."""
    for path in sorted(HERE.glob("*.md")):
        for t in tables(path.read_text(), path.name):
            r = recipe_of(t)
            source = " ".join(getattr(r, "specs", [])) + str(getattr(r, "command", ""))
            if page in t.page and (only in t.name or only in source):
                yield t, r


def all_of(lab, work, page, only, minutes, kept, rewrite, data=None):
    """Recomputes what recipes make; prints what is not within its interval, and a table of numbers of figures.

    With rewrite, tables with such a figure are written as they are now.
    """
    work.mkdir(parents=True, exist_ok=True)
    experiments, commands = Experiments(lab, work, minutes, kept), Commands(work, minutes, kept, data)
    total, why, bad = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter), 0
    for t, r in every(page, only):
        before, changes = bad, []
        if r is None:
            bad += 1
            print(f"NOT {t.name}: has neither a recipe nor a reason (lab/results/recipes.py)", flush=True)
            continue
        for f in figures(t, r):
            count = total[t.page]
            count["figures"] += 1
            got = None
            if isinstance(f.ask, str):
                why[t.page][f.ask] += 1
            elif isinstance(r, recipes.Runs):
                got = experiments.find(r.specs, *f.ask)
            elif isinstance(r, recipes.Said):
                got = commands.search(*f.ask)
            else:
                got = commands.find(r, *f.ask)
            if got is None:
                if not isinstance(f.ask, str):
                    fetched = data is None and "$DATA" in str(f.ask[0])
                    why[t.page][recipes.FETCHED if fetched else "not found again: " + t.name] += 1
                continue
            half = f.unit / 2 * (1 + 1e-6)
            count["made again"] += 1
            changes.append((f, got.value))
            if abs(got.value - f.written) <= half:
                count["as written"] += 1
            elif got.low - half <= f.written <= got.high + half:
                count["within"] += 1
            else:
                bad += 1
                print(
                    f"NOT {t.page}:{f.line}, column {f.column + 1} ({t.header[f.column]}): written {f.written:g}, now "
                    f"{got.value:.4g} ({got.low:.3g} to {got.high:.3g})",
                    flush=True,
                )
        if rewrite and bad > before:
            change(t, changes)
    print("\n| page | figures | made again | to their last digit | within their interval | not |")
    print("|---|---|---|---|---|---|")
    for name, c in total.items():
        again = c["made again"]
        fine = c["as written"] + c["within"]
        print(f"| {name} | {c['figures']} | {again} | {c['as written']} | {c['within']} | {again - fine} |")
    print()
    for name, reasons in why.items():
        for text, count in reasons.most_common():
            print(f"{name}: {count} not made again: {text}")
    return bad


def change(table, changes):
    """Writes figures of a table anew, each as it was written."""
    path = HERE / table.page
    lines = path.read_text().splitlines(keepends=True)
    for f, value in sorted(changes, key=lambda c: c[0].span, reverse=True):
        row = cells(lines[f.line - 1])
        low, high = f.span
        row[f.column] = row[f.column][:low] + like(row[f.column][low:high], value) + row[f.column][high:]
        lines[f.line - 1] = "|" + "|".join(f" {c} " if c else " " for c in row) + "|\n"
    path.write_text("".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lab", nargs="?", help="the program lab/cmd/lab, built; --list needs none")
    parser.add_argument("--all", action="store_true", help="every table that can be made again")
    parser.add_argument("--list", action="store_true", help="print every table and how it is made; run nothing")
    parser.add_argument("--page", default="", help="pages that have this text")
    parser.add_argument("--only", default="", help="headings, specifications and commands that have this text")
    parser.add_argument("--minutes", type=float, help="the most that one source may take")
    parser.add_argument("--kept", action="store_true", help="compare with what --work has; run nothing")
    parser.add_argument("--rewrite", action="store_true", help="write tables that are not reproduced as they are now")
    parser.add_argument("--data", type=pathlib.Path, help="a folder of tables that their publishers have (recipes.py)")
    parser.add_argument(
        "--work",
        type=pathlib.Path,
        default=pathlib.Path(tempfile.gettempdir()) / "stillpoint-check",
        help="where runs are kept (%(default)s)",
    )
    args = parser.parse_args()
    if args.list:
        for t, r in every(args.page, args.only):
            how = (
                ", ".join(getattr(r, "specs", []))
                or str(getattr(r, "command", ""))
                or f"not made again: {getattr(r, 'why', '?')}"
            )
            print(f"{t.page}:{t.line} {t.heading}: {how}")
        return 0
    if not args.lab:
        parser.error("needs the program lab/cmd/lab, built")
    if args.all:
        data = args.data and args.data.resolve()
        bad = all_of(args.lab, args.work, args.page, args.only, args.minutes, args.kept, args.rewrite, data)
    else:
        bad = sample(args.lab)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
