"""Figures of losses.md: ordered classes and costs, against fits without privacy by statsmodels.

    python losses.py STILLPOINT ADULT.csv.gz > losses.txt

STILLPOINT is the command. It needs numpy, pandas and statsmodels, and takes about ten minutes on one processor.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import statsmodels.api as sm
from statsmodels.miscmodels.ordinal_model import OrderedModel

COMMAND, ADULT = sys.argv[1:]
SEEDS = 5
FOLDER = Path(tempfile.mkdtemp())


def fit(table, columns, target, loss, epsilon, train=None):
    """The measures on the test rows of a fit to the train rows, and the folder of the fit."""
    config = {
        "data": str(FOLDER / f"{table}.csv"),
        "schema": {"columns": {**columns, "split": {"public": ["train", "test"]}}, "target": target, "where": "split=train"},
        "model": {"loss": loss, "family": "lines"},
        "privacy": {"epsilon": epsilon, "delta": 1e-6, "relation": "replace-one"},
        **({"train": train} if train else {}),
    }
    path = FOLDER / "config.yaml"
    path.write_text(json.dumps(config))
    out = Path(tempfile.mkdtemp(dir=FOLDER)) / "fit"
    subprocess.run([COMMAND, "fit", path, "--out", out], check=True, capture_output=True)
    said = subprocess.run([COMMAND, "evaluate", out / "model.json", config["data"], "--where", "split=test", "--json"],
                          check=True, capture_output=True, text=True)  # fmt: skip
    return json.loads(said.stdout), out


def median(values):
    if not all(np.isfinite(values)):
        return "-"
    return f"{np.median(values):.4g} ({min(values):.4g} to {max(values):.4g})"


def ordered():
    classes = ["none", "high-school", "some-college", "bachelor", "higher"]
    d = pd.read_csv(ADULT)
    d["degree"] = pd.cut(d.education_num, [0, 8, 9, 12, 13, 16], labels=classes)
    races, hours = ["White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black"], "hours_per_week"
    d = d[["age", "sex", "race", hours, "income", "split", "degree"]]
    d.to_csv(FOLDER / "degrees.csv", index=False)
    columns = {"age": {"number": [17, 90]}, "sex": {"category": ["Female", "Male"]}, "race": {"category": races},
               hours: {"number": [1, 99]}, "income": {"category": ["0", "1"]}}  # fmt: skip
    target = {"column": "degree", "classes": classes}
    X = pd.DataFrame({"age": d.age, hours: d[hours], "sex=Male": d.sex == "Male", "income=1": d.income == 1})
    for r in races[1:]:
        X[f"race={r}"] = d.race == r
    X = X.astype(float)
    train, scale = (d.split == "train").values, X.std()
    y = d.degree.astype(pd.CategoricalDtype(classes, ordered=True))
    model = OrderedModel(y[train].reset_index(drop=True), (X / scale)[train].reset_index(drop=True), distr="logit")
    best = model.fit(method="bfgs", maxiter=1000, disp=0)
    p = np.asarray(model.predict(best.params, exog=(X / scale)[~train]))
    code = y[~train].cat.codes.values
    print("## Ordered: degrees of the Adult table, 32,561 rows to fit and 16,281 to test\n")
    print("| fit | log loss | class error | accuracy |\n|---|---|---|---|")
    print(f"| OrderedModel of statsmodels, without privacy | {-np.log(p[np.arange(len(code)), code]).mean():.4f} | "
          f"{abs(p.argmax(1) - code).mean():.4f} | {(p.argmax(1) == code).mean():.4f} |")  # fmt: skip
    for loss, epsilon, train_with, seeds in [("ordered", 10_000, {"algorithm": "nesterov", "steps": 4000}, 1),
                                             ("ordered", 8, None, SEEDS), ("ordered", 1, None, SEEDS),
                                             ("ordered", 0.3, None, SEEDS), ("softmax", 1, None, SEEDS)]:  # fmt: skip
        runs = [fit("degrees", columns, target, loss, epsilon, train_with) for _ in range(seeds)]
        print(f"| {loss}, epsilon {epsilon} | {median([m['log_loss'] for m, _ in runs])} | "
              f"{median([m.get('class_error', np.nan) for m, _ in runs])} | {median([m['accuracy'] for m, _ in runs])} |")  # fmt: skip
        if epsilon == 10_000:
            found = json.loads(subprocess.run([COMMAND, "coefficients", runs[0][1], "--json"], check=True, capture_output=True).stdout)
    ours = {t["term"]: t["value"] for t in found["terms"]}
    print("\n| coefficient | OrderedModel | ordered, epsilon 10,000 |\n|---|---|---|")
    for name in X.columns:
        print(f"| {name} | {best.params[name] / scale[name]:.4f} | {ours[name]:.4f} |")
    theirs = np.diff(model.transform_threshold_params(best.params.values)[1:-1])
    for k, gap in enumerate(np.diff(found["thresholds"])):
        print(f"| threshold {k + 2} minus threshold {k + 1} | {theirs[k]:.4f} | {gap:.4f} |")


def costs():
    """Lognormal costs: the logarithm has a linear mean and the standard deviation 1.2."""
    random, n = np.random.default_rng(1), 20_000
    d = pd.DataFrame({"age": random.uniform(18, 90, n), "sex": random.choice(["f", "m"], n),
                      "kind": random.choice(["k0", "k1", "k2", "k3"], n), "days": random.poisson(3, n)})  # fmt: skip
    kinds = {"k0": 0, "k1": 0.5, "k2": 1, "k3": -0.7}
    score = 7 + 0.02 * (d.age - 50) + 0.3 * (d.sex == "m") + d.kind.map(kinds) + 0.08 * d.days
    d["cost"] = np.clip(np.exp(score + 1.2 * random.normal(size=n) - 0.72), 1, 1e7)
    d["split"] = np.where(random.uniform(size=n) < 0.25, "test", "train")
    d.to_csv(FOLDER / "costs.csv", index=False)
    columns = {"age": {"number": [18, 90]}, "sex": {"category": ["f", "m"]}, "kind": {"category": list(kinds)},
               "days": {"number": [0, 20]}}  # fmt: skip
    X = sm.add_constant(pd.DataFrame({"age": d.age, "days": d.days, "m": d.sex == "m", **{k: d.kind == k for k in list(kinds)[1:]}}).astype(float))
    train = (d.split == "train").values
    y = d.cost[~train]

    def measures(p):
        return abs(p - y).mean(), 2 * (y / p - 1 - np.log(y / p)).mean()

    print(f"\n## Costs: {train.sum():,} rows to fit, mean {d.cost.mean():.0f}, median {d.cost.median():.0f}, largest {d.cost.max():.0f}\n")
    print("| fit | bounds | mean absolute error | deviance |\n|---|---|---|---|")
    glm = sm.GLM(d.cost[train], X[train], family=sm.families.Gamma(sm.families.links.Log())).fit()
    for name, p in [("gamma GLM of statsmodels, without privacy", glm.predict(X[~train])),
                    ("the mean of the training rows, without privacy", np.full(len(y), d.cost[train].mean()))]:  # fmt: skip
        mae, deviance = measures(p)
        print(f"| {name} | | {mae:.4g} | {deviance:.4f} |")
    for loss, high, epsilon in [("huber(0.1)", 1e7, 1), ("huber(0.1)", 1e5, 1), ("gamma(5)", 1e7, 0.3), ("gamma(5)", 1e7, 1),
                                ("gamma(3)", 1e7, 1), ("gamma(5)", 1e5, 1), ("gamma(5)", 1e7, 8)]:  # fmt: skip
        mae, deviance = [], []
        for _ in range(SEEDS):
            _, out = fit("costs", columns, {"column": "cost", "number": [1, high]}, loss, epsilon)
            said = subprocess.run([COMMAND, "predict", out / "model.json", FOLDER / "costs.csv"], check=True, capture_output=True, text=True)
            p = np.maximum([float(v) for v in said.stdout.split()[1:]], 1)[~train]
            for values, v in zip((mae, deviance), measures(p)):
                values.append(v)
        print(f"| {loss}, epsilon {epsilon} | 1 to {high:.0e} | {median(mae)} | {median(deviance)} |")


ordered()
costs()
