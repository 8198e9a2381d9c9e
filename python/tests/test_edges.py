"""Estimators at their edges: parts of any length, arguments that conflict, what is left behind."""

import decimal
import fractions
import json
import tempfile
import threading
import warnings
from pathlib import Path

import pytest
from feeding import model, rows, written

np = pytest.importorskip("numpy")
pytest.importorskip("sklearn", "1.6")
hypothesis = pytest.importorskip("hypothesis")
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import get_tags

from stillpoint import ConfigurationError, FitWarning, SpentWarning, StillpointClassifier, StillpointRegressor
from stillpoint import _estimators, _score, _table

ROWS = 300
coin = np.random.default_rng(5)
A, B = coin.normal(size=ROWS), coin.normal(size=ROWS)
SICK = np.where(A > 0, "yes", "no")
QUICK = {"algorithm": "gd", "steps": 2}
MAKES = ["list", "numpy", "pandas", "polars", "pyarrow", "batch"]


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpentWarning)
        warnings.simplefilter("ignore", FitWarning)
        yield


def made(make, data):
    """A table of columns; of lists and arrays the names are x0, x1, and so on."""
    if make == "list":
        return [list(row) for row in zip(*data.values())]
    if make == "numpy":
        cells = np.empty((len(next(iter(data.values()))), len(data)), dtype=object)
        for j, column in enumerate(data.values()):
            for i, value in enumerate(column):
                cells[i, j] = value
        return cells
    library = pytest.importorskip({"batch": "pyarrow"}.get(make, make))
    if make == "batch":
        return library.RecordBatch.from_pydict(data)
    return library.table(data) if make == "pyarrow" else library.DataFrame(data)


def number(text):
    return None if text in ("", "nan", "NaN") else float(text)


@hypothesis.settings(max_examples=60)
@hypothesis.given(
    st.sampled_from(MAKES),
    st.integers(1, 4),
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.floats(allow_nan=False)),
            st.one_of(st.none(), st.sampled_from(["a", 'b"', "c,d", "\r", "e\nf", " ", "é\u2028"])),
            st.one_of(st.none(), st.booleans()),
            st.integers(-9, 9),
            st.sampled_from(["no", "yes"]),
        ),
        min_size=1,
        max_size=13,
    ),
)
def test_parts_of_any_length(tmp_path_factory, make, length, people):
    """Each row of each part is written once, beside its target, whatever the parts' length."""
    columns = dict(zip(("x0", "x1", "x2", "x3"), map(list, list(zip(*people))[:4])))
    y = [person[4] for person in people]
    estimator = model(
        tmp_path_factory.getbasetemp(), bounds={"x3": (0, 1), "x0": (0, 1)}, categories={"x1": ["a"], "x2": [True]}
    )
    kept, _table.ROWS = _table.ROWS, length
    try:
        header, *body = rows(written(estimator, made(make, columns), y))
    finally:
        _table.ROWS = kept
    assert header == ["x0", "x1", "x2", "x3", "y"]
    want = [[a, w or "", "" if t is None else str(t).lower(), float(n), label] for a, w, t, n, label in people]
    assert [[number(a), w, t, float(n), label] for a, w, t, n, label in body] == want


TRUTHS = {
    "list": lambda v: [[x] for x in v],
    "numpy of lists": lambda v: [[np.bool_(x) if x is not None else x] for x in v],
    "objects": lambda v: np.array([[x] for x in v], dtype=object),
    "pandas": lambda v: pytest.importorskip("pandas").DataFrame({"x0": v}),
    "nullable": lambda v: pytest.importorskip("pandas").DataFrame({"x0": v}, dtype="boolean"),
    "polars": lambda v: pytest.importorskip("polars").DataFrame({"x0": v}),
    "pyarrow": lambda v: pytest.importorskip("pyarrow").table({"x0": v}),
    "array": lambda v: np.array([[bool(x)] for x in v]),
}


@pytest.mark.parametrize("make", TRUTHS)
def test_truth_values_are_numbers_among_numbers(make, tmp_path):
    """True and False are 1 and 0 of a column with bounds, and words of a list with them."""
    values = [True, False, True, None]
    last = ["0", "false"] if make == "array" else ["", ""]
    for given, want in (
        ({"bounds": {"x0": (0, 1)}}, ["1", "0", "1", last[0]]),
        ({"categories": {"x0": [True, False]}}, ["true", "false", "true", last[1]]),
    ):
        _, *body = rows(written(model(tmp_path, **given), TRUTHS[make](values), ["no"] * 4))
        assert [t for t, _ in body] == want
    for y in (values, np.array(values, dtype=object)):
        _, *body = rows(written(model(tmp_path, bounds=(0, 1), target_bounds=(0, 1)), np.zeros((4, 1)), y))
        assert [t for _, t in body] == ["1", "0", "1", ""]


@pytest.mark.parametrize("dtype", ["Int64", "Int8", "UInt16", "Float64", "Float32"])
def test_missing_cells_of_nullable_columns_stay_missing(dtype, tmp_path):
    """No cell stands in for a missing one, neither among numbers nor among listed values."""
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"x0": pandas.array([1, None, 3], dtype=dtype)})
    for given in ({"bounds": (0, 1)}, {"categories": {"x0": [1, 0, 3]}}):
        _, *body = rows(written(model(tmp_path, **given), X, ["no"] * 3))
        assert [t for t, _ in body] == ["1", "", "3"]


def test_a_missing_cell_is_the_same_of_every_make(tmp_path):
    """NaN, None and null are one feature of missing cells, and no other number is."""
    train = [[float(i % 3) if i % 4 else None] for i in range(ROWS)]
    fitted = classifier(tmp_path, bounds={"x0": (0, 2)}, indicators=["x0"], epsilon=50).fit(train, SICK)
    column = [None, 1.0, 0.0]
    want = None
    for make in MAKES:
        margins = fitted.decision_function(made(make, {"x0": column})).tolist()
        want = want or margins
        assert margins == want and len(set(margins)) == 3
    assert fitted.decision_function(np.array([[np.nan], [1.0], [0.0]])).tolist() == want
    polars = pytest.importorskip("polars")
    assert fitted.decision_function(polars.DataFrame({"x0": [float("nan"), 1.0, 0.0]})).tolist() == want


def test_cells_that_are_read_one_by_one_go_by_their_place(tmp_path):
    """An index of another order, or one that has no numbers, moves no cell."""
    pandas = pytest.importorskip("pandas")

    class Broken(pandas.Series):
        @property
        def _constructor(self):  # of its parts
            return Broken

        def __iter__(self):
            raise ValueError

    class Frame(pandas.DataFrame):
        @property
        def _constructor_sliced(self):
            return Broken

    for index in ([2, 1, 0], list("abc"), [7, 7, 7]):
        frame = Frame({"x0": ["a", "b", "c"]}, index=index)
        y = Broken(["no", "yes", "no"], index=index)
        _, *body = rows(written(model(tmp_path, categories={"x0": ["a"]}), frame, y))
        assert body == [["a", "no"], ["b", "yes"], ["c", "no"]]


def test_names_are_texts_or_places(tmp_path):
    """Columns of which any has a name that is no text go by their places."""
    pandas = pytest.importorskip("pandas")
    for names in ([0, 1], ["a", 1], [("a", "b"), "c"], [None, "x0"]):
        frame = pandas.DataFrame([[0.5, 1.5]])
        frame.columns = pandas.Index(names, tupleize_cols=False)
        header, *_ = rows(written(model(tmp_path, bounds={"x1": (0, 1)}), frame, ["no"]))
        assert header == ["x1", "y"]


def test_a_column_called_as_the_target(tmp_path):
    """The target has a name that no column of the table has, also of one that is not used."""
    pandas = pytest.importorskip("pandas")
    for names, target in ((["y"], "y_"), (["y", "y_"], "y__"), (["y_"], "y")):
        frame = pandas.DataFrame({name: A for name in names})
        header, first, *_ = rows(written(model(tmp_path, bounds={names[0]: (0, 1)}), frame, SICK_OF_THREE))
        assert header == [names[0], target] and first == [repr(float(A[0])), SICK_OF_THREE[0]]
    fitted = classifier(tmp_path, bounds={"y": (-2, 2)}, epsilon=50, train=None).fit(pandas.DataFrame({"y": A}), SICK)
    assert fitted.score(pandas.DataFrame({"y": A}), SICK) > 0.8


SICK_OF_THREE = SICK.tolist()


@pytest.mark.parametrize("classes", [[0, 1], [False, True], [0.0, 1.0], np.array([0, 1], np.int8)], ids=str)
def test_equal_targets_are_one_class(classes, tmp_path):
    """A target is of the class that it equals, whatever the types of both."""
    estimator = model(tmp_path, classes=classes, bounds=(0, 1))
    zero, one = estimator._target()["classes"]
    y = [0, 1, 1.0, True, np.int8(1), np.float32(0), np.bool_(1), decimal.Decimal(1), fractions.Fraction(0)]
    y += [2, "1", None]
    _, *body = rows(written(estimator, np.zeros((12, 1)), y))
    assert [t for _, t in body] == [zero, one, one, one, one, zero, one, one, zero, "", "", ""]
    for dtype in (np.int64, np.uint8, np.float32, bool, object):
        _, *body = rows(written(estimator, np.zeros((2, 1)), np.array([0, 1]).astype(dtype)))
        assert [t for _, t in body] == [zero, one]


def classifier(folder, **more):
    given = {"classes": ["no", "yes"], "epsilon": 5, "delta": 1e-5, "relation": "replace-one", "folder": folder}
    return StillpointClassifier(
        **{**given, "table": "people", "bounds": (-2, 2), "train": QUICK, "progress": False, **more}
    )


def regressor(folder, **more):
    given = {"target_bounds": (-9, 9), "epsilon": 5, "delta": 1e-5, "relation": "replace-one", "folder": folder}
    return StillpointRegressor(
        **{**given, "table": "people", "bounds": (-2, 2), "train": QUICK, "progress": False, **more}
    )


def test_arguments_that_conflict_are_refused(tmp_path):
    """None is left out unsaid, and nothing is charged."""
    X = np.column_stack([A, B])
    day = ("2020-01-01", "2021-01-01")
    for change, match in [
        ({"radius": 0}, "is 0: must be > 0, or be left out"),
        ({"radius": -1.0}, "radius"),
        ({"regularizer": "l3(1)"}, "regularizer"),
        ({"bounds": {"x0": (0, 1)}, "categories": {"x0": [1]}}, "column 'x0': must be in one of"),
        ({"bounds": {"x0": (0, 1)}, "dates": {"x0": day}}, "column 'x0': must be in one of"),
        ({"bounds": None, "categories": {"x1": [1]}, "dates": {"x1": day}}, "column 'x1': must be in one of"),
        ({"bounds": {"x0": (0, 1)}, "log1p": ["x1"]}, "log1p: column 'x1': must have bounds"),
        ({"categories": {"x1": [1]}, "log1p": ["x1"]}, "log1p: column 'x1': must have bounds"),
        ({"bounds": {"x0": (0, 1)}, "indicators": ["x1"]}, "indicators: column 'x1': must be in bounds or dates"),
        ({"categories": {"x1": [1]}, "indicators": ["x1"]}, "indicators: column 'x1': must be in bounds or dates"),
        ({"indicators": ["z"]}, "column 'z': must be in X"),
        ({"categories": {"x1": [1]}, "curves": {"x1": "auto"}}, "curves: column 'x1': must be in bounds or dates"),
        ({"curves": {"z": 4}}, "column 'z': must be in X"),
        ({"interactions": [("x0", "z")]}, "column 'z': must be in X"),
        ({"curves": "steep"}, "must be auto"),
        ({"classes": ["no", 1]}, "classes: must be texts, all or none of them"),
        ({"classes": ["no"]}, "classes"),
        ({"classes": [1, 1.0]}, "classes"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"delta": 0}, "delta"),
        ({"relation": "replace"}, "relation"),
        ({"relation": "add-or-remove", "records": 0}, "records"),
    ]:
        with pytest.raises(ValueError, match=match):
            classifier(tmp_path, **change).fit(X, SICK)
    for bounds in ((1, -1), (0, 0), (0, float("inf"))):
        with pytest.raises(ValueError, match="target"):
            regressor(tmp_path, target_bounds=bounds).fit(X, A)
    assert not list(tmp_path.rglob("ledger.jsonl"))


def test_pairs_of_bounds_are_of_columns_of_numbers(tmp_path):
    """In their order, wherever columns of other kinds stand."""
    columns = ["kind", "a", "seen", "b"]
    more = {"categories": {"kind": ["x"]}, "dates": {"seen": ("2020-01-01", "2021-01-01")}}
    got = classifier(tmp_path, bounds=[(1, 2), (3, 4.5)], **more)._columns(columns)
    assert list(got) == columns and got["a"] == {"number": [1, 2]} and got["b"] == {"number": [3, 4.5]}
    for pair in ((1, 2), [1, 2], np.array([1, 2])):
        got = classifier(tmp_path, bounds=pair, **more)._columns(columns)
        assert got["a"] == got["b"] == {"number": [1, 2]}
    with pytest.raises(ValueError, match="bounds: 4 pairs: must be one pair, or one for each of 2 columns"):
        classifier(tmp_path, bounds=[(0, 1)] * 4, **more)._columns(columns)
    got = regressor(tmp_path, target_bounds=(-0.25, 7.5))._target()
    assert got == {"number": [-0.25, 7.5]}


def test_settings_of_numpy(tmp_path):
    """Searches make them of arrays."""
    more = {
        "epsilon": np.float32(4), "records": np.int64(ROWS), "relation": "add-or-remove", "radius": np.int64(3),
        "train": {"algorithm": "gd", "steps": np.int32(2)}, "bounds": np.array([[-2, 2], [-1, 1]]),
    }  # fmt: skip
    fitted = classifier(tmp_path, **more).fit(np.column_stack([A, B]), SICK)
    config = json.loads((fitted.folder_ / "configuration.yaml").read_text(encoding="utf-8"))
    assert config["privacy"] == {"epsilon": 4, "delta": 1e-5, "relation": "add-or-remove", "records": ROWS}
    assert config["model"]["radius"] == 3 and config["train"] == QUICK
    with pytest.raises(TypeError, match="a setting of type object"):
        classifier(tmp_path, radius=object()).fit(np.column_stack([A, B]), SICK)


@hypothesis.given(
    st.floats(1e-9, 1e9), st.floats(1e-300, 0.5), st.booleans(), st.integers(1, 10**12), st.integers(1, 10**6)
)
def test_any_budget_is_passed_on(tmp_path_factory, epsilon, delta, replace, records, count):
    """To the last digit, and with the records that the relation makes public."""
    relation = "replace-one" if replace else "add-or-remove"
    more = {"epsilon": epsilon, "delta": delta, "relation": relation, "records": records}
    for make in (classifier, regressor):
        given = make(tmp_path_factory.getbasetemp(), **more)._configuration(count, ["x0"], "y")["privacy"]
        assert json.loads(json.dumps(given)) == {**more, "records": count if replace else records}


def test_what_is_given_is_kept_as_it_is(tmp_path):
    """Estimators are cloned with what they were given, lists and mappings included."""
    both = {
        "table": "other", "bounds": [[-2, 2], [-2, 2]], "log1p": ["a"], "indicators": ["a"], "public_steps": ["s"],
        "dates": {}, "categories": {},
        "train": {"steps": 2}, "records": np.int64(5), "epsilon": np.float32(1), "radius": 0,
        "delta": 0, "progress": None, "regularizer": "", "relation": np.str_("replace-one"),
    }  # fmt: skip
    for estimator in (classifier(tmp_path, classes=[1, 0], **both), regressor(tmp_path, target_bounds=[0, 1], **both)):
        given, again = estimator.get_params(), clone(estimator).get_params()
        assert repr(given) == repr(again)
        assert all(given[name] is value for name, value in both.items())
    inputs = get_tags(classifier(tmp_path)).input_tags
    assert inputs.allow_nan and inputs.string and inputs.categorical and not inputs.sparse


def test_a_target_that_was_learned_from_is_refused(tmp_path):
    """A transformer of targets that was fitted to them is a step that nobody charged for."""
    X = np.column_stack([A, B])
    for around in (lambda m: m, lambda m: TransformedTargetRegressor(m, transformer=FunctionTransformer())):
        wrapped = TransformedTargetRegressor(around(regressor(tmp_path)), transformer=StandardScaler())
        with pytest.raises(ConfigurationError, match="step 'transformer' before it was fitted on the rows") as caught:
            wrapped.fit(X, A)
        assert caught.value.field == "public_steps"
    assert not list(tmp_path.iterdir())
    plain = TransformedTargetRegressor(regressor(tmp_path), func=np.cbrt, inverse_func=lambda y: y**3)
    assert len(plain.fit(X, A).predict(X)) == ROWS
    public = regressor(tmp_path, public_steps=["transformer"])
    TransformedTargetRegressor(public, transformer=StandardScaler()).fit(X, A)


def test_a_fit_forgets_the_one_before(tmp_path):
    """An estimator that is fitted to an array has no names of a table before, and back."""
    pandas = pytest.importorskip("pandas")
    frame, X = pandas.DataFrame({"a": A, "b": B, "c": A}), np.column_stack([A, B])
    fitted = classifier(tmp_path).fit(frame, SICK)
    assert fitted.feature_names_in_.tolist() == ["a", "b", "c"] and fitted.n_features_in_ == 3
    fitted.fit(X, SICK)
    assert not hasattr(fitted, "feature_names_in_") and fitted.n_features_in_ == 2
    assert len(fitted.predict(X)) == ROWS
    fitted.fit(frame[["b", "a"]], SICK)
    assert fitted.feature_names_in_.tolist() == ["b", "a"] and fitted.feature_names_out_.tolist() == ["b", "a"]


def test_listed_numbers_are_known_in_predictions(tmp_path):
    """A column of floats has the listed integers, as a column of integers has."""
    code = [1, 2, 3, 1, 2] * (ROWS // 5)
    unfitted = classifier(  # the fit itself, whose weights differ, and not a constant in its place
        tmp_path, bounds=None, categories={"x0": [1, 2]}, epsilon=50, train={**QUICK, "compare": "off"}
    )
    fitted = unfitted.fit([[c] for c in code], SICK)
    want = fitted.decision_function([[c] for c in code]).tolist()
    assert len(set(want)) == 3
    floats = {"x0": [float(c) for c in code]}
    for make in MAKES:
        assert fitted.decision_function(made(make, floats)).tolist() == want
    assert fitted.decision_function(np.array(code, dtype=np.float32).reshape(-1, 1)).tolist() == want


def test_predictions_leave_no_file_and_no_row_on_the_disk(tmp_path, monkeypatch):
    """While rows are predicted there is the model alone; behind them there is nothing."""
    fitted = classifier(tmp_path / "fits").fit(A.reshape(-1, 1), SICK)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    with monkeypatch.context() as patch:  # in process no file is made at all
        patch.setattr(_estimators, "run", lambda *_: 1 / 0)
        assert len(fitted.predict(A.reshape(-1, 1))) == ROWS and not list((tmp_path / "temporary").iterdir())
    monkeypatch.setattr(_score, "read", lambda content: None)
    run, seen = _estimators.run, []

    def watched(arguments, *more):
        seen.append([p.name for p in (tmp_path / "temporary").rglob("*") if p.is_file()])
        return run(arguments, *more)

    monkeypatch.setattr(_estimators, "run", watched)
    assert len(fitted.predict(A.reshape(-1, 1))) == ROWS
    monkeypatch.setattr(_estimators, "run", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        fitted.predict(A.reshape(-1, 1))
    assert seen == [["model.json"]] and not list((tmp_path / "temporary").iterdir())


def test_predictions_are_as_many_as_rows(tmp_path, monkeypatch):
    """One more or less is a fault, and no answer."""
    fitted = classifier(tmp_path).fit(A.reshape(-1, 1), SICK)
    monkeypatch.setattr(_score, "read", lambda content: None)
    run = _estimators.run
    for change in (lambda lines: lines[:-1], lambda lines: [*lines, lines[-1]]):
        monkeypatch.setattr(_estimators, "run", lambda *a, c=change: "".join(c(run(*a).splitlines(keepends=True))))
        with pytest.raises(RuntimeError, match="predictions of 300 rows"):
            fitted.predict(A.reshape(-1, 1))


def test_fits_at_the_same_time_have_folders_of_their_own(tmp_path, monkeypatch):
    """Also where each looks for the next number before the other has taken it."""
    glob, both = Path.glob, threading.Barrier(4)

    def together(path, pattern):
        found = list(glob(path, pattern))
        both.wait(20)
        return found

    monkeypatch.setattr(Path, "glob", together)
    got = []
    threads = [threading.Thread(target=lambda: got.append(_estimators._fresh(tmp_path).name)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == ["fit-0001", "fit-0002", "fit-0003", "fit-0004"]
    monkeypatch.undo()
    (tmp_path / "fit-0009").mkdir()
    (tmp_path / "fit-other").mkdir()
    assert _estimators._fresh(tmp_path).name == "fit-0010"


CHARACTERS = [chr(i) for i in range(1, 0x250)]
CHARACTERS += [chr(i) for i in (0x200B, 0x2028, 0x2029, 0x3000, 0xE000, 0xFEFF, 0xFFFD, 0xFFFF, 0x1F600, 0x10FFFF)]


def test_any_character_in_a_listed_value(tmp_path):
    """A list goes through the configuration, rows and model as it is: each value is its own."""
    listed = [f"a{c}b" for c in CHARACTERS]
    unfitted = classifier(tmp_path, bounds=None, categories={"x0": listed}, epsilon=500)
    fitted = unfitted.fit([[v] for v in listed], ["yes"] * len(listed))
    names = json.loads((fitted.folder_ / "model.json").read_text(encoding="utf-8"))["schema"]["columns"][0]["category"]
    assert names == listed
    margins = fitted.decision_function([[v] for v in [*listed, "other", None]])
    weights = fitted.coef_[0] / np.sqrt(2)
    assert np.allclose(margins[:-2] - margins[-1], weights[:-1] - weights[-1], atol=1e-6) and margins[-1] == margins[-2]
