#!/usr/bin/env python3
"""DP-SGD of Opacus on the encoded rows of a table: a linear model, logistic loss for two
classes and absolute errors for numbers.

    go test -tags results -count=1 -run TestExport ./lab/results -table CONFIG -export FOLDER
    python3 lab/results/dpsgd.py FOLDER DELTA [RUNS]

needs torch and opacus (Debian: python3-torch; then `pip install --no-deps opacus==1.3.0`,
opt_einsum, scipy, scikit-learn<1.6 and numpy<2 in an environment that sees it).

Epsilon is for adding or removing one record, as Opacus's samples ask for, by its
tightest accountant. What it leaves open (epochs, rate, clip) is chosen by the held-out
rows in hindsight, uncharged, from one run each: both are in its favour.
"""

import itertools
import statistics
import sys
import time
import warnings

import numpy as np
import torch
from opacus import PrivacyEngine
from sklearn.metrics import roc_auc_score

EPSILONS = (0.1, 0.5, 1, 2)
SAMPLE = 0.02  # of the records, in a step
GRID = list(itertools.product((10, 40), (1, 4, 16), (0.1, 1)))  # epochs, rate times clip, clip


def train(x, y, loss, epsilon, delta, epochs, rate, clip, seed):
    torch.manual_seed(seed)
    model = torch.nn.Linear(x.shape[1], 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate / clip)
    rows = torch.utils.data.TensorDataset(x, y)
    loader = torch.utils.data.DataLoader(rows, batch_size=int(SAMPLE * len(y)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, optimizer, loader = PrivacyEngine(accountant="prv").make_private_with_epsilon(
            module=model, optimizer=optimizer, data_loader=loader, target_epsilon=epsilon,
            target_delta=delta, epochs=epochs, max_grad_norm=clip,
        )  # fmt: skip
        total, steps = torch.zeros_like(model._module.weight), 0
        for epoch in range(epochs):
            for some, truth in loader:
                optimizer.zero_grad()
                loss(model(some)[:, 0], truth).backward()
                optimizer.step()
                if epoch >= epochs // 2:  # averages of the later half do better than ends
                    total += model._module.weight.detach()
                    steps += 1
    return (total / steps)[0].numpy()


def main():
    folder, delta = sys.argv[1], float(sys.argv[2])
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    torch.set_num_threads(1)

    def load(name):
        return np.load(f"{folder}/{name}.npy").astype(np.float32)

    x, y, held, truth, label = load("train-x"), load("train-y"), load("held-x"), load("held-truth"), load("held-y")
    two = len(np.unique(y)) == 2
    if two:
        loss = torch.nn.functional.binary_cross_entropy_with_logits
        target = torch.from_numpy((y > 0).astype(np.float32))

        def score(w):
            z = held @ w
            return roc_auc_score(label > 0, z), ((z > 0) == (label > 0)).mean()
    else:
        loss = torch.nn.functional.l1_loss
        target = torch.from_numpy(y)
        slope, middle = np.polyfit(label.astype(float), truth.astype(float), 1)

        def score(w):
            error = (held @ w).astype(float) * slope + middle - truth
            return -np.abs(error).mean(), np.sqrt((error**2).mean())

    x = torch.from_numpy(x)
    for epsilon in EPSILONS:
        start = time.process_time()

        def run(setting, seed):
            return score(train(x, target, loss, epsilon, delta, *setting, seed))

        best = max(GRID, key=lambda s: run(s, 0))
        one = (time.process_time() - start) / len(GRID)
        scores = [run(best, 1 + seed) for seed in range(runs)]
        first, second = (statistics.median(s[i] for s in scores) for i in (0, 1))
        print(f"| opacus, DP-SGD | {epsilon} | {abs(first):.5g} | {second:.5g} | epochs, rate, clip = {best}; {one:.1f} s a fit |", flush=True)


if __name__ == "__main__":
    main()
