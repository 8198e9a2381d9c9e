"""What needs no command: the best constant, the regression without privacy, and DP-EBM, for lab/results/rare.py.

DP-EBM is that of InterpretML with its defaults (composition gdp), the bounds and lists of the task as public knowledge,
and the delta of the fits. Its epsilon is for adding or removing a row, about half as strong as that of the fits, for
replacing one. Missing numbers are the middle of their bounds, and a level that is not listed is "other".
"""

import json
import sys
import warnings

import numpy as np
import pandas as pd
from rare_tables import GENERATED


def plain(table):
    """The losses of the best constant and of the regression without privacy."""
    w = table.best()
    row = {"task": table.task.name, "draw": table.draw, "reference": "without privacy", "rows": len(table.y),
           "held": len(table.yh), "features": table.features().shape[1]}  # fmt: skip
    if table.task.classes:
        row["share"] = float((table.y == len(table.task.classes) - 1).mean())
    else:
        row["share"] = float(table.y.sum() / table.q.sum())
    for h, word in ((False, "table"), (True, "gain")):
        row[word] = float(
            (table.losses(table.margins(table.features(h), w, h), h) - table.losses(table.constant(h), h)).mean()
        )
    row["constant"] = float(table.losses(table.constant(True), True).mean())
    row["auc"] = table.area(table.margins(table.features(True), w, True))
    return row


def boosted(table, epsilon, seed):
    from interpret.privacy import DPExplainableBoostingClassifier

    frames, bounds, types = [], {}, []
    for d in (table.train, table.held):
        x = pd.DataFrame(index=d.index)
        for c, k in table.task.columns.items():
            if isinstance(k, list):
                v = d[c].map(lambda s: "" if pd.isna(s) else str(s))
                x[c] = v.where(v.isin(k), "other").astype(str)
                continue
            v = d[c].astype(float).clip(k[0], k[1]).fillna((k[0] + k[1]) / 2)
            low, high = k[:2]
            if k[2:] == ("log1p",):
                v, low, high = np.log1p(v), np.log1p(low), np.log1p(high)
            x[c], bounds[c] = v, (low, high)
        frames.append(x)
    types = ["nominal" if isinstance(k, list) else "continuous" for k in table.task.columns.values()]
    m = DPExplainableBoostingClassifier(epsilon=epsilon, delta=1e-6, privacy_bounds=bounds, feature_types=types,
                                        random_state=seed, n_jobs=1).fit(frames[0], table.y)  # fmt: skip
    p = m.predict_proba(frames[1])[:, 1].clip(1e-9, 1 - 1e-9)
    z = np.log(p / (1 - p))
    gain = table.losses(z, True) - table.losses(table.constant(True), True)
    return {"gain": float(gain.mean()), "auc": table.area(z)}


def references(args, tables):
    warnings.simplefilter("ignore")
    with open(args.file, "a") as out:
        for table in tables(args.only, args.draws):
            print(json.dumps(plain(table)), file=out, flush=True)
            if table.task in GENERATED or len(table.task.classes) != 2:
                continue
            for epsilon in args.epsilons:
                for seed in range(args.fits):
                    row = {"task": table.task.name, "draw": 1, "reference": "DP-EBM", "epsilon": epsilon}
                    print(json.dumps({**row, **boosted(table, epsilon, seed)}), file=out, flush=True)
            print(table.task.name, file=sys.stderr, flush=True)
