"""The texts of values and of cells, in the form that the command reads.

No error may depend on the content of a cell, since the error would reveal something about its row.
A cell that cannot be read is missing instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

WHOLE = 2.0**53  # below it a float that is a whole number is written like an integer


def text(value: Any) -> str:
    """The text of a public value, as the command reads it. The text of a missing value is empty.

    Equal numbers have equal texts, whatever their types. If one cell of a column of integers is missing, pandas
    holds all of them as floats. Their texts must stay the same.
    """
    kind = type(value)
    if kind is str:
        return _encodable(value)
    if value is None:
        return ""
    if issubclass(kind, np.generic):
        return _scalar(value)
    if kind is bool:
        return "true" if value else "false"
    if issubclass(kind, str):
        return _encodable(str.__str__(value))
    if issubclass(kind, int):
        return int.__repr__(value)
    if issubclass(kind, float):
        return _number(float.__float__(value))
    if kind is complex:  # which pandas makes of a whole column
        return "" if value.imag else _number(value.real)
    if issubclass(kind, bytes):
        return _encodable(bytes.decode(value))
    if value != value:  # NaT, and decimals that are no number
        return ""
    return _encodable(str.__str__(str(value)))


def amount(value: Any) -> str:
    """The text of a number in the form that the command reads; True and False have the texts of 1
    and 0."""
    return "01"[bool(value)] if issubclass(type(value), (bool, np.bool_)) else text(value)


def cell(value: Any, longest: int, of: Callable[[Any], str] = text) -> str:
    """The text of a cell's value, or an empty text if this text would be too long.

    This function may run methods of the cell, which may raise any exception. It catches all of them. It catches
    no interrupt by Ctrl-C, since those reach the main thread alone, and another thread reads the cells.
    """
    try:
        words = of(value)
        return words if len(words) <= longest else ""
    except BaseException:
        return ""


def cells(column: Any, longest: int, of: Callable[[Any], str] = text) -> list[str]:
    """The texts of the cells of a column, or of a part of one, from any library."""
    count = len(column)
    try:
        values = _values(column)
        if len(values) == count:
            return [cell(v, longest, of) for v in values]
    except BaseException:  # one of the cells keeps all from being listed
        pass
    return [cell(i, longest, lambda i: of(_at(column, i))) for i in range(count)]


def _encodable(value: str) -> str:
    """The text itself. A text with a NUL character, or without a form in UTF-8, raises an error."""
    if "\0" in value:
        raise ValueError("a text must have no NUL")
    if not value.isascii():
        value.encode()
    return value


def _number(value: float) -> str:
    if value != value:
        return ""
    return str(int(value)) if value.is_integer() and abs(value) < WHOLE else repr(value)


def _scalar(value: np.generic) -> str:
    """The text of a scalar of numpy."""
    kind = value.dtype.kind
    if kind == "f":
        return _number(float(value))
    if kind in "mM":  # item() makes an integer of nanoseconds
        return "" if np.isnat(value) else str(value)
    return text(value.item()) if kind in "biucSU" else str(value)


def _values(column: Any) -> list[Any]:
    """The values of a column as a list."""
    if hasattr(column, "iloc"):  # pandas
        return list(column)
    if hasattr(column, "to_pylist"):  # pyarrow
        if str(column.type).startswith("timestamp"):  # of more digits than Python's have
            return list(column.to_numpy() if hasattr(column, "chunks") else column.to_numpy(zero_copy_only=False))
        return column.to_pylist()
    if hasattr(column, "to_list"):  # polars
        return (
            list(column.to_numpy()) if column.dtype.is_temporal() and str(column.dtype) != "Time" else column.to_list()
        )
    return list(column) if column.dtype.kind in "mM" else column.tolist()


def _at(column: Any, i: int) -> Any:
    """One value of a column."""
    value = column.iloc[i] if hasattr(column, "iloc") else column[i]
    return value.as_py() if hasattr(column, "to_pylist") else value
