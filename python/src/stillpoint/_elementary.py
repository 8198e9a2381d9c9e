"""Elementary functions of arrays, with the bits that the command computes.

The command rounds a product plus a number once (FMA). numpy would round twice. This module therefore computes
the rounded product and its exact error, and the rounded sum and its exact error (Dekker 1971, Knuth). It adds
the two errors, rounds their sum, and adds it to the result. The result can differ from the command's only if
the sum of the errors is almost half a unit in the last place of the result: within a relative 2^-53.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

Array = Any  # an array of float64, or a float

LN2_HIGH = float.fromhex("0x1.62e42fefa39efp-1")  # ln 2 rounded to 53 bits
LN2_LOW = float.fromhex("0x1.abc9e3b39803fp-56")  # the next 53 bits
LN2_TOP = float.fromhex("0x1.62e42fefa38p-1")  # the first 42 bits
INVERSE_LN2 = float.fromhex("0x1.71547652b82fep+0")
SHIFT = 1.5 * 2.0**52  # the sum of a float and this is rounded to a whole number
MOST_ANGLE = 2.0**20
HALF_PI_HIGH = float.fromhex("0x1.921fb54442d18p+0")
HALF_PI_LOW = float.fromhex("0x1.1a62633145c07p-54")


def split(a: Array) -> tuple[Array, Array]:
    """Two numbers of at most 26 and 27 bits whose sum is a."""
    t = a * 134217729.0
    high = t - (t - a)
    return high, a - high


def fma(a: Array, b: Array, c: Array) -> Array:
    """a times b plus c, rounded once."""
    ah, al = split(a)
    bh, bl = split(b)
    p = a * b
    e = (ah * bh - p) + ah * bl + al * bh + al * bl
    return add(p, e, c)


def add(p: Array, e: Array, c: Array) -> Array:
    """(p + e) + c, rounded once, where e is the error of the product p."""
    s = p + c
    v = s - p
    return s + (((p - (s - v)) + (c - v)) + e)


def _portable(a: float, x: np.ndarray, z: np.ndarray) -> None:
    """Adds a times x to z, each sum rounded once."""
    z[:] = fma(a, x, z)


def _blas() -> Callable[[float, np.ndarray, np.ndarray], None]:
    """The function that adds a times x to z by SciPy, if SciPy's library rounds once on this processor; else
    the function _portable."""
    try:
        from scipy.linalg.blas import daxpy
    except ImportError:
        return _portable
    random = np.random.default_rng(1)
    for length in (BLOCK, 3 * BLOCK, 64 * BLOCK):
        for _ in range(4):
            a, x, z = random.normal(), random.normal(size=length), random.normal(size=length)
            got = z.copy()
            daxpy(x, got, a=a)
            if not np.array_equal(got, fma(a, x, z)):
                return _portable

    def add_multiple(a: float, x: np.ndarray, z: np.ndarray) -> None:
        if len(x) % BLOCK or not (x.flags.c_contiguous and z.flags.c_contiguous):
            _portable(a, x, z)  # a library may round the last few numbers of a vector otherwise
        else:
            daxpy(x, z, a=a)

    return add_multiple


BLOCK = 64  # the lengths at which vectors go to a library are multiples of it


@lru_cache(maxsize=1)
def adder() -> Callable[[float, np.ndarray, np.ndarray], None]:
    """A function of a, x and z that adds a times x to the vector z, each sum rounded once."""
    return _blas()


class _Factor:
    """Numbers, and their upper and lower halves (see split), from which products are computed exactly."""

    def __init__(self, value: np.ndarray):
        self.value = value
        self.high, self.low = split(value)

    def fma(self, other: _Factor, c: np.ndarray) -> np.ndarray:
        """self times other plus c, rounded once. The absolute value of c must be at least that of the
        product."""
        p = self.value * other.value
        e = self.high * other.high
        e -= p
        t = self.high * other.low
        e += t
        np.multiply(self.low, other.high, out=t)
        e += t
        np.multiply(self.low, other.low, out=t)
        e += t
        np.add(p, c, out=t)
        p -= t - c
        p += e
        p += t
        return p


# 1/k! for k from 1 to 13.
_TAYLOR = [1.0 / math.factorial(k) for k in range(1, 14)]


def exp(x: np.ndarray) -> np.ndarray:
    """e^x within 1 ulp, by the polynomial of the command."""
    x = np.minimum(np.maximum(x, -800.0), 800.0)
    k = x * INVERSE_LN2
    near = np.rint(k)
    odd = np.abs(k - near) > 0.4999999
    if odd.any():  # the product's own rounding may decide
        near[odd] = fma(x[odd], INVERSE_LN2, SHIFT) - SHIFT
    k = near
    # k times the first 42 bits is exact, and so is the first difference.
    r = ((x - k * LN2_TOP) - k * (LN2_HIGH - LN2_TOP)) - k * LN2_LOW
    plus = adder()

    def pair(i: int) -> np.ndarray:
        z = np.full(len(r), _TAYLOR[i])
        plus(_TAYLOR[i + 1], r, z)
        return z

    two = _Factor(r * r)
    four = _Factor(two.value * two.value)
    eight = _Factor(four.value * four.value)
    upper = _Factor(_Factor(pair(11)).fma(two, pair(9)))
    middle = _Factor(_Factor(pair(7)).fma(two, pair(5)))
    lower = middle.fma(four, _Factor(pair(3)).fma(two, pair(1)))
    p = 1 + _Factor(upper.fma(eight, lower)).fma(two, r)
    whole = k.astype(np.int64)
    if np.abs(x).max(initial=0) < 690:
        p *= _power(whole)  # the same number as two factors make
        return p
    half = whole >> 1
    p *= _power(half)
    p *= _power(whole - half)
    return p


def _power(k: np.ndarray) -> np.ndarray:
    """2 to the power of each k, where this is a normal number of float64."""
    return ((k + 1023) << 52).view(np.float64)


def log1p(x: np.ndarray) -> np.ndarray:
    """log(1+x) of finite x > -1."""
    v = 1 + x
    c = x - (v - 1)
    m, k = np.frexp(v)
    small = m < float.fromhex("0x1.6a09e667f3bcdp-1")
    m, k = np.where(small, 2 * m, m), np.where(small, k - 1, k).astype(np.float64)
    s = (m - 1) / (m + 1)
    s2 = s * s
    tail = np.zeros_like(s)
    for i in range(23, 2, -2):
        tail = (tail + 1 / i) * s2
    low = k * (float.fromhex("0x1.ef35793c7673p-45")) + 2 * s * tail + c / v
    return k * LN2_TOP + (2 * s + low)


def tanh(u: np.ndarray) -> np.ndarray:
    return 1 - 2 / (1 + exp(2 * u))


def sincos(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sine and the cosine of angles of at most MOST_ANGLE."""
    k = fma(x, 2 / np.pi, SHIFT) - SHIFT
    r = fma(-k, HALF_PI_LOW, fma(-k, HALF_PI_HIGH, x))
    z = r * r
    p = np.full_like(z, 1.0 / 355687428096000)
    for c in (-1307674368000, 6227020800, -39916800, 362880, -5040, 120, -6):
        p = fma(z, p, 1.0 / c)
    s = fma(r * z, p, r)
    q = np.full_like(z, 1.0 / 20922789888000)
    for c in (-87178291200, 479001600, -3628800, 40320, -720, 24):
        q = fma(z, q, 1.0 / c)
    half = 0.5 * z
    one = 1 - half
    c = one + fma(z * z, q, (1 - one) - half)
    turn = k.astype(np.int64)
    odd = (turn & 1) != 0
    s, c = np.where(odd, c, s), np.where(odd, s, c)
    return np.where(turn & 2, -s, s), np.where((turn + 1) & 2, -c, c)


class _PCG:
    """The random number generator PCG-DXSM with 128 bits of state, as in package math/rand/v2 of Go."""

    def __init__(self, high: int, low: int):
        self._state = high << 64 | low

    def next(self) -> int:
        mask = (1 << 64) - 1
        self._state = (self._state * (2549297995355413924 << 64 | 4865540595714422341) + (6364136223846793005 << 64 | 1442695040888963407)) & ((1 << 128) - 1)
        high, low = self._state >> 64, self._state & mask
        high ^= high >> 32
        high = high * 0xDA942042E4DD58B5 & mask
        high ^= high >> 48
        return high * (low | 1) & mask


@lru_cache(maxsize=8)
def frequencies(seed: int, pairs: int, columns: int, deviations: tuple[float, ...]) -> np.ndarray:
    """The frequencies of pairs of sine and cosine waves, drawn from a public seed. Each row has a normally
    distributed frequency for each column, with one of the standard deviations."""
    random = _PCG(seed, 0xEFFEC75)
    drawn = np.array([random.next() >> 11 for _ in range(2 * pairs * columns)], dtype=np.float64)
    u, v = (drawn[0::2] + 1) * 2.0**-53, drawn[1::2] * 2.0**-53
    _, cos = sincos(2 * np.pi * v)
    by = np.array(deviations)[np.arange(pairs) * len(deviations) // pairs]
    return by[:, None] * (np.sqrt(-2 * log1p(u - 1)) * cos).reshape(pairs, columns)
