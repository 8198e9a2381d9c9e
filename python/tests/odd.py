"""Cells of every kind, among them those whose methods raise."""

import datetime
import decimal
import fractions
import uuid
from collections import namedtuple

import numpy as np

SECRET = "SECRET-4711"


class Foreign:
    """Raises at whatever is asked of it, and says what it holds."""

    def __init__(self, error=ValueError, but=()):
        self._error, self._but = error, but


def _raises(name):
    def method(self, *_):
        if name in object.__getattribute__(self, "_but"):
            return getattr(object, name)(self, *_)
        raise object.__getattribute__(self, "_error")(SECRET)

    return method


for _name in (
    "__str__ __repr__ __float__ __int__ __index__ __bool__ __eq__ __ne__ __lt__ __hash__ __len__ __iter__"
    " __getitem__ __contains__ __array__ __format__ __bytes__ __complex__ __fspath__ __reduce_ex__ __getattr__"
).split():
    setattr(Foreign, _name, _raises(_name))


class Text(str):
    def __str__(self):
        raise ValueError(SECRET)

    encode = isascii = __contains__ = __eq__ = __hash__ = __str__


class Number(float):
    def __repr__(self):
        raise ValueError(SECRET)

    __float__ = __eq__ = __ne__ = __hash__ = is_integer = __repr__


class Whole(int):
    def __repr__(self):
        raise ValueError(SECRET)

    __int__ = __index__ = __eq__ = __ne__ = __hash__ = __repr__


class Says:
    """Has a text that is none: no str, no UTF-8, or the text of a class."""

    def __init__(self, what):
        self.what = what

    def __str__(self):
        return self.what


class Zone(datetime.tzinfo):
    def utcoffset(self, _):
        raise ValueError(SECRET)


DEEP = []
for _ in range(5000):
    DEEP = [DEEP]
SELF = []
SELF.append(SELF)


def singles():
    """Every kind of cell that needs no library but numpy."""
    big = 10**5000
    yield from (None, True, False, 0, -1, big, -big, 1.5, -0.0, float("nan"), float("inf"), 1e300, 1j, complex("nan"))
    yield from (
        "",
        "no",
        "yes ",
        "\ud800",
        "a\udfffb",
        "\0",
        "a\0b",
        "\r",
        "a\nb",
        "\r\n",
        ",",
        '"',
        '""',
        'a"b',
        "'",
        "\x1a\x7f",
        "\ufeff",
        "\u2028",
        " ",
    )
    yield from (
        "x" * 100_000,
        '"' * 1001,
        "=1+1",
        "nan",
        "NaN",
        "None",
        b"",
        b"no",
        b"\xff\xfe",
        bytearray(b"no"),
        memoryview(b"no"),
    )
    yield from (
        decimal.Decimal("0.1"),
        decimal.Decimal("NaN"),
        decimal.Decimal("sNaN"),
        decimal.Decimal("1E+999999"),
        fractions.Fraction(1, 3),
    )
    yield from (datetime.date.min, datetime.date.max, datetime.datetime.min, datetime.time(1), datetime.timedelta.max)
    yield from (
        datetime.datetime(2020, 1, 1, tzinfo=Zone()),
        uuid.UUID(int=1),
        namedtuple("P", "x")(1),
        object(),
        type,
        Foreign,
        len,
    )
    yield from (
        [],
        [[]],
        (1, 2),
        {},
        {1: 2},
        set(),
        {"no"},
        range(3),
        DEEP,
        SELF,
        [Foreign()],
        iter(()),
        Ellipsis,
        NotImplemented,
    )
    for error in (
        ValueError,
        TypeError,
        UnicodeEncodeError,
        MemoryError,
        RecursionError,
        StopIteration,
        AttributeError,
    ):
        yield Foreign(error)
    for error in (KeyboardInterrupt, SystemExit, GeneratorExit, BaseException):
        yield Foreign(error)
    yield Foreign(but=("__eq__", "__ne__", "__hash__"))
    yield from (Text("no"), Number(1), Whole(1), Says(1), Says("\ud800"), Says(Text("no")), Says("no"))
    for code in np.typecodes["All"]:
        yield np.zeros((), np.dtype(code) if code not in "Mm" else f"{code}8[ns]")[()]
    for unit in ("Y", "D", "s", "ns", "as"):
        yield from (np.datetime64("NaT", unit), np.datetime64(2**62, unit), np.timedelta64(5, unit))
    yield from (
        np.longdouble("1e4000"),
        np.float32("nan"),
        np.str_("\ud800"),
        np.bytes_(b"\xff"),
        np.array(5),
        np.array([1, 2]),
        np.ma.masked,
    )
    held = np.empty(1, dtype=object)
    held[0] = Foreign()
    yield held
