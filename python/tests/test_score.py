"""Rows that Python scores in process have the bits that the command predicts, whatever their cells are."""

import csv
import json
import random
import warnings
from fractions import Fraction

import pytest
from conftest import LOSSES, WORDS, people, write

np = pytest.importorskip("numpy")
pytest.importorskip("sklearn", "1.6")
from odd import singles

from stillpoint import StillpointClassifier, StillpointRegressor, _elementary, _estimators, _score
from stillpoint._command import run

ROWS = 4000
NUMBERS = ["", " ", "NaN", "nan", "-9", "17", "90", "1e5", "1E5", "+3.5", ".5", "5.", ".", "1e999", "-inf", "Infinity", "infinit", "1_000", "0x1p4",
    "1,5", "\u0663", " 44\u00a0", "\x1c44", "1e-400", "9007199254740993", "0.1000000000000000055511151231257827", "--1", "1d3", "\t7\n", "-0", "?"]  # fmt: skip
DATES = ["", "?", "2020-02-02", "2020-02-29", "2021-02-29", "2020-02-28T18:30:59.9Z", "2020-02-28 01:30:00+05:45", "2020-02-28T23:30-01", "2020-02-28T24:00",
    "2020-02-28t23:30z", "28.02.2020", "8.2.2020", "08.02.2020", "2020-2-28", "20200228", "0001-01-01", "9999-12-31", "2020-02-28T10:00+24:00", "\u00a02022-05-05 "]  # fmt: skip
TEXTS = ["", "?", "other", " a b ", "A B", "\u00a0é\u2003", "e\u0301", "\ufeff", "x,y", 'x"y', "x\ny", "𝄞", *WORDS]


def odd_people(seed: int) -> list[dict[str, str]]:
    """Rows of which many have odd cells."""
    coin = random.Random(seed)
    table = people(ROWS, 2, seed)
    for row in table:
        for name, odd in (("age", NUMBERS), ("gain", NUMBERS), ("seen", DATES), ("work", TEXTS), ("sex", TEXTS)):
            if coin.random() < 0.3:
                row[name] = coin.choice(odd)
    return table


def compared(folder, seed: int = 7) -> None:
    """Scores odd rows by the model in a folder, both ways."""
    table = odd_people(seed)
    with open(folder / "odd.csv", "w", newline="", encoding="utf-8") as file:
        lines = csv.DictWriter(file, table[0].keys(), lineterminator="\n")
        lines.writeheader()
        lines.writerows(table)
    path = folder / "fit" / "model.json"
    lines = csv.DictReader(run(["predict", path, folder / "odd.csv", "--margin"]).splitlines())
    want = list(lines)
    model = _score.Model(path.read_bytes())
    cells = {c: np.array([row[c] for row in table], dtype=object) for c in table[0]}
    got = model.score(lambda c, start, stop: cells[c][start:stop], ROWS, 10**6)
    assert list(got) == model.outputs == lines.fieldnames
    for name, values in got.items():
        if name == "class":
            assert [model.classes[i] for i in values] == [row[name] for row in want]
        else:
            assert values.tolist() == [float(row[name]) for row in want], name


def test_every_loss(fitted):
    compared(fitted)


def test_hashed(hashed):
    compared(hashed)


def without(schema, name):
    del schema["columns"][name]
    schema["interactions"] = [p for p in schema["interactions"] if name not in p]


def bounds(config):
    """Most numbers lie at or beyond bounds, so that rows have the largest norm."""
    del config["schema"]["norm"], config["schema"]["interactions"]
    config["schema"]["columns"] |= {"seen": "ignore", "age": {"number": [40, 41], "missing": "indicator"}, "gain": {"number": [0.25, 0.75]}}


def plain(config):
    config["schema"] |= {"columns": {"gain": {"number": [0, 10]}, "age": {"number": [-1e5, 3.7]}}, "interactions": [["age", "gain"]]}
    del config["schema"]["norm"]
    config["schema"]["columns"] |= {"id": "ignore", "seen": "ignore", "work": "ignore", "sex": "ignore"}


def effects(config):
    config["model"]["features"] = "effects"
    del config["schema"]["norm"], config["train"]


def layout(config):
    config["schema"]["columns"]["seen"] = {"date": ["2019-01-01", "2024-12-31"], "layout": "%d.%m.%Y"}


def exposure(config):
    without(config["schema"], "age")
    config["schema"]["target"] |= {"exposure": {"column": "age", "number": [1, 100]}}


def weighted(config):
    config["schema"]["target"]["weight"] = "gain"
    without(config["schema"], "gain")


CHANGES = {
    "bounds": ("logistic", bounds), "plain": ("huber(0.1)", plain), "effects": ("logistic", effects), "layout": ("logistic", layout),
    "counts": ("poisson(0.5)", lambda config: None), "exposure": ("poisson(0.5)", exposure), "weighted": ("pinball(0.3)", weighted),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_every_schema(name, tmp_path):
    loss, change = CHANGES[name]
    path = write(tmp_path, loss, LOSSES.get(loss, 0), 3000)
    config = json.loads(path.read_text(encoding="utf-8"))
    change(config)
    path.write_text(json.dumps(config), encoding="utf-8")
    run(["fit", path, "--out", tmp_path / "fit", "--anyway"])
    compared(tmp_path)


@pytest.fixture
def portable(monkeypatch):
    monkeypatch.setattr(_elementary, "adder", lambda: _elementary._portable)
    monkeypatch.setattr(_score, "adder", lambda: _elementary._portable)


def test_without_a_library(hashed, portable):
    """A processor without fused sums, or an installation without SciPy, computes the same bits."""
    compared(hashed, 8)


def test_sums_are_rounded_once():
    """The sum of a product is that of fractions, rounded once, by the library and without it."""
    random = np.random.default_rng(3)
    a, x, z = (random.normal(size=640) * 10.0 ** random.integers(-6, 6, 640) for _ in range(3))
    z[::3] = -a[::3] * x[::3]  # of which rounding alone remains
    want = [float(Fraction(p) * Fraction(q) + Fraction(r)) for p, q, r in zip(a, x, z)]
    assert _elementary.fma(a, x, z).tolist() == want
    for add in (_elementary.adder(), _elementary._portable):
        got = z.copy()
        add(float(a[0]), x, got)
        assert got.tolist() == [float(Fraction(float(a[0])) * Fraction(q) + Fraction(r)) for q, r in zip(x, z)]


def both(model, X, monkeypatch):
    """Predictions in process and by the command."""
    out = []
    for own in (True, False):
        with monkeypatch.context() as patch:
            if own:
                patch.setattr(_estimators, "run", None)
            else:
                patch.setattr(_score, "read", lambda content: None)
            names = ["predict", *(["predict_proba", "decision_function"] if hasattr(model, "classes_") else [])]
            out.append([getattr(model, name)(X).tolist() for name in names])
    return out


def made(tmp_path, **more):
    """An estimator of three columns of each kind, fitted."""
    random = np.random.default_rng(5)
    y = np.array([0.0, 1.0, 2.0] * 400)
    X = np.empty((1200, 3), dtype=object)
    X[:, 0], X[:, 1], X[:, 2] = y + random.normal(size=1200), "no", "2020-05-05"
    kind = StillpointClassifier if "classes" in more else StillpointRegressor
    facts = {"bounds": {"x0": (0, 1)}, "categories": {"x1": ["no", 1, True, 2.5]}, "dates": {"x2": ("2020-01-01", "2021-01-01")}}
    model = kind(**facts, **more, epsilon=50, delta=1e-5, relation="replace-one", folder=tmp_path, table="t", progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


@pytest.mark.parametrize("target", [{"classes": [0.0, 1.0, 2.0]}, {"target_bounds": (0, 2), "curves": {"x0": 4}, "interactions": [["x0", "x1"]]}])
def test_every_cell(target, tmp_path, monkeypatch):
    """Every kind of cell in every kind of column, and tables of every make."""
    model = made(tmp_path, **target)
    values = list(singles())
    X = np.empty((3 * len(values), 3), dtype=object)
    for i, value in enumerate(values):
        X[3 * i :, :] = [[0.5, "no", "2020-05-05"]] * (len(X) - 3 * i)
        for j in range(3):
            X[3 * i + j, j] = value
    own, command = both(model, X, monkeypatch)
    assert own == command
    pandas = pytest.importorskip("pandas")
    moments = pandas.to_datetime(["2020-03-01 12:34:56.789", None, "1800-01-01 00:00:00", "2020-12-31 23:59:59"] * 3, format="ISO8601")
    floats = [0.1, np.nan, -5.0, np.inf] * 3
    frames = {
        "float32": {"x0": np.float32(floats), "x1": pandas.Categorical(["no", "2.5", None, "x"] * 3), "x2": moments},
        "integers": {"x0": np.arange(12, dtype=np.uint8), "x1": np.arange(12), "x2": moments.tz_localize("Asia/Tokyo")},
        "missing": {"x0": pandas.array([1, None, 2**60, 0] * 3, dtype="Int64"), "x1": np.array([1.0, 2.5, np.nan, 2] * 3), "x2": moments.astype("datetime64[s]")},
        "truths": {"x0": np.array([True, False] * 6), "x1": np.array([True, False] * 6), "x2": ["2020-05-05", "?", "", "5"] * 3},
    }  # fmt: skip
    for name, frame in frames.items():
        own, command = both(model, pandas.DataFrame(frame), monkeypatch)
        assert own == command, name
    polars = pytest.importorskip("polars")
    for name in ("float32", "truths"):
        frame = {**frames[name], **({"x1": ["no", "2.5", None, "x"] * 3} if name == "float32" else {})}
        table = polars.DataFrame({**frame, "x2": ["2020-05-05", None, "", "5"] * 3})
        for X in (table, table.to_arrow()):
            own, command = both(model, X, monkeypatch)
            assert own == command, (name, type(X))


def test_plain_numbers(tmp_path, monkeypatch):
    """Columns of numbers alone, which are encoded together: in blocks and a rest, of which one has missing cells."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    random = np.random.default_rng(6)
    rows = _score.ROWS + 137
    bounds = {"a": (-1.1, 2.3), "b": (0, 1e6), "c": (-(2.0**62), 2.0**62), "d": (0, 1), "e": (0.3, 0.7)}
    frame = pandas.DataFrame({
        "a": random.normal(size=rows), "b": random.lognormal(9, 3, rows), "c": random.integers(-(2**63), 2**63, rows), "d": random.random(rows) < 0.5,
        "e": random.random(rows).astype(np.float32),
    })  # fmt: skip
    frame.loc[7, ["a", "e"]] = [np.inf, -np.inf]
    y = np.where(frame["a"] + frame["d"] > 0.5, "yes", "no")
    model = StillpointClassifier(
        classes=["no", "yes"], bounds=bounds, epsilon=4, delta=1e-6, relation="replace-one", folder=tmp_path, table="t", family="curves", progress=False
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(frame, y)
    gaps = frame.copy()
    gaps.loc[rows - 5, ["a", "b"]] = np.nan
    array = frame.astype(float).to_numpy()
    for X in (frame, gaps, polars.DataFrame({c: frame[c].to_numpy() for c in frame}), polars.DataFrame({"a": [*frame["a"][1:], None], **{c: frame[c] for c in "bcde"}})):
        own, command = both(model, X, monkeypatch)
        assert own == command
    at_bounds = frame.assign(**{c: np.where(frame["d"], *bounds[c]) for c in bounds})  # rows whose norm is the longest
    own, command = both(model, at_bounds, monkeypatch)
    assert own == command
    # Without names the columns are those of an array, in either order of memory.
    model = StillpointClassifier(
        classes=["no", "yes"], bounds=list(bounds.values()), epsilon=4, delta=1e-6, relation="replace-one", folder=tmp_path, table="t", family="lines", progress=False
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(array, y)
    wanted = both(model, array, monkeypatch)
    assert wanted[0] == wanted[1] == both(model, np.asfortranarray(array), monkeypatch)[0]
    only = _score.read(model._model).score(lambda c, i, j: array[i:j, int(c[1])], rows, 100, "class")
    assert list(only) == ["class"] and model.classes_[only["class"]].tolist() == wanted[0][0]


def test_log_probabilities(tmp_path):
    """Their exponentials are the probabilities, and those of rare classes are not lost."""
    for classes, y in ((["no", "yes"], ["no"] * 500 + ["yes"] * 500), (["a", "b", "c"], ["a"] * 300 + ["b"] * 300 + ["c"] * 400)):
        X = np.linspace(-1, 1, 1000).reshape(-1, 1)
        model = StillpointClassifier(
            classes=classes, bounds=(-1, 1), epsilon=50, delta=1e-5, relation="replace-one", folder=tmp_path / classes[0], table="t", progress=False
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        logs, p = model.predict_log_proba(X), model.predict_proba(X)
        assert logs.shape == p.shape == (1000, len(classes))
        np.testing.assert_allclose(np.exp(logs), p, rtol=1e-12, atol=1e-15)
        file = json.loads(model._model)
        model._model = json.dumps({**file, "weights": [4000 * w for w in file["weights"]]}).encode()
        logs = model.predict_log_proba(X)
        assert np.isfinite(logs).all() and logs.min() < -745


def test_files_that_python_does_not_know_go_to_the_command(tmp_path, monkeypatch):
    model = made(tmp_path, classes=[0.0, 1.0, 2.0])
    X = [[0.25, "no", "2020-05-05"]]
    own, _ = both(model, X, monkeypatch)
    file = json.loads(model._model)
    for change in ({"version": 3}, {"schema": {**file["schema"], "more": 1}}, {"loss": "network(2,sine,softmax(3))"}):
        assert _score.read(json.dumps({**file, **change}).encode()) is None
    monkeypatch.setattr(_score, "read", lambda content: None)
    assert model.predict_proba(X).tolist() == own[1]


def test_rows_that_rounding_makes_longer_than_1():
    """Numbers at their bounds: the norm is added up in the order of the columns, and divides rows where it is above 1."""
    import math
    import types

    longer = 0
    for count in range(1, 60):
        model = object.__new__(_score.Model)
        reader = types.SimpleNamespace(levels=0)
        model._columns = [_score._Column(reader, i, i % 3 == 0, None, None) for i in range(count)]
        model._crosses, model._base, model._stated = [], math.sqrt(count + 1), False
        ends = [np.array([1.0, -1.0 if i % 2 else 1.0, math.nan if i % 3 == 0 else 1.0, 1.0 if i else 0.5]) for i in range(count)]
        one = 1.0 / model._base
        norms = []
        for row in zip(*ends):
            total = 0.0
            for u in row:
                v = (0.0 if math.isnan(u) else u) / model._base
                total += v * v
                if math.isnan(u):
                    total += one * one
            total += one * one
            norms.append(math.sqrt(total) if total > 1 else 1.0)
        got = model._longer(ends, 4)
        assert (np.ones(4) if got is None else got).tolist() == norms, count
        longer += max(norms) > 1
    assert 5 < longer < 59  # the test shows nothing where no row is longer
