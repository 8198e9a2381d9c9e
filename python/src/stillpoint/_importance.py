"""How much each column moves the score, from the released coefficients and public facts alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

YEAR = 365.2425  # days


def importances(
    coefficients: Mapping[str, Any], columns: Sequence[str], described: Mapping[str, Any]
) -> tuple[list[float], list[float]]:
    """The importance of each column and the standard deviation of its privacy noise, both divided by the sum of
    all importances.

    The importance is the largest difference that the column makes to the score between two rows within its public
    bounds, levels or knots; for several classes it is the mean over the classes. A missing cell and
    the level other do not count. The standard deviation is that of the noise in the difference of
    two released effects: the largest and the smallest one of the column. It is NaN where the fit
    states no noise.
    """
    terms = coefficients["terms"]
    classes = list(dict.fromkeys(t.get("class") for t in terms)) or [None]
    found, noise = [], []
    for column in columns:
        total, weights = 0.0, {}
        for of in classes:
            own = {i: t for i, t in enumerate(terms) if t["column"] == column and t.get("class") == of}
            own = {i: t for i, t in own.items() if t["term"] not in (f"{column}=missing", f"{column}=other")}
            value, parts = _difference(own, described.get(column, {}))
            total += value / len(classes)
            weights.update({i: w / len(classes) for i, w in parts.items()})
        found.append(total)
        noise.append(_deviation(coefficients, weights))
    whole = sum(found) or 1.0
    return [v / whole for v in found], [v / whole for v in noise]


def _difference(own: Mapping[int, Mapping[str, Any]], facts: Mapping[str, Any]) -> tuple[float, dict[int, float]]:
    """The largest difference of the score between two levels, knots or bounds of a column, and the weights of
    its terms in this difference."""
    places = {i: t["value"] for i, t in own.items() if t.get("value") is not None}
    if not places:
        return 0.0, {}
    first = own[next(iter(places))]
    if not first.get("reference"):
        span = _span(facts)
        return abs(first["value"]) * span, {next(iter(places)): span}
    high, low = max(places, key=places.__getitem__), min(places, key=places.__getitem__)
    weights = {}
    if places[high] > 0:
        weights[high] = 1.0
    if places[low] < 0:
        weights[low] = -1.0
    return max(places[high], 0.0) - min(places[low], 0.0), weights


def _span(facts: Mapping[str, Any]) -> float:
    """The width of a column's bounds in the unit of its slope: years, doublings of 1+x, or the column's own."""
    if "date" in facts:
        low, high = (date.fromisoformat(d).toordinal() for d in facts["date"])
        return (high - low) / YEAR
    low, high = facts["number"]
    if facts.get("transform") == "log1p":
        return (math.log1p(high) - math.log1p(low)) / math.log(2)
    return float(high - low)


def _deviation(coefficients: Mapping[str, Any], weights: Mapping[int, float]) -> float:
    """The standard deviation of the noise in a weighted sum of terms, or a bound of it; NaN if it is not stated."""
    covariance = coefficients.get("covariance")
    terms = [coefficients["terms"][i] for i in weights]
    if any(t.get("noise_sd") is None or t.get("state") in ("not arrived", "absent") for t in terms) or coefficients["noise"] == "not stated":
        return math.nan
    if covariance is not None and coefficients["noise"] == "estimated":
        return math.sqrt(max(sum(v * w * covariance[i][j] for i, v in weights.items() for j, w in weights.items()), 0.0))
    return sum(abs(w) * coefficients["terms"][i]["noise_sd"] for i, w in weights.items())
