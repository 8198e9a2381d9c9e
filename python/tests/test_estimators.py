"""Estimators: agreement with the command, tables of every make, and what they refuse."""

import json
import pickle
import warnings

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("sklearn", "1.6")
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import stillpoint
from stillpoint import ConfigurationError, Fit, NewTableWarning, SpentWarning, StillpointClassifier, StillpointRegressor
from stillpoint._command import run

coin = np.random.default_rng(1)
ROWS = 600
A, B = coin.normal(size=ROWS), coin.normal(size=ROWS)
WORD = np.where(B > 0, "x, \"y\"", "é")
TRUE = A > B
SICK = np.where(A + 0.3 * B > 0, "yes", "no")
QUICK = {"algorithm": "gd", "steps": 5}


def given(folder, **more):
    return {
        "epsilon": 5,
        "delta": 1e-5,
        "relation": "replace-one",
        "folder": folder,
        "table": "patients",
        "train": QUICK,
        "progress": False,
        **more,
    }


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpentWarning)
        warnings.simplefilter("ignore", NewTableWarning)
        yield


COLUMNS = {"a": A, "b": B, "word": WORD, "true": TRUE, "idle": A}
FRAMES = {
    "pandas": lambda m: m.DataFrame(COLUMNS),
    "polars": lambda m: m.DataFrame(COLUMNS),
    "pyarrow": lambda m: m.table(COLUMNS),
}


NAMED = {"bounds": {"a": (-2, 2), "b": (-2, 2)}, "categories": {"word": ["x, \"y\"", "é"], "true": [True, False]}}


@pytest.mark.parametrize("name", FRAMES)
def test_tables(name, tmp_path):
    """Every make of table is the same table to the command, to the bit."""
    X = FRAMES[name](pytest.importorskip(name))
    model = StillpointClassifier(classes=["no", "yes"], ignore=["idle"], **NAMED, **given(tmp_path)).fit(X, SICK)
    assert model.score(X, SICK) > 0.7
    assert list(model.feature_names_out_) == ["a", "b", 'word=x, "y"', "word=é", "word=other", "true=true", "true=false", "true=other"]
    file = tmp_path / "table.csv"
    lines = ["idle,a,b,word,true"]
    for a, b, word, true in zip(A, B, WORD, TRUE):
        quoted = '"' + word.replace('"', '""') + '"'
        lines.append(f"0,{float(a)!r},{float(b)!r},{quoted},{str(bool(true)).lower()}")
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    printed = run(["predict", model.folder_ / "model.json", file, "--margin"]).splitlines()[1:]
    rows = [line.split(",") for line in printed]
    assert [float(r[2]) for r in rows] == model.decision_function(X).tolist()
    assert [float(r[0]) for r in rows] == model.predict_proba(X)[:, 1].tolist()
    assert [r[1] for r in rows] == model.predict(X).tolist()


def test_array_and_file_are_one_table(tmp_path):
    """Arrays agree with the same numbers in a file; so do several classes, and odd cells."""
    X = np.column_stack([A, B])
    X[0], X[1], X[2] = np.nan, np.inf, [-np.inf, 1e-300]
    y = np.digitize(A, [-0.5, 0.5])
    model = StillpointClassifier(classes=[0, 1, 2], bounds=[(-2, 2), (-1, 3)], **given(tmp_path)).fit(X, y)
    assert model.coef_.shape == (3, 2) and model.intercept_.shape == (3,)
    file = tmp_path / "table.csv"
    file.write_text("x0,x1\n" + "".join(f"{float(a)!r},{float(b)!r}\n" for a, b in X))
    rows = [line.split(",") for line in run(["predict", model.folder_ / "model.json", file, "--margin"]).splitlines()[1:]]
    assert [[float(v) for v in r[4:]] for r in rows] == model.decision_function(X).tolist()
    assert [[float(v) for v in r[:3]] for r in rows] == model.predict_proba(X).tolist()
    assert [int(r[3]) for r in rows] == model.predict(X).tolist()


def test_regressor(tmp_path):
    X = np.column_stack([A, B])
    model = StillpointRegressor(target_bounds=(-6, 6), bounds=(-3, 3), family="lines", **given(tmp_path, train=None)).fit(X, 2 * A - B)
    assert model.score(X, 2 * A - B) > 0.7
    assert model.coef_.shape == (2,)


def test_one_column_and_missing_cells(tmp_path):
    """A missing cell of the only column is a row, not an empty line."""
    X = A.reshape(-1, 1).copy()
    X[::3] = np.nan
    model = StillpointClassifier(classes=["no", "yes"], bounds=(-2, 2), **given(tmp_path)).fit(X, SICK)
    assert len(model.predict(X)) == ROWS


def test_targets_that_are_none_are_silent(tmp_path):
    y = SICK.astype(object)
    y[:10], y[10:20] = None, "maybe"
    model = StillpointClassifier(classes=["no", "yes"], bounds=(-2, 2), **given(tmp_path)).fit(np.column_stack([A]), y)
    assert model.report_["records"] == ROWS


def test_certificate(tmp_path):
    model = StillpointClassifier(classes=["no", "yes"], bounds=(-2, 2), **given(tmp_path)).fit(np.column_stack([A]), SICK)
    assert model.report_["epsilon"] == 5 and model.certificate_["format"] == "stillpoint certificate"
    report = json.loads(run(["verify", model.folder_ / "certificate.json", "--model", model.folder_ / "model.json", "--json"]))
    assert report["epsilon"] == 5
    again = pickle.loads(pickle.dumps(model))
    assert again.predict(A[:5].reshape(-1, 1)).tolist() == model.predict(A[:5].reshape(-1, 1)).tolist()


@pytest.mark.parametrize("jobs", [1, 2])
def test_cross_validation_says_its_cost(jobs, tmp_path):
    X = np.column_stack([A, B])
    model = StillpointClassifier(classes=["no", "yes"], bounds=(-2, 2), **given(tmp_path))
    scores = cross_val_score(model, X, SICK, cv=3, n_jobs=jobs)
    assert (scores > 0.6).all()
    (total,) = stillpoint.spent(tmp_path)
    assert total["fits"] == 3 and 5 < total["epsilon"] < 15
    with pytest.warns(SpentWarning, match="4 fits of patients"):
        clone(model).fit(X, SICK)


def test_pipeline(tmp_path):
    X = np.column_stack([A, B])
    model = StillpointClassifier(classes=["no", "yes"], bounds=(-2, 2), **given(tmp_path))
    with pytest.raises(ConfigurationError, match="standardscaler.*nobody charged"):
        make_pipeline(StandardScaler(), model).fit(X, SICK)
    with pytest.raises(ConfigurationError, match="standardscaler"):
        make_pipeline(StandardScaler(), make_pipeline(FunctionTransformer(np.tanh), model)).fit(X, SICK)
    assert not list(tmp_path.iterdir())
    make_pipeline(FunctionTransformer(np.tanh), model).fit(X, SICK)
    declared = clone(model).set_params(public_steps=["standardscaler"])
    make_pipeline(StandardScaler(), declared).fit(X, SICK)


def test_refusals(tmp_path):
    X = np.column_stack([A, B])
    named = {"classes": ["no", "yes"], **given(tmp_path)}
    for change, match in [
        ({}, "at least one column"),
        ({"bounds": [(-1, 1)] * 3}, "3 pairs"),
        ({"bounds": {"z": (0, 1)}}, "column 'z'"),
        ({"bounds": (1, -1)}, "lower bound must be below"),
        ({"bounds": (-1, 1), "epsilon": -1}, "epsilon"),
        ({"bounds": (-1, 1), "relation": "add-or-remove"}, "records"),
        ({"bounds": (-1, 1), "table": ""}, "table"),
        ({"bounds": (-1, 1), "loss": "huber(0.1)"}, "loss"),
    ]:
        with pytest.raises(ValueError, match=match):
            StillpointClassifier(**{**named, **change}).fit(X, SICK)
    assert not list(tmp_path.rglob("ledger.jsonl"))
    with pytest.raises(NotFittedError):
        StillpointClassifier(**named).predict(X)
    with pytest.raises(TypeError, match="epsilon"):
        StillpointClassifier(classes=[0, 1])
    assert not hasattr(StillpointClassifier(**named, loss="tanh"), "predict_proba")


def test_a_table_that_fails_on_the_way_charges_nothing(tmp_path, monkeypatch):
    from stillpoint import _table

    def broken(*_):
        def feed(pipe):
            pipe.write(b"x0,y\n1,yes\n")
            raise OSError("cell 41 of the source is gone")

        return feed

    monkeypatch.setattr(_table, "writer", broken)
    with pytest.raises(stillpoint.StillpointError, match="^the table could not be written to the command to its end$") as caught:
        StillpointClassifier(classes=["no", "yes"], bounds=(-2, 2), **given(tmp_path)).fit(np.column_stack([A]), SICK)
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    assert not list(tmp_path.rglob("ledger.jsonl"))


@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove"])
def test_a_feed_that_fails_after_its_rows_charges_nothing(tmp_path, monkeypatch, relation):
    """No number of rows tells that the rest is missing: the fit itself is ended."""
    from stillpoint import _table

    def broken(*_):
        def feed(pipe):
            pipe.write(b"x0,y\n" + b"1,yes\n" * ROWS)
            pipe.flush()
            raise OSError("the source is gone")

        return feed

    monkeypatch.setattr(_table, "writer", broken)
    named = {**given(tmp_path), "relation": relation, "records": ROWS}
    with pytest.raises(stillpoint.StillpointError, match="could not be written to the command to its end"):
        StillpointClassifier(classes=["no", "yes"], bounds=(-2, 2), **named).fit(np.column_stack([A]), SICK)
    assert not list(tmp_path.rglob("ledger.jsonl"))


def test_what_was_spent_is_that_of_the_fits_own_relation(tmp_path):
    """Fits under either relation are not added up, and each is told its own sum."""
    X = np.column_stack([A])
    for first, second in (("replace-one", "add-or-remove"), ("add-or-remove", "replace-one")):
        named = {**given(tmp_path), "table": f"table of {first}"}
        for relation in (first, second):
            model = StillpointClassifier(
                classes=["no", "yes"], bounds=(-2, 2), **{**named, "relation": relation, "records": ROWS}
            ).fit(X, SICK)
            assert model.spent_["relation"] == relation
            assert model.spent_["fits"] == 1


def test_no_table_on_disk(tmp_path, monkeypatch):
    """Nothing that a fit leaves, or has while it runs, holds a cell."""
    mark = 1.2345678901234567
    X = np.full((ROWS, 1), mark)
    seen = []
    monkeypatch.setattr("tempfile.NamedTemporaryFile", lambda *a, **k: seen.append(a))
    model = StillpointClassifier(classes=["no", "yes"], bounds=(-2, 2), **given(tmp_path)).fit(X, SICK)
    model.predict(X)
    assert not seen
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or b"1.23456789" not in file.read_bytes()


def test_curves(tmp_path):
    """Curves and interactions are passed on, and predictions follow the curves."""
    model = StillpointClassifier(
        classes=["no", "yes"], bounds={"x0": (-2, 2), "x1": (-1, 1)}, curves={"x0": 4}, **given(tmp_path)
    )
    fitted = clone(model).fit(np.column_stack([A, B]), SICK)
    columns = {c["name"]: c for c in json.loads((fitted.folder_ / "model.json").read_text())["schema"]["columns"]}
    assert columns["x0"]["curve"] == 4 and "curve" not in columns["x1"]
    names = list(fitted.feature_names_out_)
    assert names == ["x0", "x0=missing", "x0@-2", "x0@-0.6667", "x0@0.6667", "x0@2", "x1"]
    # At a knot its hat is sqrt 2 and all others are 0; between knots the score is linear.
    margins = fitted.decision_function(np.array([[x, 0] for x in (-2, -2 / 3, 2 / 3, 2, 0)]))
    w = fitted.coef_[0]
    want = w[0] * np.array([-1, -1 / 3, 1 / 3, 1]) + np.sqrt(2) * w[2:6]
    assert np.allclose(np.diff(margins[:4]), np.diff(want) / np.sqrt(3 + 1 + 1), atol=1e-5)
    assert abs(margins[4] - (margins[1] + margins[2]) / 2) < 1e-5
    crossed = clone(model).set_params(curves="auto", interactions=[("x0", "x1")])
    with pytest.warns(UserWarning, match="the interaction of x0 and x1 is left out"):
        crossed.fit(np.column_stack([A, B]), SICK)
    schema = json.loads((crossed.folder_ / "configuration.yaml").read_text(encoding="utf-8"))["schema"]
    assert schema["curves"] == "auto" and schema["interactions"] == [["x0", "x1"]]


def test_dates_and_indicators(tmp_path):
    """A date of pandas is read between its public days; a missing cell is a feature."""
    pandas = pytest.importorskip("pandas")
    seen = pandas.to_datetime("2020-01-01") + pandas.to_timedelta(np.arange(ROWS) % 366, "D")
    table = pandas.DataFrame({"a": np.where(B > 1, np.nan, A), "seen": seen})
    table.loc[3, "seen"] = pandas.NaT
    dates = {"seen": (pandas.Timestamp("2020-01-01"), "2020-12-31")}
    model = StillpointClassifier(
        classes=["no", "yes"], bounds={"a": (-2, 2)}, dates=dates, indicators=["a", "seen"], **given(tmp_path)
    )
    model = clone(model).fit(table, SICK)
    assert list(model.feature_names_out_) == ["a", "a=missing", "seen", "seen=missing"]
    columns = {c["name"]: c for c in json.loads((model.folder_ / "model.json").read_text())["schema"]["columns"]}
    assert columns["seen"] == {"name": "seen", "date": ["2020-01-01", "2020-12-31"], "missing": "indicator"}
    # The last day is half a range from the middle, which is what the missing one is but for its own feature.
    margins = model.decision_function(table.iloc[[3, 183, 365]].assign(a=0.0))
    missing, middle, last = margins
    norm = np.sqrt(3)
    assert abs(missing - middle - model.coef_[0][3] / norm) < 1e-2 * max(1, abs(missing))
    assert abs(last - middle - model.coef_[0][2] / norm) < 1e-2 * max(1, abs(last))


def test_predictions_check_what_fits_check(tmp_path):
    """Columns of one name, and of types of which no cell is what was stated, are refused and not read as missing."""
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    pa = pytest.importorskip("pyarrow")
    facts = {"bounds": {"a": (-2, 2)}, "categories": {"word": ["x", "y"]}, "dates": {"day": ("2020-01-01", "2020-12-31")}}
    good = pd.DataFrame({"a": A, "word": np.where(B > 0, "x", "y"), "day": pd.Timestamp("2020-03-01")})
    model = StillpointClassifier(classes=["no", "yes"], **facts, **given(tmp_path)).fit(good, SICK)
    assert len(model.predict(good)) == ROWS
    times = pd.Series(pd.Timestamp("2020-01-01"), index=range(ROWS))
    spans = times - pd.Timestamp("2019-01-01")
    for column, values in {
        "a with times": times, "a with durations": spans, "a with complex numbers": pd.Series(A + 0j), "word with numbers": pd.Series(A),
        "word with truths": pd.Series(TRUE), "day with numbers": pd.Series(A), "day with durations": spans, "day with complex numbers": pd.Series(A + 0j),
    }.items():  # fmt: skip
        name, _, kind = column.partition(" with ")
        X = good.assign(**{name: values})
        for attempt in (lambda: model.predict(X), lambda: model.predict_proba(X), lambda: clone(model).fit(X, SICK)):
            with pytest.raises(ConfigurationError, match=f"is of a type of {kind}: must") as caught:
                attempt()
            assert not caught.value.charged
    for make in (pl.from_pandas, pa.Table.from_pandas):
        with pytest.raises(ConfigurationError, match="is of a type of durations: must be of numbers"):
            model.predict(make(good.assign(a=spans)))
    twice = pd.concat([good, good[["a"]]], axis=1)
    for attempt in (lambda: model.predict(twice), lambda: model.fit(twice, SICK)):
        with pytest.raises(ConfigurationError, match=r"columns of the same name: at place 3"):
            attempt()
    again = pickle.loads(pickle.dumps(model))
    with pytest.raises(ConfigurationError, match="a type of times"):
        again.predict(good.assign(a=times))


def test_tables_that_are_none(tmp_path):
    """One sentence says what a lazy table, or a row by itself, must be made."""
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    model = StillpointClassifier(classes=["no", "yes"], bounds={"a": (-2, 2)}, **given(tmp_path))
    frame = pl.DataFrame({"a": A})
    for attempt in (lambda: model.fit(frame.lazy(), SICK), lambda: fitted.predict(frame.lazy())):
        fitted = model.fit(frame, SICK) if not hasattr(model, "coef_") else model
        with pytest.raises(TypeError, match=r"^X: is a polars LazyFrame: must be a table whose rows are there: X.collect\(\) makes one$"):
            attempt()
    row = pd.DataFrame({"a": A}).iloc[0]
    for one, make in ((row, r"X.to_frame\(\).T"), (frame["a"], "transpose")):
        with pytest.raises(ValueError, match=f"^X: Expected 2D array, got 1D array instead, a .*Series: must be a table, .*{make}"):
            model.predict(one)
    assert len(model.predict(row.to_frame().T)) == 1


def test_means(tmp_path):
    """Adjusted means are the command's, and means of predictions over the population."""
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"a": A, "word": WORD})
    facts = {"bounds": {"a": (-2, 2)}, "categories": {"word": NAMED["categories"]["word"]}}
    model = StillpointClassifier(classes=["no", "yes"], **facts, **given(tmp_path, family="lines", train={"algorithm": "gd", "steps": 100})).fit(X, SICK)
    public = X[:200]
    public.to_csv(tmp_path / "public.csv", index=False)
    got = model.means(public)
    assert got == json.loads(run(["means", model.folder_, "--over", tmp_path / "public.csv", "--json"]))
    assert got["rows"] == 200 and got["mean"]["estimate"] == pytest.approx(model.predict_proba(public)[:, 1].mean(), abs=1e-9)
    by = {(a["column"], a.get("level", ""), a.get("against", "")): a["estimate"] for a in got["answers"]}
    for word in facts["categories"]["word"]:
        assert by["word", word, ""] == pytest.approx(model.predict_proba(public.assign(word=word))[:, 1].mean(), abs=1e-9)
    assert {a["column"] for a in model.means(public, of=["a"])["answers"]} == {"a"}
    with pytest.raises(ValueError, match="feature names"):
        model.means(public[["a"]])


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_saved(tmp_path, library):
    """Means and joint tests of a saved model, without an estimator, are those of the estimator and of the command."""
    pandas = pytest.importorskip("pandas")
    made = pytest.importorskip(library)
    X = pandas.DataFrame({"a": A, "word": WORD})
    facts = {"bounds": {"a": (-2, 2)}, "categories": {"word": NAMED["categories"]["word"]}}
    model = StillpointClassifier(classes=["no", "yes"], inference=0.9, **facts, **{**given(tmp_path, family="lines"), "epsilon": 20, "train": None}).fit(X, SICK)
    public = X[:200].assign(more="unused")
    table = {"pandas": lambda: public, "polars": lambda: made.from_pandas(public), "pyarrow": lambda: made.Table.from_pandas(public)}[library]()
    want = model.means(public)
    assert want["level"] == 0.9
    copied = tmp_path / "copied.json"
    copied.write_bytes(model._model)
    fit = Fit(model.folder_, {}, {}, {})
    for place in (model.folder_, str(model.folder_), copied, fit):
        assert stillpoint.means(place, table) == want
        assert stillpoint.tests(place) == model.tests()
    assert fit.means(table, of=["a"]) == model.means(public, of=["a"]) and fit.tests() == model.tests()
    assert model.tests() == json.loads(run(["coefficients", model.folder_, "--tests", "--json"]))
    assert [t["column"] for t in model.tests()] == ["a", "word"]
    with pytest.raises(TypeError, match="population: must be a table"):
        stillpoint.means(copied, public.to_numpy())
    with pytest.raises(ValueError, match="\"word\" of the schema is not in"):
        stillpoint.means(copied, public[["a"]])


def test_intervals_of_classes(tmp_path):
    """Each class has coefficients against the first one: a contrast with class_ is its own, and predictions have no intervals."""
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"a": A, "word": WORD})
    kinds = [SICK[i] if i % 3 else "maybe" for i in range(len(SICK))]
    facts = {"bounds": {"a": (-2, 2)}, "categories": {"word": NAMED["categories"]["word"]}}
    model = StillpointClassifier(classes=["no", "yes", "maybe"], inference=0.9, **facts, **{**given(tmp_path, family="lines"), "epsilon": 20, "train": None}).fit(X, kinds)
    frame = model.tidy().set_index("term")
    assert list(frame.index[:2]) == ["yes: a", "maybe: a"] and list(frame.index[-2:]) == ["yes: (intercept)", "maybe: (intercept)"]
    for name in ("yes", "maybe"):
        own = model.contrast({"a": 2}, class_=name)
        assert own.value == pytest.approx(2 * frame.loc[f"{name}: a", "estimate"]) and own.low == pytest.approx(2 * frame.loc[f"{name}: a", "conf_low"])
        for term, one in model.contrasts("word", class_=name).items():
            assert (one.state == "reported") == (frame.loc[f"{name}: {term}", "state"] == "reported")
            if one.state == "reported":
                assert one.high == pytest.approx(frame.loc[f"{name}: {term}", "conf_high"])
        assert any(line.startswith(f"{name}: a ") for line in str(model.summary()).splitlines())
    across = model.contrast({"yes: a": 1, "maybe: a": -1})
    assert across.value == pytest.approx(frame.loc["yes: a", "estimate"] - frame.loc["maybe: a", "estimate"])
    assert across.low < across.value < across.high and across.meaning.startswith('the odds of "yes" against "maybe" are multiplied by ')
    assert model.coef_[0].tolist() == [0.0] * model.coef_.shape[1]
    assert {t["column"]: t["terms"] for t in model.tests()}["a"] == 2
    with pytest.raises(ValueError, match="must be one of"):
        model.contrast({"a": 1}, class_="no")
    with pytest.raises(TypeError, match="weights = 'yes: a - maybe: a': must be a mapping of terms to factors"):
        model.contrast("yes: a - maybe: a")
    with pytest.raises(Exception, match="must be left out for several classes"):
        model.predict_interval(X[:3])
