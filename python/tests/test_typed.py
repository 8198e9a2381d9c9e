"""Tables of plain numbers go to the command as Parquet in memory: the same cells as over the pipe."""

import io
import sys

import pytest
from feeding import CLASSES, model

np = pytest.importorskip("numpy")
pytest.importorskip("sklearn", "1.6")
pytest.importorskip("pyarrow")
if not hasattr(__import__("os"), "memfd_create"):
    pytest.skip("this system has no files in memory", allow_module_level=True)
from stillpoint import StillpointError, _command, _score, _table, _typed

EDGES = [np.nan, np.inf, -np.inf, -0.0, 1e300, 1e-300, 5e-324, 0.1, 1e22, -1e-7]
LARGE = 2.0**62
NUMBERS = {"f": (-3, 3), "g": (-3, 3), "i": (-LARGE, LARGE), "u": (0, 4 * LARGE), "b": (0, 1)}
KINDS = {"bounds": NUMBERS, "categories": {"k": [0, 1, 2], "flag": [True, False]}, "indicators": ["f", "i"]}


def table(make, count=500):
    random = np.random.default_rng(1)
    f = np.concatenate([EDGES, random.normal(size=count)])[:count]
    data = {
        "f": f,
        "g": f[::-1].astype(np.float32),
        "i": random.integers(-(2**62), 2**62, count),
        "u": random.integers(0, 2**63, count).astype(np.uint64) * 2 + 1,
        "b": random.random(count) < 0.5,
        "k": random.integers(0, 4, count),
        "flag": random.random(count) < 0.5,
    }
    if make == "pandas":
        return pytest.importorskip("pandas").DataFrame(data)
    polars = pytest.importorskip("polars")
    gaps = polars.when(polars.int_range(count) % 7 == 0).then(None).otherwise(polars.all())
    frame = polars.DataFrame(data).with_columns(gaps.name.keep())
    return frame if make == "polars" else frame.to_arrow()


@pytest.fixture
def opened(monkeypatch):
    """The files in memory that were opened."""
    made, file = [], _typed.Typed.file
    monkeypatch.setattr(_typed.Typed, "file", lambda self: made.append(file(self)) or made[-1])
    return made


@pytest.mark.parametrize("make", ["pandas", "polars", "pyarrow"])
def test_predictions_are_those_over_the_pipe(make, tmp_path, opened, monkeypatch):
    X = table(make)
    fitted = model(tmp_path, target_bounds=(-3, 3), train={"compare": "off"}, **KINDS).fit(X, np.linspace(-4, 4, 500))
    own = fitted.predict(X)
    monkeypatch.setattr(_score, "read", lambda content: None)
    fast = fitted.predict(X)
    assert np.array_equal(own, fast)
    assert len(opened) == 2 and None not in opened
    monkeypatch.setattr(_typed.Typed, "file", lambda self: None)
    assert np.array_equal(fast, fitted.predict(X))


def feed(columns, listed=(), targets=None, of=None):
    frame = pytest.importorskip("polars").DataFrame(columns)
    rows = frame.shape[0]
    more = {} if of is None else {"of": of}
    targets = np.full(rows, "x") if targets is None else targets
    return _table.writer(frame, range(frame.shape[1]), frame.columns, listed, "y", targets, **more)


@pytest.mark.parametrize("count", [1, 49_999, 50_000, 50_001, 100_003])
def test_each_row_once(count):
    """The file holds each row of each part, in its place, and numbers keep their bits."""
    from pyarrow import parquet

    sink, a = io.BytesIO(), np.arange(count) / 3 - 5
    a[0] = -0.0
    targets = np.array([CLASSES[i % 3] for i in range(count)], dtype=object)
    feed({"a": a, "b": -np.arange(count)}, targets=targets, of=lambda cell: cell)._write(sink)
    got = parquet.read_table(sink)
    assert got.column_names == ["a", "b", "y"]
    assert got["a"].to_numpy().tobytes() == a.tobytes()
    assert got["b"].to_numpy().tolist() == (-np.arange(count)).tolist()
    assert got["y"].to_pylist() == targets.tolist()


def test_types_decide():
    def fast(*arguments, **named):
        return isinstance(feed(*arguments, **named), _typed.Typed)

    assert fast({"a": [1.5, None]}) and fast({"a": [1, 2]}, ["a"]) and fast({"a": [True, False]}, ["a"])
    assert not fast({"a": [1.5]}, ["a"])  # the text of a float is that of its library
    for cell in ("1", b"1", None, __import__("decimal").Decimal(1), __import__("datetime").date(2020, 1, 1)):
        assert not fast({"a": [cell], "b": [1.0]})
    assert not fast({"a": [1.0], "b": [1]}, targets=np.array(["1"], dtype=object))
    assert fast({"a": [1.0]}, targets=np.array(["1"], dtype=object), of=lambda cell: "no")
    assert not fast({"a": [1.0]}, targets=np.full(1, "1" * _typed.SHORT))
    assert not fast({"y": [1.0]})  # two columns of one name


def test_no_cell_stands_in_an_error():
    class Secret(BaseException):
        pass

    def fill(sink):
        raise Secret("a cell")

    with pytest.raises(StillpointError, match="could not be written") as error:
        _command.run(["version"], _typed.Typed(lambda pipe: None, fill))
    assert error.value.__cause__ is None and error.value.__context__ is None


@pytest.mark.skipif(sys.platform != "linux", reason="descriptors are counted in /proc")
def test_no_file_stays_open(tmp_path):
    import os

    fitted = model(tmp_path, bounds=(0, 1)).fit(np.zeros((300, 1)), np.array(CLASSES * 100))
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        fitted.predict(np.zeros((30, 1)))
    assert len(os.listdir("/proc/self/fd")) == before
