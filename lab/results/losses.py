"""Figures of losses.md: ordered classes and costs, against fits without privacy by statsmodels.

    python losses.py STILLPOINT ADULT.csv.gz pnwflights.csv.gz [PART] > losses.txt

PART is ordered, costs, counts or zeros; all if it is left out. STILLPOINT is the command. It needs numpy, pandas and statsmodels, and takes about ten minutes on one processor.
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

COMMAND, ADULT, FLIGHTS = sys.argv[1:4]
PARTS = sys.argv[4:] or ["ordered", "costs", "counts", "zeros"]
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


def compared(table, columns, target, X, train, y, glm, fits, deviance):
    """A row for the GLM without privacy, for the constant, and for each fit: the mean absolute error and the deviance."""
    print("| fit | bounds | mean absolute error | deviance |\n|---|---|---|---|")
    of = sm.GLM(y[train], X[train], family=glm).fit()
    for name, p in [("GLM of statsmodels, without privacy", of.predict(X[~train])),
                    ("the mean of the training rows, without privacy", np.full((~train).sum(), y[train].mean()))]:  # fmt: skip
        print(f"| {name} | | {abs(p - y[~train]).mean():.4g} | {deviance(y[~train], p):.4f} |")
    for loss, high, epsilon in fits:
        maes, deviances = [], []
        for _ in range(SEEDS):
            _, out = fit(table, columns, {"column": target, "number": [0, high]}, loss, epsilon)
            said = subprocess.run([COMMAND, "predict", out / "model.json", FOLDER / f"{table}.csv"], check=True, capture_output=True, text=True)
            p = np.maximum([float(v) for v in said.stdout.split()[1:]], 1e-3)[~train]
            maes.append(abs(p - y[~train]).mean())
            deviances.append(deviance(y[~train], p))
        print(f"| {loss}, epsilon {epsilon} | 0 to {high:,} | {median(maes)} | {median(deviances)} |")
    return of


def negbinomial_deviance(theta):
    def deviance(y, m):
        return 2 * (np.where(y > 0, y * np.log(np.maximum(y, 1e-300) / m), 0) - (y + theta) * np.log((y + theta) / (m + theta))).mean()

    return deviance


def tweedie_deviance(p):
    def deviance(y, m):
        return 2 * (y ** (2 - p) / ((1 - p) * (2 - p)) - y * m ** (1 - p) / (1 - p) + m ** (2 - p) / (2 - p)).mean()

    return deviance


def counts():
    """Visits: gamma-Poisson counts of size 1.5, with a linear logarithm of the mean."""
    random, n = np.random.default_rng(2), 20_000
    d = pd.DataFrame({"age": random.uniform(18, 90, n), "sex": random.choice(["f", "m"], n),
                      "kind": random.choice(["k0", "k1", "k2", "k3"], n)})  # fmt: skip
    kinds = {"k0": 0, "k1": 0.5, "k2": 1, "k3": -0.7}
    mean = np.exp(0.6 + 0.02 * (d.age - 50) + 0.3 * (d.sex == "m") + d.kind.map(kinds))
    d["visits"] = random.poisson(mean * random.gamma(1.5, 1 / 1.5, n))
    d["split"] = np.where(random.uniform(size=n) < 0.25, "test", "train")
    d.to_csv(FOLDER / "visits.csv", index=False)
    columns = {"age": {"number": [18, 90]}, "sex": {"category": ["f", "m"]}, "kind": {"category": list(kinds)}}
    X = sm.add_constant(pd.DataFrame({"age": d.age, "m": d.sex == "m", **{k: d.kind == k for k in list(kinds)[1:]}}).astype(float))
    train = (d.split == "train").values
    print(f"\n## Counts: {train.sum():,} rows to fit, mean {d.visits.mean():.2f}, variance {d.visits.var():.1f}, largest {d.visits.max()}\n")
    compared("visits", columns, "visits", X, train, d.visits, sm.families.NegativeBinomial(alpha=1 / 1.5),
             [("poisson(1)", 100, 1), ("poisson(1)", 10_000, 1), ("negbinomial(1.5,5)", 100, 1), ("negbinomial(1.5,5)", 10_000, 1),
              ("negbinomial(5,5)", 10_000, 1), ("negbinomial(0.5,5)", 10_000, 1), ("negbinomial(1.5,5)", 10_000, 0.3),
              ("negbinomial(1.5,5)", 10_000, 8)], negbinomial_deviance(1.5))  # fmt: skip


def zeros():
    """Minutes by which flights of the public table arrive late, 0 for those in time."""
    d = pd.read_csv(FLIGHTS).dropna(subset=["arr_delay"])
    d["late"] = np.maximum(d.arr_delay, 0)
    names = ["month", "weekday", "carrier", "origin"]
    d = d[[*names, "sched_dep_min", "distance", "split", "late"]]
    d.to_csv(FOLDER / "late.csv", index=False)
    columns = {c: {"category": [str(v) for v in sorted(d[c].unique())]} for c in names}
    columns |= {"sched_dep_min": {"number": [0, 1439]}, "distance": {"number": [0, 3000]}}
    X = pd.get_dummies(d[names].astype(str), drop_first=True).astype(float)
    X["time"], X["distance"] = d.sched_dep_min / 1440, d.distance / 3000
    X, train = sm.add_constant(X), (d.split == "train").values
    print(f"\n## Zeros: {train.sum():,} flights to fit, {(~train).sum():,} to test, {100 * (d.late == 0).mean():.0f}% in time, "
          f"mean {d.late.mean():.1f} minutes, largest {d.late.max():.0f}\n")  # fmt: skip
    compared("late", columns, "late", X, train, d.late, sm.families.Tweedie(var_power=1.5, link=sm.families.links.Log()),
             [("huber(0.1)", 10_080, 1), ("poisson(1)", 10_080, 1), ("poisson(1)", 100_800, 1), ("tweedie(1.5,5,10)", 10_080, 1),
              ("tweedie(1.5,20,10)", 10_080, 1), ("tweedie(1.5,20,10)", 100_800, 1), ("tweedie(1.5,50,10)", 10_080, 1),
              ("tweedie(1.5,50,10)", 100_800, 1)], tweedie_deviance(1.5))  # fmt: skip


for part in PARTS:
    {"ordered": ordered, "costs": costs, "counts": counts, "zeros": zeros}[part]()
