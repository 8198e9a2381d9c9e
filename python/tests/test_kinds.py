"""Each kind of model over each kind of column: Python's scores have the bits that the command predicts, at every edge.

Few models are fitted. All others are files of these with another loss, other targets and other weights.
"""

import csv
import io
import itertools
import json
import random
import warnings

import pytest
from conftest import configuration, people
from test_score import DATES, NUMBERS, TEXTS

np = pytest.importorskip("numpy")
pytest.importorskip("sklearn", "1.6")
pandas = pytest.importorskip("pandas")

from stillpoint import StillpointClassifier, StillpointRegressor, _score, means
from stillpoint._command import run

MARKERS = ["", "?", "-9", "-999.0", "1e3", "07", "0.5", "2020-02-02", "NA", "2020-02-28 18:30", "é", "-0", "17", "true", "1"]


def plain(config):
    del config["schema"]["interactions"], config["schema"]["norm"]
    config["schema"]["columns"] |= {"age": {"number": [17, 90]}, "seen": {"date": ["2019-01-01", "2024-12-31"]}, "gain": {"number": [-0.5, 1e5]}}


def marked(config):
    config["schema"]["target"]["classes"] = ["no", "yes"]  # no class is a marker
    config["schema"] |= {"missing": MARKERS, "interactions": [["gain", "age"], ["seen", "sex"]], "norm": 0.9}
    config["schema"]["columns"]["work"] = {"hash": 37}


def layout(config):
    plain(config)
    config["schema"]["columns"] |= {"seen": {"date": ["2019-01-01", "2024-12-31"], "layout": "%d.%m.%Y", "missing": "indicator"}, "sex": {"hash": 3}}
    config["schema"]["columns"]["gain"] |= {"transform": "log1p", "missing": "indicator", "curve": 5}


def effects(config):
    plain(config)
    config["model"]["features"] = "effects(4)"
    del config["train"]


SCHEMAS = {"all": lambda config: None, "plain": plain, "marked": marked, "layout": layout, "effects": effects}


@pytest.fixture(scope="module", params=SCHEMAS)
def schema(request, tmp_path_factory):
    """The name of a schema, the content of a model file over it, and a folder with a table of odd rows."""
    folder = tmp_path_factory.mktemp("kinds")
    config = configuration("logistic", 2)
    SCHEMAS[request.param](config)
    (folder / "people.yaml").write_text(json.dumps(config, ensure_ascii=False), encoding="utf-8")
    write(folder / "people.csv", people(400, 2))
    run(["fit", folder / "people.yaml", "--out", folder / "fit", "--anyway"])
    write(folder / "odd.csv", odd())
    model = json.loads((folder / "fit" / "model.json").read_text(encoding="utf-8"))
    asked = config["schema"]
    assert model["schema"].get("interactions") == asked.get("interactions"), "a fit of few rows leaves out interactions"
    assert {c["name"]: c["curve"] for c in model["schema"]["columns"] if "curve" in c} == {n: c["curve"] for n, c in asked["columns"].items() if "curve" in c}
    return request.param, model, folder


def write(path, table):
    with open(path, "w", newline="", encoding="utf-8") as file:
        lines = csv.DictWriter(file, table[0].keys(), lineterminator="\n")
        lines.writeheader()
        lines.writerows(table)


def odd() -> list[dict[str, str]]:
    """Rows in which each odd cell of a column stands beside plain and beside odd cells of the others."""
    coin = random.Random(9)
    ends = ["17", "90", "16.999999999", "90.00000001", "30", "45.5", "-0.5", "-0.500001", "1e5", "100000.1", "-17"]
    own = {"age": [*NUMBERS, *MARKERS, *ends], "gain": [*NUMBERS, *MARKERS, *ends], "seen": [*DATES, *MARKERS, "2019-01-01", "2024-12-31", "31.12.2024", "1.1.2019", "2020-02-28T10:00:60", "2020-02-28 10:60", "2020-02-28T10:00:59"],
           "work": [*TEXTS, *MARKERS], "sex": [*TEXTS, *MARKERS, "f", "m", " f "]}  # fmt: skip
    table = []
    for name, cells in own.items():
        for cell in cells:
            table.append({"id": "1", "age": "33.25", "gain": "77.5", "seen": "2021-07-08", "work": "a b", "sex": "m", "y": "1", name: cell})
    for _ in range(60):
        table.append({"id": "1", "y": "0", **{name: coin.choice(cells) for name, cells in own.items()}})
    return table


def named(*classes):
    return {"column": "y", "classes": list(classes)}


def number(low, high, **more):
    return {"column": "y", "number": [low, high], **more}


TWO, THREE = named("no, \"1\"", "-1.0"), named("b=c", "a", "7 é")
TIMES = {"column": "y", "event": "died", "cuts": [1, 2.5, 7], "hazards": [0.5, 0.125, 0.375]}
KINDS = {
    "logistic": TWO, "sigmoid": TWO, "tanh": TWO, "hinge": TWO, "smoothed-hinge(0.5)": TWO, "weighted(logistic,1,5)": TWO, "softmax(3)": THREE,
    "weighted(softmax(3),1,2,3)": THREE, "ordered(3)": THREE, "ordered(4)": named("d", "c", "b", "a"),
    "network(5,tanh,logistic)": TWO, "network(4-3,relu,softmax(3))": THREE, "network(2-3,tanh,squared(1))": number(-3, 47),
    "huber(0.1)": number(-20, 300), "squared(1)": number(2, 3), "absolute": number(0, 7), "pinball(0.3)": number(-7, 0),
    "poisson(3)": number(0, 80), "gamma(3,0.01)": number(1, 80), "negbinomial(2,5,9)": number(0, 9), "tweedie(1.5,5,20,80)": number(0, 80),
    "poisson-rate(3,0.025)": number(0, 80, exposure={"column": "years", "number": [0.5, 20]}), "negbinomial-rate(2,5,9,0.06392786120670757)": number(0, 9, offset={"column": "years", "number": [-1.5, 1.25]}),
    "poisson-rate(3,1.52587890625e-05)": TIMES, "cloglog(3,1.52587890625e-05)": {**TIMES, "grouped": "cloglog"},
}  # fmt: skip


def parameters(loss: str, features: int, target) -> int:
    classes = len(target.get("classes", ""))
    if loss.startswith("ordered"):
        return features + classes - 2
    if loss.startswith("network"):
        hidden = [int(m) for m in loss[8:].split(",")[0].split("-")]
        sizes = [*hidden, classes if classes > 2 else 1]
        return hidden[0] * features + sum(b * (a + 1) for a, b in zip(sizes, sizes[1:]))
    return features * (classes if classes > 2 else 1)


def file(model, loss, target, clamped=False):
    """The content of a file of another model over the same schema."""
    coin = random.Random(loss)
    weights = [1.5 * coin.gauss(0, 1) for _ in range(parameters(loss, len(model["features"]), target))]
    version = 2 if loss.startswith("network") or len(target.get("classes", "")) > 2 else model["version"]
    made = {**model, "version": version, "loss": loss, "schema": {**model["schema"], "target": target}, "weights": weights}
    made.pop("clamped", None)
    made.pop("warnings", None)
    return {**made, "clamped": True} if clamped else made


def agree(folder, made):
    """Scores of the odd rows in Python and by the command; the columns of numbers that differ between rows are counted."""
    path = folder / "kind.json"
    path.write_text(json.dumps(made), encoding="utf-8")
    lines = csv.DictReader(io.StringIO(run(["predict", path, folder / "odd.csv", "--margin"]), newline=""))
    want = list(lines)
    table = odd()
    own = _score.Model(path.read_bytes())
    columns = {c: np.array([row[c] for row in table], dtype=object) for c in table[0]}
    cut = lambda c, start, stop: columns[c][start:stop]
    got = own.score(cut, len(table), 10**6)
    assert list(got) == own.outputs == lines.fieldnames and own.columns == [c["name"] for c in made["schema"]["columns"] if "ignore" not in c]
    for name, values in got.items():
        expected = [row[name] for row in want]
        if name == "class":
            assert [own.classes[i] for i in values] == expected
        else:
            numbers = [float(v) for v in expected]
            assert values.tolist() == (pytest.approx(numbers, abs=1e-14) if name == "risk" else numbers), name
            assert len(set(expected)) > 20, f"{name}: the test shows nothing"
        of = name.partition("=")[0]
        assert [*own.score(cut, len(table), 10**6, of)] == [n for n in own.outputs if n.partition("=")[0] == of]
    return got


@pytest.mark.parametrize("loss", KINDS)
def test_kinds(schema, loss):
    """Predictions and margins of each loss over each schema; numbers also where they are clamped to the target's bounds."""
    name, model, folder = schema
    target = KINDS[loss]
    if name == "effects" and (len(target.get("classes", "")) > 2 or loss.startswith(("network", "ordered"))):
        pytest.skip("effects have one margin")
    free = agree(folder, file(model, loss, target))
    if "number" in target and "exposure" not in target and "offset" not in target:
        low, high = target["number"]
        clamped = agree_clamped(folder, file(model, loss, target, True))
        assert clamped["prediction"].tolist() == np.clip(free["prediction"], low, high).tolist()


def agree_clamped(folder, made):
    path = folder / "kind.json"
    path.write_text(json.dumps(made), encoding="utf-8")
    want = [float(row["prediction"]) for row in csv.DictReader(io.StringIO(run(["predict", path, folder / "odd.csv"]), newline=""))]
    table = odd()
    got = _score.Model(path.read_bytes()).score(lambda c, i, j: np.array([row[c] for row in table[i:j]], dtype=object), len(table), 10**6)
    assert got["prediction"].tolist() == want
    return got


def estimator(made, path):
    """An estimator with a model file, as after a fit."""
    target = made["schema"]["target"]
    given = {"epsilon": 1, "delta": 1e-6, "relation": "replace-one", "folder": path, "table": "t"}
    m = StillpointClassifier(classes=target["classes"], **given) if "classes" in target else StillpointRegressor(target_bounds=target["number"], **given)
    m._used = [c["name"] for c in made["schema"]["columns"] if "ignore" not in c]
    m.categories = {c["name"]: [] for c in made["schema"]["columns"] if c.keys() & {"category", "hash"}}
    m._described, m._model, m.n_features_in_, m.coef_ = {c: {} for c in m._used}, json.dumps(made).encode(), len(m._used), np.zeros(1)
    if "classes" in target:
        m.classes_, m._encoded, m._order = np.asarray(target["classes"]), None, np.arange(len(target["classes"]))
    return m


def columns_of_types():
    """Columns of each type, with the texts that markers of missing cells spell, and numbers at and beyond bounds."""
    numbers = [-9, -999, 1000, 7, 0.5, -0.0, 17, 1, 90.1, np.nan, np.inf, 16.7, 33.3, -0.3, 1e5]
    days = pandas.to_datetime(["2020-02-02", None, "2020-02-28 18:30", "2019-01-01", "2024-12-31 23:59:59.75", "1800-01-01", "2100-05-05", "2021-07-08"] * 2, format="ISO8601")[:15]
    words = ["a b", "é", "NA", "true", "1", "?", "c'd", "", None, "f", "m", " f ", "17", "x", "\\"]
    whole = [-9, -999, 1000, 7, 0, 17, 1, 90, 91, -8, 100000, 33, 2, 3, 4]
    yield "float64", {"age": np.array(numbers), "gain": np.array(numbers[::-1]), "seen": days, "work": words, "sex": words[::-1]}
    yield "float32", {"age": np.float32(numbers), "gain": np.float32(numbers[::-1]), "seen": days.astype("datetime64[s]"), "work": pandas.Categorical(words), "sex": np.float32(numbers)}
    yield "integers", {"age": np.array(whole), "gain": np.array(whole[::-1], np.int32), "seen": days.strftime("%Y-%m-%d"), "work": np.array(whole), "sex": whole}
    yield "truths", {"age": np.array([True, False, True] * 5), "gain": np.array([False, True, True] * 5), "seen": days.tz_localize("Asia/Tokyo"), "work": np.array([True, False, False] * 5),
        "sex": np.array([False, True, False] * 5)}  # fmt: skip
    yield "nullable", {"age": pandas.array([*whole[:-1], None], dtype="Int64"), "gain": pandas.array([None, *numbers[1:]], dtype="Float64"), "seen": days, "work": pandas.array(words, dtype="string"),
        "sex": pandas.array([True, None, False] * 5, dtype="boolean")}  # fmt: skip
    yield "objects", {"age": np.array(numbers, object), "gain": np.array([*words[:7], *numbers[:8]], object), "seen": np.array([*words[:7], *days[:8]], object), "work": np.array([*words[:8], *numbers[:7]], object),
        "sex": np.array([True, 1, 1.0, "1", None, "f", b"m", 2, -0.0, "true", False, 0.5, "", "?", 17], object)}  # fmt: skip


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_columns_of_types(schema, library, monkeypatch):
    """Estimators read columns of each type as the command reads them, markers of missing cells among them."""
    name, model, folder = schema
    made = file(model, "huber(0.1)", number(-20, 300))
    made["schema"]["missing"] = ["", "?", "NA", "x"]  # an estimator states no numbers
    m = estimator(made, folder)
    made["schema"]["missing"].append("2020-02-02")
    dated = estimator(made, folder)
    other = None if library == "pandas" else pytest.importorskip(library)
    seen = set()
    for (kind, columns), m in itertools.product(columns_of_types(), (m, dated)):
        if library != "pandas" and kind == "objects" or library == "polars" and kind == "truths":
            continue
        X = pandas.DataFrame(columns)
        if library != "pandas":
            X = other.from_pandas(X) if library == "polars" else other.Table.from_pandas(X)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            own = m.predict(X).tolist()
            with monkeypatch.context() as patch:
                patch.setattr(_score, "read", lambda content: None)
                command = m.predict(X).tolist()
        assert own == command, kind
        seen.update(own)
    assert len(seen) > 25, "the test shows nothing"


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_populations_of_types(schema, library):
    """A float that equals a marker of missing cells is missing, as its text is, whatever the types of the other columns are."""
    name, model, folder = schema
    if name == "plain":
        pytest.skip("no marker shows: a missing cell is the middle")
    other = None if library == "pandas" else pytest.importorskip(library)
    ages, pays = ["-9", "30.5", "-9", "17", "-9", "88.25", "?"], ["5", "-9", "7.5", "1000", "-9", "0.5", "90"]
    number = lambda cells: [np.nan if c == "?" else float(c) for c in cells]
    beside = {"seen": ["2020-05-05", "2021-06-07"] * 3 + ["2022-01-01"], "work": ["a b"] * 7, "sex": ["f", "m", "m", "f", "m", "f", "f"]}
    make = {"pandas": lambda f: f, "polars": lambda f: other.from_pandas(f), "pyarrow": lambda f: other.Table.from_pandas(f)}[library]
    # Half precision has no place in polars, and its other cells would be rounded.
    typed = [lambda c, dtype=dtype: pandas.array(number(c), dtype=dtype) for dtype in ("Float64", "Float32", "float64", "float32")]
    said = [means(folder / "fit", make(pandas.DataFrame({"age": of(ages), "gain": of(pays), **beside}))) for of in (list, number, *typed)]
    assert all(answer == said[0] for answer in said)
