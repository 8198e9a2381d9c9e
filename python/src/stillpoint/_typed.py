"""Writes a table whose columns are all of numbers or truth values as Parquet into a file in memory. The command
reads this file in place of a pipe.

The command reads the same cells from it as from the CSV that :mod:`stillpoint._table` writes, in less time.
Only types, names and the system decide whether a table is written in this way, never its cells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import IO, Any

import numpy as np

from stillpoint._cells import amount, cells, text
from stillpoint._command import Typed

# Texts of more bytes are not written as Parquet, where the size of a page depends on them.
SHORT = 4096


def typed(
    feed: Callable[[IO[bytes]], None],
    columns: Sequence[Any],
    names: Sequence[str],
    exact: Sequence[bool],
    targets: Any,
    of: Callable[[Any], str],
    longest: int,
    rows: int,
    part: Callable[[Any, int], Any],
) -> Callable[[IO[bytes]], None]:
    """The function feed itself, or a Typed with feed if all columns are of numbers or truth values.

    names has the names of the columns and, last, of the targets. exact says for each column whether the texts
    of its cells matter. part(column, start) returns the rows of a column that are written at a time.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        return feed
    makers = [_maker(column, e) for column, e in zip(columns, exact)]
    if not makers or None in makers or not _short(targets, of) or len(set(names)) < len(names):
        return feed

    def write(sink: IO[bytes]) -> None:
        writer = None
        for start in range(0, rows, len(part(targets, 0))):
            made = [make(part(column, start)) for make, column in zip(makers, columns)]
            made.append(pyarrow.array(cells(part(targets, start), longest, of), pyarrow.string()))
            table = pyarrow.Table.from_arrays(made, names=list(names))
            if writer is None:
                # Pages of numbers have sizes that rows alone decide.
                options = {"use_dictionary": False, "write_statistics": False, "store_schema": False}
                writer = parquet.ParquetWriter(sink, table.schema, compression="none", **options)
            writer.write_table(table)
        if writer is not None:
            writer.close()

    return Typed(feed, write)


def _short(targets: Any, of: Callable[[Any], str]) -> bool:
    """Whether the type of the targets makes sure that their texts are short. The text of a class always is."""
    if of is not text and of is not amount:
        return True
    kind = getattr(targets, "dtype", None)
    if isinstance(kind, np.dtype) and kind.kind == "U":
        return kind.itemsize <= SHORT
    return _maker(targets, False) is not None


def _maker(column: Any, exact: bool) -> Callable[[Any], Any] | None:
    """A function that turns a part of a column into an Arrow array; None for a type other than numbers and
    truth values.

    Each library has its own text of a float, so the result is also None for floats whose texts matter.
    """
    library = type(column).__module__.partition(".")[0]
    if library == "pyarrow":
        return _arrow(column.type, exact)
    if library == "polars":
        return _polars(column.dtype, exact)
    return _numpy(getattr(column, "dtype", None), exact)


def _arrow(kind: Any, exact: bool) -> Callable[[Any], Any] | None:
    import pyarrow
    from pyarrow import types

    if types.is_boolean(kind):
        return (lambda part: part) if exact else lambda part: part.cast(pyarrow.int8())
    plain = types.is_integer(kind) or (types.is_float32(kind) or types.is_float64(kind)) and not exact
    return (lambda part: part) if plain else None


def _polars(kind: Any, exact: bool) -> Callable[[Any], Any] | None:
    import polars

    if kind == polars.Boolean:
        return (lambda part: part.to_arrow()) if exact else lambda part: part.cast(polars.Int8).to_arrow()
    signed, unsigned = ("Int8", "Int16", "Int32", "Int64"), ("UInt8", "UInt16", "UInt32", "UInt64")
    plain = str(kind) in (*signed, *unsigned) or str(kind) in ("Float32", "Float64") and not exact
    return (lambda part: part.to_arrow()) if plain else None


def _numpy(kind: Any, exact: bool) -> Callable[[Any], Any] | None:
    """A function as _maker returns it, for pandas and for arrays. A float32 is written as the float64 of equal
    value."""
    import pyarrow

    if not isinstance(kind, np.dtype):
        return None
    if kind.kind == "b":
        to = np.dtype(bool if exact else np.int8)
    elif kind.kind in "iu":
        to = kind.newbyteorder("=")
    elif kind.kind == "f" and kind.itemsize in (2, 4, 8) and not exact:
        to = np.dtype(np.float64)
    else:
        return None
    return lambda part: pyarrow.array(np.ascontiguousarray(np.asarray(part), dtype=to), from_pandas=False)
