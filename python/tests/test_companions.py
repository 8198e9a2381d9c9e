"""What other tools of Python ask of an estimator: ensembles, importances, files that are safe to load."""

import io
import warnings

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("sklearn", "1.6")
pandas = pytest.importorskip("pandas")
from sklearn.ensemble import StackingClassifier, StackingRegressor, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression

from stillpoint import ConfigurationError, StillpointClassifier, StillpointRegressor

REGIONS = ["north", "south", "west"]


def people(rows: int = 6000):
    random = np.random.default_rng(11)
    X = pandas.DataFrame({
        "age": random.uniform(18, 90, rows), "region": random.choice(REGIONS, rows), "nothing": random.normal(size=rows), "id": np.arange(rows)
    })  # fmt: skip
    score = (X["age"] - 54) / 12 + 2 * (X["region"] == "south") + random.logistic(size=rows)
    return X, np.where(score > 1, "yes", "no"), np.where(score > 3, "high", np.where(score > 0, "middle", "low"))


X, TWO, THREE = people()


def model(tmp_path, classes, **more):
    family = "curves" if "curves" in more else "lines"
    facts = {"family": family, "bounds": {"age": (18, 90), "nothing": (-3, 3)}, "categories": {"region": REGIONS}, "ignore": ["id"]}
    return StillpointClassifier(
        classes=classes, **{**facts, **more}, epsilon=8, delta=1e-6, relation="replace-one", folder=tmp_path / "fits", table="people", progress=False
    )  # fmt: skip


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("voting", ["hard", "soft"])
@pytest.mark.parametrize("orders, y", [([["no", "yes"], ["yes", "no"]], TWO), ([["low", "middle", "high"], ["middle", "high", "low"]], THREE)])
def test_votes_of_text_classes(voting, orders, y, tmp_path):
    """Whatever the order in which classes are stated, votes are those of the texts."""
    alone = model(tmp_path, orders[0]).fit(X, y)
    both = VotingClassifier([(str(i), model(tmp_path, c)) for i, c in enumerate(orders)], voting=voting).fit(X, y)
    assert set(both.predict(X)) <= set(y)
    assert both.score(X, y) > alone.score(X, y) - 0.02 > np.mean(y == y[0]) - 0.5
    codes = np.searchsorted(both.classes_, y)
    for member in both.estimators_:
        assert member.classes_.tolist() == list(range(len(both.classes_)))
        assert member.score(X, codes) > alone.score(X, y) - 0.02
        p, logs, decided = member.predict_proba(X), member.predict_log_proba(X), member.decision_function(X)
        np.testing.assert_allclose(np.exp(logs), p, atol=1e-12)
        first = decided > 0 if decided.ndim == 1 else decided.argmax(axis=1)
        assert (p.argmax(axis=1) == first).all() and (member.predict(X) == member.classes_[p.argmax(axis=1)]).all()


def test_a_class_that_no_row_has(tmp_path):
    """Its number comes after those of the caller, so that no prediction takes the name of another class."""
    both = VotingClassifier([("a", model(tmp_path, ["absent", "no", "yes"]))], voting="soft").fit(X, TWO)
    member = both.estimators_[0]
    assert member.predict_proba(X)[:, 2].max() < 0.2 and member.score(X, (TWO == "yes").astype(int)) > 0.75


def test_numbers_are_no_text_classes_elsewhere(tmp_path):
    with pytest.raises(ConfigurationError, match="classes are texts and y is of a type of numbers"):
        model(tmp_path, ["no", "yes"]).fit(X, (TWO == "yes").astype(int))


def test_stacks(tmp_path):
    members = [("a", model(tmp_path, ["yes", "no"])), ("b", model(tmp_path, ["no", "yes"]))]
    for final in (None, LogisticRegression()):
        with pytest.raises(ConfigurationError, match="final_estimator: learns from the rows"):
            StackingClassifier(members, final_estimator=final, cv=2).fit(X, TWO)
    last = model(tmp_path, ["no", "yes"], bounds=(0, 1), categories=None, ignore=())
    stack = StackingClassifier(members, final_estimator=last, cv=2).fit(X, TWO)
    assert stack.score(X, TWO) > 0.75 and set(stack.predict(X)) == {"no", "yes"}
    declared = model(tmp_path, ["no", "yes"], public_steps=["final_estimator"])
    assert StackingClassifier([("a", declared)], cv=2).fit(X, TWO).score(X, TWO) > 0.75
    number = StillpointRegressor(
        target_bounds=(18, 90), bounds={"nothing": (-3, 3)}, ignore="others", epsilon=8, delta=1e-6, relation="replace-one",
        folder=tmp_path / "fits", table="people", progress=False,
    )  # fmt: skip
    with pytest.raises(ConfigurationError, match="final_estimator"):
        StackingRegressor([("a", number)], cv=2).fit(X, X["age"])


@pytest.mark.parametrize("more", [{}, {"curves": {"age": 5}}, {"log1p": ["age"]}])
def test_importances(more, tmp_path):
    """Shares of the largest differences that columns make to predictions."""
    one = model(tmp_path, ["no", "yes"], **more)
    with pytest.raises(AttributeError):
        _ = one.feature_importances_
    with pytest.raises(NotFittedError):
        one.predict(X)
    one.fit(X, TWO)
    shares, noise = one.feature_importances_, one.feature_importances_noise_
    assert shares.shape == noise.shape == (4,) and abs(shares.sum() - 1) < 1e-12
    assert shares[3] == 0 and shares[0] > shares[1] > shares[2] >= 0
    stated = noise[:3][~np.isnan(noise[:3])]  # of terms that the steps have not covered none is stated
    assert (stated > 0).all() and (stated < 0.1).all() and noise[3] == 0
    # The difference that a column makes is that of predictions between its extreme places.
    row = X.iloc[[0]]
    ends = {"age": np.linspace(18, 90, 2881), "region": REGIONS, "nothing": np.linspace(-3, 3, 2881)}
    moved = [np.ptp(one.decision_function(pandas.concat([row] * len(v)).assign(**{c: v}))) for c, v in ends.items()]
    np.testing.assert_allclose(shares[:3], np.array(moved) / np.sum(moved), rtol=1e-2)  # knots lie between the places tried
    chosen = SelectFromModel(one, prefit=True, threshold=(shares[1] + shares[2]) / 2, importance_getter="feature_importances_").get_support()
    assert chosen.tolist() == [True, True, False, False]


def test_noise_of_importances(tmp_path):
    """It is that of the terms between the extreme places, from their covariance."""
    dates = {"seen": ("2020-01-01", "2023-12-31")}
    table = X.assign(seen=np.datetime64("2020-01-01") + np.arange(len(X)) % 1461)
    fit = model(tmp_path, ["no", "yes"], dates=dates, train={"algorithm": "gd", "steps": 300}).fit(table, TWO)
    terms = {t["term"]: t for t in fit.coefficients_["terms"]}
    widths = {"age": 72, "nothing": 6, "seen": 1460 / 365.2425}
    levels = [fit.contrast({a: 1, b: -1}) for a, b in (("region=south", "region=north"), ("region=west", "region=north"), ("region=south", "region=west"))]
    widest = max(levels, key=lambda c: abs(c.value))
    value = {c: abs(terms[c]["value"]) * w for c, w in widths.items()} | {"region": abs(widest.value)}
    noise = {c: (terms[c]["noise_sd"] or np.nan) * w for c, w in widths.items()} | {"region": widest.noise_sd or np.nan}
    assert not all(np.isnan(v) for v in noise.values())
    names, whole = list(table.columns), sum(value.values())
    np.testing.assert_allclose(fit.feature_importances_, [value.get(c, 0) / whole for c in names], rtol=1e-9)
    np.testing.assert_allclose(fit.feature_importances_noise_, [noise.get(c, 0) / whole for c in names], rtol=1e-6)


def test_skops(tmp_path):
    """A fitted estimator goes through a file that runs no code when it is loaded."""
    skops = pytest.importorskip("skops.io")
    fit = model(tmp_path, ["no", "yes"]).fit(X, TWO)
    content = skops.dumps(fit)
    types = skops.get_untrusted_types(data=content)
    assert all(t.startswith(("stillpoint.", "pathlib.")) for t in types), types
    again = skops.loads(content, trusted=types)
    assert (again.predict_proba(X) == fit.predict_proba(X)).all()
    assert str(again.summary()) == str(fit.summary())
    assert io.BytesIO(content).read(2) == b"PK"


def test_importances_by_hand():
    """Of three classes a column has the mean of its differences; missing cells, other levels and the sign of noise do not count."""
    from stillpoint._importance import YEAR, importances

    def term(name, value, of, sd=None, reference=None, state="stated"):
        return {"term": name, "column": name.split("=")[0], "value": value, "class": of, "noise_sd": sd, "reference": reference, "state": state}

    def terms(of, age, south, west, income, seen):
        return [term("age", age, of, 0.01), term("age=missing", 9.0, of, 9.0), term("region=south", south, of, 0.2, "region=north"),
            term("region=west", west, of, 0.3, "region=north"), term("region=other", -9.0, of, 9.0, "region=north"),
            term("income", income, of, 0.05), term("seen", seen, of, 0.03)]  # fmt: skip

    described = {"age": {"number": [20, 70]}, "income": {"number": [0, 1023], "transform": "log1p"}, "seen": {"date": ["2020-01-01", "2024-01-01"]}}
    columns = ["age", "region", "income", "seen", "id"]
    three = {"noise": "bounded", "terms": terms("a", 0.02, 0.5, -0.4, 0.1, 0.2) + terms("b", -0.03, 0.6, 0.9, 0.2, -0.1) + terms("c", 0.01, -0.7, -0.3, 0.3, 0.1)}
    years = 1461 / YEAR
    found = [50 * (0.02 + 0.03 + 0.01) / 3, (0.9 + 0.9 + 0.7) / 3, 10 * 0.6 / 3, years * 0.4 / 3, 0]
    noise = [50 * 0.01, (0.5 + 0.3 + 0.2) / 3, 10 * 0.05, years * 0.03, 0]
    shares, deviations = importances(three, columns, described)
    np.testing.assert_allclose(shares, np.array(found) / sum(found), rtol=1e-12)
    np.testing.assert_allclose(deviations, np.array(noise) / sum(found), rtol=1e-12)
    # Of one class, with the covariance of the terms in place of bounds.
    one = terms(None, 0.02, 0.5, -0.4, 0.1, 0.2)
    covariance = np.diag([0.01, 9.0, 0.2, 0.3, 9.0, 0.05, 0.03]) ** 2
    covariance[2, 3] = covariance[3, 2] = 0.05
    found = [50 * 0.02, 0.9, 10 * 0.1, years * 0.2, 0]
    noise = [50 * 0.01, (0.2**2 + 0.3**2 - 2 * 0.05) ** 0.5, 10 * 0.05, years * 0.03, 0]
    _, deviations = importances({"noise": "estimated", "terms": one, "covariance": covariance.tolist()}, columns, described)
    np.testing.assert_allclose(deviations, np.array(noise) / sum(found), rtol=1e-9)
    # A term whose noise is not stated, or that the steps have not reached, leaves its own column without a deviation.
    for change in ({"noise_sd": None}, {"state": "not arrived"}, {"state": "absent"}):
        changed = [t | change if t["term"] == "region=west" else t for t in one]
        _, deviations = importances({"noise": "bounded", "terms": changed}, columns, described)
        assert [bool(np.isnan(v)) for v in deviations] == [False, True, False, False, False], change
    unknown = covariance.tolist()  # the command states null for such a term
    unknown[3] = 7 * [None]
    for row in unknown:
        row[3] = None
    for state in ("not arrived", "not stated"):
        changed = [t | {"noise_sd": None, "state": state} if t["term"] == "region=west" else t for t in one]
        _, deviations = importances({"noise": "estimated", "terms": changed, "covariance": unknown}, columns, described)
        assert [bool(np.isnan(v)) for v in deviations] == [False, True, False, False, False], state
        assert deviations[0] == pytest.approx(50 * 0.01 / sum(found), rel=1e-9)
    _, deviations = importances({"noise": "not stated", "terms": one}, columns, described)
    assert np.isnan(deviations[:4]).all()
