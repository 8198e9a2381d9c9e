#!/usr/bin/env python3
"""The bands of privacy noise of curves against the spread of repeated fits of a generated table.

    go build -o /tmp/stillpoint ./cmd/stillpoint
    python3 -m venv venv && venv/bin/pip install numpy
    venv/bin/python lab/results/bands.py /tmp/stillpoint [RUNS [LOSS]]

For each curve and interaction it prints the least, the median and the greatest measured over stated
deviation of its points. LOSS is logistic or squared(1).
"""

import json
import subprocess
import sys
import tempfile

import numpy as np

CONFIG = """
data: t.csv
schema:
  columns:
    age: {number: [18, 90], curve: auto}
    pay: {number: [0, 200000], transform: log1p, curve: auto}
    u: {number: [0, 1], curve: auto}
    c: {category: [a, b, c, d]}
    OTHER: ignore
  target: TARGET
  interactions: [[age, c], [age, u]]
privacy: {epsilon: 1, delta: 1e-6, relation: replace-one}
model: {loss: LOSS}
"""


def generate(folder):
    r, n = np.random.default_rng(1), 30000
    age = np.clip(18 + 72 * r.beta(1.6, 3.5, n), 18, 90)
    pay = np.expm1(np.clip(r.normal(8, 1.5, n), 0, 12))
    u, c = r.uniform(0, 1, n), r.choice(list("abcd"), n, p=[0.5, 0.3, 0.15, 0.05])
    z = -1 + 2 * np.sin((age - 18) / 20) - 0.1 * (np.log1p(pay) - 8) ** 2 + 1.5 * (u > 0.6) * (u - 0.6) + 0.6 * (c == "b")
    y = r.uniform(size=n) < 1 / (1 + np.exp(-z))
    with open(f"{folder}/t.csv", "w", encoding="utf-8") as f:
        f.write("age,pay,u,c,y,t\n")
        for i in range(n):
            f.write(f"{age[i]:.2f},{pay[i]:.2f},{u[i]:.4f},{c[i]},{'yes' if y[i] else 'no'},{z[i] + .5 * r.normal():.4f}\n")


def main():
    command, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 60
    loss = sys.argv[3] if len(sys.argv) > 3 else "logistic"
    target, other = ("{column: y, classes: [no, yes]}", "t") if loss == "logistic" else ("{column: t, number: [-6, 4]}", "y")
    said = []
    with tempfile.TemporaryDirectory() as folder:
        generate(folder)
        with open(f"{folder}/c.yaml", "w", encoding="utf-8") as f:
            f.write(CONFIG.replace("TARGET", target).replace("OTHER", other).replace("LOSS", loss))
        for run in range(runs):
            subprocess.run([command, "fit", "c.yaml", "--out", f"f{run}"], cwd=folder, check=True, capture_output=True)
            text = subprocess.run([command, "coefficients", f"f{run}", "--json"], cwd=folder, check=True, capture_output=True).stdout
            said.append(json.loads(text))
    said = [s for s in said if s["noise"] == "estimated"]
    print(f"{len(said)} of {runs} fits state the noise")

    def show(name, effects, deviations):
        ratio = np.std(effects, axis=0, ddof=1) / np.mean(deviations, axis=0)
        print(f"| {name} | {ratio.min():.2f} | {np.median(ratio):.2f} | {ratio.max():.2f} |")

    for i, c in enumerate(said[0]["curves"]):
        points = [s["curves"][i]["points"] for s in said]
        show(c["column"], [[p["effect"] for p in run] for run in points], [[(p["high"] - p["low"]) / 4 for p in run] for run in points])
    for i, u in enumerate(said[0]["surfaces"]):
        name = " and ".join(a["column"] for a in u["axes"])
        show(name, [np.ravel(s["surfaces"][i]["effect"]) for s in said], [np.ravel(s["surfaces"][i]["noise_sd"]) for s in said])


if __name__ == "__main__":
    main()
