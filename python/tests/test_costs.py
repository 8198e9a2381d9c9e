"""Counts over exposures and offsets, and costs, by the regressor: true effects, predictions, refusals."""

import json

import numpy as np
import pandas as pd
import pytest

from stillpoint import StillpointRegressor


@pytest.fixture(scope="module")
def claims():
    r = np.random.default_rng(8)
    n = 20_000
    X = pd.DataFrame({"age": r.uniform(20, 80, n).round(1), "town": np.where(r.random(n) < 0.5, "a", "b"), "years": r.uniform(0.1, 4, n)})
    X["log_years"] = np.log(X.years)
    rate = np.exp(-1 + 0.02 * (X.age - 50) + 0.5 * (X.town == "b"))
    return X, rate, r


def model(folder, high, loss, epsilon=20, low=0, **more):
    return StillpointRegressor(
        target_bounds=(low, high), loss=loss, epsilon=epsilon, delta=1e-6, relation="replace-one", folder=folder, table="claims",
        bounds={"age": (20, 80)}, categories={"town": ["a", "b"]}, family="lines", progress=False,
        ignore=[c for c in ("years", "log_years") if c not in {**(more.get("exposure") or {}), **(more.get("offset") or {})}], **more,
    )  # fmt: skip


LOSSES = {"poisson(1)": lambda r, m: r.poisson(m), "negbinomial(2,5)": lambda r, m: r.poisson(m * r.gamma(2, 0.5, len(m))),
          "tweedie(1.5,5,1)": lambda r, m: [r.gamma(2, 0.5, k).sum() for k in r.poisson(m)]}  # fmt: skip


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("use", ["exposure", "offset"])
def test_rates_are_true(claims, tmp_path, loss, use):
    """The mean of a row is its exposure times a rate; the model predicts the rate, without the column of exposures."""
    X, rate, r = claims
    y = np.minimum(LOSSES[loss](r, rate * X.years), 20)
    column = {"exposure": {"years": (0.1, 4)}, "offset": {"log_years": (-2.31, 1.39)}}[use]
    m = model(tmp_path / "fits", 20, loss, **{use: column}).fit(X, y)
    new = pd.DataFrame({"age": [50.0, 70, 50], "town": ["a", "a", "b"]})
    got = m.predict(new)
    assert got == pytest.approx(np.exp([-1, -0.6, -0.5]), rel=0.12)
    name, bounds = next(iter(column.items()))
    best = 1 - np.mean((y - rate * X.years) ** 2) / np.var(y)  # of the true rates
    assert m.score(X, y) == pytest.approx(best, abs=0.02) and best > 0.1
    with pytest.raises(ValueError, match=f"must have the column '{name}'"):
        m.score(X[["age", "town"]], y)
    assert json.loads(m._model)["schema"]["target"][use] == {"column": name, "number": list(bounds)}
    assert {t["term"] for t in m.coefficients_["terms"]} <= {"age", "town=b", "town=other", "intercept"}


def test_costs_are_true(claims, tmp_path):
    X, rate, r = claims
    y = np.clip(1000 * rate * r.gamma(2, 0.5, len(X)), 1, 1e6)
    m = model(tmp_path / "fits", 1e6, "gamma(5)", low=1, inference=0.95).fit(X, y)
    effects = {c["term"]: c for c in m.effects_["coefficients"]}
    assert effects["age"]["estimate"] == pytest.approx(0.02, abs=0.003) and effects["town=b"]["estimate"] == pytest.approx(0.5, abs=0.08)
    assert effects["town=b"]["rate_ratio"]["estimate"] == pytest.approx(np.exp(effects["town=b"]["estimate"]))
    assert m.predict(X).mean() == pytest.approx((1000 * rate).mean(), rel=0.05)


def test_refusals(claims, tmp_path):
    X, rate, r = claims
    y = np.minimum(r.poisson(rate * X.years), 20)
    few = {"exposure": {"years": (0.1, 4)}}
    for more, words in [
        ({"exposure": {"months": (1, 9)}}, "'months': must be a column of X"),
        ({"exposure": "years"}, "exposure = 'years': must be {a column of X"),
        ({"offset": {"years": 3}}, "must be {a column of X"),
        ({**few, "offset": {"log_years": (-2.31, 1.39)}}, "offset: must not be given beside an exposure"),
        ({"exposure": {"age": (20, 80)}}, "exposure = 'age': must not be in bounds"),
        ({"exposure": {"years": (0, 4)}}, "lower bound must be above 0"),
        ({**few, "weight": "log_years"}, "target.weight"),
    ]:
        m = model(tmp_path / "fits", 20, "poisson(1)", **{k: v for k, v in more.items() if isinstance(v, dict)})
        m.set_params(**more, ignore=[c for c in m.ignore if c != more.get("weight")])
        with pytest.raises(ValueError) as e:
            m.fit(X, y)
        assert words in str(e.value), (more, e.value)
    assert not list((tmp_path / "fits").glob("*/ledger*"))
    with pytest.raises(ValueError, match="takes no exposures"):
        model(tmp_path / "fits", 20, "huber(0.1)", **few).fit(X, y)
