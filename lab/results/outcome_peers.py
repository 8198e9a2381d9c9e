#!/usr/bin/env python3
"""diffprivlib and Opacus on the tables of lab/results/outcome.md, beside the default's figures there.

    python lab/results/outcome.py FOLDER CSV DATA
    for t in adult chain-death ...; do
        mkdir -p EXPORT/$t
        go test -tags results -count=1 -run TestExport ./lab/results -table FOLDER/$t.yaml -export EXPORT/$t
    done
    pip install diffprivlib opacus
    python lab/results/outcome_peers.py EXPORT [EPSILONS [RUNS [TABLES]]]

Rows are encoded as for a fit. All have the same epsilon and delta = 1e-6; diffprivlib needs none. The
default protects against replacing a record; Opacus's epsilon is for adding or removing one, about half as
strong. What the peers leave open is chosen by the held-out rows in hindsight, uncharged: C of logistic
regression, and rate and clip of DP-SGD (10 epochs, samples of a fiftieth). Bounds of linear regression are
taken from the rows. All of that is in their favour. diffprivlib has no loss but the logistic and the squared.
"""

import itertools
import os
import statistics
import sys
import warnings

import numpy as np
import torch
from diffprivlib.models import LinearRegression, LogisticRegression
from opacus import PrivacyEngine

HERE = os.path.dirname(os.path.abspath(__file__))
CONSTANTS = (0.001, 0.01, 0.1, 1, 10)
GRID = list(itertools.product((1, 8), (0.1, 1)))  # rate times clip, clip
EPOCHS, SAMPLE, DELTA = 10, 0.02, 1e-6
LOSSES = {
    "adult": "logistic", "chain-death": "logistic", "germans-outwork": "logistic", "wives-insured": "logistic",
    "adult-hinge": "hinge", "germans-income": "absolute", "food-quantile": "pinball 0.9", "cps1988-quantile": "pinball 0.9",
    "communes-illness": "huber 0.2", "cps1988": "huber 0.1", "diamonds": "huber 0.1", "films": "huber 0.1",
    "food": "huber 0.1", "ratings": "huber 0.5", "wives-hours": "huber 0.1", "words": "huber 0.1",
    "claims": "logistic", "quarrels": "logistic", "computers": "huber 0.1", "motorway": "huber 0.1",
    "computers-quantile": "pinball 0.9", "pupils": "absolute",
}  # fmt: skip


def loss_of(text):
    """The mean loss of margins z and targets y, both torch tensors."""
    name, _, number = text.partition(" ")
    if name == "logistic":
        return lambda z, y: torch.nn.functional.softplus(-y * z).mean()
    if name == "hinge":
        return lambda z, y: torch.relu(1 - y * z).mean()
    if name == "absolute":
        return lambda z, y: (y - z).abs().mean()
    k = float(number)
    if name == "pinball":
        return lambda z, y: torch.maximum(k * (y - z), (k - 1) * (y - z)).mean()
    return lambda z, y: torch.nn.functional.huber_loss(z, y, delta=k)


class Rows(torch.utils.data.Dataset):
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]

    def __getitems__(self, indices):
        return self.x[indices], self.y[indices]


def descend(x, y, loss, epsilon, rate, clip, seed):
    """DP-SGD by Opacus from w = 0; the average of the later half of its iterates."""
    torch.manual_seed(seed)
    model = torch.nn.Linear(x.shape[1], 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    loader = torch.utils.data.DataLoader(Rows(x, y), batch_size=int(SAMPLE * len(y)), collate_fn=lambda batch: batch)
    model, optimizer, loader = PrivacyEngine(accountant="rdp" if epsilon >= 0.5 else "prv").make_private_with_epsilon(
        module=model, optimizer=torch.optim.SGD(model.parameters(), lr=rate / clip), data_loader=loader,
        target_epsilon=epsilon, target_delta=DELTA, epochs=EPOCHS, max_grad_norm=clip,
    )  # fmt: skip
    total, steps = torch.zeros_like(model._module.weight), 0
    for epoch in range(EPOCHS):
        for some, truth in loader:
            optimizer.zero_grad()
            loss(model(some)[:, 0], truth).backward()
            optimizer.step()
            if epoch >= EPOCHS // 2:
                total += model._module.weight.detach()
                steps += 1
    return (total / steps)[0].numpy()


def published():
    """(table, epsilon) -> the default's loss, the constant's and the loss without privacy, from the page."""
    out = {}
    for line in open(os.path.join(HERE, "outcome.md")):
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if len(cells) == 14 and cells[0] in LOSSES:
            out[cells[0], float(cells[1])] = tuple(float(cells[i]) for i in (5, 6, 8))
    return out


def peers(folder, text, epsilon, runs):
    x, y, held, label = (np.load(f"{folder}/{n}.npy").astype(np.float32) for n in ("train-x", "train-y", "held-x", "held-y"))
    loss = loss_of(text)
    held_x, held_y = torch.from_numpy(held), torch.from_numpy(label)

    def score(w):
        return loss(held_x @ torch.from_numpy(np.asarray(w, np.float32)), held_y).item()

    def median(fit):
        return statistics.median(score(fit(seed)) for seed in range(1, runs + 1))

    theirs = None
    if text == "logistic":
        theirs = min(
            median(lambda s: LogisticRegression(epsilon=epsilon, data_norm=1.0001, C=c, fit_intercept=False, max_iter=1000,
                                                random_state=s).fit(x, y > 0).coef_[0])
            for c in CONSTANTS
        )  # fmt: skip
    elif text.startswith("huber"):
        wide = x.astype(float)
        bounds = (wide.min(0), np.maximum(wide.max(0), wide.min(0) + 1e-6))
        theirs = median(lambda s: LinearRegression(epsilon=epsilon, bounds_X=bounds, bounds_y=(-1, 1), fit_intercept=False,
                                                   random_state=s).fit(wide, y).coef_)  # fmt: skip
    tx, ty = torch.from_numpy(x), torch.from_numpy(y)
    best = min(GRID, key=lambda g: score(descend(tx, ty, loss, epsilon, *g, 0)))
    return theirs, median(lambda s: descend(tx, ty, loss, epsilon, *best, s)), best


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    root = sys.argv[1]
    epsilons = [float(e) for e in (sys.argv[2] if len(sys.argv) > 2 else "0.1,1").split(",")]
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    only = sys.argv[4].split(",") if len(sys.argv) > 4 else LOSSES
    page = published()
    print("| table | epsilon | default | diffprivlib | Opacus | rate, clip |\n|---|---|---|---|---|---|")
    for name, text in LOSSES.items():
        for epsilon in epsilons:
            folder = os.path.join(root, name)
            if name not in only or (name, epsilon) not in page or not os.path.exists(folder):
                continue
            ours, constant, without = page[name, epsilon]
            theirs, opacus, best = peers(folder, text, epsilon, runs)

            def saved(v):
                return "-" if v is None else f"{100 * (constant - v) / (constant - without):.0f}%"

            print(f"| {name} | {epsilon:g} | {saved(ours)} | {saved(theirs)} | {saved(opacus)} | {best[0]}, {best[1]} |", flush=True)


if __name__ == "__main__":
    main()
