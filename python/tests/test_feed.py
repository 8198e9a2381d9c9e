"""Rows go to the command as they are, whatever makes the table and however long it is."""

import datetime
import decimal

import pytest
from feeding import CLASSES, model, rows, written

np = pytest.importorskip("numpy")
pytest.importorskip("sklearn", "1.6")
from stillpoint import _table

MAKES = ["pandas", "polars", "pyarrow", "numpy", "list"]
NAMED = {
    "bounds": {"a": (0, 1), "b": (0, 1)},
    "categories": {"word": ["w"], "code": [1]},
    "dates": {"seen": ("2020-01-01", "2021-01-01")},
}
PLACES = {
    "bounds": {"x1": (0, 1), "x4": (0, 1)},
    "categories": {"x2": ["w"], "x5": [1]},
    "dates": {"x3": ("2020-01-01", "2021-01-01")},
}
START = datetime.date(1900, 1, 1)


def people(count):
    """Columns of which no two rows are alike, with missing cells; one is not used."""
    seven = range(0, count, 7)
    data = {
        "idle": [0.25] * count,
        "a": [i + 0.5 for i in range(count)],
        "word": [f"w{i}" for i in range(count)],
        "seen": [START + datetime.timedelta(days=i % 60_000) for i in range(count)],
        "b": [-i for i in range(count)],
        "code": [i % 11 for i in range(count)],
    }
    for i in seven:
        data["a"][i] = data["word"][i] = data["seen"][i] = None
    for i in range(0, count, 5):
        data["code"][i] = None
    return data, [CLASSES[(i * i + i // 50_000) % 3] for i in range(count)]


def made(make, data):
    if make == "list":
        return [list(row) for row in zip(*data.values())]
    if make == "numpy":
        return np.array([list(c) for c in data.values()], dtype=object).T
    library = pytest.importorskip(make)
    if make == "pandas":
        return library.DataFrame({**data, "seen": library.to_datetime(library.Series(data["seen"]))})
    return library.table(data) if make == "pyarrow" else library.DataFrame(data)


@pytest.mark.parametrize("make", MAKES)
@pytest.mark.parametrize("count", [49_999, 50_000, 50_001, 150_005])
def test_rows_beyond_a_part(make, count, tmp_path):
    """Every cell of every part arrives, in its row and its column, and once."""
    data, y = people(count)
    given = NAMED if make in ("pandas", "polars", "pyarrow") else PLACES
    header, *body = rows(written(model(tmp_path, **given), made(make, data), y))
    places = [
        header.index(n)
        for n in (("a", "word", "seen", "b", "code") if given is NAMED else ("x1", "x2", "x3", "x4", "x5"))
    ]
    assert len(header) == 6 and header[-1] == "y" and len(body) == count
    got = list(zip(*body))
    a, word, seen, b, code = (got[j] for j in places)
    assert [None if t in ("", "nan") else float(t) for t in a] == data["a"]
    assert list(word) == [w or "" for w in data["word"]]
    assert [t[:10] for t in seen] == [str(d or "") for d in data["seen"]]
    assert [int(t) for t in b] == data["b"]
    assert list(code) == ["" if c is None else str(c) for c in data["code"]]
    assert list(got[-1]) == y


def test_parts_are_as_long_as_is_tested():
    assert _table.ROWS == 50_000


TARGETS = {
    "list": list,
    "tuple": tuple,
    "array": np.array,
    "objects": lambda y: np.array(y, dtype=object),
    "column": lambda y: [[v] for v in y],
    "pandas": lambda y: pytest.importorskip("pandas").Series(y, index=range(len(y), 0, -1)),
    "category": lambda y: pytest.importorskip("pandas").Series(y, dtype="category"),
    "frame": lambda y: pytest.importorskip("pandas").DataFrame({"y": y}),
    "polars": lambda y: pytest.importorskip("polars").Series(y),
    "polars category": lambda y: pytest.importorskip("polars").Series(
        y, dtype=pytest.importorskip("polars").Categorical
    ),
    "pyarrow": lambda y: pytest.importorskip("pyarrow").array(y),
    "chunks": lambda y: pytest.importorskip("pyarrow").chunked_array([y[:40_000], y[40_000:]]),
    "dictionary": lambda y: pytest.importorskip("pyarrow").array(y).dictionary_encode(),
}


@pytest.mark.parametrize("make", TARGETS)
def test_targets_of_every_make(make, tmp_path):
    """Targets stand beside their rows, also where their index says otherwise."""
    y = [CLASSES[(i // 3 + i // 50_000) % 3] for i in range(100_007)]
    _, *body = rows(written(model(tmp_path, bounds=(0, 1)), np.arange(100_007.0).reshape(-1, 1), TARGETS[make](y)))
    assert [t for _, t in body] == y
    assert [float(x) for x, _ in body] == list(range(100_007))


def test_targets_of_numbers(tmp_path):
    """A target is the number that it was, to its last digit, whatever its type."""
    X, exact = np.zeros((4, 1)), [0.1, 1e-300, 2.0**60, -7]
    for y in (exact, np.array(exact), [decimal.Decimal("0.1"), "1e-300", 2**60, np.int8(-7)]):
        _, *body = rows(written(model(tmp_path, target_bounds=(0, 1), bounds=(0, 1)), X, y))
        assert [float(t) for _, t in body] == exact


def test_a_part_of_two_columns_is_no_target(tmp_path):
    for y in (np.zeros((3, 2)), np.zeros((3, 1, 1))):
        with pytest.raises(ValueError, match="y should be a 1d array, got an array of shape"):
            written(model(tmp_path, bounds=(0, 1)), np.zeros((3, 1)), y)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[3, 2\]"):
        written(model(tmp_path, bounds=(0, 1)), np.zeros((3, 1)), ["no", "yes"])


@pytest.mark.parametrize("make", ["pandas", "polars", "pyarrow", "numpy", "list"])
@pytest.mark.parametrize(
    "odd",
    [
        [1, 2, 3],
        [1.0, 2.0, None],
        [1, "2", None],
        [np.int8(1), 2.0, None],
        [True, False, None],
        ["x", "", None],
        [0.1, 0.25, 1e300],
    ],
    ids=str,
)
def test_listed_values_are_their_cells(make, odd, tmp_path):
    """A listed value has the text of its cell, whatever else is in the column."""
    X = [[v] for v in odd]
    if make == "numpy":
        X = np.array(X, dtype=None if None not in odd and "2" not in odd else object)
    elif make != "list":
        library = pytest.importorskip(make)
        if "2" in odd and make != "pandas":
            pytest.skip("columns have one type")
        column = [v.item() if isinstance(v, np.generic) else v for v in odd]
        column = [None if v is None else float(v) for v in column] if 2.0 in odd and type(odd[1]) is float else column
        X = library.table({"x0": column}) if make == "pyarrow" else library.DataFrame({"x0": column})
    estimator = model(tmp_path, categories={"x0": [v for v in odd if v not in (None, "")]})
    _, *body = rows(written(estimator, X, ["no"] * 3))
    listed = estimator._columns(["x0"])["x0"]["category"]
    assert [t for t, _ in body] == listed + [""] * (3 - len(listed))


def test_one_cell_changes_no_other(tmp_path):
    """One text, one float or one missing cell does not change how the others are written.

    A data frame whose column has the type of complex numbers is refused, for its type; a list has no such type.
    """
    estimator = model(tmp_path, categories={"x0": [1, 2, True]}, bounds={"x1": (0, 1)})
    pandas = pytest.importorskip("pandas")
    for make, more in (
        (lambda rows: rows, [1j]),
        (lambda rows: pandas.DataFrame(rows, columns=["x0", "x1"]), []),
        (lambda rows: pandas.DataFrame(rows), []),
        (lambda rows: pandas.DataFrame(rows, dtype=object), [1j]),
    ):
        texts = set()
        for cell in (3, 2.5, None, "text", b"bytes", *more):
            _, *body = rows(written(estimator, make([[1, 5], [2, 2**53 + 1], [cell, 7], [1, 7]]), ["no"] * 4))
            texts.add(str([row for i, row in enumerate(body) if i != 2]))
        assert texts == {"[['1', '5', 'no'], ['2', '9007199254740993', 'no'], ['1', '7', 'no']]"}


def test_moments_keep_their_day(tmp_path):
    """Dates arrive as the same moments: of every unit, and of a zone."""
    days = ["1969-12-31", "2020-02-29", "NaT"]
    want = ["1969-12-31", "2020-02-29", ""]
    dates = {"dates": {"x0": ("1900-01-01", "2100-01-01")}}
    for unit in ("D", "s", "ms", "us", "ns"):
        _, *body = rows(written(model(tmp_path, **dates), np.array(days, f"M8[{unit}]").reshape(-1, 1), ["no"] * 3))
        assert [t[:10] for t, _ in body] == want
    at = datetime.datetime(2020, 2, 29, 23, 30, tzinfo=datetime.timezone(datetime.timedelta(hours=-3)))
    pandas, polars, pyarrow = (pytest.importorskip(n) for n in ("pandas", "polars", "pyarrow"))
    arrow = pyarrow.array([at.astimezone(datetime.timezone.utc)], pyarrow.timestamp("us", "America/Belem"))
    for X in ([[at]], pandas.DataFrame({"x0": [at]}), polars.DataFrame({"x0": [at]}), pyarrow.table({"x0": arrow})):
        (_, (text, _)) = rows(written(model(tmp_path, **dates), X, ["no"]))
        read = datetime.datetime.fromisoformat(text)
        assert (read if read.tzinfo else read.replace(tzinfo=datetime.timezone.utc)) == at
    estimator = model(tmp_path, dates={"x0": (np.datetime64("2020-01-01", "ns"), datetime.date(2021, 1, 1))})
    assert estimator._columns(["x0"]) == {"x0": {"date": ["2020-01-01", "2021-01-01"]}}


def test_masked_cells_are_missing(tmp_path):
    X = np.ma.MaskedArray([[1.0], [2.0]], mask=[[True], [False]])
    _, *body = rows(written(model(tmp_path, bounds=(0, 1)), X, ["no", "yes"]))
    assert [t for t, _ in body] == ["", "2"]
