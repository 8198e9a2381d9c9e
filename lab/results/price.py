#!/usr/bin/env python3
"""What privacy costs on Adult: the picture and the table of the README.

    python lab/results/price.py [--command stillpoint] [--fits 5] [--peers]

Fits examples/adult/adult.yaml as it stands at epsilon .1, .5 and 1, some times each, and beside it models without
privacy of scikit-learn on the same rows: a logistic regression with its defaults (numbers standardised, categories spread
out) and gradient-boosted trees with their defaults. Prints medians of the AUC and of the accuracy on the 16,281 held-out
rows, and writes docs/pictures/price.svg. --peers fits InterpretML's private boosting machine at
epsilon 1 as well, three times, where it is installed, with the bounds of adult.yaml.

Needs scikit-learn, pandas and PyYAML. The table is public, so that nothing here is charged.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import tempfile
import warnings
from pathlib import Path

import numpy
import pandas
import yaml
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "examples" / "adult" / "adult.yaml"
DELTA = 1e-6


def table():
    """The rows for training and the held-out rows, with the columns that adult.yaml uses."""
    columns = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))["schema"]["columns"]
    rows = pandas.read_csv(CONFIG.parent / "adult.csv.gz")
    numbers = [n for n, c in columns.items() if isinstance(c, dict) and "number" in c]
    categories = [n for n, c in columns.items() if isinstance(c, dict) and "category" in c]
    rows[categories] = rows[categories].fillna("other")
    parts = [rows[rows["split"] == s] for s in ("train", "test")]
    return columns, numbers, categories, *[(p[numbers + categories], p["income"].to_numpy()) for p in parts]


def spent() -> float:
    """Processor seconds of this process and of the programs that it started and that have ended."""
    own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


def judged(model, train, test) -> tuple[float, float, float]:
    """AUC and accuracy of a model on held-out rows, and the processor seconds of its fit."""
    begun = spent()
    model.fit(*train)
    seconds = spent() - begun
    chance = model.predict_proba(test[0])[:, 1]
    return roc_auc_score(test[1], chance), accuracy_score(test[1], numpy.asarray(chance) > 0.5), seconds


def private(command: str, epsilon: float, fits: int):
    """The medians over fits of AUC and accuracy, and the family that was fitted."""
    found, said = [], ""
    for _ in range(fits):
        with tempfile.TemporaryDirectory() as folder:
            begun = spent()
            out = subprocess.run([command, "fit", CONFIG, "--out", f"{folder}/fit", "--epsilon", str(epsilon), "--json"],
                                 check=True, capture_output=True, text=True).stdout  # fmt: skip
            seconds = spent() - begun
            fit = json.loads(out)
            said = str(fit.get("family", {}).get("name", "") if isinstance(fit.get("family"), dict) else fit.get("family", ""))
            measured = json.loads(subprocess.run(
                [command, "evaluate", f"{folder}/fit/model.json", CONFIG.parent / "adult.csv.gz", "--where", "split=test", "--json"],
                check=True, capture_output=True, text=True).stdout)  # fmt: skip
            found.append((measured["auc"], measured["accuracy"], seconds))
    return tuple(statistics.median(x) for x in zip(*found)), said


def peers(columns, numbers, categories, train, test):
    """Private models of other libraries at epsilon 1, with the bounds of adult.yaml."""
    plain = [(x.to_numpy(dtype=object), y) for x, y in (train, test)]
    try:
        from interpret.privacy import DPExplainableBoostingClassifier

        kinds = ["continuous"] * len(numbers) + ["nominal"] * len(categories)
        bounds = {n: tuple(columns[n]["number"]) for n in numbers}
        for composition in ("gdp", "classic"):
            found = []
            for seed in range(3):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model = DPExplainableBoostingClassifier(feature_types=kinds, epsilon=1, delta=DELTA, random_state=seed,
                                                            composition=composition,
                                                            privacy_bounds={i: bounds[n] for i, n in enumerate(numbers)})  # fmt: skip
                    found.append(judged(model, *plain))
            yield f"InterpretML, private boosting machine, {composition}", tuple(statistics.median(f) for f in zip(*found))
    except ImportError:
        print("InterpretML is not installed")


def picture(rows: list[tuple[str, float, str]]) -> str:
    """Bars from AUC .5, where a coin is, to 1. Each row has a name, an AUC and a colour."""
    width, height, left, right, top = 640, 84 + 34 * len(rows), 250, 70, 34
    at = lambda auc: left + (auc - 0.5) / 0.5 * (width - left - right)  # noqa: E731
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" font-family="sans-serif" font-size="14">',
             "<title>What privacy costs on Adult: area under the ROC curve on rows that no fit used</title>",
             f'<rect width="{width}" height="{height}" fill="#fff"/>',
             f'<text x="8" y="20" fill="#1c1f23">How well a model ranks people it has not seen (AUC; a coin has .5)</text>']
    for i, (name, auc, colour) in enumerate(rows):
        y = top + 34 * i
        parts.append(f'<text x="{left - 10}" y="{y + 17}" text-anchor="end" fill="#1c1f23">{name}</text>'
                     f'<rect x="{left}" y="{y + 2}" width="{at(auc) - left:.1f}" height="22" fill="{colour}"/>'
                     f'<text x="{at(auc) + 8:.1f}" y="{y + 18}" fill="#1c1f23" font-weight="bold">{auc:.3f}</text>'.replace(">0.", ">."))
    ours, line, trees = (auc for _, auc, _ in rows[-3:])
    words = [f"At epsilon 1, privacy cost {abs(trees - ours):.3f} of AUC against boosted trees,",
             f"and {'nothing' if ours >= line else f'{line - ours:.3f}'} against logistic regression."]  # fmt: skip
    for i, text in enumerate(words):
        parts.append(f'<text x="8" y="{height - 26 + 19 * i}" fill="#1c1f23">{text.replace(" 0.", " .")}</text>')
    parts.append(f'<line x1="{left}" x2="{left}" y1="{top - 4}" y2="{height - 48}" stroke="#59616b"/></svg>\n')
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", default="stillpoint")
    parser.add_argument("--fits", type=int, default=5)
    parser.add_argument("--peers", action="store_true")
    given = parser.parse_args()
    columns, numbers, categories, train, test = table()
    print("| model | epsilon | AUC | accuracy | processor seconds |\n|---|---|---|---|---|")

    def row(name: str, epsilon: str, found: tuple[float, float, float]) -> float:
        print(f"| {name} | {epsilon} | {found[0]:.4f} | {found[1]:.4f} | {found[2]:.1f} |".replace("| 0.", "| ."), flush=True)
        return found[0]

    drawn = []
    for epsilon in (0.1, 0.5, 1):
        found, family = private(given.command, epsilon, given.fits)
        auc = row(f"stillpoint{', ' + family if family else ''}, median of {given.fits} fits", str(epsilon), found)
        if epsilon != 0.5:
            drawn.append((f"Stillpoint, epsilon {epsilon:g}", auc, "#0072b2"))
    if given.peers:
        for name, found in peers(columns, numbers, categories, train, test):
            row(name, "1", found)
    spread = make_column_transformer((StandardScaler(), numbers), (OneHotEncoder(handle_unknown="ignore"), categories))
    logistic = make_pipeline(spread, LogisticRegression(max_iter=1000))
    auc = row("scikit-learn, LogisticRegression", "none", judged(logistic, train, test))
    drawn.append(("no privacy: logistic regression", auc, "#a2abb5"))
    coded = make_column_transformer(("passthrough", numbers), (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
                                                               categories))  # fmt: skip
    trees = make_pipeline(coded, HistGradientBoostingClassifier(random_state=0))
    auc = row("scikit-learn, HistGradientBoostingClassifier", "none", judged(trees, train, test))
    drawn.append(("no privacy: boosted trees", auc, "#a2abb5"))
    (ROOT / "docs" / "pictures" / "price.svg").write_text(picture(drawn), encoding="utf-8")


if __name__ == "__main__":
    main()
