"""Writes a table that Python holds to a pipe as CSV, in parts of 50,000 rows.

Before the pipe is written, this code looks at shapes, names and types alone. While the pipe is
written, :mod:`stillpoint._cells` reads the cells, and no error depends on them. polars and pyarrow write their
own columns of numbers; other columns are written cell by cell.
"""

from __future__ import annotations

import csv
import io
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import IO, Any

import numpy as np

from stillpoint._cells import amount, cells, text
from stillpoint._typed import typed

ROWS = 50_000  # written at a time

# No record is longer than the command holds, 16 MiB, where a character takes at most four
# bytes: it would be malformed as a whole, and have no prediction.
RECORD = (16 << 20) // 4


def names(table: Any) -> list[str] | None:
    """The names of a table's columns; None for an array, which has no names."""
    columns = getattr(table, "column_names", None)  # pyarrow
    if columns is None:
        columns = getattr(table, "columns", None)  # pandas, polars
    if columns is None:
        return None
    columns = list(columns)
    return columns if all(isinstance(c, str) for c in columns) else None


def array(table: Any) -> Any:
    """The table itself if it is of pandas, polars or pyarrow; otherwise an array of its cells.

    A list of rows becomes an array of its cells without a change of type, so one text among numbers
    does not turn all cells into texts. The width of the array is that of most rows; rows of another
    width count as missing.
    """
    if _make(table) != "array":
        return table
    if isinstance(table, (list, tuple)):
        lengths = Counter(_width(row) for row in table)
        width = max(lengths, key=lambda w: (lengths[w], w), default=-1)
        if width < 0:
            return _vector(table)
        cells = np.full((len(table), width), None, dtype=object)
        for i, row in enumerate(table):
            if _width(row) == width:
                for j, value in enumerate(row.tolist() if isinstance(row, np.ndarray) else row):
                    cells[i, j] = value
        return cells
    if isinstance(table, np.ma.MaskedArray):
        cells = np.array(table.data, dtype=object)
        cells[np.ma.getmaskarray(table)] = None
        return cells
    return np.asarray(table)


def _width(row: Any) -> int:
    """The number of cells in an item of a list, if the item is a row; otherwise -1."""
    if issubclass(type(row), (list, tuple)):
        return len(row)
    return len(row) if issubclass(type(row), np.ndarray) and row.ndim == 1 else -1


def _vector(values: Sequence[Any]) -> np.ndarray:
    """An array with the items of a list, each as it is."""
    vector = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        vector[i] = value
    return vector


def column(y: Any) -> Any:
    """The targets as a column. This function looks at their shape alone."""
    if isinstance(y, (list, tuple)):
        return _vector([v[0] if type(v) is list and len(v) == 1 else v for v in y])
    y = array(y)
    shape = y.shape if hasattr(y, "shape") else (len(y),)  # pyarrow's columns have none
    if len(shape) == 1:
        return y
    if len(shape) != 2 or shape[1] != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {shape} instead.")
    if isinstance(y, np.ndarray):
        from sklearn.exceptions import DataConversionWarning

        message = (
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples, )"
        )
        warnings.warn(message, DataConversionWarning, stacklevel=4)
    return _place(y, 0)


def writer(
    table: Any,
    places: Sequence[int],
    columns: Sequence[str],
    listed: Collection[str],
    last: str,
    targets: Any,
    of: Callable[[Any], str] = text,
    beside: tuple[str, Any] | None = None,
) -> Callable[[IO[bytes]], None]:
    """A function that writes columns of a table as CSV, with the targets as the last column.

    places are the indices of the columns in the table, and columns their names in the CSV. In the columns of
    listed a cell has the same text as an equal value in a list of categories. In all others True is written as
    1 and False as 0. of returns the text of a target. beside has the name and the cells of one more column,
    which is written before the targets.
    """
    write = {"polars": _polars, "pyarrow": _arrow}.get(_make(table), _lines)
    more = [] if beside is None else [beside]
    most = longest(len(columns) + len(more))

    def feed(pipe: IO[bytes]) -> None:
        for start in range(0, table.shape[0], ROWS):
            part = [_part(_place(table, j), start) for j in places]
            exact = [name in listed for name in columns]
            if start == 0:
                pipe.write(_csv([[*columns, *(name for name, _ in more), last]]))
            texts = [cells(_part(values, start), most) for _, values in more]
            pipe.write(write(part, exact, most, [*texts, cells(_part(targets, start), most, of)]))

    if more:
        return feed
    exact = [name in listed for name in columns]
    held = [_place(table, j) for j in places]
    return typed(feed, held, [*columns, last], exact, targets, of, most, table.shape[0], _part)


def longest(columns: int) -> int:
    """The largest number of characters of a cell in a table of this many columns; a longer cell
    counts as missing."""
    return max(RECORD // (columns + 2), 64)


def _make(table: Any) -> str:
    """The name of the library that made a table or a column; array if it is none of the three."""
    if hasattr(table, "iloc"):
        return "pandas"
    kind = type(table).__module__.partition(".")[0]
    return kind if kind in ("polars", "pyarrow") else "array"


def _place(table: Any, j: int) -> Any:
    """The column of a table with the index j."""
    make = _make(table)
    if make == "pandas":
        return table.iloc[:, j]
    if make == "polars":
        return table.to_series(j)
    return table.column(j) if make == "pyarrow" else table[:, j]


def _part(column: Any, start: int) -> Any:
    """The part of a column that is written at a time, from the row start on."""
    return cut(column, start, start + ROWS)


def numbers(column: Any) -> Any:
    """An array that shares the memory of a column of numbers of pandas or polars; any other column itself."""
    make, kind = _make(column), getattr(column, "dtype", None)
    if make == "pandas" and isinstance(kind, np.dtype) and kind.kind in "biuf":
        return column.to_numpy()
    if make == "polars" and str(kind) in ("Float64", "Int64", "Int32") and (column.null_count() == 0 or str(kind) == "Float64"):
        return column.to_numpy()  # a missing number of floats is NaN
    return column


def cut(column: Any, start: int, stop: int) -> Any:
    """The rows of a column from start to before stop."""
    make = _make(column)
    if make == "pandas":
        return column.iloc[start:stop]
    return column[start:stop] if make == "array" else column.slice(start, stop - start)


def _polars(part, exact, longest, texts) -> bytes:
    import polars

    def plain(column, listed) -> bool:
        kind = column.dtype
        if kind == polars.String:
            return (column.str.len_chars().max() or 0) <= longest
        return kind.is_integer() or kind == polars.Boolean or kind.is_float() and not listed

    def written(column, listed):
        if column.dtype == polars.Boolean and not listed:
            return column.cast(polars.Int8)
        return column if plain(column, listed) else polars.Series(_texts(column, listed, longest), dtype=polars.String)

    made = [written(*c) for c in zip(part, exact)]
    made += [polars.Series(column, dtype=polars.String) for column in texts]
    sink = io.BytesIO()
    polars.DataFrame([c.alias(str(i)) for i, c in enumerate(made)]).write_csv(sink, include_header=False)
    return sink.getvalue()


def _arrow(part, exact, longest, texts) -> bytes:
    import pyarrow
    from pyarrow import compute
    from pyarrow import csv as arrow_csv
    from pyarrow import types

    def plain(column, listed) -> bool:
        kind = column.type
        if types.is_string(kind) or types.is_large_string(kind):
            return (compute.max(compute.binary_length(column)).as_py() or 0) <= longest
        return (
            types.is_boolean(kind)
            or types.is_integer(kind)
            or (types.is_float32(kind) or types.is_float64(kind))
            and not listed
        )

    def written(column, listed):
        if types.is_boolean(column.type) and not listed:
            return column.cast(pyarrow.int8())
        return column if plain(column, listed) else pyarrow.array(_texts(column, listed, longest), pyarrow.string())

    made = [written(*c) for c in zip(part, exact)]
    made += [pyarrow.array(column, pyarrow.string()) for column in texts]
    table = pyarrow.Table.from_arrays(made, names=[str(i) for i in range(len(made))])
    sink = pyarrow.BufferOutputStream()
    arrow_csv.write_csv(table, sink, arrow_csv.WriteOptions(include_header=False))
    return sink.getvalue().to_pybytes()


def _lines(part, exact, longest, texts) -> bytes:
    """The CSV of a part of a table of pandas, or of an array."""
    made = []
    for column, listed in zip(part, exact):
        plain = isinstance(column.dtype, np.dtype) and column.dtype.kind in "iuf" and not listed
        made.append(column.tolist() if plain else _texts(column, listed, longest))
    return _csv(zip(*made, *texts))


def _texts(column: Any, listed: bool, longest: int) -> list[str]:
    return cells(column, longest, text if listed else amount)


def _csv(records: Iterable[Sequence[Any]]) -> bytes:
    sink = io.StringIO(newline="")
    # So ended, each version of Python quotes a CR in a cell as well as an LF.
    csv.writer(sink, lineterminator="\r\n").writerows(records)
    return sink.getvalue().encode()
