"""What is given is what the command gets, and what it says is what is returned."""

import copy
import inspect
import json
import pickle
import sys
import types
import warnings

import pytest
from conftest import write

np = pytest.importorskip("numpy")
pytest.importorskip("sklearn", "1.6")
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import stillpoint
from stillpoint import ConfigurationError, SpentWarning, StillpointClassifier, StillpointError, StillpointRegressor
from stillpoint import _command, _fit, _typed
from stillpoint._progress import Progress

ROWS = 300
coin = np.random.default_rng(3)
A, B, C = (coin.normal(size=ROWS) for _ in range(3))
QUICK = {"algorithm": "gd", "steps": 3}


def classifier(folder, **more):
    given = {"classes": ["no", "yes"], "epsilon": 5, "delta": 1e-5, "relation": "replace-one", "folder": folder}
    return StillpointClassifier(
        **{**given, "table": "people", "bounds": (-2, 2), "train": QUICK, "progress": False, **more}
    )


def configured(model):
    return json.loads((model.folder_ / "configuration.yaml").read_text(encoding="utf-8"))


def test_all_that_is_given_is_configured(tmp_path):
    """Every argument of an estimator, of a value of its own, and nothing else."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": A, "kind": "x", "b": B, "seen": "2020-02-02", "idle": C})
    given = {
        "epsilon": 3.25,
        "delta": 1.5e-7,
        "relation": "add-or-remove",
        "records": 290,
        "folder": tmp_path,
        "table": "a table",
        "bounds": {"b": (-1, 2), "a": (-0.5, 3)},
        "categories": {"kind": ["x", 7, True]},
        "log1p": ["a"],
        "dates": {"seen": ("2020-01-01", "2021-01-01")},
        "indicators": ["b"],
        "curves": {"b": 4},
        "interactions": [("kind", "b")],
        "ignore": ["idle"],
        "regularizer": "l2(0.125)",
        "radius": 4.5,
        "family": "curves",
        "train": QUICK,
        "public_steps": ["none"],
        "progress": False,
        "outcome": None,  # see test_contact
        "inference": None,  # see below
        "features": None,  # see below
        "unit": None,  # see test_unit
        "weight": None,
    }
    columns = {
        "a": {"number": [-0.5, 3.0], "transform": "log1p"},
        "kind": {"category": ["x", "7", "true"]},
        "b": {"number": [-1.0, 2.0], "missing": "indicator", "curve": 4},
        "seen": {"date": ["2020-01-01", "2021-01-01"]},
    }
    want = {
        "data": "-",
        "table": "a table",
        "schema": {"columns": columns, "interactions": [["kind", "b"]]},
        "model": {"regularizer": "l2(0.125)", "radius": 4.5, "family": "curves"},
        "privacy": {"epsilon": 3.25, "delta": 1.5e-7, "relation": "add-or-remove", "records": 290},
        "train": QUICK,
    }
    for kind, own, target, loss in [
        (StillpointClassifier, {"classes": ["no", "off"], "loss": "tanh"}, {"column": "y", "classes": ["no", "off"]}, "tanh"),
        (StillpointClassifier, {"classes": ["no", "yes"]}, {"column": "y", "classes": ["no", "yes"]}, "logistic"),
        (StillpointClassifier, {"classes": [2, 0, 1]}, {"column": "y", "classes": ["2", "0", "1"]}, "softmax"),
        (
            StillpointRegressor,
            {"target_bounds": (-4, 5), "loss": "welsch(0.5)", "exposure": None, "offset": None},  # see test_costs.py
            {"column": "y", "number": [-4.0, 5.0]},
            "welsch(0.5)",
        ),
    ]:
        arguments = {**given, **own}
        model = kind(**copy.deepcopy(arguments))
        assert set(arguments) | {"loss"} == set(inspect.signature(kind).parameters) == set(model.get_params())
        assert {name: model.get_params()[name] for name in arguments} == arguments
        made = model._configuration(ROWS, list(frame.columns), "y")
        expected = copy.deepcopy(want)
        expected["schema"]["target"], expected["model"]["loss"] = target, loss
        assert made == expected and {*made["schema"]["columns"]} - {"idle"} == {*columns}
        arguments["inference"] = 0.9
        made = kind(**arguments)._configuration(ROWS, list(frame.columns), "y")
        assert made == {**expected, "inference": {"level": 0.9}}
        arguments |= {"inference": None, "features": "effects(3)"}
        made = kind(**arguments)._configuration(ROWS, list(frame.columns), "y")
        assert made == {**expected, "model": {**expected["model"], "features": "effects(3)"}}
    model = StillpointRegressor(**{**given, "target_bounds": (-4, 5), "regularizer": None}).fit(frame, A)
    guarantee = model.certificate_["guarantee"] if "guarantee" in model.certificate_ else model.report_
    assert (guarantee["epsilon"], guarantee["delta"]) == (3.25, 1.5e-7)
    assert model.spent_ == {**model.spent_, "table": "table a table", "relation": "add-or-remove", "fits": 1}


def test_rows_are_the_records_under_replace_one(tmp_path):
    """The number of rows is stated, so that a pipe that ends early charges nothing."""
    assert (
        configured(classifier(tmp_path, records=7).fit(A.reshape(-1, 1), ["no"] * ROWS))["privacy"]["records"] == ROWS
    )


def test_fit_hands_on_its_arguments(tmp_path, monkeypatch):
    config = write(tmp_path, "logistic", 2)
    fit = stillpoint.fit(config, out=tmp_path / "fit", epsilon=0.1 + 0.2, delta=3e-7, progress=False)
    assert (fit.report["epsilon"], fit.report["delta"]) == (0.1 + 0.2, 3e-7) and fit.folder == tmp_path / "fit"
    with pytest.raises(StillpointError, match="holds an earlier fit"):
        stillpoint.fit(config, out=tmp_path / "fit", progress=False)
    stillpoint.fit(config, out=tmp_path / "fit", overwrite=True, progress=False)
    (one,) = stillpoint.spent(tmp_path / "fit", delta=1e-6)
    (two,) = stillpoint.spent(tmp_path / "fit", delta=1e-9)
    assert (
        one["fits"] == two["fits"] == 2
        and (one["delta"], two["delta"]) == (1e-6, 1e-9)
        and one["epsilon"] < two["epsilon"]
    )
    seen = []
    monkeypatch.setattr(_fit, "run", lambda arguments, *_: seen.append(list(arguments)) or "[]")
    stillpoint.spent("a", "b")
    assert seen == [["ledger", "a", "b", "--json"]]


@pytest.mark.parametrize("over", ["memory", "pipe"])
def test_columns_go_by_name(over, tmp_path, monkeypatch):
    """Another order of columns, and more of them, are the same rows; an absent one is told."""
    if over == "pipe":
        monkeypatch.setattr(_typed.Typed, "file", lambda self: None)
    makes = {name: pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow")}
    model = None
    for name, library in makes.items():
        make = library.table if name == "pyarrow" else library.DataFrame
        straight, other = make({"a": A, "b": B, "c": C}), make({"more": B, "c": C, "b": B, "a": A})
        if model is None:
            model = classifier(tmp_path, bounds={"a": (-2, 2), "c": (-1, 1)}, ignore=["b"]).fit(
                straight, np.where(A > C, "yes", "no")
            )
        assert model.decision_function(straight).tolist() == model.decision_function(other).tolist()
        with pytest.raises(ValueError, match=r"\['c'\] are absent"):
            model.predict(make({"a": A, "b": B}))
    assert list(model.feature_names_in_) == ["a", "b", "c"] and model.n_features_in_ == 3
    assert model.decision_function(np.column_stack([A, B, C])).tolist() == model.decision_function(straight).tolist()
    with pytest.raises(ValueError, match="X has 2 features, but StillpointClassifier is expecting 3"):
        model.predict(np.column_stack([A, B]))
    swapped = model.decision_function(np.column_stack([C, B, A]))
    assert np.abs(swapped - model.decision_function(straight)).max() > 0.01


@pytest.mark.parametrize(
    "classes", [["yes", "no"], ["no", "yes"], ["c", "a", "b"], [2, 0, 1], [10, 9, 1], ["a", "a b", 'a,b="c"']], ids=str
)
def test_classes_keep_their_order(classes, tmp_path):
    """Of classes in any order, each is predicted of its own rows, and has its own column."""
    y = [classes[i % len(classes)] for i in range(ROWS)]
    # Rows of class k are where feature k is 1; so strong a signal outweighs the noise.
    X = np.eye(len(classes))[np.arange(ROWS) % len(classes)]
    model = classifier(
        tmp_path, classes=classes, bounds=(0, 1), epsilon=500, train={"algorithm": "gd", "steps": 50}
    ).fit(X, y)
    assert model.classes_.tolist() == classes
    assert model.predict(X).tolist() == y
    p = model.predict_proba(X)
    assert p.shape == (ROWS, len(classes)) and np.allclose(p.sum(axis=1), 1)
    assert p.argmax(axis=1).tolist() == [i % len(classes) for i in range(ROWS)]
    margins = model.decision_function(X)
    if len(classes) == 2:
        assert np.allclose(p[:, 1], 1 / (1 + np.exp(-margins)))
    else:
        assert margins.argmax(axis=1).tolist() == p.argmax(axis=1).tolist()
        assert np.allclose(p, np.exp(margins) / np.exp(margins).sum(axis=1, keepdims=True))


def test_coefficients_are_the_models(tmp_path):
    model = classifier(tmp_path, classes=[5, 3, 4]).fit(np.column_stack([A, B]), [3, 4, 5] * (ROWS // 3))
    weights = json.loads((model.folder_ / "model.json").read_text())["weights"]
    assert [*model.coef_[2], model.intercept_[2]] == np.reshape(weights, (3, 3))[2].tolist()
    assert list(model.feature_names_out_) == ["x0", "x1"]
    again = pickle.loads(pickle.dumps(model))
    for file in model.folder_.iterdir():
        file.unlink()
    assert again.predict(np.column_stack([A, B])).tolist() == model.predict(np.column_stack([A, B])).tolist()


def test_coefficients_are_in_the_columns_units(tmp_path):
    """Terms add up to the margin of a row; levels are against the first one listed."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": A, "kind": ["x", "y", "z"] * (ROWS // 3)})
    y = np.where(A > 0, "yes", "no")
    model = classifier(tmp_path, bounds={"a": (-2, 2)}, categories={"kind": ["y", "x"]}).fit(frame, y)
    told = model.coefficients_
    terms = {t["term"]: t for t in told["terms"]}
    assert list(terms) == ["a", "kind=x", "kind=other", "intercept"]
    assert told["references"] == {"kind": "y"} and terms["kind=x"]["reference"] == "kind=y"
    assert told["noise"] == "bounded" and "covariance" not in told and all(t["noise_sd"] > 0 for t in told["terms"])
    row = pandas.DataFrame({"a": [0.5, 0.5, 0.5], "kind": ["y", "x", "z"]})
    base = terms["intercept"]["value"] + 0.5 * terms["a"]["value"]
    expected = [base, base + terms["kind=x"]["value"], base + terms["kind=other"]["value"]]
    assert np.allclose(model.decision_function(row), expected, atol=1e-5)
    assert len(pandas.DataFrame(told["terms"])) == 4
    metric = classifier(tmp_path, train={"algorithm": "preconditioned"}).fit(np.column_stack([A, B]), y)
    deviations = [t["noise_sd"] for t in metric.coefficients_["terms"]]
    assert metric.coefficients_["noise"] == "estimated"
    for i, sd in enumerate(deviations):
        square = metric.coefficients_["covariance"][i][i]
        assert (square is None and metric.coefficients_["terms"][i]["state"] == "not arrived") if sd is None else np.isclose(square, sd**2)


def test_each_step_before_is_looked_at(tmp_path):
    """The third step is refused as the first is, and in a Pipeline within another."""
    X, y = np.column_stack([A, B]), np.where(A > 0, "yes", "no")
    plain = lambda: FunctionTransformer(np.tanh)  # noqa: E731
    for place in range(4):
        steps = [("plain", plain()), ("none", "passthrough"), ("more", plain()), ("last", plain())]
        steps[place] = ("scaler", StandardScaler())
        with pytest.raises(ConfigurationError, match="step 'scaler' before it was fitted on the rows") as caught:
            Pipeline([*steps, ("model", classifier(tmp_path))]).fit(X, y)
        assert (
            caught.value.field == "public_steps" and caught.value.code == "configuration" and not caught.value.charged
        )
        with pytest.raises(ConfigurationError, match="scaler"):
            make_pipeline(
                plain(), Pipeline([*steps, ("model", classifier(tmp_path, public_steps=["plain", "more"]))])
            ).fit(X, y)
    with pytest.raises(ConfigurationError, match="second"):
        Pipeline(
            [
                ("first", StandardScaler()),
                ("second", StandardScaler()),
                ("model", classifier(tmp_path, public_steps=["first"])),
            ]
        ).fit(X, y)
    assert not list(tmp_path.iterdir())


def test_sums_are_of_this_table_and_relation(tmp_path):
    """Each further fit warns of the sum; other tables and relations are other sums."""
    X, y = np.column_stack([A, B]), np.where(A > 0, "yes", "no")
    for table, relation in [
        ("people", "replace-one"),
        ("others", "replace-one"),
        ("people", "add-or-remove"),
        ("a", "replace-one"),
    ]:
        model = classifier(tmp_path, table=table, relation=relation, records=ROWS)
        with warnings.catch_warnings():
            warnings.simplefilter("error", SpentWarning)
            model.fit(X, y)
        assert (model.spent_["table"], model.spent_["relation"], model.spent_["fits"]) == (
            f"table {table}",
            relation,
            1,
        )
    costs = [5]
    for n in (2, 3):
        with pytest.warns(SpentWarning) as told:
            model = classifier(tmp_path).fit(X, y)
        assert model.spent_["fits"] == n and costs[-1] < model.spent_["epsilon"] < 5 * n
        costs.append(model.spent_["epsilon"])
        told = [w for w in told if w.category is SpentWarning]  # noise decides on those of the fit
        assert [str(w.message) for w in told] == [
            f"{n} fits of people in {tmp_path} cost together epsilon {costs[-1]:.4g} at delta {model.spent_['delta']}"
        ]
        assert told[0].filename == __file__
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"fit-000{i}" for i in range(1, 7)]


STEP = {"event": "step", "step": 7, "of": 9, "gradient_norm": 0.123456, "noise": 0.0346, "charged": 1.23456}
PLAN = {"event": "plan", "plan": {"plan": {"algorithm": "gd", "steps": 9}}}
LINE = "step 7 of 9: noisy gradient norm 0.12 (noise alone 0.035), charged 1.235"


class Terminal:
    def __init__(self, terminal):
        self.terminal, self.text = terminal, ""

    def isatty(self):
        return self.terminal

    def write(self, text):
        self.text += text

    def flush(self):
        pass


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize("shown", [False, True, "auto"])
def test_progress_is_shown_where_it_is_asked_for(shown, terminal, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal(terminal))
    progress = Progress(shown)
    for event in (PLAN, STEP, {"event": "said", "text": "x"}):
        progress(event)
    progress.finish()
    wanted = shown is True or shown == "auto" and terminal
    assert sys.stderr.text == (f"\r\x1b[Kgd: 9 steps\r\x1b[K{LINE}\n" if wanted else "")


@pytest.mark.parametrize("shown", [False, True, "auto"])
def test_progress_in_a_notebook(shown, monkeypatch):
    """It is one cell's output that changes."""
    said = []

    class ZMQInteractiveShell:
        pass

    class Handle:
        def update(self, data, raw):
            said.append(("update", data, raw))

    def display(data, raw, display_id):
        said.append(("display", data, raw and display_id))
        return Handle()

    module = types.ModuleType("IPython")
    module.get_ipython = ZMQInteractiveShell
    module.display = types.ModuleType("IPython.display")
    module.display.display = display
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", module.display)
    monkeypatch.setattr(sys, "stderr", Terminal(True))
    progress = Progress(shown)
    for event in (PLAN, STEP, STEP):
        progress(event)
    progress.finish()
    both = [("display", {"text/plain": "gd: 9 steps"}, True), *[("update", {"text/plain": LINE}, True)] * 2]
    assert said == (both if shown else []) and sys.stderr.text == ""


def test_errors_are_what_the_command_said():
    """The last error is told, of its kind; without one, the words and whether steps were charged."""
    told = {"event": "error", "message": "m", "code": "budget", "field": "f", "rule": "r", "charged": True}
    for code, kind in [
        ("budget", StillpointError),
        ("configuration", ConfigurationError),
        ("usage", ConfigurationError),
        ("fault", StillpointError),
    ]:
        error = _command._error(
            [{**told, "message": "first"}, {**told, "code": code}, {"event": "said", "text": "x"}], 1
        )
        assert type(error) is kind and (str(error), error.code, error.field, error.rule, error.charged) == (
            "m",
            code,
            "f",
            "r",
            True,
        )
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is kind and vars(again) == vars(error) and str(again) == "m"
    for events, charged in [([], False), ([PLAN], True), ([STEP], True), ([{"event": "reading"}], False)]:
        error = _command._error([*events, {"event": "said", "text": "a"}, {"event": "said", "text": "b"}], 3)
        assert (str(error), error.charged, error.code) == ("the command ended with exit code 3: a b", charged, "fault")
    assert _command._event(b'{"event": "x"}\n') == {"event": "x"}
    for line in (b"words\n", b"[1]\n", b'{"a": 1}\n', b"\xff\n"):
        assert _command._event(line) == {"event": "said", "text": line.decode(errors="replace").strip()}


def test_a_display_that_fails_ends_no_fit(tmp_path):
    seen = []

    def show(event):
        seen.append(event)
        raise ValueError("no display")

    report = json.loads(
        _command.run(["fit", write(tmp_path, "logistic", 2), "--out", tmp_path / "fit", "--json"], on=show)
    )
    assert report["complete"] and len(seen) == 1
