"""Methods of estimators on answers of the command that are made up, worked out by hand. No command is run.

All numbers differ from each other, orders are not sorted, and names have characters that some writer quotes.
"""

import csv
import io
import json
import math
import warnings
from datetime import date
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("sklearn", "1.6")
pandas = pytest.importorskip("pandas")

import stillpoint
from stillpoint import ConfigurationError, Fit, NewTableWarning, StillpointClassifier, StillpointRegressor, StillpointSurvival
from stillpoint import _answers, _checks, _curves, _estimators, _fit, _formula, _importance, _progress, _score, _summary, _table, _typed

EXACT = {"rtol": 1e-12, "atol": 1e-15}
GIVEN = {"epsilon": 1.5, "delta": 1e-6, "relation": "replace-one", "folder": "f", "table": "people", "progress": False}
X = pandas.DataFrame({"age": [1.0, 2, 3], "town": ["a", "b", "a"]})


def classifier(classes, order=None, **more):
    """A classifier with the attributes of a fit; order has the numbers by which a caller encoded its classes."""
    m = StillpointClassifier(classes=classes, **GIVEN, **more)
    m.classes_, m._encoded, m._order = np.asarray(classes), order, np.arange(len(classes))
    if order is not None:
        m._order, m.classes_ = np.argsort(order), np.sort(order)
    m._model, m._used, m._described, m._fitted_columns, m.n_features_in_, m.effects_ = b"{}", ["age"], {"age": {"number": [0, 9]}}, ["age", "town"], 2, None
    m.coef_ = np.zeros((1, 1))
    return m


def scored(monkeypatch, m, columns):
    """The score of m has these columns. The list that is returned gets the arguments by which it was asked for."""
    asked = []

    def score(X, only, *flags):
        asked.append((only, *flags))
        return {n: np.asarray(v) for n, v in columns.items() if not only or n == only or n.startswith(only + "=")}

    monkeypatch.setattr(m, "_score", score, raising=False)
    return asked


@pytest.mark.parametrize("order", [None, [0, 1], [1, 0]])
def test_two_classes(order, monkeypatch):
    """The margin is of the second class as it was stated; a caller who numbers the classes the other way gets the columns swapped."""
    m = classifier(["yes", "no"], order)
    margin = np.array([-2.0, 0.25, 40])
    p = 1 / (1 + np.exp(-margin))
    scored(monkeypatch, m, {"probability": p, "class": [0, 1, 1], "margin": margin})
    swapped = order == [1, 0]
    both = np.column_stack([p, 1 - p] if swapped else [1 - p, p])
    np.testing.assert_allclose(m.predict_proba(X), both, **EXACT)
    logs = np.column_stack([-np.log1p(np.exp(margin)), -np.log1p(np.exp(-margin))])
    np.testing.assert_allclose(m.predict_log_proba(X), logs[:, ::-1] if swapped else logs, rtol=1e-12, atol=1e-300)
    assert m.decision_function(X).tolist() == (-margin if swapped else margin).tolist()
    want = [0, 1, 1] if order is None or not swapped else [1, 0, 0]
    assert m.predict(X).tolist() == [m.classes_[i] for i in want]


@pytest.mark.parametrize("order", [None, [2, 0, 1], [1, 2, 0]])
def test_several_classes(order, monkeypatch):
    """Each column is that of its class, whose number a caller may have chosen."""
    m = classifier(["b", "c=1", "a"], order)
    margins = np.array([[0.5, -1, 2], [3, 1, 0.25], [-700, 700, 0]])
    p = np.exp(margins - margins.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    columns = {f"probability={c}": p[:, i] for i, c in enumerate(m.classes)} | {"class": [2, 0, 1]}
    scored(monkeypatch, m, columns | {f"margin={c}": margins[:, i] for i, c in enumerate(m.classes)})
    places = [0, 1, 2] if order is None else [order.index(k) for k in range(3)]
    np.testing.assert_allclose(m.predict_proba(X), p[:, places], **EXACT)
    assert m.decision_function(X).tolist() == margins[:, places].tolist()
    total = [math.log(sum(math.exp(v - max(row)) for v in row)) + max(row) for row in margins.tolist()]
    np.testing.assert_allclose(m.predict_log_proba(X), (margins - np.array(total)[:, None])[:, places], rtol=1e-12, atol=1e-12)
    names = m.classes if order is None else order
    assert m.predict(X).tolist() == [names[2], names[0], names[1]]


def test_probabilities_are_of_some_losses():
    for loss, has in {"auto": True, "logistic": True, "softmax": True, "ordered": True, "hinge": False, "tanh": False, "sigmoid": False}.items():
        m = classifier(["a", "b"], loss=loss)
        assert hasattr(m, "predict_proba") == hasattr(m, "predict_log_proba") == has, loss
    assert classifier(["a", "b", "c"])._loss() == "softmax" and classifier(["a", "b"])._loss() == "logistic"


@pytest.mark.parametrize("classes", [["yes, \"1\"", "no\n=2", " é "], [2.5, 10, -3], [True, 7, False]])
def test_predictions_of_the_command_are_read(classes, monkeypatch):
    """The texts that the command prints become numbers, places of classes and NaN, in the order of the rows."""
    m = classifier(classes)
    names = [_estimators.text(c) for c in classes]
    out = io.StringIO(newline="")
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow([f"probability={n}" for n in names] + ["class", "lower", "upper"])
    lines.writerows([[0.5, 0.25, 0.125, names[2], "", "7e-3"], [1e-300, "inf", "-0.5", names[0], "0.75", ""], [3, 4, 5, names[1], "1", "2"]])
    asked = []

    def run(arguments, feed):
        model = Path(arguments[1])
        pipe = io.BytesIO()
        feed(pipe)
        asked.append(([a if a != model else "MODEL" for a in arguments], model.name, model.read_bytes(), pipe.getvalue().decode()))
        return out.getvalue()

    monkeypatch.setattr(_estimators, "run", run)
    monkeypatch.setattr(_score, "read", lambda content: None)
    got = m._score(X, "")
    assert list(got) == [*(f"probability={n}" for n in names), "class", "lower", "upper"]
    assert [got[f"probability={n}"].tolist() for n in names] == [[0.5, 1e-300, 3], [0.25, math.inf, 4], [0.125, -0.5, 5]]
    assert got["class"].tolist() == [2, 0, 1]
    assert math.isnan(got["lower"][0]) and got["lower"][1:].tolist() == [0.75, 1] and math.isnan(got["upper"][1]) and got["upper"][[0, 2]].tolist() == [7e-3, 2]
    m._score(X, "", "--intervals", "--horizon=2")
    table = "age,\r\n1.0,x\r\n2.0,x\r\n3.0,x\r\n"
    assert asked == [(["predict", "MODEL", "-", "--margin"], "model.json", b"{}", table),
                     (["predict", "MODEL", "-", "--margin", "--intervals", "--horizon=2"], "model.json", b"{}", table)]  # fmt: skip
    with pytest.raises(RuntimeError, match="^3 predictions of 2 rows$"):
        m._score(X[:2], "")
    number = StillpointRegressor(target_bounds=(0, 9), **GIVEN)  # without classes
    number.__dict__.update({k: m.__dict__[k] for k in ("_model", "_used", "_described", "_fitted_columns", "n_features_in_", "coef_")})
    monkeypatch.setattr(_estimators, "run", lambda arguments, feed: "prediction,lower,upper\n1.5,,2\n-3,0.25,7\n1e6,5,6\n")
    got = number._score(X, "")
    assert got["prediction"].tolist() == [1.5, -3, 1e6] and got["upper"].tolist() == [2, 7, 6] and math.isnan(got["lower"][0]) and got["lower"][2] == 5


def test_intervals_of_predictions(monkeypatch):
    """The lower end is the first of two; ordered classes have two ends for each threshold, in the order of the thresholds."""
    m = classifier(["a", "b", "c"], loss="ordered")
    with pytest.raises(ValueError, match="^predict_interval: the fit has no intervals: inference=0.95 asks for them$"):
        m.predict_interval(X)
    m.effects_ = {"method": "wald", "short": False, "changes": [], "reasons": []}
    asked = scored(monkeypatch, m, {"upper": [3, 4.0, math.nan], "lower": [1, 2.0, math.nan], "class": [0, 1, 2]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(m.predict_interval(X), [[1, 3], [2, 4], [math.nan] * 2])
    assert asked == [("", "--intervals")]
    scored(monkeypatch, m, {"lower=b": [1, 2, 3.0], "upper=b": [4, 5, 6.0], "lower=c": [7, 8, 9.0], "upper=c": [10, 11, 12.0], "class": [0, 0, 0]})
    ends = m.predict_interval(X)
    assert ends.tolist() == [[[1, 4], [7, 10]], [[2, 5], [8, 11]], [[3, 6], [9, 12]]]
    m.effects_ |= {"short": True, "changes": ["town is left out", "x is left out"]}
    with pytest.warns(UserWarning) as told:
        m.predict_interval(X)
    assert [str(w.message) for w in told] == ["predict_interval: predictions of rows that depend on these terms have no interval, since the formula of "
                                              "the fit lacks the terms: town is left out; x is left out"]  # fmt: skip
    m.effects_ |= {"method": "not identified", "reasons": [{"state": "withheld", "text": "one"}, {"state": "not identified", "text": "two"}]}
    with pytest.warns(UserWarning) as told:
        m.predict_interval(X)
    assert [str(w.message) for w in told] == ["predict_interval: no prediction has an interval: two"]


TERMS = [
    {"term": "age", "column": "age", "value": 0.25, "noise_sd": 0.5}, {"term": "town=b", "column": "town", "reference": "town=a", "value": -1.5, "noise_sd": 0.75},
    {"term": "town=c", "column": "town", "reference": "town=a", "value": 3.0, "noise_sd": 1.25},
]  # fmt: skip
COEFFICIENTS = {"terms": TERMS, "references": {"town": "a"}, "unit": "log-odds of ill", "noise": "bounded", "target": "ill"}


def test_contrasts_ask_the_command(monkeypatch):
    """With intervals each number is the command's, in the order of the contrasts; a class stands before each of its terms."""
    m = classifier(["no", "yes"])
    m.coefficients_, m.effects_ = COEFFICIENTS, {"level": 0.9}
    asked = []

    def said(model, *arguments, feed=None):
        asked.append((model, arguments))
        return {"contrasts": [{"state": "reported", "estimate": 10.0 + i, "low": 20.0 + i, "high": 30.0 + i, "standard_error": 40.0 + i,
            "privacy_share": 50.0 + i, "meaning": f"m{i}", "level": 0.9, "formula": "f"} for i in range(len(arguments) - 1)]}  # fmt: skip

    monkeypatch.setattr(_answers, "of_bytes", said)
    one = m.contrast({"age": 2, "town=b": -1})
    assert (one.value, one.low, one.high, one.standard_error, one.privacy_share) == (10, 20, 30, 40, 50)
    assert (one.meaning, one.level, one.formula, one.state) == ("m0", 0.9, "f", "reported")
    several = m.contrasts("town", reference="c")
    assert {n: (c.value, c.high) for n, c in several.items()} == {"town=a": (10, 30), "town=b": (11, 31)}
    assert m.contrast({"age@30": 1}).noise_sd is None
    assert asked == [(b"{}", ("contrast", " 2.0 age + -1.0 town=b")), (b"{}", ("contrast", " 1.0 town=a + -1.0 town=c", " 1.0 town=b + -1.0 town=c")),
                     (b"{}", ("contrast", " 1.0 age@30"))]  # fmt: skip
    m.coefficients_ = COEFFICIENTS | {"terms": [t | {"class": k} for k in ("2", "7") for t in TERMS]}
    m.classes = [0, 2, 7]
    asked.clear()
    m.contrast({"age": 3}, class_=7)
    m.contrasts("town", class_=2)
    m.contrast({"2: age": 1, "7: age": -1})
    assert [a for _, a in asked] == [("contrast", " 3.0 7: age"), ("contrast", " 1.0 2: town=b + -1.0 2: town=a", " 1.0 2: town=c + -1.0 2: town=a"),
                                     ("contrast", " 1.0 2: age + -1.0 7: age")]  # fmt: skip
    truths = [{**TERMS[1], "term": f"town={level}", "reference": "town=false", "class": c} for level in ("true", "other") for c in ("true", "2")]
    m.coefficients_ = COEFFICIENTS | {"terms": truths, "references": {"town": "false"}}
    asked.clear()
    assert list(m.contrasts("town", reference=True, class_=True)) == ["town=false", "town=other"]
    assert [a for _, a in asked] == [("contrast", " 1.0 true: town=false + -1.0 true: town=true", " 1.0 true: town=other + -1.0 true: town=true")]
    m.coefficients_, asked[:] = COEFFICIENTS | {"terms": [t | {"class": k} for k in ("2", "7") for t in TERMS]}, [1, 2, 3]
    m.effects_ = None  # without intervals no command is asked
    assert m.contrast({"age": 2}, class_=7).value == 0.5 and len(asked) == 3
    with pytest.raises(ValueError, match="term 'age@30': must be one of"):
        m.contrast({"age@30": 1}, class_=7)


def test_answers_ask_the_command(monkeypatch):
    """Means, tests and verifications hand on the model, the columns and the population, and nothing else."""
    m = classifier(["no", "yes"], categories={"town": ["a", "b"]})
    m._used, m._described = ["age", "town"], {"age": {"number": [0, 9]}, "town": {"category": ["a", "b"]}}
    asked = []

    def run(arguments, feed=None, *more):
        pipe = io.BytesIO()
        if feed is not None:
            feed(pipe)
        asked.append(([a.read_text() if isinstance(a, Path) and a.is_file() else a for a in arguments], pipe.getvalue().decode()))
        return '{"a": 7}'

    monkeypatch.setattr(_answers, "run", run)
    table = 'age,town,\r\n1.0,a,x\r\n2.0,b,x\r\n3.0,a,x\r\n'
    assert m.means(X[["town", "age"]], of=["town", "age"]) == {"a": 7} and m.means(X) == {"a": 7} and m.tests() == {"a": 7}
    assert asked == [(["means", "{}", "--over", "-", "--of=town", "--of=age", "--json"], table), (["means", "{}", "--over", "-", "--json"], table),
                     (["coefficients", "{}", "--tests", "--json"], "")]  # fmt: skip
    monkeypatch.setattr(_fit, "run", run)
    asked.clear()
    fit = Fit(Path("/no/such/folder"), {}, {}, {})
    assert fit.verify() == fit.coefficients() == fit.tests() == {"a": 7}
    assert [[str(a) for a in of] for of, _ in asked] == [["verify", "/no/such/folder/certificate.json", "--model", "/no/such/folder/model.json", "--json"],
        ["coefficients", "/no/such/folder", "--json"], ["coefficients", "/no/such/folder", "--tests", "--json"]]  # fmt: skip


def test_means_of_a_file(monkeypatch, tmp_path):
    """The columns go to the command in the order of the schema; those of numbers and dates as numbers, and others as levels."""
    columns = [{"name": "b", "category": ["true"]}, {"name": "d", "date": ["2020-01-01", "2021-01-01"]}, {"name": "h", "hash": 9}, {"name": "a", "number": [0, 1]},
               {"name": "z", "ignore": True}]  # fmt: skip
    (tmp_path / "model.json").write_text(json.dumps({"schema": {"columns": columns}}))
    asked = []

    def run(arguments, feed):
        pipe = io.BytesIO()
        feed(pipe)
        asked.append((arguments, pipe.getvalue().decode()))
        return "[3]"

    monkeypatch.setattr(_answers, "run", run)
    public = pandas.DataFrame({"a": [True, False], "h": [True, 2.0], "more": [1, 2], "b": [True, False], "d": ["2020-05-05", ""]})
    for place in (tmp_path, tmp_path / "model.json", str(tmp_path), Fit(tmp_path, {}, {}, {})):
        assert stillpoint.means(place, public, ["b"]) == [3]
    assert {text for _, text in asked} == {"b,d,h,a,\r\ntrue,2020-05-05,true,1,x\r\nfalse,,2,0,x\r\n"}
    assert [[str(a) for a in of] for of, _ in asked][1] == ["means", str(tmp_path / "model.json"), "--over", "-", "--json", "--of=b"]


def survival(**more):
    m = StillpointSurvival(cuts=[1, 3, 4], **{**GIVEN, **more})
    m.event_times_ = np.array([0.0, 1, 3, 4])
    m.cumulative_baseline_hazard_ = np.array([0, 0.25, 0.75, 1])
    m._model, m._used, m._described, m._fitted_columns, m.n_features_in_, m.coef_ = b"{}", ["age"], {"age": {"number": [0, 9]}}, ["age", "town"], 2, np.zeros(1)
    return m


SCORES = [-0.5, 0.25, 2.0]
TIMES = [4, 0.5, 0, 2, 3.5, 1]
SHARES = [1, 0.125, 0, 0.5, 0.875, 0.25]  # of the baseline hazard, up to each of these times


def test_survival_by_hand(monkeypatch):
    """Proportional hazards: a time between two cuts has its share of the hazard between them."""
    m = survival()
    asked = scored(monkeypatch, m, {"risk": [9.0] * 3, "score": SCORES, "margin": [8.0] * 3})
    want = [[math.exp(-math.exp(s) * h) for h in SHARES] for s in SCORES]
    np.testing.assert_allclose(m.predict_survival_function(X, TIMES), want, **EXACT)
    np.testing.assert_allclose(m.predict_survival_function(X), [[math.exp(-math.exp(s) * h) for h in (0, 0.25, 0.75, 1)] for s in SCORES], **EXACT)
    assert m.predict(X).tolist() == SCORES and set(asked) == {("score",)}
    for times in ([-0.01, 1], [1, 4.01]):
        with pytest.raises(ValueError, match=r"times: must be between 0 and the last cut, 4.0"):
            m.predict_survival_function(X, times)
    at = np.linspace(0, 4, 40_001)
    curves = np.exp(-np.exp(np.array(SCORES))[:, None] * np.interp(at, [0, 1, 3, 4], [0, 0.25, 0.75, 1]))
    np.testing.assert_allclose(m.restricted_mean(X), ((curves[:, 1:] + curves[:, :-1]) / 2 * 1e-4).sum(axis=1), rtol=1e-8)
    m.cumulative_baseline_hazard_ = np.array([0, 0, 1, 1])  # no event in the first and the last interval
    rate = math.exp(2) / 2
    assert m.restricted_mean(X)[2] == pytest.approx(1 + (1 - math.exp(-2 * rate)) / rate + math.exp(-2 * rate), rel=1e-9)


def test_survival_of_logit_hazards_by_hand(monkeypatch):
    """Between two cuts the logarithm of the survival is a straight line."""
    m = survival(grouped="logit")
    scored(monkeypatch, m, {"score": SCORES})
    want = []
    for s in SCORES:
        logs = [0.0]
        for share in (0.25, 0.5, 0.25):
            logs.append(logs[-1] - math.log(1 + share * math.exp(s)))
        want.append([math.exp(v) for v in (logs[3], logs[1] / 2, 0, (logs[1] + logs[2]) / 2, (logs[2] + logs[3]) / 2, logs[1])])
    np.testing.assert_allclose(m.predict_survival_function(X, TIMES), want, **EXACT)
    assert m.predict_survival_function(X, []).shape == (3, 0)


def test_survival_of_changing_ratios_by_hand(monkeypatch):
    """The command has the risks, in the order of the times; the survival at 0 is 1, and a risk of 1 is no error."""
    m = survival(changing="town")
    m.cumulative_baseline_hazard_ = np.array([[0, 0.25, 0.75, 1], [0, 0.5, 0.6, 1]])
    risks = {"score": SCORES, "risk=4.0": [0.5, 0.6, 1.0], "risk=0.5": [0.01, 0.02, 0.3], "risk=2.0": [0.2, 0.25, 0.4], "margin": SCORES}
    asked = []

    def score(X, only, *flags):
        asked.append((only, *flags))
        return {n: np.asarray(v) for n, v in risks.items() if flags or n == only}  # the command's answer has all columns

    monkeypatch.setattr(m, "_score", score, raising=False)
    got = m.predict_survival_function(X, [4, 0.5, 0, 2])
    np.testing.assert_allclose(got, [[0.5, 0.99, 1, 0.8], [0.4, 0.98, 1, 0.75], [0, 0.7, 1, 0.6]], rtol=1e-12, atol=2e-16)
    assert asked[0] == ("risk", "--horizon=4.0,0.5,2.0")
    assert m.predict_survival_function(X, [0]).tolist() == [[1], [1], [1]]
    risks = {"score": SCORES, "risk=1.0": [0.1, 0.2, 0.3], "risk=3.0": [0.4, 0.5, 0.6], "risk=4.0": [0.7, 0.75, 0.8]}
    means = m.restricted_mean(X)
    for i, mean in enumerate(means):
        alive = [1.0, *(1 - risks[f"risk={t}"][i] for t in ("1.0", "3.0", "4.0"))]
        want = sum((b - a) * (s - t) / math.log(s / t) for a, b, s, t in zip([0, 1, 3], [1, 3, 4], alive, alive[1:]))
        assert mean == pytest.approx(want, rel=1e-12)


def test_measures_of_survival_ask_the_command(monkeypatch):
    """The event stands before the time, whichever field of the outcome is which; the entry is a column of its own."""
    y = np.array([(3.5, True), (0.25, False), (7, True)], dtype=[("years", float), ("died", bool)])
    other = np.array([(True, 3.5), (False, 0.25), (True, 7)], dtype=[("died", bool), ("years", np.float32)])
    m = survival(entry="start")
    m._model = json.dumps({"schema": {"target": {"column": "time, years", "event": "event_"}}}).encode()
    m._fitted_columns = ["start", "age"]
    asked = []

    def of_bytes(model, *arguments, feed=None):
        pipe = io.BytesIO()
        feed(pipe)
        asked.append((model, arguments, pipe.getvalue().decode()))
        return {"concordance": 0.75}

    monkeypatch.setattr(_answers, "of_bytes", of_bytes)
    table = X.assign(start=[0.5, 0, 2])
    for outcome in (y, other):
        assert m.evaluate(table, outcome) == {"concordance": 0.75} and m.score(table[["start", "age"]].to_numpy(), outcome) == 0.75
    m.evaluate(table, y, horizon=2.5)
    m.entry = None
    m.evaluate(table[["age"]].assign(b=1).to_numpy()[:, ::-1], y, 0)
    text = 'age,start,event_,"time, years"\r\n1.0,0.5,true,3.5\r\n2.0,0.0,false,0.25\r\n3.0,2.0,true,7\r\n'
    assert asked[:4] == [(m._model, ("evaluate", "-"), text)] * 4
    assert asked[4] == (m._model, ("evaluate", "-", "--horizon=2.5"), text)
    assert asked[5] == (m._model, ("evaluate", "-", "--horizon=0"), 'age,event_,"time, years"\r\n1.0,true,3.5\r\n2.0,false,0.25\r\n3.0,true,7\r\n')
    bad = [[1.0, 2, 3], np.zeros(3, dtype=[("a", bool), ("b", bool)]), np.zeros(3, dtype=[("a", float), ("b", float)]), np.zeros(3, dtype=[("a", bool)]),
           np.zeros(3, dtype=[("a", bool), ("b", float), ("c", float)])]  # fmt: skip
    for outcome in bad:
        with pytest.raises(ValueError, match="^y: must be a structured array with two fields, one of truth values"):
            m.evaluate(table, outcome)


def fed(monkeypatch, m, *arguments):
    """The configuration and the table that a fit hands to the command."""
    caught = []

    def fit(file, *, out, progress, feed):
        pipe = io.BytesIO()
        feed(pipe)
        caught.append((json.loads(Path(file).read_text(encoding="utf-8")), pipe.getvalue().decode()))
        raise KeyboardInterrupt

    monkeypatch.setattr(_estimators, "_fit", fit)
    with warnings.catch_warnings(), pytest.raises(KeyboardInterrupt):
        warnings.simplefilter("ignore", NewTableWarning)
        m.fit(*arguments)
    return caught[0]


def test_configurations_of_survival(monkeypatch, tmp_path):
    """Cuts, grouping, changing ratios and entry are where the command reads them; the column of events has a name of its own."""
    y = np.array([(True, 3.5), (False, 0.25), (True, -7)], dtype=[("died", bool), ("years", float)])
    more = {"bounds": {"age": (0, 9)}, "categories": {"town": ["b", "a"]}, "folder": tmp_path, "relation": "add-or-remove", "records": 5}
    table = X.assign(event=[0.5, 0, 2], y=1)
    config, text = fed(monkeypatch, survival(**more, entry="event", ignore=["y"], grouped="logit", changing="town"), table, y)
    assert config["schema"]["target"] == {"column": "y_", "cuts": [1.0, 3.0, 4.0], "grouped": "logit", "changing": "town", "event": "event_", "entry": "event"}
    assert "unit" not in config["schema"] and config["privacy"]["records"] == 5 and config["model"] == {"loss": "hazard", "family": "auto"}
    assert text == "age,town,event,event_,y_\r\n1.0,a,0.5,true,3.5\r\n2.0,b,0.0,false,0.25\r\n3.0,a,2.0,true,-7\r\n"
    config, text = fed(monkeypatch, survival(**more, ignore="others", grouped=True), X, y)
    assert config["schema"]["target"] == {"column": "y", "cuts": [1.0, 3.0, 4.0], "grouped": True, "event": "event"}
    assert text.splitlines()[0] == "age,town,event,y"
    config, _ = fed(monkeypatch, survival(**{**more, "relation": "replace-one"}), X, y)
    assert config["schema"]["target"] == {"column": "y", "cuts": [1.0, 3.0, 4.0], "event": "event"} and config["privacy"]["records"] == 3


def test_configurations_of_targets(monkeypatch, tmp_path):
    """Exposures, offsets and weights are columns of the table and no features, and each has its own key."""
    more = {**GIVEN, "folder": tmp_path, "target_bounds": (0, 20), "loss": "poisson(1)", "bounds": {"age": (0, 9)}, "ignore": ["town"]}
    table = X.assign(years=[0.5, 1, 2], w=[1, 0.5, 0])
    for use in ("exposure", "offset"):
        m = StillpointRegressor(**more, **{use: {"years": (0.25, 4)}}, weight="w")
        config, text = fed(monkeypatch, m, table, [3, True, None])
        assert config["schema"]["target"] == {"column": "y", "number": [0.0, 20.0], "weight": "w", use: {"column": "years", "number": [0.25, 4.0]}}
        assert list(config["schema"]["columns"]) == ["age"]
        assert text == "age,w,years,y\r\n1.0,1,0.5,3\r\n2.0,0.5,1.0,1\r\n3.0,0,2.0,\r\n".replace(",1,0.5", ",1.0,0.5").replace(",0,2.0", ",0.0,2.0")
    config, text = fed(monkeypatch, StillpointClassifier(classes=["b", "a"], **{**GIVEN, "folder": tmp_path}, bounds={"age": (0, 9)}, outcome="town",
                                                         inference={"level": 0.9, "rows": "unweighted"}, train={"steps": 3}, radius=2.5), X)  # fmt: skip
    assert config["schema"]["target"] == {"column": "town", "classes": ["b", "a"]} and config["inference"] == {"level": 0.9, "rows": "unweighted"}
    assert (config["model"], config["train"]) == ({"loss": "logistic", "family": "auto", "radius": 2.5}, {"steps": 3})
    assert text == "age,town\r\n1.0,a\r\n2.0,b\r\n3.0,a\r\n"


def test_sums_of_costs(monkeypatch):
    """spent_ is of the table, the relation and the unit of the fit, of which no two sums share all three."""
    m = classifier(["no", "yes"])
    sums = [{"table": f"table {t}", "relation": r, "fits": 1, "epsilon": 10.0 * i + k, **({"unit": u} if u else {})}
        for i, (t, u) in enumerate([("others", ""), ("people", "person"), ("people", "")]) for k, r in enumerate(("add-or-remove", "replace-one"))]  # fmt: skip
    monkeypatch.setattr(_estimators, "spent", lambda *folders: sums if folders == ("f",) else [])
    for relation, unit, want in (("replace-one", "", 21), ("add-or-remove", "", 20), ("replace-one", "person", 11)):
        m.relation = relation
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            m._sum(unit)
        assert m.spent_["epsilon"] == want
    sums[3] |= {"fits": 2, "epsilon": 2.34567, "delta": 3e-7}
    with pytest.warns(stillpoint._estimators.SpentWarning, match=r"^2 fits of people in f cost together epsilon 2.346 at delta 3e-07$"):
        m._sum("person")


def test_a_new_table_is_told(monkeypatch, tmp_path):
    """With the number of the other tables in the folder; a table that is there is not told."""
    m = classifier(["no", "yes"])
    m.folder = tmp_path
    sums = [{"table": "table others"}, {"table": "table people2"}]
    monkeypatch.setattr(_estimators, "spent", lambda *folders: sums)
    words = "fits of the same people under another name or in another folder are not summed with it"
    with pytest.warns(NewTableWarning) as told:
        m._known()
    assert str(told[0].message) == f"table 'people' is new in folder {str(tmp_path)!r}: {words}"
    (tmp_path / "fit-0001").mkdir()
    with pytest.warns(NewTableWarning) as told:
        m._known()
    assert str(told[0].message) == f"table 'people' is new in folder {str(tmp_path)!r}, which has fits of 2 others: {words}"
    sums.append({"table": "table people"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m._known()


def test_folders_of_fits_are_counted(tmp_path):
    for taken, want in [([], "fit-0001"), (["fit-0007", "fit-0003", "fit-x", "other-0099", "fit-"], "fit-0008"), (["fit-10000"], "fit-10001")]:
        for name in taken:
            (tmp_path / "fits" / name).mkdir(parents=True)
        assert _estimators._fresh(tmp_path / "fits").name == want
    assert _estimators._fresh(tmp_path / "deep" / "er") == tmp_path / "deep" / "er" / "fit-0001" and (tmp_path / "deep" / "er" / "fit-0001").is_dir()


def test_importances_of_dates_and_logarithms():
    """A slope of a date is per year of 365.2425 days, and one under a logarithm per doubling of 1 + x."""
    terms = [{"term": "day", "column": "day", "value": -0.5, "noise_sd": 0.25}, {"term": "pay", "column": "pay", "value": 0.75, "noise_sd": 0.125},
             {"term": "age", "column": "age", "value": 0.01, "noise_sd": 0.002}, {"term": "age=missing", "column": "age", "value": 99.0, "noise_sd": 9.0}]  # fmt: skip
    described = {"day": {"date": ["2019-03-01", "2021-11-15"]}, "pay": {"number": [3, 47], "transform": "log1p"}, "age": {"number": [-20, 90]}}
    years = (date(2021, 11, 15) - date(2019, 3, 1)).days / 365.2425
    moves = np.array([1.1, 0.5 * years, 0, 0.75 * math.log2(48 / 4)])
    shares, noise = _importance.importances({"terms": terms, "noise": "bounded"}, ["age", "day", "nothing", "pay"], described)
    np.testing.assert_allclose(shares, moves / moves.sum(), rtol=1e-12)
    np.testing.assert_allclose(noise, np.array([0.22, 0.25 * years, 0, 0.125 * math.log2(12)]) / moves.sum(), rtol=1e-12)
    shares, noise = _importance.importances({"terms": [], "noise": "bounded"}, ["age"], described)
    assert shares == [0] and noise == [0]


def test_types_of_columns():
    """The kind of each type of numpy, pandas, polars and pyarrow, by the type alone."""
    kinds = {"i1": "number", "u8": "number", "f2": "number", "f8": "number", "c16": "complex number", "?": "truth", "U3": "text", "S3": "text", "M8[ns]": "time",
             "m8[D]": "duration", "O": ""}  # fmt: skip
    for kind, want in kinds.items():
        assert _checks.type_of(np.zeros(2, np.dtype(kind))) == want, kind
    assert _checks.type_of([1, 2]) == ""
    more = {"Int8": "number", "UInt64": "number", "Float32": "number", "boolean": "truth", "string": "text", "datetime64[ns, UTC]": "time", "period[M]": "time"}
    for kind, want in more.items():
        assert _checks.type_of(pandas.Series([None, None], dtype=kind)) == want, kind
    for values, want in ((["a"], "text"), ([1.5], "number"), ([True], "truth"), (pandas.to_datetime(["2020-01-01"]), "time"), (pandas.to_timedelta(["1D"]), "duration")):
        assert _checks.type_of(pandas.Series(pandas.Categorical(values))) == want, want
    pyarrow = pytest.importorskip("pyarrow")
    arrow = {pyarrow.int16(): "number", pyarrow.uint8(): "number", pyarrow.float16(): "number", pyarrow.float64(): "number", pyarrow.bool_(): "truth",
        pyarrow.string(): "text", pyarrow.large_string(): "text", pyarrow.string_view(): "text", pyarrow.date32(): "time", pyarrow.time64("us"): "time",
        pyarrow.timestamp("ms", "UTC"): "time", pyarrow.duration("s"): "duration", pyarrow.dictionary(pyarrow.int8(), pyarrow.string()): "text",
        pyarrow.dictionary(pyarrow.int8(), pyarrow.int32()): "number", pyarrow.binary(): "", pyarrow.null(): ""}  # fmt: skip
    for kind, want in arrow.items():
        assert _checks.type_of(pyarrow.nulls(2, kind)) == want, kind


def test_types_that_are_refused():
    """Which types of columns and targets no cell of which is what was stated, and why."""
    number, dated, words, codes, truths = {"number": [0, 1]}, {"date": ["a", "b"]}, {"category": ["a", "01"]}, {"category": ["b", "2.5"]}, {"category": ["x", "false"]}
    complex_, days, spans = "must be of real numbers", "must be in dates with its first and last date", "must be of numbers: give the days or seconds"
    times, levels, coded = "must be of times or of ISO texts", "must have the categories True and False", "must have categories that are numbers"
    refused = {
        "number": {"date": times, "words": coded, "truths": coded}, "complex number": dict.fromkeys(("number", "date", "words", "codes", "truths"), complex_),
        "truth": {"date": times, "words": levels, "codes": levels}, "text": {}, "time": {"number": days}, "duration": {"number": spans, "date": times}, "": {},
    }  # fmt: skip
    for kind, of in refused.items():
        for name, facts in {"number": number, "date": dated, "words": words, "codes": codes, "truths": truths}.items():
            message = ""
            try:
                _checks.refuse_cells({"a": "text", "b": kind}, {"a": words, "b": facts})
            except ConfigurationError as error:
                message = str(error)
                assert message.startswith(f"the described column at place 1 (from 0) is of a type of {kind}s: ") and error.field == "X"
            assert (of.get(name, "?") in message) == bool(message) == (name in of), (kind, name, message)
    ys = {"number": np.zeros(1), "truth": np.zeros(1, bool), "text": np.zeros(1, "U1"), "time": np.zeros(1, "M8[s]"), "duration": np.zeros(1, "m8[s]"), "": [1]}
    for classes, bad in ((None, {"time", "duration"}), (["a", "b"], {"number", "truth", "time", "duration"}), ([1, 2.5], {"text", "time", "duration"}),
                         ([True, False], {"text", "time", "duration"}), (np.array([1, 2]), {"text", "time", "duration"}), ([date(2020, 1, 1), 1], set())):  # fmt: skip
        for kind, y in ys.items():
            message = ""
            try:
                _checks.refuse_targets(y, classes)
            except ConfigurationError as error:
                message = str(error)
                assert (f"type of {kind}s" in message or classes is None) and error.field == ("y" if classes is None else "classes")
            assert bool(message) == (kind in bad), (kind, classes, message)
    for values in ("ab", b"ab", {"a", "b"}, frozenset("ab"), 7, None):
        with pytest.raises(ConfigurationError, match=f"^classes is of type {type(values).__name__}: must be a list"):
            _checks.refuse_lists({"other": ["a"], "classes": values})
    _checks.refuse_lists({"classes": ["a"], "b": ("a",), "c": range(3), "d": np.array([1]), "e": {"a": 1}})


def test_sizes_of_cells():
    """A record has at most 4,194,304 characters, of which each cell has its part; beside them stand the target and a rest."""
    assert [_table.longest(n) for n in (1, 3, 100, 10**6)] == [1398101, 838860, 41120, 64]
    pyarrow, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    for kind, exact, want in ((np.longdouble, False, False), (np.float16, False, True), (np.float64, False, True), (np.float64, True, False), (np.int8, True, True), (bool, True, True),
                              (object, False, False), ("M8[s]", False, False), (complex, False, False), ("U3", False, False)):  # fmt: skip
        assert (_typed._numpy(np.dtype(kind), exact) is not None) == want, (kind, exact)
    for of, kinds in ((_typed._arrow, ((pyarrow.int8(), 1, 1), (pyarrow.uint64(), 1, 1), (pyarrow.float32(), 1, 0), (pyarrow.float64(), 1, 0), (pyarrow.bool_(), 1, 1), (pyarrow.float16(), 0, 0),
                                       (pyarrow.string(), 0, 0), (pyarrow.date32(), 0, 0), (pyarrow.decimal128(9, 2), 0, 0))),
                      (_typed._polars, ((polars.Int8, 1, 1), (polars.UInt64, 1, 1), (polars.Float32, 1, 0), (polars.Float64, 1, 0), (polars.Boolean, 1, 1), (polars.String, 0, 0), (polars.Date, 0, 0)))):  # fmt: skip
        for kind, free, exact in kinds:
            assert ((of(kind, False) is not None), (of(kind, True) is not None)) == (bool(free), bool(exact)), kind
    truths = {"arrow": (_typed._arrow, pyarrow.array([True, None]), pyarrow.bool_()), "polars": (_typed._polars, polars.Series([True, None]), polars.Boolean)}
    for of, values, kind in truths.values():  # a truth is a word in a list, and a number elsewhere
        assert [of(kind, exact)(values).to_pylist() for exact in (True, False)] == [[True, None], [1, None]]
        assert [str(of(kind, exact)(values).type) for exact in (True, False)] == ["bool", "int8"]


class Table:
    """An axis that notes what is drawn."""

    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        return lambda *a, **k: self.calls.append((name, a, k))

    def of(self, name):
        return [(a, k) for n, a, k in self.calls if n == name]


def point(x, effect, low=None, high=None, thin=False):
    return {"x": x, "effect": effect, "low": low, "high": high, "thin": thin}


def test_curves_of_classes():
    """Each class has its colour, band and name; stretches without rows are grey only between two such places."""
    pytest.importorskip("matplotlib")
    curves = [{"column": "a", "class": "x", "points": [point(0, -1, -2, 0.5), point(2, 1, 0.25, 3, True), point(5, 2, 1.5, 2.5, True), point(9, 0, -1, 1)]},
              {"column": "b", "points": [point(0, 7.0)] * 2}, {"column": "a", "class": "y", "points": [point(0, 4, 3, 6), point(2, 5, 4.5, 8), point(5, 6, 5, 7), point(9, 0, -3, 1)]}]  # fmt: skip
    a, b = Table(), Table()
    assert stillpoint.plot_curves({"unit": "euros", "curves": curves}, ["b", "a"], axes=[b, a]) == [b, a]
    assert [(*map(list, p), k["color"], k["label"]) for p, k in a.of("plot")] == [([0, 2, 5, 9], [-1, 1, 2, 0], "C0", "x"), ([0, 2, 5, 9], [4, 5, 6, 0], "C1", "y")]
    assert [(*map(list, p), k["color"]) for p, k in a.of("fill_between")] == [
        ([0, 2, 5, 9], [-2, 0.25, 1.5, -1], [0.5, 3, 2.5, 1], "C0"), ([0, 2, 5, 9], [3, 4.5, 5, -3], [6, 8, 7, 1], "C1")]  # fmt: skip
    assert [p for p, _ in a.of("axvspan")] == [(2, 5)] and a.of("legend") and [p for p, _ in a.of("axhline")] == [(0,)]
    assert [p for p, _ in a.of("set_title")] == [("band: privacy noise only",)] and not a.of("set_yscale") and not a.of("set_xscale")
    assert [p for p, _ in a.of("set_xlabel") + a.of("set_ylabel")] == [("a",), ("euros",)]
    assert not b.of("fill_between") and not b.of("set_title") and not b.of("legend") and list(b.of("plot")[0][0][1]) == [7, 7]
    ratio = Table()
    stillpoint.plot_curves({"unit": "log-odds of x", "ratio": "odds ratio", "curves": curves[1:2]}, axes=[ratio])
    assert list(ratio.of("plot")[0][0][1]) == [math.exp(7)] * 2 and ratio.of("set_yscale") == [(("log",), {})] and ratio.of("axhline")[0][0] == (1,)
    assert ratio.of("set_ylabel") == [(("odds ratio, times",), {})]
    with pytest.raises(ValueError, match="^axes: must be 2$"):
        stillpoint.plot_curves({"unit": "euros", "curves": curves}, axes=[a])


def test_curves_without_intervals_at_some_knots():
    """After a fit with inference a place without an interval has no line, and a stretch with one such place is grey."""
    pytest.importorskip("matplotlib")
    curve = {"column": "a", "confidence_level": 0.954, "points": [point(0, 1, 0.5, 2), point(1, 5, None, None, True), point(4, 2, 1, 3), point(6, 3, 2, 4)]}
    ax = Table()
    stillpoint.plot_curves({"unit": "euros", "curves": [curve]}, axes=[ax])
    drawn = list(ax.of("plot")[0][0][1])
    assert drawn[0] == 1 and math.isnan(drawn[1]) and drawn[2:] == [2, 3]
    assert [p for p, _ in ax.of("axvspan")] == [(0, 1), (1, 4)] and ax.of("set_title")[0][0] == ("band: 95.4% confidence intervals",)
    low, high = (list(v) for v in ax.of("fill_between")[0][0][1:3])
    assert math.isnan(low[1]) and math.isnan(high[1]) and (low[0], high[3]) == (0.5, 4)


def test_surfaces_of_dates():
    """The cells of an interaction stand at their row and column, and a date is its day."""
    pytest.importorskip("matplotlib")
    axes = [{"column": "day", "date": True, "knots": [0, 366.6]}, {"column": "town", "levels": ["town=b", "town=town=c", "other"]}]
    surface = {"axes": axes, "effect": [[0.0, 0.25, -0.125], [0.5, 0.75, 3.0]], "mass": [[1] * 3] * 2, "thin": [[False, True, False], [False, False, False]]}
    ax = Table()
    stillpoint.plot_curves({"unit": "euros", "surfaces": [surface]}, axes=[ax])
    assert ax.of("set_yticks") == [((range(2), ["1970-01-01", "1971-01-02"]), {})] and ax.of("set_xticks") == [((range(3), ["b", "town=c", "other"]), {})]
    assert [p for p, _ in ax.of("text")] == [(0, 0, "0"), (1, 0, "–"), (2, 0, "-0.12"), (0, 1, "0.5"), (1, 1, "0.75"), (2, 1, "3")]
    (image, k), = ax.of("imshow")
    assert image == (surface["effect"],) and (k["vmin"], k["vmax"]) == (-3, 3)
    assert (ax.of("set_ylabel")[0][0], ax.of("set_xlabel")[0][0], ax.of("set_title")[0][0]) == (("day",), ("town",), ("interaction (euros)",))
    flat = Table()
    stillpoint.plot_curves({"unit": "euros", "surfaces": [surface | {"effect": [[0, 0, 0]] * 2}]}, axes=[flat])
    assert flat.of("imshow")[0][1]["vmax"] == 1


def parsed(text, described=("a", "b", "c", "a b", "ill"), **names):
    pytest.importorskip("formulaic")
    return _formula.parse(text, list(described), names)


def test_formulas_by_hand():
    """The order of columns, of the columns of an interaction and of levels is that of the formula."""
    p = parsed("ill ~ c + log1p(b):a + np.log1p(b) + a")
    assert (p.outcome, p.columns, p.log1p, p.interactions) == ("ill", ["c", "b", "a"], ["b"], [("b", "a")])
    p = parsed("`a b` ~ C(c, [3, 1, 2]) * a + C(b, levels=mine)", mine=("z", "y"))
    assert (p.outcome, p.columns, p.interactions) == ("a b", ["c", "a", "b"], [("c", "a")]) and p.categories == {"c": [3, 1, 2], "b": ["z", "y"]}
    assert parsed("ill ~ C(b) + a").categories == {} and parsed("ill ~ .").columns == ["a", "b", "c", "a b"]
    for text, words in {
        "~ a": "must name one outcome before ~", "ill": "must name one outcome before ~", "ill ~ 1": "must name at least one column after ~", "ill ~ a - 1": "must have an intercept",
        "ill ~ 0 + a": "must have an intercept", "ill ~ a + ill": "ill: must not stand on both sides of ~", "ill ~ a + log1p(a)": "a: must stand once",
        "ill ~ a + a:b": "a:b: must have the columns by themselves", "ill ~ a + b + c + a:b:c": "a:b:c: must be an interaction of two columns",
        "ill ~ log1p(a, 2)": "must be a column, log1p", "ill ~ scale(a)": "must be a column, log1p", "ill ~ C(a, b, c)": r"must be C\(column, levels\)",
        "ill ~ C(a, contr=b)": r"must be C\(column, levels\)", "ill ~ C(a, nobody)": "nobody must be a variable", "ill ~ C(a, [])": "must be a list or tuple of public values",
        "ill ~ C(a, 'xyz')": "must be a list or tuple of public values", "ill ~ C(a, [1, 2]):b + C(a, [2, 1]) + b": "must have the same levels wherever it stands",
        "log(ill) ~ a": "must name one outcome before ~",
    }.items():  # fmt: skip
        with pytest.raises(ConfigurationError, match=words) as e:
            parsed(text)
        assert (e.value.field, e.value.code) == ("formula", "configuration"), text


def test_descriptions_of_tables(monkeypatch, tmp_path):
    """The last category of two levels or more is the target, and without one the last number; by and level go to the command."""
    asked = []

    def released(command, config, more, out, overwrite, epsilon, delta, shown, feed=None, show=None, stop=None):
        pipe = io.BytesIO()
        feed(pipe)
        asked.append((command, json.loads(Path(config).read_text(encoding="utf-8")), more, pipe.getvalue().decode()))
        raise KeyboardInterrupt

    monkeypatch.setattr(_estimators, "_released", released)
    given = {"epsilon": 1.5, "delta": 1e-6, "relation": "replace-one", "folder": tmp_path, "table": "people", "progress": False}
    frame = X.assign(pay=[5, 6, 7], day="2020-02-02", more=1)
    for facts, target, columns, more in [
        ({"bounds": {"age": (0, 9), "pay": "auto"}, "dates": {"day": "auto"}}, {"column": "pay", "number": "auto"}, ["age", "day"], {"level": 0.9}),
        ({"bounds": {"age": (0, 9)}, "categories": {"town": ["b", "a"], "more": [1]}}, {"column": "town", "classes": ["b", "a"]}, ["age", "more"], {"by": "more"}),
    ]:
        with warnings.catch_warnings(), pytest.raises(KeyboardInterrupt):
            warnings.simplefilter("ignore")
            stillpoint.describe(frame, **facts, **given, **more)
        command, config, flags, text = asked.pop()
        assert command == "describe" and config["schema"]["target"] == target and list(config["schema"]["columns"]) == columns and "model" not in config
        assert flags == (["--level=0.9"] if "level" in more else ["--level=0.95", "--by=more"])
        assert text.splitlines()[0] == ",".join([*columns, target["column"]])
    monkeypatch.setattr(_fit, "run", lambda arguments, *_: asked.append([str(a) for a in arguments]) or "{}")
    stillpoint.describe("c.yaml", tmp_path / "o", by="town", level=0.8, overwrite=True, epsilon=2, delta=3e-7, progress=False)
    stillpoint.describe("c.yaml", tmp_path / "o", progress=False)
    o = str(tmp_path / "o")
    assert asked == [["describe", "c.yaml", "--json", "--level=0.8", "--by=town", "--out", o, "--overwrite", "--epsilon=2.0", "--delta=3e-07"],
                     ["describe", "c.yaml", "--json", "--level=0.95", "--out", o]]  # fmt: skip


def test_kept_fits(monkeypatch, tmp_path):
    """Weights of ordered classes end before those of their thresholds; of several classes each has a row."""
    monkeypatch.setattr(Fit, "coefficients", lambda self: COEFFICIENTS)
    for loss, weights, coef, intercept in [
        ("logistic", [1, 2, 3], [[1, 2]], [3]), ("softmax(2)", [1, 2, 3, 4, 5, 6], [[1, 2], [4, 5]], [3, 6]), ("ordered(3)", [1, 2, 3, 9, 8], [[1, 2]], [3]),
    ]:  # fmt: skip
        (tmp_path / "model.json").write_text(loss)
        m = classifier(["a", "b"])
        m._keep(Fit(tmp_path, {"coefficients": {"x": 1}, "more": 2}, {"features": ["u", "v", "intercept"], "weights": weights, "loss": loss}, {"c": 3}))
        assert (m.coef_.tolist(), m.intercept_.tolist(), m.feature_names_out_.tolist()) == (coef, intercept, ["u", "v"])
        assert (m.folder_, m.report_["more"], m.certificate_, m.coefficients_, m.effects_) == (tmp_path, 2, {"c": 3}, COEFFICIENTS, {"x": 1})
        assert m._model == loss.encode() and m.classes_.tolist() == ["a", "b"]


def test_contrasts_of_terms_that_are_late():
    """Of a sum with a term that has not arrived and one without a stated noise, the first is told."""
    terms = [TERMS[0] | {"state": "not stated", "noise_sd": None}, TERMS[1] | {"state": "not arrived", "noise_sd": None}, TERMS[2]]
    one = lambda weights: _summary.contrast(COEFFICIENTS | {"terms": terms}, weights, None)
    assert (one({"age": 1, "town=b": 1}).noise, one({"town=b": 1, "age": 1}).noise, one({"age": 1, "town=c": 1}).noise) == ("not arrived", "not arrived", "not stated")
    assert one({"age": 2, "town=b": 3}).value == -4 and one({"town=c": 1}).noise_sd == 1.25


def test_outcomes_of_summaries():
    m = classifier(["yes", "no"])
    m.coefficients_ = COEFFICIENTS
    assert m._outcome() == "ill = no against yes"
    m = classifier([3, 1.0, "x"][:2] + [2])
    m.coefficients_ = COEFFICIENTS
    assert m._outcome() == "ill, one of 3, 1, 2"


def test_frames_of_terms():
    """The frame has the terms in their order, and the facts about its intervals beside it."""
    m = classifier(["no", "yes"])
    m.coefficients_, m.report_, m.spent_ = COEFFICIENTS, {}, {}
    frame = m.tidy()
    assert frame["term"].tolist() == ["age", "town=b", "town=c"] and frame["noise_sd"].tolist() == [0.5, 0.75, 1.25] and frame.attrs == {"unit": "log-odds of ill"}
    m.effects_ = {"coefficients": [{"term": "age", "estimate": 2.0, "state": "reported"}], "formula": "f", "level": 0.9, "unit": "u", "method": "wald"}
    frame = m.tidy()
    assert frame["estimate"].tolist() == [2.0] and frame.attrs == {"formula": "f", "level": 0.9, "unit": "u"}
    m._described, m._fitted_columns = {"age": {"number": [0, 8]}, "town": {"category": ["a", "b", "c"]}}, ["town", "x", "age"]
    np.testing.assert_allclose(m.feature_importances_, np.array([4.5, 0, 2]) / 6.5, rtol=1e-12)
    np.testing.assert_allclose(m.feature_importances_noise_, np.array([2, 0, 4]) / 6.5, rtol=1e-12)


def test_curves_and_indicators_of_dates(monkeypatch, tmp_path):
    """Numbers and dates have them, and a category has neither."""
    more = {**GIVEN, "folder": tmp_path, "classes": ["a", "b"], "outcome": "town", "bounds": {"age": (0, 9)}, "dates": {"day": (date(2020, 1, 2), "2021-03-04T05:06")}}
    table = X.assign(day="2020-05-05", z="q")
    config, _ = fed(monkeypatch, StillpointClassifier(**more, ignore=["z"], curves={"day": 4, "age": "auto"}, indicators=["day"]), table)
    assert config["schema"]["columns"] == {"age": {"number": [0.0, 9.0], "curve": "auto"}, "day": {"date": ["2020-01-02", "2021-03-04"], "missing": "indicator", "curve": 4}}
    for given, words in (({"curves": {"z": 4}}, "curves: column 'z': must be in bounds or dates"), ({"indicators": ["z"]}, "indicators: column 'z': must be in bounds or dates"),
                         ({"log1p": ["day"]}, "log1p: column 'day': must have bounds")):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            fed(monkeypatch, StillpointClassifier(**more, categories={"z": ["q"]}, **given), table)
