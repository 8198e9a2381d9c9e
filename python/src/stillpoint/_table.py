"""Writes tables that Python holds as CSV, to a pipe.

Nothing here raises an error for what a cell holds: an error that depends on rows
would say something about them. A cell that cannot be read is missing to the command.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from typing import IO, Any


def names(table: Any) -> list[str] | None:
    """The names of a table's columns; None of an array, which has none."""
    columns = getattr(table, "column_names", None)  # pyarrow
    if columns is None:
        columns = getattr(table, "columns", None)  # pandas, polars
    if columns is None:
        return None
    columns = list(columns)
    return columns if all(isinstance(c, str) for c in columns) else None


def text(value: Any) -> str:
    """A value as the command reads it."""
    if value is None or value != value:
        return ""
    if type(value).__name__ in ("bool", "bool_"):
        return "true" if value else "false"
    if hasattr(value, "item"):
        value = value.item()
    return str(value)


def writer(table: Any, columns: Sequence[str], last: str, values: Sequence[str]) -> Callable[[IO[bytes]], None]:
    """A function that writes the columns of a table, and a last one of texts, as CSV."""
    kind = type(table).__module__.partition(".")[0]
    if kind == "polars":
        return lambda pipe: _polars(table, columns, last, values, pipe)
    if kind == "pyarrow":
        return lambda pipe: _arrow(table, columns, last, values, pipe)
    if kind == "pandas":
        return lambda pipe: _pandas(table, columns, last, values, pipe)
    return lambda pipe: _array(table, columns, last, values, pipe)


ROWS = 50_000  # written at a time


def _polars(table, columns, last, values, pipe) -> None:
    import polars

    if names(table) is not None:
        table = table.select(list(columns))
    frame = table.with_columns(polars.Series(last, values, dtype=polars.String))
    for start in range(0, max(len(frame), 1), ROWS):
        part = io.BytesIO()
        frame.slice(start, ROWS).write_csv(part, include_header=start == 0)
        pipe.write(part.getbuffer())


def _arrow(table, columns, last, values, pipe) -> None:
    import pyarrow
    from pyarrow import csv as arrow_csv

    table = table.select(list(columns)).append_column(last, pyarrow.array(values, pyarrow.string()))
    cast = [pyarrow.field(f.name, f.type.value_type if pyarrow.types.is_dictionary(f.type) else f.type) for f in table.schema]
    with arrow_csv.CSVWriter(pipe, pyarrow.schema(cast)) as sink:
        sink.write_table(table.cast(pyarrow.schema(cast)))


def _pandas(table, columns, last, values, pipe) -> None:
    if names(table) is not None:
        table = table[list(columns)]
    truth = {True: "true", False: "false"}
    wrapped = io.TextIOWrapper(pipe, encoding="utf-8", newline="", write_through=True)
    for start in range(0, max(len(table), 1), ROWS):
        part = table.iloc[start : start + ROWS].copy()
        part.columns = list(columns)
        for name in part.columns[[str(t) in ("bool", "boolean") for t in part.dtypes]]:
            part[name] = part[name].map(truth)
        part[last] = values[start : start + ROWS]
        part.to_csv(wrapped, index=False, header=start == 0, lineterminator="\n")
    wrapped.flush()
    wrapped.detach()


def _array(table, columns, last, values, pipe) -> None:
    wrapped = io.TextIOWrapper(pipe, encoding="utf-8", newline="", write_through=True)
    lines = csv.writer(wrapped, lineterminator="\n")
    lines.writerow([*columns, last])
    plain = table.dtype.kind in "fiu"  # numbers, whose repr is their shortest text
    for start in range(0, len(table), ROWS):
        rows = table[start : start + ROWS].tolist()
        if not plain:
            rows = [map(text, row) for row in rows]
        lines.writerows([*row, value] for row, value in zip(rows, values[start : start + ROWS]))
    wrapped.flush()
    wrapped.detach()
