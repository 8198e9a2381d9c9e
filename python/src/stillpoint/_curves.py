"""Pictures of the curves of a model, from what its fit released."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

DAYS = 86_400


def plot_curves(fitted: Any, columns: Sequence[str] | None = None, *, axes: Sequence[Any] | None = None) -> list[Any]:
    """Draws the curves of a model, each with a band of privacy noise, and its interactions of numbers.

    A curve is the part of the prediction that depends on one column, minus its mean over the rows. For
    classes it is a factor on the odds, for counts a factor on the rate. The band is two standard deviations
    of the privacy noise on both sides. It does not contain the sampling error, so it is no confidence band.
    Grey stretches hold few rows. After a fit with ``inference`` a curve is the difference from its middle
    knot, and the band consists of pointwise confidence intervals. Where that band is grey, no interval is
    stated. Needs matplotlib: ``pip
    install 'stillpoint-dp[plot]'``.

    Args:
        fitted: a :class:`stillpoint.Fit`, a fitted estimator, or the parsed output of
            ``stillpoint coefficients --json``.
        columns: the columns whose curves are drawn, in this order; by default every curve and then every
            interaction.
        axes: one matplotlib axes object for each picture; by default new ones are made.

    Returns:
        The axes.
    """
    try:
        from matplotlib import pyplot
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in ("matplotlib", "numpy"):
            raise
        raise ImportError(f"stillpoint.plot_curves needs {package}: pip install 'stillpoint-dp[plot]'") from error
    said = _coefficients(fitted)
    curves = said.get("curves", [])
    names = list(dict.fromkeys(c["column"] for c in curves))
    if columns is not None:
        for name in columns:
            if name not in names:
                raise ValueError(f"columns: {name!r} must be one of the columns with curves: {names}")
        names = list(columns)
    surfaces = said.get("surfaces", []) if columns is None else []
    count = len(names) + len(surfaces)
    if count == 0:
        raise ValueError("fitted: must have curves: fit with curve: auto")
    if axes is None:
        across = min(count, 3)
        down = math.ceil(count / across)
        figure = pyplot.figure(figsize=(4.6 * across, 3.4 * down), layout="constrained")
        axes = [figure.add_subplot(down, across, i + 1) for i in range(count)]
    if len(axes) != count:
        raise ValueError(f"axes: must be {count}")
    for ax, name in zip(axes, names, strict=False):
        _curve(ax, said, [c for c in curves if c["column"] == name])
    for ax, surface in zip(axes[len(names) :], surfaces, strict=True):
        _surface(ax, said, surface)
    return list(axes)


def _coefficients(fitted: Any) -> Mapping[str, Any]:
    if isinstance(fitted, Mapping):
        return fitted
    said = getattr(fitted, "coefficients_", None)
    if said is not None:
        return said
    if hasattr(fitted, "coefficients"):
        return fitted.coefficients()
    raise TypeError("fitted: must be a Fit, a fitted estimator, or what stillpoint coefficients --json prints")


def _shown(said: Mapping[str, Any], value: float | None) -> float:
    if value is None:
        return math.nan
    return math.exp(value) if said.get("ratio") else value


def _label(said: Mapping[str, Any]) -> str:
    ratio = said.get("ratio")
    return f"{ratio}, times" if ratio else said["unit"]


def _place(curve: Mapping[str, Any], x: float) -> Any:
    if curve.get("date"):
        import numpy

        return numpy.datetime64(round(x * DAYS), "s")
    return 1 + x if curve.get("log") else x


def _curve(ax: Any, said: Mapping[str, Any], curves: Sequence[Mapping[str, Any]]) -> None:
    first = curves[0]
    for i, curve in enumerate(curves):
        points = curve["points"]
        x = [_place(curve, p["x"]) for p in points]
        stated = [not _level(curve) or p["low"] is not None for p in points]
        effect = [_shown(said, p["effect"] if seen else None) for p, seen in zip(points, stated, strict=True)]
        ax.plot(x, effect, color=f"C{i}", label=curve.get("class"))
        if _banded(curve):
            low, high = [_shown(said, p["low"]) for p in points], [_shown(said, p["high"]) for p in points]
            ax.fill_between(x, low, high, color=f"C{i}", alpha=0.2, linewidth=0)
    points = first["points"]
    for left, right in zip(points, points[1:], strict=False):
        thin = left.get("thin", False), right.get("thin", False)
        if all(thin) or _level(first) and any(thin):
            ax.axvspan(_place(first, left["x"]), _place(first, right["x"]), color="0.5", alpha=0.15, linewidth=0)
    ax.axhline(_shown(said, 0), color="0.3", linestyle="--", linewidth=0.8)
    if said.get("ratio"):
        ax.set_yscale("log")
    if first.get("log"):
        ax.set_xscale("log")
    ax.set_xlabel("1 + " + first["column"] if first.get("log") else first["column"])
    ax.set_ylabel(_label(said))
    if first.get("class"):
        ax.legend(fontsize="small")
    if _level(first) and not _banded(first):
        ax.set_title("noise hides a knot: no confidence intervals", fontsize="small")
    elif _level(first):
        ax.set_title(f"band: {100 * _level(first):.4g}% confidence intervals", fontsize="small")
    elif _banded(first):
        ax.set_title("band: privacy noise only", fontsize="small")


def _level(curve: Mapping[str, Any]) -> float:
    return curve.get("confidence_level", 0)


def _banded(curve: Mapping[str, Any]) -> bool:
    return any(p["low"] is not None for p in curve["points"])


def _surface(ax: Any, said: Mapping[str, Any], surface: Mapping[str, Any]) -> None:
    effect = surface["effect"]
    most = max(max(abs(v) for v in row) for row in effect) or 1.0
    ax.imshow(effect, cmap="PuOr", vmin=-most, vmax=most, aspect="auto")
    rows, columns = ([_text(a, v) for v in a.get("levels") or a["knots"]] for a in surface["axes"])
    ax.set_yticks(range(len(rows)), rows)
    ax.set_xticks(range(len(columns)), columns)
    for i, row in enumerate(effect):
        for j, value in enumerate(row):
            thin = surface.get("mass") is not None and surface["thin"][i][j]
            ax.text(j, i, "–" if thin else f"{_shown(said, value):.2g}", ha="center", va="center", fontsize="x-small")
    ax.set_ylabel(surface["axes"][0]["column"])
    ax.set_xlabel(surface["axes"][1]["column"])
    ax.set_title(", ".join(filter(None, [f"interaction ({_label(said)})", surface.get("class")])), fontsize="small")


def _text(axis: Mapping[str, Any], value: Any) -> str:
    if isinstance(value, str):
        return value.removeprefix(axis["column"] + "=")
    if axis.get("date"):
        return str(_place({"date": True}, value))[:10]
    return f"{value:.3g}"
