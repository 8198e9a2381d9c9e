"""Recomputes a sample of the figures of results/ and compares them with what is written.

Each sample names a page, a text that must stand on it, and a run of `stillpoint experiment` with the interval in
which the median must lie: the figure's own range where the page gives one, else what a few seeds leave open. A
figure that is not on its page any more, or not within its interval, is listed, and the exit status is 1.
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

STILLPOINT = sys.argv[1]
HERE = pathlib.Path(__file__).parent

# page, text, family, d, rows, n, settings, runs, figure, lowest, highest.
# A figure is the gradient norm ("g"), the same over the noise level r ("g/r"), or the share S1 for a gap.
SAMPLES = [
    ("theorems.md", "| tanh | 20 | 1 | 10000 | 529 | 3.15 |", "tanh", 20, 1000, 10_000,
     {"algorithm": "gd", "output": "last"}, 5, "g/r", 2.5, 3.9),
    ("theorems.md", "| tanh | 100 | 1 | 100000 | 2044 | 3.81 | 1.15 | 1.61 | 4.03 | 1.26 |", "tanh", 100, 1000,
     100_000, {"algorithm": "gd"}, 5, "g/r", 1.0, 1.3),
    ("theorems.md", "| tanh | 100 | 1 | 100000 | 2044 | 3.81 | 1.15 | 1.61 | 4.03 | 1.26 |", "tanh", 100, 1000,
     100_000, {"algorithm": "storm"}, 5, "g/r", 1.1, 1.45),
    ("theorems.md", "| storm | 3.5e-4 | .150 | 1.00 | 1.00 | 125 | 11 |", "saddle(0.15)", 100, 2000, 100_000,
     {"algorithm": "storm"}, 3, "g", 2.8e-4, 4.2e-4),
    ("theorems.md", "| autoencoder(1) | 4.7e-4 (1) |", "autoencoder(1)", 20, 400, 100_000, {"algorithm": "gd"}, 5,
     "g", 3.6e-4, 6e-4),
    ("theorems.md", "| 7.5e-3 (1) | 9.1e-3 (1) | 6.2e-3 (1) | 7.3e-3 (1) |", "autoencoder(1)", 20, 400, 100_000,
     {"algorithm": "one-pass-sgd"}, 5, "g", 6e-3, 9e-3),
    ("theorems.md", "| 7.5e-3 (1) | 9.1e-3 (1) | 6.2e-3 (1) | 7.3e-3 (1) |", "autoencoder(1)", 20, 400, 100_000,
     {"algorithm": "second-order", "gap": 0.2}, 5, "g", 4.5e-3, 1.1e-2),
    ("theorems.md", "| autoencoder(3) | 7.9e-4 (1) |", "autoencoder(3)", 20, 400, 100_000,
     {"algorithm": "second-order", "gap": 0.2}, 5, 0.2, 0.6, 1),
    ("theorems.md", "| phase | 7.3e-4 (1) |", "phase", 20, 400, 100_000, {"algorithm": "gd"}, 5, "g", 5.5e-4, 1.1e-3),
    ("theorems.md", "| tanh-net | 7.5e-4 (1) |", "tanh-net", 16, 400, 100_000, {"algorithm": "gd"}, 3, "g", 6e-4, 9.5e-4),
    ("theorems.md", "| | 1e5 | .027 | .053 | .0172 |", "capped(0.4)", 100, 1000, 100_000,
     {"algorithm": "o2nc", "radius": 0.4, "oracle": "single-pass"}, 3, "g", 0.02, 0.035),
    ("theorems.md", "| | 1e5 | .027 | .053 | .0172 |", "capped(0.4)", 100, 1000, 100_000,
     {"algorithm": "subgradient", "one_pass": True}, 3, "g", 0.014, 0.021),
    ("theorems.md", "| 4.1, multi-pass | 1e3 | .121 (.045-.204)", "capped(0.4)", 20, 1000, 1000,
     {"algorithm": "o2nc", "radius": 0.4, "oracle": "multi-pass", "theorem": True}, 9, "g", 0.045, 0.205),
    ("theorems.md", "| 4.1, ramp | 1e4 | .02 (.013-.21) | .015 (.012-.02) |", "ramp(0.4)", 20, 400, 10_000,
     {"algorithm": "o2nc", "radius": 0.4, "oracle": "multi-pass", "theorem": True, "look": 8}, 3, "g", 0.011, 0.022),
    ("theorems.md", "| zero | .0056 (.0048-.0057) | .039 (.033-.042) |", "capped(0.4)", 20, 400, 50_000,
     {"algorithm": "o2nc", "radius": 0.4, "oracle": "multi-pass", "order": "zero", "steps": 600}, 1, "g", 0.03, 0.045),
]


def median(work, number, family, d, rows, n, settings, runs, figure):
    algorithm = dict(settings)
    name = algorithm.pop("algorithm")
    spec = {
        "name": "check", "question": "Does it repeat?", "families": [family], "dimensions": [d], "rows": rows,
        "records": [n], "epsilons": [1], "seeds": runs, "workers": 1,
        "algorithms": [{"name": name, "settings": algorithm}],
    }
    share = isinstance(figure, float)
    if share:
        spec["gap"] = figure
    path, out = work / f"{number}.yaml", work / str(number)
    path.write_text(json.dumps(spec))  # JSON is YAML
    subprocess.run([STILLPOINT, "experiment", "run", str(path), "--out", str(out)], check=True, capture_output=True)
    outcomes = [json.loads(line)["outcome"] for line in (out / "runs.jsonl").read_text().splitlines()]
    if share:
        near = [o["gradient_norm"] <= figure**2 and o["least_eigenvalue"]["value"] >= -figure / 2 for o in outcomes]
        return sum(near) / len(near)
    return statistics.median(o["gradient_norm"] / (o["floor"] if figure == "g/r" else 1) for o in outcomes)


# README, what it says of the file's table at epsilon .1, and the intervals for ten fits.
TABLE = ("at epsilon .1 .884 and .838", {"auc": (0.878, 0.889), "accuracy": (0.832, 0.844)})


def table():
    """Returns the medians of ten fits of Adult by results/metric.sh."""
    example = HERE.parent / "examples" / "adult"
    command = [str(HERE / "metric.sh"), str(example / "adult.yaml"), str(example / "adult.csv.gz"), "10", ".1"]
    words = subprocess.run(command, check=True, capture_output=True, text=True).stdout.replace("|", " ").split()
    return {key: float(words[words.index(key) + 1]) for key in TABLE[1]}


def main():
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, (page, text, *run, low, high) in enumerate(SAMPLES):
            written = text in (HERE / page).read_text()
            got = median(pathlib.Path(folder), number, *run)
            fine = written and low <= got <= high
            bad += not fine
            where = "" if written else f", and {page} does not say {text!r}"
            print(f"{'ok ' if fine else 'NOT'} {run[0]}, n = {run[3]}, {run[4]}: {got:.3g}, written {low:g} to {high:g}{where}", flush=True)
    medians, written = table(), TABLE[0] in (HERE.parent / "README.md").read_text()
    for key, (low, high) in TABLE[1].items():
        fine = written and low <= medians[key] <= high
        bad += not fine
        print(f"{'ok ' if fine else 'NOT'} Adult, epsilon .1, {key}: {medians[key]:.4g}, written {low:g} to {high:g}", flush=True)
    print(f"{bad} of {len(SAMPLES) + len(TABLE[1])} figures are not reproduced")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
