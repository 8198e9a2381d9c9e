"""StillpointSurvival: true effects, its predictions beside the command's, and refusals."""

import csv
import io
import json
import subprocess

import numpy as np
import pandas as pd
import pytest

from stillpoint import StillpointSurvival
from stillpoint._command import command


@pytest.fixture(scope="module")
def people():
    r = np.random.default_rng(3)
    n = 20_000
    X = pd.DataFrame({"age": r.uniform(30, 90, n).round(1), "sex": np.where(r.random(n) < 0.5, "m", "f")})
    at = r.exponential(1, n) / (0.1 * np.exp(0.05 * (X.age - 60) + 0.7 * (X.sex == "m")))
    until = r.uniform(1, 3, n)
    y = np.empty(n, dtype=[("died", bool), ("years", float)])
    y["died"], y["years"] = at < until, np.minimum(at, until)
    return X, y


def model(folder, **more):
    return StillpointSurvival(
        cuts=[0.5, 1, 2, 3], epsilon=20, delta=1e-6, relation="replace-one", folder=folder, table="people", family="lines",
        bounds={"age": (18, 100)}, categories={"sex": ["f", "m"]}, progress=False, **more,
    )  # fmt: skip


def test_true_effects(people, tmp_path):
    X, y = people
    m = model(tmp_path / "fits").fit(X, y)
    two = pd.DataFrame({"age": [50.0, 60, 50], "sex": ["f", "f", "m"]})
    score = m.predict(two)
    assert score[1] - score[0] == pytest.approx(0.5, abs=0.06)
    assert score[2] - score[0] == pytest.approx(0.7, abs=0.08)
    survival = m.predict_survival_function(two)
    assert survival.shape == (3, 5) and np.all(survival[:, 0] == 1) and np.all(np.diff(survival) < 0)
    true = np.exp(-3 * 0.1 * np.exp(np.array([-0.5, 0, 0.2])))
    assert survival[:, -1] == pytest.approx(true, abs=0.03)
    at = np.linspace(0, 3, 3001)
    curves = m.predict_survival_function(two, at)
    assert m.restricted_mean(two) == pytest.approx(((curves[:, 1:] + curves[:, :-1]) / 2 * 0.001).sum(axis=1), rel=1e-4)
    pairs, right = 0, 0.0
    few, of = X[:400], y[:400]
    s = m.predict(few)
    for i in range(400):
        for j in range(400):
            if of["died"][i] and (of["years"][j] > of["years"][i] or of["years"][j] == of["years"][i] and not of["died"][j]):
                pairs += 1
                right += (s[i] > s[j]) + 0.5 * (s[i] == s[j])
    assert m.score(few, of) == pytest.approx(right / pairs, abs=1e-12)
    measured = m.evaluate(X, y, horizon=1.5)
    assert measured["private"] is False and measured["horizon"] == 1.5 and measured["n"] == len(X)
    late = y["years"] > 1.5
    cut = y.copy()
    cut["years"][late], cut["died"][late] = 1.5, False
    assert measured["concordance"] == pytest.approx(m.score(X, cut), abs=1e-12)
    assert measured["brier"] < 0.25 and measured["calibration"]["error"] < 0.02 and len(measured["calibration"]["bins"]) == 10
    file = tmp_path / "model.json"
    file.write_bytes(m._model)
    (tmp_path / "new.csv").write_text(two.to_csv(index=False))
    printed = subprocess.run([command(), "predict", str(file), str(tmp_path / "new.csv"), "--horizon", "3"], check=True,
                             capture_output=True, text=True).stdout  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(printed)))
    assert [float(r["score"]) for r in rows] == pytest.approx(score, abs=1e-12)
    assert [float(r["risk=3"]) for r in rows] == pytest.approx(1 - survival[:, -1], abs=1e-12)


def test_changing(people, tmp_path):
    X, y = people
    m = model(tmp_path / "fits", changing="sex").fit(X, y)
    ratios = m.coefficients_["hazard_ratios"]
    assert [(r["term"], r["to"]) for r in ratios] == [("sex=m", t) for t in (0.5, 1, 2, 3)]
    two = pd.DataFrame({"age": [60.0, 60], "sex": ["f", "m"]})
    total = -np.log(m.predict_survival_function(two))  # the hazards of the two up to each cut
    assert m.cumulative_baseline_hazard_.shape == (2, 5)
    rise = np.diff(total, axis=1)
    assert rise[1] / rise[0] == pytest.approx([r["hazard_ratio"] for r in ratios], rel=1e-6)
    assert rise[1, :3] / rise[0, :3] == pytest.approx(2, abs=0.5)
    at = np.linspace(0, 3, 301)
    curves = m.predict_survival_function(two, at)
    assert m.restricted_mean(two) == pytest.approx(((curves[:, 1:] + curves[:, :-1]) / 2 * 0.01).sum(axis=1), rel=1e-4)


def test_refusals(people, tmp_path):
    X, y = people
    with pytest.raises(ValueError, match="structured array"):
        model(tmp_path / "fits").fit(X, y["years"])
    with pytest.raises(ValueError, match="last cut"):
        model(tmp_path / "fits").fit(X, y).predict_survival_function(X[:2], [4])


def test_grouped(people, tmp_path):
    """Times in whole years: with grouped the effects are the true ones, and without it too small."""
    X, y = people
    y = y.copy()
    y["years"] = np.where(y["died"], np.floor(y["years"]) + 1, np.floor(y["years"]))
    of = {"cuts": [1, 2, 3], "epsilon": 20, "delta": 1e-6, "relation": "replace-one", "folder": tmp_path / "fits", "table": "people",
          "family": "lines", "bounds": {"age": (18, 100)}, "categories": {"sex": ["f", "m"]}, "progress": False}  # fmt: skip
    two = pd.DataFrame({"age": [50.0, 60, 50], "sex": ["f", "f", "m"]})
    effects = {}
    for grouped in (True, False):
        m = StillpointSurvival(grouped=grouped, **of).fit(X, y)
        score = m.predict(two)
        effects[grouped] = score[1] - score[0], score[2] - score[0]
        # The survival at the cuts is that of the hazards, whatever the times between them were.
        assert m.predict_survival_function(two)[:, -1] == pytest.approx(np.exp(-np.exp(score)), abs=1e-12)
    m = StillpointSurvival(grouped="logit", **of).fit(X, y)
    score = m.predict(two)
    odds = np.exp(score)[:, None] * np.diff(m.cumulative_baseline_hazard_)
    assert m.predict_survival_function(two) == pytest.approx(np.c_[np.ones(3), np.cumprod(1 / (1 + odds), axis=1)], abs=1e-12)
    assert m.predict_survival_function(two, [2.5])[:, 0] == pytest.approx(1 - m._score(two, "risk", "--horizon=2.5")["risk=2.5"], abs=1e-12)
    assert score[2] - score[0] > effects[True][1] + 0.02  # odds ratios are farther from 1 than hazard ratios
    assert effects[True] == pytest.approx((0.5, 0.7), abs=0.06)
    assert effects[False][0] < 0.42 and effects[False][1] < 0.62
    with pytest.raises(ValueError, match="grouped = 'yes': must be True, False or"):
        StillpointSurvival(grouped="yes", **of).fit(X, y)


def test_entry(tmp_path):
    """Delayed entry: the survival is the true one with ``entry``, and too high without; the measures are the command's."""
    r = np.random.default_rng(4)
    n = 40_000
    age, start = r.uniform(30, 90, n).round(1), r.uniform(0, 2, n).round(3)
    at = r.exponential(1, n) / (0.4 * np.exp(0.02 * (age - 60)))
    seen = at > start  # who had died before is in no table
    X = pd.DataFrame({"start": start, "age": age})[seen].reset_index(drop=True)
    y = np.empty(len(X), dtype=[("died", bool), ("years", float)])
    until = np.minimum(start[seen] + 1, 3)
    y["died"], y["years"] = at[seen] < until, np.minimum(at[seen], until)
    of = {"cuts": [0.5, 1, 1.5, 2, 2.5, 3], "epsilon": 20, "delta": 1e-6, "relation": "replace-one", "folder": tmp_path / "fits",
          "table": "people", "family": "lines", "bounds": {"age": (18, 100)}, "progress": False}  # fmt: skip
    m = StillpointSurvival(entry="start", **of).fit(X, y)
    new = pd.DataFrame({"age": [60.0]})  # predictions need no entry
    true = np.exp(-0.4 * m.event_times_)
    assert m.predict_survival_function(new)[0] == pytest.approx(true, abs=0.04)
    without = StillpointSurvival(ignore=["start"], **of).fit(X, y)
    assert without.predict_survival_function(new)[0, -1] > true[-1] + 0.08
    measured = m.evaluate(X, y)
    assert "brier" not in measured and "concordance_uno" not in measured
    X.assign(event=y["died"].astype(int), y=y["years"]).to_csv(tmp_path / "people.csv", index=False)
    printed = subprocess.run([command(), "evaluate", str(m.folder_ / "model.json"), str(tmp_path / "people.csv"), "--json"], check=True,
                             capture_output=True, text=True).stdout  # fmt: skip
    assert measured == json.loads(printed)
    assert m.score(X.to_numpy(), y) == measured["concordance"]
    with pytest.raises(ValueError, match="feature names.*start"):
        m.evaluate(X[["age"]], y)
    with pytest.raises(ValueError, match="entry = 'begin': must be a column of X"):
        StillpointSurvival(entry="begin", **of).fit(X, y)
    with pytest.raises(ValueError, match="entry = 'age': must not be in bounds"):
        StillpointSurvival(entry="age", **of).fit(X, y)


def test_means_and_tests(people, tmp_path):
    """Adjusted hazards and joint tests of the time to an event are the command's."""
    X, y = people
    m = model(tmp_path / "fits", inference=0.95).fit(X, y)
    X[:50].to_csv(tmp_path / "public.csv", index=False)
    said = [json.loads(subprocess.run([command(), *of, "--json"], check=True, capture_output=True, text=True).stdout) for of in (
        ["means", str(m.folder_), "--over", str(tmp_path / "public.csv")], ["coefficients", str(m.folder_), "--tests"])]  # fmt: skip
    assert [m.means(X[:50]), m.tests()] == said
    assert [t["column"] for t in m.tests()] == ["age", "sex"] and max(t["p_holm"] for t in m.tests()) < 1e-6
