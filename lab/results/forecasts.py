"""Compares the gradient norms that plans forecast with what their runs reach, by algorithm.

    python3 lab/results/forecasts.py FOLDER...      folders of runs, as `check.py --all` keeps them in --work

Of each problem, size, algorithm and settings the median over seeds counts once. Prints Markdown: predicted over
measured, its median over problems, on models that people fit (FITTED) and on families that are made hard in some way.
Runs by a theorem's settings are left out: their forecasts are the theorem's bounds.
"""

import collections
import json
import pathlib
import statistics
import sys


# Generalised linear models and means, whose curvature is what forecasts assume.
FITTED = {"tanh", "logistic", "logistic+nonconvex", "softmax", "smoothed-hinge(0.5)", "huber-mean"}


def ratios(folders):
    """Returns predicted over measured, by algorithm and whether people fit such models.

    Each problem, size and settings has one number.
    """
    runs = collections.defaultdict(dict)
    for folder in folders:
        for line in (pathlib.Path(folder) / "runs.jsonl").read_text().splitlines():
            r = json.loads(line)
            settings = r["settings"]
            if settings["algorithm"] == "auto" or settings.get("theorem") or r["population"]:
                continue
            key = (
                r["family"],
                r["dimension"],
                r["rows"],
                r["repeat"],
                r["epsilon"],
                json.dumps(settings, sort_keys=True),
            )
            runs[settings["algorithm"], key][r["seed"]] = r["outcome"]
    found = collections.defaultdict(list)
    for (algorithm, key), seeds in runs.items():
        measured = statistics.median(o["gradient_norm"] for o in seeds.values())
        predicted = next(iter(seeds.values()))["predicted_gradient_norm"]
        if measured > 0 and predicted > 0:
            found[algorithm, key[0] in FITTED].append(predicted / measured)
    return found


def main():
    found = ratios(sys.argv[1:])
    print(
        "| algorithm | models people fit: problems | median | within [.5, 2] | other families: problems | median | "
        "within [.5, 2] |\n|---|---|---|---|---|---|---|"
    )
    for algorithm in sorted({a for a, _ in found}):
        row = [algorithm]
        for fitted in (True, False):
            values = found.get((algorithm, fitted), [])
            within = sum(0.5 <= v <= 2 for v in values)
            row += [str(len(values)), f"{statistics.median(values):.2f}", str(within)] if values else ["0", "", ""]
        print(f"| {' | '.join(row)} |".replace("|  |", "| |").replace("|  |", "| |"))


if __name__ == "__main__":
    main()
