"""Exponents of gradient norms in the effective size N, beside those of the theorems' bounds.

    go run ./lab/cmd/lab experiment run lab/results/specs/theorem-rates.yaml --out rates
    go run ./lab/cmd/lab experiment run lab/results/specs/theorem-rates-epsilon.yaml --out rates-epsilon
    python3 lab/results/rates.py rates/runs.jsonl rates-epsilon/runs.jsonl

An exponent is the least-squares slope of the logarithm of the median norm in the logarithm of N, over the sizes of the
file. Its interval is the middle 95% of 2000 bootstrap samples of the runs of each size.
"""

import collections
import json
import sys

import numpy as np


def slope(sizes, norms):
    return np.polyfit(np.log(sizes), np.log([np.median(v) for v in norms]), 1)[0]


def main():
    for path in sys.argv[1:]:
        runs = collections.defaultdict(lambda: collections.defaultdict(list))
        for line in open(path):
            run = json.loads(line)
            outcome = run.get("outcome") or {}
            if "gradient_norm" in outcome:
                runs[run["label"]][outcome["effective_size"]].append(outcome["gradient_norm"])
        print(path)
        for label, by in runs.items():
            sizes = sorted(by)
            norms = [np.array(by[size]) for size in sizes]
            draw = np.random.default_rng(1)
            samples = [slope(sizes, [draw.choice(v, len(v)) for v in norms]) for _ in range(2000)]
            low, high = np.quantile(samples, [0.025, 0.975])
            medians = " | ".join(f"{np.median(v):.2g}" for v in norms)
            print(f"| {label} | {medians} | {slope(sizes, norms):.2f} ({low:.2f} to {high:.2f}) |")
        print("N:", [round(size) for size in sizes])


main()
