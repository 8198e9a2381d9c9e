#!/usr/bin/env python3
"""The explainable boosting machines of InterpretML, private and not, and gradient boosting, on a table.

    python3 -m venv venv && venv/bin/pip install interpret pyyaml
    venv/bin/python lab/results/ebm.py CONFIG DATA [RUNS [EPSILON...]]

CONFIG is a configuration of stillpoint, whose bounds and lists are given to DP-EBM as public: bounds of
numbers, and of the target of a regression. DATA is a CSV file; the split is that of lab/results/metric.sh.
DP-EBM runs with its defaults and both of its compositions, at the delta of CONFIG; what has no privacy has
its defaults as well, once with its default number of pairs (three for each column), or the numbers of pairs in
PAIRS. RUNS of 0 leaves DP-EBM out.
A category that is missing or not listed is a value of its own; a missing number is
the middle of its bounds for DP-EBM, which takes no missing numbers. Targets are clipped to their bounds.
"""

import os
import statistics
import sys
import time
import warnings

import numpy as np
import pandas as pd
import yaml
from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor
from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import roc_auc_score


def split_of(table):
    if "split" in table:
        return table["split"] == "test"
    return (np.arange(len(table)) * 2654435761 % 2**32) < 858993459


def encoded(table, columns):
    """The columns that are features, with numbers within their bounds, and these bounds."""
    x, bounds, types = pd.DataFrame(index=table.index), {}, []
    for name, column in columns.items():
        if column == "ignore" or "public" in column:
            continue
        if "number" in column:
            low, high = column["number"]
            v = pd.to_numeric(table[name], errors="coerce").clip(low, high).fillna((low + high) / 2)
            if column.get("transform") == "log1p":
                v, low, high = np.log1p(v), np.log1p(low), np.log1p(high)
            x[name], bounds[name] = v, (low, high)
            types.append("continuous")
        else:
            listed = column.get("category")
            v = table[name].fillna("").astype(str).str.strip()
            x[name] = v if listed is None else v.where(v.isin([str(c) for c in listed]), "other")
            types.append("nominal")
    return x, bounds, types


def main():
    warnings.simplefilter("ignore")
    config, data = yaml.safe_load(open(sys.argv[1], encoding="utf-8")), sys.argv[2]
    runs = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    epsilons = [float(e) for e in sys.argv[4:]] or [0.5, 1, 2]
    schema, delta = config["schema"], float(config["privacy"]["delta"])
    missing = schema.get("missing", [""])
    table = pd.read_csv(data, dtype=str, keep_default_na=False, skipinitialspace=True)
    table = table.map(str.strip).replace(missing, np.nan)
    x, bounds, types = encoded(table, schema["columns"])
    target = schema["target"]
    classes = target.get("classes")
    if classes:
        y = (table[target["column"]] == str(classes[1])).astype(int)
    else:
        y = pd.to_numeric(table[target["column"]], errors="coerce").clip(*target["number"])
    known = table[target["column"]].notna() & y.notna()
    x, y, held = x[known], y[known], np.asarray(split_of(table))[known.to_numpy()]

    def error(model):
        if classes:
            return roc_auc_score(y[held], model.predict_proba(x[held])[:, 1])
        return float(np.abs(model.predict(x[held]) - y[held]).mean())

    def show(name, make, times):
        start = time.process_time()
        values = [error(make(seed).fit(x[~held], y[~held])) for seed in range(times)]
        took = (time.process_time() - start) / times
        print(f"| {name} | {statistics.median(values):.5g} | {took:.0f} s |", flush=True)

    print("| | " + ("AUC" if classes else "MAE") + " on held-out rows | processor time |", flush=True)
    boosting = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    loss = {} if classes else {"loss": "absolute_error"}
    x = x.astype({n: "category" for n, t in zip(x.columns, types) if t == "nominal"})
    show("boosting, no privacy", lambda s: boosting(random_state=s, categorical_features="from_dtype", **loss), 1)
    x = x.astype({n: str for n, t in zip(x.columns, types) if t == "nominal"})
    private = DPExplainableBoostingClassifier if classes else DPExplainableBoostingRegressor
    more = {} if classes else {"privacy_target_min": target["number"][0], "privacy_target_max": target["number"][1]}
    for epsilon in epsilons if runs else []:
        for composition in ("gdp", "classic"):
            show(f"DP-EBM, {composition}, epsilon {epsilon:g}", lambda s: private(
                epsilon=epsilon, delta=delta, composition=composition, privacy_bounds=bounds, feature_types=types,
                random_state=s, n_jobs=1, **more), runs)
    plain = ExplainableBoostingClassifier if classes else ExplainableBoostingRegressor
    for pairs in os.environ.get("PAIRS", "0 10 default").split():
        more = {} if pairs == "default" else {"interactions": int(pairs)}
        show(f"EBM, {pairs} pairs, no privacy", lambda s: plain(
            **more, feature_types=types, random_state=s, n_jobs=1), 1)


if __name__ == "__main__":
    main()
