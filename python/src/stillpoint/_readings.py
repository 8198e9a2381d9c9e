"""The first step of a prediction: the reading of cells as numbers, in the way of the command.

A cell of a number or a date becomes a number from -1 (the lower bound) to 1 (the upper bound), or NaN if it is
missing or cannot be read. A cell of a category becomes the index of its level. No error depends on a cell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np

from stillpoint._cells import amount, cells, text
from stillpoint._elementary import log1p

# The white space that the command takes off the ends of a cell.
SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
NUMBER = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity)", re.ASCII | re.IGNORECASE)
ISO = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.[0-9]+)?)?"
    r"(?:[Zz]|([+-])([0-9]{2})(?::([0-9]{2}))?)?)?"
)
EPOCH = date(1970, 1, 1).toordinal()
DIRECTIVES = {"Y": 4, "m": 2, "d": 2, "H": 2, "M": 2, "S": 2}


class Reader:
    """Reads the cells of one column of a schema."""

    def __init__(self, column: Mapping[str, Any], missing: Sequence[str]):
        self.name = column["name"]
        self._missing = frozenset(["", *missing])
        # Missing cells that are the texts of numbers.
        self._gone = [_parse(m) for m in missing if m and text(_parse(m)) == m]
        self._of: Callable[[str], float]
        self.levels = 0  # the number of features of a category or hash; 0 for a number or date
        self._date = False
        if "category" in column:
            places = {v: i for i, v in enumerate(column["category"])}
            self.levels, self._of = len(places) + 1, lambda cell: places.get(cell, len(places))
        elif "hash" in column:
            self.levels, self._of = column["hash"] + 1, _hashing(self.name, column["hash"], self._missing)
        elif "date" in column:
            self._date = True
            self._bounds(*map(day, column["date"]), False)
            self._of = _layout(column["layout"]) if column.get("layout") else _iso
            self._iso = not column.get("layout")
        else:
            self._bounds(*column["number"], column.get("transform") == "log1p")
            self._of = _parse

    def _bounds(self, low: float, high: float, log: bool) -> None:
        self.low, self.high, self.log = float(low), float(high), log
        self.start, end = self.low, self.high
        if log:
            self.start, end = log1p(np.array([self.low, self.high])).tolist()
        self.end, self.width = end, end - self.start

    def unit(self, x: np.ndarray) -> np.ndarray:
        """Maps numbers in the column's units to numbers from -1 (the lower bound) to 1 (the upper bound). NaN
        stays NaN."""
        x = np.maximum(x, self.low)
        np.minimum(x, self.high, out=x)
        if self.log:
            x = np.minimum(np.maximum(log1p(x), self.start), self.end)
        x -= self.start
        x /= self.width
        x *= 2
        x -= 1
        return x

    def cell_at(self, u: float) -> float:
        """Maps a number u from -1 to 1 back to the column's units."""
        t = self.start + self.width * ((u + 1) / 2)
        return min(max(float(np.expm1(t)) if self.log else t, self.low), self.high)

    def read(self, column: Any, longest: int) -> np.ndarray:
        """The cells as numbers: the index of the level for a category or a hash, otherwise a number from -1 to
        1 or NaN."""
        if self.levels:
            return self._known(cells(column, longest, text), self._of, np.intp)
        plain = self._days(column) if self._date else self._numbers(column)
        if plain is None:
            plain = self._known(cells(column, longest, amount), self._number, np.float64)
        return self.unit(plain)

    def plain(self, column: Any) -> bool:
        """Whether a column needs no rule beside its bounds: its cells are numbers of numpy, without a logarithm
        or markers of missing cells."""
        if self.levels or self._date or self.log or self._gone:
            return False
        kind = getattr(column, "dtype", None)
        return isinstance(kind, np.dtype) and kind.kind in "biuf" and kind.itemsize <= 8

    def _known(self, texts: list[str], of: Callable[[str], float], kind: Any) -> np.ndarray:
        """Applies the function of to each text without the space around it, once for all equal texts."""
        known = {t: of(t.strip(SPACE)) for t in set(texts)}
        return np.fromiter(map(known.__getitem__, texts), kind, len(texts))

    def _number(self, cell: str) -> float:
        return float("nan") if cell in self._missing else self._of(cell)

    def _numbers(self, column: Any) -> np.ndarray | None:
        """The numbers of a column whose type is a number or truth value of numpy, or a float32 of polars or
        pyarrow; None for another column."""
        kind = getattr(column, "dtype", None)
        if str(kind) == "Float32" and hasattr(column, "to_arrow") or str(getattr(column, "type", "")) == "float":
            # The command reads the shortest texts of polars' and pyarrow's float32.
            floats = column.to_numpy() if hasattr(column, "to_arrow") or hasattr(column, "chunks") else column.to_numpy(zero_copy_only=False)
            x = np.asarray(floats, dtype=np.float32).astype("U32").astype(np.float64)
        elif not isinstance(kind, np.dtype) or kind.kind not in "biuf" or kind.itemsize > 8:
            return None
        else:
            x = np.asarray(column, dtype=np.float64)
        for v in self._gone:
            x = np.where(x == v, np.nan, x)
        return x

    def _days(self, column: Any) -> np.ndarray | None:
        """The days since 1970 of a column of numpy's times, which have no time zone; None for another
        column."""
        kind = getattr(column, "dtype", None)
        if not isinstance(kind, np.dtype) or kind.kind != "M" or not self._iso or any(m[:1].isdigit() for m in self._missing):
            return None
        moments = np.asarray(column)
        seconds = moments.astype("datetime64[s]").astype(np.int64)
        days = seconds // 86400
        x = days.astype(np.float64) + (seconds - days * 86400) / 86400.0
        x[np.isnat(moments) | (days < 1 - EPOCH) | (days > date.max.toordinal() - EPOCH)] = np.nan
        return x


def day(text: str) -> float:
    """A public date as days since 1970."""
    return float(date.fromisoformat(text).toordinal() - EPOCH)


def _parse(cell: str) -> float:
    return float(cell) if NUMBER.fullmatch(cell) else float("nan")


def _moment(year: int, month: int, day: int, hour: int, minute: int, second: int, east: int) -> float:
    if hour > 23 or minute > 59 or second > 59:
        return float("nan")
    try:
        midnight = date(year, month, day).toordinal() - EPOCH
    except ValueError:
        return float("nan")
    return float(midnight) + (60 * (60 * hour + minute) + second - east) / 86400


def _iso(cell: str) -> float:
    found = ISO.fullmatch(cell)
    if not found:
        return float("nan")
    *at, sign, hours, minutes = found.groups()
    east = 60 * (60 * int(hours or 0) + int(minutes or 0))
    if int(hours or 0) > 23 or int(minutes or 0) > 59:
        return float("nan")
    year, month, day, hour, minute, second = (int(v or 0) for v in at)
    return _moment(year, month, day, hour, minute, second, -east if sign == "-" else east)


def _layout(layout: str) -> Callable[[str], float]:
    """A function that reads dates in a layout such as %d.%m.%Y."""
    parts = [p for p in re.split(r"%([A-Za-z])", layout)]
    pattern, order = "", []
    for i, part in enumerate(parts):
        if i % 2 == 0:
            pattern += re.escape(part)
            continue
        beside = (i > 1 and not parts[i - 1]) or (i + 2 < len(parts) and not parts[i + 1])
        most = DIRECTIVES[part]
        pattern += f"([0-9]{{{most if beside or most > 2 else 1},{most}}})"
        order.append(part)
    made = re.compile(pattern)

    def read(cell: str) -> float:
        found = made.fullmatch(cell)
        if not found:
            return float("nan")
        at = {**dict.fromkeys(DIRECTIVES, 0), **dict(zip(order, map(int, found.groups())))}
        return _moment(*(at[d] for d in "YmdHMS"), 0)

    return read


def _hashing(name: str, buckets: int, missing: frozenset[str]) -> Callable[[str], int]:
    """The function that computes the bucket of a cell of a hashed column. A missing cell has the last index."""
    prime, other = 2**31 - 1, 2**31 - 19

    def total(text: str, salt: int) -> int:
        s = salt
        for i, c in enumerate(text, 1):
            u = (1_103_515_245 * ord(c) + 1_597_334_677 * i + salt) % prime
            v = u * u % other
            s = (s + v * v % prime) % other
        return s

    salt = total(name, 1)

    def bucket(cell: str) -> int:
        s = total(cell, salt)
        return buckets if cell in missing else s * s % prime % buckets

    return bucket
