"""No cell decides whether an error is raised, which, or what becomes of other rows."""

import os
import signal
import threading
import time
import traceback
import warnings

import pytest
from feeding import CLASSES, model, rows, written

np = pytest.importorskip("numpy")
pytest.importorskip("sklearn", "1.6")
hypothesis = pytest.importorskip("hypothesis")
from hypothesis import strategies as st
from odd import SECRET, Foreign, singles

from stillpoint import ConfigurationError, StillpointClassifier, StillpointError
from stillpoint._command import run

COUNT = 5  # rows of a small table
SINGLES = list(singles())


def of_pandas():
    pandas = pytest.importorskip("pandas")
    moments = [pandas.NaT, pandas.Timestamp.max, pandas.Timestamp("2020-01-01", tz="Asia/Tokyo"), pandas.Timedelta(1)]
    return [pandas.NA, *moments, pandas.Period("2020-01"), pandas.Interval(0, 1), pandas.Categorical(["no"])]


def objects(values):
    array = np.empty((len(values), 2), dtype=object)
    for i, value in enumerate(values):
        array[i, 0], array[i, 1] = value, float(i)
    return array


MAKES = {
    "list": lambda values: [[v, float(i)] for i, v in enumerate(values)],
    "tuples": lambda values: tuple((v, float(i)) for i, v in enumerate(values)),
    "numpy": objects,
    "pandas": lambda values: pytest.importorskip("pandas").DataFrame(objects(values), dtype=object),
    "polars": lambda values: polars_objects(values),
}


def polars_objects(values):
    polars = pytest.importorskip("polars")
    numbers = polars.Series("x1", [float(i) for i in range(len(values))])
    return polars.DataFrame([polars.Series("x0", values, dtype=polars.Object), numbers])


SCHEMAS = {
    "number": {"bounds": {"x0": (0, 1), "x1": (0, 9)}},
    "category": {"bounds": {"x1": (0, 9)}, "categories": {"x0": ["no", 1, True]}},
    "date": {"bounds": {"x1": (0, 9)}, "dates": {"x0": ("2020-01-01", "2021-01-01")}},
}


def but(body, place):
    return body[:place] + body[place + 1 :]


def frame_of(make, value, place):
    values = ["no"] * COUNT
    values[place] = value
    if make != "pandas":
        return MAKES[make](values)
    return MAKES[make](values).rename(columns={0: "x0", 1: "x1"})


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("make", MAKES)
def test_no_cell_is_told(make, schema, tmp_path, capfd):
    """Each odd cell, in each make of table: its row alone differs, and nothing is said."""
    for value in [*SINGLES, *of_pandas()]:
        plain = rows(written(model(tmp_path, **SCHEMAS[schema]), frame_of(make, None, 2), ["no"] * COUNT))
        got = rows(written(model(tmp_path, **SCHEMAS[schema]), frame_of(make, value, 2), ["no"] * COUNT))
        assert len(got) == COUNT + 1 and but(got, 3) == but(plain, 3), type(value)
        assert got[3][1:] == plain[3][1:]
        assert SECRET not in str(got)
    assert capfd.readouterr() == ("", "")


TARGETS = {
    "list": list,
    "numpy": lambda y: objects(y)[:, 0],
    "pandas": lambda y: pytest.importorskip("pandas").Series(objects(y)[:, 0], dtype=object),
    "polars": lambda y: pytest.importorskip("polars").Series(y, dtype=pytest.importorskip("polars").Object),
}


@pytest.mark.parametrize("number", [False, True], ids=["class", "number"])
@pytest.mark.parametrize("make", TARGETS)
def test_no_target_is_told(make, number, tmp_path, capfd):
    for value in [*SINGLES, *of_pandas()]:
        y = [2.5 if number else "yes"] * COUNT
        y[2] = value
        estimator = model(tmp_path, bounds=(0, 9), **({"target_bounds": (0, 1)} if number else {}))
        header, *body = rows(written(estimator, np.arange(5.0).reshape(-1, 1), TARGETS[make](y)))
        assert but(body, 2) == [[f"{float(i)}", "2.5" if number else "yes"] for i in (0, 1, 3, 4)], type(value)
        assert body[2][0] == "2.0" and (number or body[2][1] in ("", *CLASSES))
    assert capfd.readouterr() == ("", "")


any_cell = st.recursive(
    st.one_of(
        st.integers(0, len(SINGLES) - 1).map(lambda i: SINGLES[i]),
        st.text(st.characters(codec=None, categories=None)),
        st.binary(),
        st.integers(),
        st.integers(4298, 4302).map(lambda n: 10**n),
        st.floats(),
        st.decimals(),
        st.complex_numbers(),
        st.datetimes(),
        st.dates(),
        st.times(),
        st.timedeltas(),
        st.uuids(),
        st.sampled_from([ValueError, KeyboardInterrupt, SystemExit]).flatmap(
            lambda e: st.lists(st.sampled_from(["__eq__", "__ne__", "__hash__", "__str__"])).map(
                lambda but: Foreign(e, but)
            )
        ),
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(), inner, max_size=2)
        | st.lists(inner, max_size=2).map(tuple)
    ),
    max_leaves=5,
)


@hypothesis.given(
    st.lists(any_cell, min_size=3, max_size=6),
    st.integers(0, 5),
    st.sampled_from(list(MAKES)),
    st.sampled_from(list(SCHEMAS)),
)
def test_any_cells(tmp_path_factory, values, place, make, schema):
    """A record replaced by any other changes its own row of what is written, and no other."""
    folder, place = tmp_path_factory.mktemp("any"), place % len(values)
    other = [*values]
    other[place] = None
    y = ["no"] * len(values)

    def table(cells):
        made = MAKES[make](cells)
        return made.rename(columns={0: "x0", 1: "x1"}) if make == "pandas" else made

    one, two = (rows(written(model(folder, **SCHEMAS[schema]), table(v), y)) for v in (values, other))
    assert len(one) == len(values) + 1 and but(one, place + 1) == but(two, place + 1)
    of_targets = rows(written(model(folder, bounds=(0, 1)), np.zeros((len(values), 1)), values))
    of_others = rows(written(model(folder, bounds=(0, 1)), np.zeros((len(values), 1)), other))
    assert but(of_targets, place + 1) == but(of_others, place + 1)


SHORT = [None, 0, 1, -1, 2**31 - 1, -(2**31) + 1]
LONG = [*SHORT, 2**62, -(2**62), 2**63 - 1, -(2**63) + 1]


def typed():
    """Columns of one type, as functions of integers, and the integers that its range has."""
    pandas, polars, pyarrow = (pytest.importorskip(n) for n in ("pandas", "polars", "pyarrow"))

    def of_polars(dtype):
        def make(values):
            through = polars.Int32 if dtype == polars.Date else polars.Int64
            return polars.DataFrame({"x0": polars.Series(values, dtype=through).cast(dtype)})

        return make

    def of_arrow(dtype):
        return lambda values: pyarrow.table({"x0": pyarrow.array(values, pyarrow.int64()).cast(dtype, safe=False)})

    def of_pandas(unit):
        def make(values):
            ticks = np.array([-(2**63) if v is None else v for v in values])
            return pandas.DataFrame({"x0": ticks.astype(f"M8[{unit}]")})

        return make

    def in_tokyo(values):
        moments = pandas.Series(np.array([v or 0 for v in values]).astype("M8[s]"))
        return pandas.DataFrame({"x0": moments.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")})

    yield of_polars(polars.Date), SHORT
    for zone in (None, "UTC", "Europe/Berlin"):
        for unit in ("ms", "us", "ns"):
            yield of_polars(polars.Datetime(unit, zone)), LONG
        for unit in ("s", "ms", "us", "ns"):
            yield of_arrow(pyarrow.timestamp(unit, zone)), LONG
    yield of_arrow(pyarrow.timestamp("ns", "no such zone")), LONG
    for dtype in (pyarrow.date64(), pyarrow.duration("s"), pyarrow.int64()):
        yield of_arrow(dtype), LONG
    for dtype in (polars.Duration, polars.Decimal(38, 2), polars.Int128, polars.Float32):
        yield of_polars(dtype), LONG
    yield lambda v: pyarrow.table({"x0": pyarrow.array(v, pyarrow.date32())}), SHORT
    yield lambda v: pyarrow.table({"x0": pyarrow.array([[x] for x in v])}), LONG
    yield lambda v: polars.DataFrame({"x0": polars.Series([[x] for x in v])}), LONG
    yield lambda v: pandas.DataFrame({"x0": pandas.array(v, dtype="Int64")}), LONG
    yield lambda v: pandas.DataFrame({"x0": pandas.Categorical(v)}), LONG
    for unit in ("s", "ms", "us", "ns"):
        yield of_pandas(unit), LONG
    yield in_tokyo, SHORT


@hypothesis.given(st.data())
def test_any_cells_of_typed_columns(tmp_path_factory, capfd, data):
    """The same of columns of one type, with the ends of its range."""
    kinds = list(typed())
    make, range_ = kinds[data.draw(st.integers(0, len(kinds) - 1))]
    cells = st.sampled_from(range_)
    values = data.draw(st.lists(cells, min_size=3, max_size=5))
    place = data.draw(st.integers(0, len(values) - 1))
    other = [*values]
    other[place] = None
    schema = data.draw(
        st.sampled_from(
            [{"dates": {"x0": ("2020-01-01", "2021-01-01")}}, {"bounds": (0, 1)}, {"categories": {"x0": [1]}}]
        )
    )
    folder, y = tmp_path_factory.mktemp("typed"), ["no"] * len(values)
    try:
        one, two = (rows(written(model(folder, **schema), make(v), y)) for v in (values, other))
    except ConfigurationError as error:  # no cell of the type can be what is stated, whatever the cells
        assert "the described column at place 0 (from 0) is of a type of" in str(error)
        return
    assert len(one) == len(values) + 1 and but(one, place + 1) == but(two, place + 1)
    assert capfd.readouterr() == ("", "")  # a panic of polars would be seen here


def test_columns_that_fail_as_a_whole(tmp_path):
    """Where a column cannot be listed for one of its cells, the others are read one by one."""
    pandas = pytest.importorskip("pandas")

    class Broken(pandas.Series):
        _constructor = property(lambda self: Broken)  # of its parts

        def __iter__(self):
            raise ValueError(SECRET)

    class Short(pandas.Series):
        _constructor = property(lambda self: Short)

        def __iter__(self):
            return iter([1.0])

    for kind in (Broken, Short):

        class Frame(pandas.DataFrame):
            @property
            def _constructor_sliced(self, kind=kind):
                return kind

        frame = Frame({"x0": [1.0, 2.0, 3.0]})
        assert type(frame.iloc[:, 0]) is kind
        _, *body = rows(written(model(tmp_path, categories={"x0": [1, 2, 3]}), frame, kind(["no", "yes", "no"])))
        assert body == [["1", "no"], ["2", "yes"], ["3", "no"]]
    strange = pandas.Categorical.from_codes(
        [0, 1, 2, -1], categories=[Foreign(but=("__eq__", "__hash__", "__ne__")), "b", "c"]
    )
    frame = pandas.DataFrame({"x0": strange})
    _, *body = rows(written(model(tmp_path, categories={"x0": ["b", "c"]}), frame, ["no"] * 4))
    assert [t for t, _ in body] == ["", "b", "c", ""]


def test_rows_of_lists_of_another_length(tmp_path):
    """A row that is longer, shorter or none is missing; the width is that of most."""
    for row in ([1], [1, 2, 3], [], 5, None, "ab", Foreign(), {1: 2}, np.zeros((2, 2))):
        _, *body = rows(written(model(tmp_path, bounds=[(0, 1), (0, 1)]), [row, [1, 2], [3, 4]], ["no"] * 3))
        assert body == [["", "", "no"], ["1", "2", "no"], ["3", "4", "no"]]


def small(tmp_path, **more):
    given = {
        "bounds": {"x1": (0, 9)},
        "categories": {"x0": ["no", "é"]},
        "train": {"algorithm": "gd", "steps": 2},
        **more,
    }
    return StillpointClassifier(
        classes=["no", "yes"],
        epsilon=5,
        delta=1e-5,
        relation="replace-one",
        folder=tmp_path,
        table="people",
        progress=False,
        **given,
    )


def test_the_command_takes_any_cell(tmp_path):
    """Fits and predictions go through, and of the same rows all others are predicted alike."""
    values = [*SINGLES, *of_pandas(), '"' * (9 << 20), "\n" * (17 << 20)]
    X = [["é", float(i % 10)] if i % 2 else [values[i // 2], 1.0] for i in range(2 * len(values))]
    fitted = small(tmp_path).fit(X, [values[i // 2] if i % 2 else "yes" for i in range(len(X))])
    assert fitted.report_["records"] == len(X)
    clean = [row if i % 2 else ["no", 1.0] for i, row in enumerate(X)]
    got, want = fitted.decision_function(X), fitted.decision_function(clean)
    assert len(got) == len(X) and (got[1::2] == want[1::2]).all()


def test_errors_quote_no_cell(tmp_path):
    """What is refused for its shape or its names is told without what it holds."""
    pandas = pytest.importorskip("pandas")
    cells = [[SECRET, 1.0], [SECRET, 2.0]]
    headless = pandas.DataFrame([[SECRET, 1.0]], columns=[SECRET, "4711.5"])
    for X, y in [
        (cells, [SECRET]),
        (cells, [[SECRET, SECRET], [SECRET, SECRET], [SECRET]]),
        (cells, np.array(cells, dtype=object)),
        ([SECRET, SECRET], [SECRET, SECRET]),
        (SECRET, [SECRET]),
        ([[]], [SECRET]),
        ([[SECRET, SECRET, SECRET]], [SECRET, SECRET]),
        (headless, [SECRET]),
    ]:
        with pytest.raises(Exception) as caught, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            small(tmp_path).fit(X, y)
        told = "".join(traceback.format_exception(caught.value))
        message = str(caught.value)
        assert SECRET not in message and "4711" not in told.replace(str(tmp_path), "")


def test_a_feed_that_fails_quotes_nothing(tmp_path):
    """An error of the feed has one text, whatever it was, and nothing behind it."""
    texts = set()
    for error in (ValueError(SECRET), KeyboardInterrupt(SECRET), MemoryError(), SystemExit(SECRET), OSError(5, SECRET)):

        def feed(pipe, error=error):
            pipe.write(b"x0,x1\n")
            raise error

        with pytest.raises(StillpointError) as caught:
            run(["predict", tmp_path / "absent.json", "-"], feed)
        assert caught.value.__cause__ is None and caught.value.__context__ is None
        texts.add((str(caught.value), caught.value.code, caught.value.charged))
    assert texts == {("the table could not be written to the command to its end", "system", False)}


@pytest.mark.skipif(os.name == "nt", reason="asks for signals")
def test_an_interrupt_ends_the_fit(tmp_path):
    """Ctrl-C ends the command and its caller, also while cells are read: it is swallowed as no cell's error."""

    class Interrupts:
        def __str__(self):
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            time.sleep(1)  # in which the command is told
            return "no"

    with pytest.raises(KeyboardInterrupt) as caught:
        small(tmp_path).fit([["no", 1.0], [Interrupts(), 1.0], ["no", 1.0]], ["yes"] * 3)
    assert caught.value.__cause__ is None
