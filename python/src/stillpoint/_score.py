"""Scores rows by a model file, without the command. The scores have the same bits as the command's predictions.

A row becomes features in the way of the command: the numbers of its cells (see _readings), and for a curve the
hat functions of its knots (linear B-splines). They are divided by the largest norm of a row, and rounded to
float32. A margin is the sum of the features times their weights, in the order of the features.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from stillpoint._elementary import MOST_ANGLE, BLOCK, add, adder, exp, fma, frequencies, log1p, sincos, split, tanh
from stillpoint._readings import Reader, day

HAT = math.sqrt(2) * (1 - 2.0**-20)
PAIR_KNOTS = 5
ROWS = 8192  # scored at a time, so that the numbers of their columns stay in the processor's cache
SHORTER = 1 - 2.0**-22
LARGEST = 1e250  # of weights: products of larger ones could not be split


class Unsupported(Exception):
    """The model can be scored by the command alone, and not by this module."""


@dataclass
class _Term:
    """One feature of each row: the same feature in all rows, or a different one in each row."""

    at: Any  # the index of the feature, or an index for each row
    x: Any  # its value, or a value for each row, both as float64 of a float32
    range: int  # the place among columns and interactions; -1 for the intercept and waves
    part: Any = None  # the slice of features among which at lies, where x is one value


class _Knots:
    """The knots of a curve, or of one column of an interaction."""

    def __init__(self, at: Sequence[float] | int):
        self.listed = None if isinstance(at, int) else np.asarray(at, dtype=np.float64)
        self.count = at if isinstance(at, int) else len(at)

    def cell(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The index of the last knot that is not above u, and the share of the way from there to the next knot.
        The very last knot is left out."""
        last = self.count - 2
        if self.listed is None:
            t = (np.clip(u, -1, 1) + 1) * ((self.count - 1) / 2)
            i = np.minimum(t.astype(np.intp), last)
            f = np.minimum(t - i, 1)
        else:
            i = np.clip(np.searchsorted(self.listed, u, side="right") - 1, 0, last)
            f = np.minimum((u - self.listed[i]) / (self.listed[i + 1] - self.listed[i]), 1)
        low, high = ~(u > -1), u >= 1
        i[low], f[low] = 0, 0
        i[high], f[high] = last, 1
        return i, f


@dataclass
class _Column:
    reader: Reader
    at: int
    indicated: bool
    knots: _Knots | None
    pairs: _Knots  # the knots in interactions

    @property
    def features(self) -> int:
        """The number of features that the column has in an interaction."""
        return self.reader.levels or self.pairs.count

    @property
    def width(self) -> int:
        return self.reader.levels or 1 + self.indicated + (self.knots.count if self.knots else 0)


class Model:
    """A model file, by which rows are scored.

    Raises Unsupported for another version of the file, and for a member of the file that this module does not
    know.
    """

    def __init__(self, content: bytes | str):
        file = json.loads(content)
        if file.get("format") != "stillpoint model" or file.get("version") not in (1, 2):
            raise Unsupported("the file's format")
        schema, target = file["schema"], file["schema"]["target"]
        known = {"columns", "target", "where", "missing", "norm", "interactions", "effects", "unit"}
        if schema.keys() - known or any(c.keys() - COLUMN for c in schema["columns"]):
            raise Unsupported("the schema's members")
        self._columns: list[_Column] = []
        self._crosses: list[tuple[_Column, _Column, int]] = []
        terms = self._bind(schema)
        self._base = math.sqrt(terms)
        self._stated = schema.get("norm", 0) > 0
        if self._stated:
            self._base = float(schema["norm"])
        self._features = len(file["features"])
        self._effects = _Effects(schema["effects"], self._base) if "effects" in schema else None
        if self._next + 1 + (self._effects.count if self._effects else 0) != self._features:
            raise Unsupported("the number of features")
        weights = np.asarray(file["weights"], dtype=np.float64)
        if not np.all(np.abs(weights) < LARGEST):
            raise Unsupported("weights of that size")
        self._network, name = _parse(file["loss"])
        self.classes = target.get("classes")
        self._predict, self.outputs = _output(name, target, bool(file.get("clamped")))
        self._cut(weights)
        # The number of rows beyond which the command is faster.
        self.most = 5000 if self._effects else sys.maxsize

    def _bind(self, schema: Mapping[str, Any]) -> int:
        """Gives each column and interaction its features, and returns the largest squared norm of a row."""
        crossed = {c for pair in schema.get("interactions", ()) for c in pair}
        at, terms = 0, 1
        by = {}
        for c in schema["columns"]:
            if c.keys() & {"ignore", "public"}:
                continue
            reader = Reader(c, schema["missing"])
            knots = _knots(c, reader)
            indicated = not reader.levels and ("missing" in c or knots is not None or c["name"] in crossed)
            pairs = _Knots(PAIR_KNOTS) if reader.levels or knots is None else _pair_knots(knots)
            column = _Column(reader, at, indicated, knots, pairs)
            self._columns.append(column)
            by[c["name"]] = column
            at += column.width
            terms += 3 if knots else 1
        for pair in schema.get("interactions", ()):
            a, b = (by[c] for c in pair)
            if b.reader.levels and not a.reader.levels:
                a, b = b, a
            self._crosses.append((a, b, at))
            at += a.features * b.features
            terms += (1, 2, 4)[(not a.reader.levels) + (not b.reader.levels)]
        self._next = at
        return terms

    def _cut(self, weights: np.ndarray) -> None:
        """Divides the weights into those of the margins and the rest. For a network they are those of the first
        hidden layer and of all later layers."""
        units = self._network.hidden[0] if self._network else len(weights) // self._features
        self._weights = weights[: units * self._features].reshape(units, self._features)
        self._high, self._low = split(self._weights)
        self._above = weights[units * self._features :]
        self._plus = adder()

    @property
    def columns(self) -> list[str]:
        """The columns that a table must have."""
        return [c.reader.name for c in self._columns]

    def score(
        self, columns: Callable[[str, int, int], Any], rows: int, longest: int, only: str | None = None
    ) -> dict[str, np.ndarray]:
        """The columns that predict --margin writes, with a value for each row. A class is its index.

        columns(name, start, stop) returns the cells of a column in the rows from start to before stop. A cell
        with more characters than longest counts as missing. If only is a name, just the columns of this name
        and name=CLASS are computed.
        """
        wanted = [(i, n) for i, n in enumerate(self.outputs) if only is None or n == only or n.startswith(only + "=")]
        kinds = {name: np.intp if name == "class" else np.float64 for _, name in wanted}
        made = {name: np.empty(rows, kind) for name, kind in kinds.items()}
        held = np.empty((2, len(self._columns), ROWS)), np.empty((len(self._columns), ROWS), np.float32)
        for start in range(0, rows, ROWS):
            stop = min(start + ROWS, rows)
            size = stop - start + -(stop - start) % BLOCK  # by rows of the same kind
            values = self._predict(self._margins(*self._read(columns, start, stop, longest, held, size), size))
            for i, name in wanted:
                made[name][start:stop] = values[i]()[: stop - start]
        return made

    def _read(
        self, columns: Callable, start: int, stop: int, longest: int, held: tuple[np.ndarray, np.ndarray], size: int
    ) -> tuple[list[np.ndarray], dict[int, np.ndarray]]:
        """The numbers of the columns' cells, and the features of those columns that need no rule beside bounds,
        which are computed together."""
        count = stop - start
        readings: list[Any] = []
        plain: dict[int, Reader] = {}
        for i, c in enumerate(self._columns):
            cells = columns(c.reader.name, start, stop)
            if c.reader.plain(cells):
                row = held[0][0, len(plain), :size]
                row[:count] = cells
                if size > count:
                    row[count:] = np.resize(row[:count], size - count)
                plain[i] = c.reader
            else:
                row = c.reader.read(cells, longest)
                if size > count:
                    row = np.concatenate([row, np.resize(row, size - count)])
            readings.append(row)
        if not plain:
            return readings, {}
        low, high, width = (np.array([[getattr(r, name)] for r in plain.values()]) for name in ("low", "high", "width"))
        u, x, short = held[0][0, : len(plain), :size], held[0][1, : len(plain), :size], held[1][: len(plain), :size]
        np.clip(u, low, high, out=u)
        u -= low
        u /= width / 2  # of which twice the quotient is exact
        u -= 1
        if math.isnan(np.add.reduce(u, axis=None)):
            return readings, {}
        np.divide(u, self._base, out=x)
        short[:] = x
        x[:] = short
        return readings, dict(zip(plain, x))

    def _margins(self, readings: list[np.ndarray], ready: dict[int, np.ndarray], rows: int) -> list[np.ndarray]:
        terms = self._encode(readings, ready, rows)
        if self._effects is not None:
            terms = iter(self._effects.extend(list(terms), rows, self._next))
        sums = [np.zeros(rows) for _ in self._weights]
        for term in terms:
            for k, z in enumerate(sums):
                self._add(k, term, z)
        return sums if self._network is None else self._network.above(sums, self._above)

    def _add(self, k: int, term: _Term, z: np.ndarray) -> None:
        """Adds the product of a feature and its weight to z for each row, rounded once."""
        at, x = term.at, term.x
        if isinstance(at, int):
            self._plus(float(self._weights[k, at]), x if isinstance(x, np.ndarray) else np.full(len(z), x), z)
            return
        # A float32 times either part of a weight is exact.
        if np.ndim(x) == 0:
            product = self._weights[k, term.part] * x
            error = (self._high[k, term.part] * x - product) + self._low[k, term.part] * x
            at = at - term.part.start
            p, e = product[at], error[at]
        else:
            p = self._weights[k, at] * x
            e = (self._high[k, at] * x - p) + self._low[k, at] * x
        z[:] = add(p, e, z)

    def _encode(self, readings: list[np.ndarray], ready: dict[int, np.ndarray], rows: int) -> Iterator[_Term]:
        """The features of the rows in their order, without those that are 0 in all rows. ready has features
        that are computed already."""
        longer = self._longer(readings, rows)

        def scaled(u: Any) -> Any:
            v = u / self._base
            if longer is not None:
                v = v / longer
            return _short(v)

        one = scaled(1.0)
        numbers: dict[int, tuple[np.ndarray, np.ndarray | None]] = {}
        for i, (c, u) in enumerate(zip(self._columns, readings)):
            if c.reader.levels:
                yield _Term(c.at + u, one, i, slice(c.at, c.at + c.reader.levels))
                continue
            gone = None
            if i not in ready and math.isnan(np.add.reduce(u)):  # u lies between -1 and 1 otherwise
                gone = np.isnan(u)
                u = np.where(gone, 0.0, u)
            x = ready[i] if i in ready and longer is None else scaled(u)
            numbers[c.at] = x, gone
            yield _Term(c.at, x, i)
            if gone is not None and c.indicated:
                yield _Term(c.at + 1, np.where(gone, one, 0.0), i)
            if c.knots is not None:
                cell, f = c.knots.cell(x / one)
                yield from _hats(c.at + 2 + cell, 1, (f,), one, gone, i)
        place = {id(c): i for i, c in enumerate(self._columns)}
        for k, (a, b, at) in enumerate(self._crosses, len(self._columns)):
            if b.reader.levels:
                both = readings[place[id(a)]] * b.features + readings[place[id(b)]]
                yield _Term(at + both, one, k, slice(at, at + a.features * b.features))
                continue
            x, gone = numbers[b.at]
            inner, g = b.pairs.cell(x / one)
            if a.reader.levels:
                yield from _hats(at + readings[place[id(a)]] * b.features + inner, 1, (g,), one, gone, k)
                continue
            y, lost = numbers[a.at]
            gone = lost if gone is None else gone if lost is None else gone | lost
            outer, f = a.pairs.cell(y / one)
            yield from _hats(at + outer * b.features + inner, b.features, (f, g), one, gone, k)
        yield _Term(self._features - 1, one, -1)

    def _longer(self, readings: list[np.ndarray], rows: int) -> np.ndarray | None:
        """The divisor that shortens each row to the norm 1; None if no row is longer.

        If the schema states no norm, a row can be longer only by rounding. This needs each of its numbers to be
        at a bound, or missing in a column with a feature for missing cells.
        """
        some: Any = slice(None)
        if not self._stated:
            for c, u in zip(self._columns, readings):
                if c.reader.levels == 0:
                    at = u[some]
                    near = np.abs(at) > 1 - 1e-6
                    if c.indicated:
                        near |= np.isnan(at)
                    near = np.flatnonzero(near)
                    some = near if isinstance(some, slice) else some[near]
                    if near.size == 0:
                        return None
        some = np.arange(rows)[some]
        one = 1.0 / self._base
        total = np.zeros(some.size)
        for c, u in zip(self._columns, readings):
            if c.reader.levels:
                total += one * one
                continue
            at = u[some]
            missing = np.isnan(at)
            v = np.where(missing, 0.0, at) / self._base
            total += v * v
            if c.indicated:
                total += np.where(missing, one * one, 0.0)
            for _ in range(2 if c.knots is not None else 0):
                total += one * one
        for a, b, _ in self._crosses:
            for _ in range((1, 2, 4)[(not a.reader.levels) + (not b.reader.levels)]):
                total += one * one
        total += one * one
        if not (total > 1).any():
            return None
        norms = np.ones(rows)
        norms[some] = np.sqrt(np.where(total > 1, total, 1.0))
        return norms


def _short(v: Any) -> Any:
    """Numbers rounded to float32."""
    return v.astype(np.float32).astype(np.float64) if isinstance(v, np.ndarray) else float(np.float32(v))


@lru_cache(maxsize=16)
def read(content: bytes) -> Model | None:
    """The model of a file; None if the command alone can score it."""
    try:
        return Model(content)
    except Unsupported:
        return None


COLUMN = {"name", "ignore", "number", "transform", "category", "public", "hash", "date", "layout", "missing", "curve", "monotone"}


def _hats(at: np.ndarray, step: int, ways: tuple[np.ndarray, ...], one: Any, gone: np.ndarray | None, place: int) -> Iterator[_Term]:
    """The values of the two hat functions that are not 0 at a number, or their four products for two numbers.
    They are 0 if a number is missing."""

    def term(index: np.ndarray, v: np.ndarray) -> _Term:
        v = _short(v)
        return _Term(index, v if gone is None else np.where(gone, 0.0, v), place)

    if len(ways) == 1:
        v, f = one * HAT, ways[0]
        yield term(at, v * (1 - f))
        yield term(at + 1, v * f)
        return
    f, g = ways
    v = one * (HAT * HAT)
    a, b = v * (1 - f), v * f
    yield term(at, a * (1 - g))
    yield term(at + 1, a * g)
    yield term(at + step, b * (1 - g))
    yield term(at + step + 1, b * g)


def _knots(column: Mapping[str, Any], reader: Reader) -> _Knots | None:
    curve = column.get("curve")
    if curve is None:
        return None
    if isinstance(curve, int):
        return _Knots(curve)
    if isinstance(curve, str):
        raise Unsupported("knots that are not chosen")
    return _Knots(reader.unit(np.array([day(k) if isinstance(k, str) else float(k) for k in curve])))


def _pair_knots(own: _Knots) -> _Knots:
    """The knots that a column with a curve has in interactions. If the curve's knots are listed, they are
    chosen evenly among these."""
    if own.listed is None:
        return _Knots(PAIR_KNOTS)
    listed = []
    for i in range(PAIR_KNOTS):
        way = i * (own.count - 1) / (PAIR_KNOTS - 1)
        at = min(int(way), own.count - 2)
        listed.append(own.listed[at] + (way - at) * (own.listed[at + 1] - own.listed[at]))
    listed[0], listed[-1] = -1.0, 1.0
    return _Knots(listed) if all(a < b for a, b in zip(listed, listed[1:])) else _Knots(PAIR_KNOTS)


class _Effects:
    """The features of interactions of all columns: sine and cosine waves of the parts that the columns add to
    the score of the first stage."""

    def __init__(self, effects: Mapping[str, Any], base: float):
        if effects.keys() - {"seed", "features", "weight", "scale", "deviations", "centres", "weights"}:
            raise Unsupported("the members of effects")
        weight, scale = float(effects["weight"]), float(effects["scale"])
        self.count = effects["features"]
        self._centres = np.asarray(effects["centres"], dtype=np.float64)
        self._weights = np.asarray(effects["weights"], dtype=np.float64)
        length = math.sqrt(base * base + weight * weight)
        self._ratio = base / length * SHORTER
        self._amplitude = weight / length / math.sqrt(self.count // 2)
        deviations = tuple(map(float, effects.get("deviations") or [2]))
        self._by = frequencies(int(effects["seed"], 16), self.count // 2, len(self._centres), deviations) / scale

    def extend(self, terms: list[_Term], rows: int, first: int) -> list[_Term]:
        sums = [np.zeros(rows) for _ in self._centres]
        for t in terms:
            if t.range >= 0:
                sums[t.range] += self._weights[t.at] * t.x
        parts = [s - c for s, c in zip(sums, self._centres)]

        made = [_Term(t.at, _short(t.x * self._ratio), t.range, t.part) for t in terms]
        intercept = made.pop()
        waves = [[], []]
        for start in range(0, rows, BLOCK):  # blocks of rows and all pairs of waves at a time
            angle = np.zeros((len(self._by), min(BLOCK, rows - start)))
            for by, part in zip(self._by.T, parts):
                angle = fma(by[:, None], part[None, start : start + BLOCK], angle)
            for made_of, wave in zip(waves, sincos(np.clip(angle, -MOST_ANGLE, MOST_ANGLE))):
                made_of.append(_short(self._amplitude * wave))
        sin, cos = (np.hstack(w) for w in waves)
        for k in range(len(self._by)):
            made += [_Term(first + 2 * k, cos[k].copy(), -1), _Term(first + 2 * k + 1, sin[k].copy(), -1)]
        return [*made, intercept]


@dataclass
class _Network:
    hidden: list[int]
    activation: str

    def above(self, u: list[np.ndarray], weights: np.ndarray) -> list[np.ndarray]:
        """The margins of a network, from the sums that enter the units of its first hidden layer."""
        outputs = len(weights)
        for below, units in zip(self.hidden, self.hidden[1:]):
            outputs -= units * (below + 1)
        plus = adder()
        layers = [*self.hidden[1:], outputs // (self.hidden[-1] + 1)]
        for m, units in zip(self.hidden, layers):
            scale = 1 / math.sqrt(m + 1)
            inputs = [(tanh(v) if self.activation == "tanh" else np.maximum(v, 0)) * scale for v in u]
            inputs.append(np.full_like(u[0], scale))
            u = []
            for k in range(units):
                z = np.zeros_like(inputs[0])
                for w, x in zip(weights[k * (m + 1) :].tolist(), inputs):
                    plus(w, x, z)
                u.append(z)
            weights = weights[units * (m + 1) :]
        return u


@dataclass
class _Ordered:
    hidden: list[int]

    def above(self, u: list[np.ndarray], weights: np.ndarray) -> list[np.ndarray]:
        """The logarithms of the probabilities of ordered classes, from the score and the parameters that set
        the gaps between thresholds."""
        gaps = 1 / (2 * math.sqrt(len(weights))) * weights
        thresholds = [0.0]
        for gap in softplus(gaps).tolist():
            thresholds.append(thresholds[-1] + gap)
        between = softplus(-gaps).tolist()
        margins = []
        for k in range(len(thresholds) + 1):
            value = softplus(u[0] - thresholds[k]) if k < len(thresholds) else 0.0
            if k > 0:
                value = value + softplus(thresholds[k - 1] - u[0])
            if 0 < k < len(thresholds):
                value = value + between[k - 1]
            margins.append(-value)
        return margins


def softplus(t: np.ndarray) -> np.ndarray:
    """log(1 + e^t)."""
    return np.maximum(t, 0) + log1p(exp(-np.abs(t)))


def _fields(name: str) -> list[str]:
    """The arguments in the name of a loss: of units(weighted(logistic,1,5),8) they are weighted(logistic,1,5)
    and 8."""
    inner = name[name.index("(") + 1 : -1]
    fields, depth = [""], 0
    for c in inner:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            fields.append("")
        else:
            fields[-1] += c
    return fields


def _parse(name: str) -> tuple[_Network | _Ordered | None, str]:
    """The network of a loss if it has one, and the name of the loss without its network, weights and units."""
    if name.startswith(("weighted(", "units(")):
        return _parse(_fields(name)[0])
    if name.startswith("ordered("):
        return _Ordered([1]), name
    if not name.startswith("network("):
        return None, name
    hidden, activation, output = _fields(name)[:3]
    if activation not in ("tanh", "relu"):
        raise Unsupported("the activation")
    return _Network([int(m) for m in hidden.split("-")], activation), _parse(output)[1]


Made = Callable[[list[np.ndarray]], list[Callable[[], np.ndarray]]]  # of margins, columns that are made when called


def _output(name: str, target: Mapping[str, Any], clamped: bool) -> tuple[Made, list[str]]:
    """A function that turns margins into predictions, and the names of the columns that predict --margin
    writes. The function returns a function for each column, so that only the needed columns are computed."""
    if "event" in target:
        if target.get("grouped") == "logit":
            raise Unsupported("the link of its hazards")
        return (lambda z: [lambda: -np.expm1(-exp(z[0])), lambda: z[0], lambda: z[0]]), ["risk", "score", "margin"]
    counts = re.match(r"(poisson|gamma|negbinomial|tweedie)(-rate)?\(", name) is not None
    if counts or "number" in target:
        low, high = (float(b) for b in target["number"])
        half, middle = high / 2 - low / 2, low / 2 + high / 2
        rate = high / float(target["exposure"]["number"][1]) if "exposure" in target else high
        if "offset" in target:
            rate = high / float(exp(np.array([float(target["offset"]["number"][1])]))[0])

        def value(z: list[np.ndarray]) -> np.ndarray:
            x = exp(z[0]) * rate if counts else z[0] * half + middle
            return np.minimum(np.maximum(x, low), high) if clamped else x

        return (lambda z: [lambda: value(z), lambda: z[0]]), ["prediction", "margin"]
    classes = target["classes"]
    if len(classes) > 2:
        return _several, [*(f"probability={c}" for c in classes), "class", *(f"margin={c}" for c in classes)]
    if name == "logistic":
        return (lambda z: [lambda: 1 / (1 + exp(-z[0])), lambda: z[0] > 0, lambda: z[0]]), ["probability", "class", "margin"]
    return (lambda z: [lambda: z[0], lambda: z[0] > 0, lambda: z[0]]), ["score", "class", "margin"]


def _several(z: list[np.ndarray]) -> list[Callable[[], np.ndarray]]:
    @lru_cache(maxsize=1)
    def probabilities() -> list[np.ndarray]:
        top = np.maximum.reduce(z)
        e = [exp(v - top) for v in z]

        def total(but: int) -> np.ndarray:
            others = np.zeros_like(top)
            for j, v in enumerate(e):
                if j != but:
                    others += v
            return others + e[but]

        sums = total(0)
        return [e[0] / total(1), *(v / sums for v in e[1:])]

    return [
        *(lambda k=k: probabilities()[k] for k in range(len(z))),
        lambda: np.argmax(np.stack(z), axis=0),
        *(lambda v=v: v for v in z),
    ]
