#!/usr/bin/env python3
"""Measures what lab/results/python.md says: overhead of the estimator over the command,
and the same task in other libraries. Times are processor seconds of this process and
of the command, since wall-clock times depend on what else the machine does.

    python measure.py overhead | score | adult | diffprivlib | opacus

The last two need environments of their own: diffprivlib 0.6.6 with scikit-learn 1.4;
torch and opacus (see lab/results/dpsgd.py).
"""

import csv
import gzip
import json
import resource
import statistics
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

warnings.simplefilter("ignore")
ADULT = Path(__file__).resolve().parent.parent / "examples" / "adult" / "adult.csv.gz"


def seconds(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def timed(work) -> tuple[float, float]:
    """Processor seconds here, and of commands that ended."""
    here, there = seconds(resource.RUSAGE_SELF), seconds(resource.RUSAGE_CHILDREN)
    work()
    return seconds(resource.RUSAGE_SELF) - here, seconds(resource.RUSAGE_CHILDREN) - there


def overhead() -> None:
    """100 MB: by the estimator, with a file in memory and over the pipe, and by the command from a file."""
    import pandas
    import polars
    import pyarrow

    from stillpoint import StillpointClassifier, _typed
    from stillpoint._command import run

    rows, columns = 600_000, 20
    X = np.random.default_rng(1).normal(size=(rows, columns))
    y = np.where(X[:, 0] > 0, "yes", "no")
    data = {f"c{i}": X[:, i] for i in range(columns)}
    train = {"algorithm": "gd", "steps": 2}
    for name, make in [("polars", polars.DataFrame), ("pyarrow", pyarrow.table), ("pandas", pandas.DataFrame), ("numpy", lambda _: X)]:
        table = make(data)
        with tempfile.TemporaryDirectory() as folder:
            model = StillpointClassifier(
                classes=["no", "yes"], bounds=(-3, 3), epsilon=1, delta=1e-7, relation="replace-one",
                folder=folder, table="rows", train=train, progress=False,
            )  # fmt: skip
            here, there = timed(lambda: model.fit(table, y))
            print(f"{name:8} {here:6.2f} s in Python, {there:6.2f} s in the command")
            if name in ("polars", "pyarrow"):
                memory, _typed.Typed.file = _typed.Typed.file, lambda feed: None
                here, there = timed(lambda: model.fit(table, y))
                _typed.Typed.file = memory
                print(f"{'':8} {here:6.2f} s in Python, {there:6.2f} s in the command, over the pipe")
            if name == "polars":
                frame = polars.DataFrame({**data, "y": y})
                frame.write_csv(Path(folder) / "rows.csv")
                frame.write_parquet(Path(folder) / "rows.parquet", compression="uncompressed")
                config = json.loads((model.folder_ / "configuration.yaml").read_text())
                for ending in ("csv", "parquet"):
                    file = Path(folder) / f"rows.{ending}"
                    config["data"] = file.name
                    (Path(folder) / "rows.yaml").write_text(json.dumps(config))
                    _, alone = timed(lambda: run(["fit", Path(folder) / "rows.yaml", "--out", Path(folder) / ending]))
                    print(f"{ending:8} {alone:6.2f} s in the command, of {file.stat().st_size / 1e6:.0f} MB")


def score() -> None:
    """Predictions of 1,000,000 rows of 20 numbers beside scikit-learn's, one thread each; the least of seven times."""
    import pandas
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from stillpoint import StillpointClassifier

    random = np.random.default_rng(1)
    X = random.normal(size=(1_000_000, 20))
    y = np.where(X[:20_000, 0] + random.normal(size=20_000) > 0, "yes", "no")
    frame = pandas.DataFrame(X, columns=[f"c{i}" for i in range(20)])
    with tempfile.TemporaryDirectory() as folder:
        own = StillpointClassifier(
            classes=["no", "yes"], bounds=(-3, 3), epsilon=1, delta=1e-6, relation="replace-one", folder=folder, table="rows",
            family="lines", progress=False,
        ).fit(frame[:20_000], y)  # fmt: skip
        models = {"stillpoint": own, "scaler and logistic regression": make_pipeline(StandardScaler(), LogisticRegression()), "logistic regression": LogisticRegression()}
        for name, model in models.items():
            model = model if model is own else model.fit(frame[:20_000], y)
            for what in ("predict", "predict_proba"):
                for kind, rows in (("pandas", frame), ("numpy", X)):
                    print(f"{name}, {what}, {kind}: {min(timed(lambda: getattr(model, what)(rows))[0] for _ in range(7)):.3f} s")


NUMBERS = {"age": (17, 90), "education_num": (1, 16), "hours_per_week": (1, 99)}
LISTS = {
    "workclass": "Private,Self-emp-not-inc,Self-emp-inc,Federal-gov,Local-gov,State-gov,Without-pay,Never-worked".split(","),
    "marital_status": "Married-civ-spouse,Divorced,Never-married,Separated,Widowed,Married-spouse-absent,Married-AF-spouse".split(","),
    "relationship": "Wife,Own-child,Husband,Not-in-family,Other-relative,Unmarried".split(","),
    "sex": ["Female", "Male"],
}


def read() -> tuple:
    import pandas

    with gzip.open(ADULT, "rt") as file:
        frame = pandas.DataFrame(list(csv.DictReader(file)))
    return frame[frame.split == "train"], frame[frame.split == "test"]


FITS = 5


def adult() -> None:
    """Adult at epsilon 1, delta 1e-6, under both relations."""
    from stillpoint import StillpointClassifier

    train, test = read()
    for relation in ("replace-one", "add-or-remove"):
        scores, used = [], []
        for _ in range(FITS):
            with tempfile.TemporaryDirectory() as folder:
                model = StillpointClassifier(
                    classes=["0", "1"], bounds=NUMBERS, categories=LISTS, ignore="others", epsilon=1, delta=1e-6,
                    relation=relation, records=len(train) if relation == "add-or-remove" else None,
                    folder=folder, table="adult", progress=False,
                )  # fmt: skip
                used.append(sum(timed(lambda: model.fit(train, train["income"]))))
                scores.append(model.score(test, test["income"]))
        tell(f"stillpoint, {relation}", scores, used)


def encoded(part) -> np.ndarray:
    """Rows of norm at most 1, as the rivals want them."""
    columns = [2 * (part[n].astype(float).clip(*NUMBERS[n]) - NUMBERS[n][0]) / (NUMBERS[n][1] - NUMBERS[n][0]) - 1 for n in NUMBERS]
    columns += [(part[n] == v).astype(float) for n, values in LISTS.items() for v in values]
    return np.column_stack(columns) / np.sqrt(len(NUMBERS) + len(LISTS))


def opacus() -> None:
    """The same columns by DP-SGD, adding or removing one, the best of some rates."""
    import torch
    from opacus import PrivacyEngine

    torch.set_num_threads(1)
    train, test = read()
    X, Y = (torch.tensor(encoded(part), dtype=torch.float32) for part in (train, test))
    x, y = (torch.tensor(part["income"].astype(float).to_numpy(), dtype=torch.float32) for part in (train, test))

    def fit(rate):
        model = torch.nn.Linear(X.shape[1], 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=rate)
        loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, x), batch_size=650)
        model, optimizer, loader = PrivacyEngine(accountant="prv").make_private_with_epsilon(
            module=model, optimizer=optimizer, data_loader=loader, target_epsilon=1,
            target_delta=1e-6, epochs=20, max_grad_norm=1,
        )  # fmt: skip
        for _ in range(20):
            for rows, target in loader:
                optimizer.zero_grad()
                torch.nn.functional.binary_cross_entropy_with_logits(model(rows)[:, 0], target).backward()
                optimizer.step()
        return model

    for rate in (0.1, 1, 10):
        scores, used = [], []
        for _ in range(FITS):
            fitted = []
            used.append(timed(lambda: fitted.append(fit(rate)))[0])
            scores.append(float((((fitted[0](Y)[:, 0]) > 0) == (y > 0)).float().mean()))
        tell(f"opacus, rate {rate:g}", scores, used)


def diffprivlib() -> None:
    """The same columns, encoded alike, by objective perturbation: (epsilon, 0)."""
    from diffprivlib.models import LogisticRegression

    train, test = read()
    X, Y = encoded(train), encoded(test)
    for C in (1e-3, 1e-2, 0.1, 1, 1e2):
        scores, used = [], []
        for _ in range(FITS):
            model = LogisticRegression(epsilon=1, data_norm=1, C=C, max_iter=1000)
            used.append(timed(lambda: model.fit(X, train["income"].astype(int)))[0])
            scores.append(model.score(Y, test["income"].astype(int)))
        tell(f"diffprivlib, C = {C:g}", scores, used)


def tell(name: str, scores: list[float], used: list[float]) -> None:
    print(f"{name}: accuracy {statistics.median(scores):.4f} ({min(scores):.4f} to {max(scores):.4f}), {statistics.median(used):.2f} s")


if __name__ == "__main__":
    {"overhead": overhead, "score": score, "adult": adult, "diffprivlib": diffprivlib, "opacus": opacus}[sys.argv[1]]()
