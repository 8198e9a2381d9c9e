#!/usr/bin/env python3
"""Logistic and linear regression of diffprivlib on the encoded rows of a table.

    go test -tags results -count=1 -run TestExport ./lab/results -table CONFIG -export FOLDER
    python3 -m venv venv && venv/bin/pip install diffprivlib
    venv/bin/python lab/results/rivals.py FOLDER [RUNS]

Both are epsilon-DP, with delta 0. What was tried is chosen by the held-out rows in
hindsight, uncharged, in the rival's favour: of logistic regression C; of linear
regression the bounds, which are taken from the rows themselves.
"""

import statistics
import sys
import warnings

import numpy as np
from diffprivlib.models import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score

EPSILONS = (0.1, 0.5, 1, 2)
CONSTANTS = (0.001, 0.01, 0.1, 1, 10)  # C, the inverse of the ridge


def classes(load, runs):
    x, y = load("train-x"), load("train-y") > 0
    held, truth = load("held-x"), load("held-y") > 0
    for epsilon in EPSILONS:
        best = (0,)
        for c in CONSTANTS:
            aucs, accuracies = [], []
            for seed in range(runs):
                model = LogisticRegression(
                    epsilon=epsilon, data_norm=1, C=c, fit_intercept=False, max_iter=1000, random_state=seed
                ).fit(x, y)
                aucs.append(roc_auc_score(truth, model.decision_function(held)))
                accuracies.append(model.score(held, truth))
            best = max(best, (statistics.median(aucs), statistics.median(accuracies), c))
        print(f"| diffprivlib LogisticRegression | {epsilon} | {best[0]:.4f} | {best[1]:.4f} | C = {best[2]} |")


def numbers(load, runs):
    x, y = load("train-x").astype(float), load("train-y").astype(float)
    held, truth = load("held-x").astype(float), load("held-truth").astype(float)
    slope, middle = np.polyfit(load("held-y").astype(float), truth, 1)
    bounds = (x.min(0), np.maximum(x.max(0), x.min(0) + 1e-6))
    for epsilon in EPSILONS:
        absolute, square = [], []
        for seed in range(runs):
            model = LinearRegression(
                epsilon=epsilon, bounds_X=bounds, bounds_y=(-1, 1), fit_intercept=False, random_state=seed
            ).fit(x, y)
            error = model.predict(held) * slope + middle - truth
            absolute.append(np.abs(error).mean())
            square.append(np.sqrt((error**2).mean()))
        print(f"| diffprivlib LinearRegression | {epsilon} | {statistics.median(absolute):.5g} | {statistics.median(square):.5g} | |")


def main():
    warnings.simplefilter("ignore")
    folder, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10

    def load(name):
        return np.load(f"{folder}/{name}.npy")

    two = len(np.unique(load("train-y"))) == 2
    (classes if two else numbers)(load, runs)


if __name__ == "__main__":
    main()
