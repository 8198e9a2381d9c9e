"""The summary of a fitted model as a table for people, and differences between its terms."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import Any

WIDTH = 78


@dataclass(frozen=True)
class Contrast:
    """A weighted sum of coefficients, in the units of the coefficients.

    ``noise_sd`` is the standard deviation of privacy noise in ``value``. If it is estimated, it includes the
    expected distance to the fit without privacy that the steps left. ``noise`` says how the noise is known:
    ``estimated`` from the covariance of the terms, ``part of the way`` (estimated, and the distance that the
    steps left is not small beside the noise) or ``bounded`` (by the sum of the terms' bounds). With ``not
    stated`` and ``not arrived`` ``noise_sd`` is None. ``meaning`` is the value in words: the factor on the odds
    or on the rate, or how much higher the prediction is, in the target's units.

    After a fit with ``inference`` it has a confidence interval: ``low``, ``high``,
    ``standard_error`` and ``privacy_share``. These are None if no interval is stated; ``state``
    then says so, and ``reason`` gives the reason. ``formula`` is the formula to which the interval
    belongs.
    """

    value: float
    noise_sd: float | None
    noise: str
    meaning: str = ""
    low: float | None = None
    high: float | None = None
    level: float | None = None
    standard_error: float | None = None
    privacy_share: float | None = None
    state: str = ""
    reason: str = ""
    formula: str = ""


def contrast_text(weights: Mapping[str, float]) -> str:
    """A weighted sum of terms in the form that the command reads. The space at its beginning keeps a sum that
    starts with a minus from being taken for a flag."""
    return " " + " + ".join(f"{float(weight)!r} {name}" for name, weight in weights.items())


def with_interval(c: Contrast, said: Mapping[str, Any]) -> Contrast:
    """A contrast with the interval that the command prints."""
    kept = {k: said.get(k) for k in ("low", "high", "standard_error", "privacy_share") if said["state"] == "reported"}
    words = {k: said.get(k, "") for k in ("state", "reason", "formula")}
    return replace(c, value=said.get("estimate", math.nan), meaning=said["meaning"], level=said["level"], **kept, **words)


def words(value: float, unit: str) -> str:
    """A sentence that says what a difference of value in the unit of the coefficients means."""
    factor = f"{math.exp(value):.4g}" if value < 700 else "inf"
    if unit.startswith("log-odds of "):
        return f"the odds of {unit[len('log-odds of ') :]} are multiplied by {factor} (odds ratio)"
    if unit.startswith("the logarithm of "):
        return f"{unit[len('the logarithm of ') :]} is multiplied by {factor} (rate ratio)"
    if unit.startswith("units of "):
        return f"{unit[len('units of ') :]} is predicted {value:.4g} higher"
    return f"{value:.4g} higher in {unit}" if unit else ""


def contrast(coefficients: Mapping[str, Any], weights: Mapping[str, float], of: str | None) -> Contrast:
    """The weighted sum of the coefficients whose terms weights names. A reference level has the coefficient 0,
    without noise.

    If each class has coefficients of its own, ``of`` names the class. Without ``of`` each name begins with a
    class, such as "bus: age".
    """
    terms = coefficients["terms"]
    classes = _classes(coefficients)
    if classes and of is not None and of not in classes:
        raise ValueError(f"class_ = {of!r}: must be one of {classes}")
    if of is not None and not classes:
        raise ValueError("class_: must not be given: the model has one coefficient for each term")
    each = bool(classes) and of is None
    places = {f"{t['class']}: {t['term']}" if each else t["term"]: i for i, t in enumerate(terms) if of is None or t["class"] == of}
    references = {f"{c}: {_base(coefficients, t)}" if each else _base(coefficients, t)
        for t in terms if t.get("reference") for c in (classes if each else [""])}
    used: list[tuple[int, float]] = []
    for name, weight in weights.items():
        if name in places:
            used.append((places[name], float(weight)))
        elif name not in references:
            raise ValueError(f"term {name!r}: must be one of {[*places, *sorted(references)]}")
    if any(terms[i]["value"] is None for i, _ in used):  # a term that is not in the formula of a fit with intervals
        return Contrast(math.nan, None, "absent")
    value = sum(w * terms[i]["value"] for i, w in used)
    meaning = words(value, coefficients.get("unit", ""))
    covariance = coefficients.get("covariance")
    for state in ("not arrived", "not stated"):
        if any(terms[i].get("state") == state for i, _ in used):
            return Contrast(value, None, state, meaning)
    if covariance is not None and coefficients["noise"] == "estimated":
        square = sum(v * w * covariance[i][j] for i, v in used for j, w in used)
        part = any(terms[i].get("state") == "part of the way" for i, _ in used)
        return Contrast(value, math.sqrt(max(square, 0.0)), "part of the way" if part else coefficients["noise"], meaning)
    bounds = [abs(w) * terms[i]["noise_sd"] for i, w in used if terms[i]["noise_sd"] is not None]
    known = coefficients["noise"] != "not stated" and len(bounds) == len(used)
    return Contrast(value, sum(bounds) if known else None, coefficients["noise"], meaning)


def _classes(coefficients: Mapping[str, Any]) -> list[str]:
    """The classes that have coefficients of their own."""
    return list(dict.fromkeys(t["class"] for t in coefficients["terms"] if t.get("class")))


def _base(coefficients: Mapping[str, Any], t: Mapping[str, Any]) -> str:
    """The reference level alone. A term's own text on its reference also names the dropped levels that count as
    it."""
    level = coefficients.get("references", {}).get(t["column"])
    return t["reference"] if level is None else f"{t['column']}={level}"


def pairs(coefficients: Mapping[str, Any], column: str, reference: str) -> dict[str, dict[str, float]]:
    """The weights of the differences of all levels of a category from the level reference, under the term of
    each level."""
    own = [t for t in coefficients["terms"] if t["column"] == column and t.get("reference")]
    if not own:
        raise ValueError(f"column {column!r}: must be one of categories with levels: {sorted(coefficients['references'])}")
    base = _base(coefficients, own[0])
    names = [base, *dict.fromkeys(t["term"] for t in own)]
    against = f"{column}={reference}" if reference else base
    if against not in names:
        raise ValueError(f"reference = {reference!r}: must be a level of {column!r}: {[n[len(column) + 1 :] for n in names]}")
    return {n: {n: 1, against: -1} for n in names if n != against}


def levels(coefficients: Mapping[str, Any], column: str, reference: str, of: str | None) -> dict[str, Contrast]:
    """The difference of every level of a category from the level reference."""
    if of is None and _classes(coefficients):
        raise ValueError(f"class_ = None: must be one of {_classes(coefficients)}")
    return {n: contrast(coefficients, weights, of) for n, weights in pairs(coefficients, column, reference).items()}


@dataclass(frozen=True)
class Column:
    """A column of the table of terms: its title, and the function that makes the text of its cell for a
    term."""

    title: str
    text: Callable[[Mapping[str, Any]], str]


class Summary:
    """A summary of a fit, in words and a table. ``print`` shows it as text, and a notebook shows it as HTML.

    ``facts`` are pairs of a title and a text. ``columns`` and ``rows`` are the table of terms, and ``notes``
    explain the table.
    """

    def __init__(self, title: str, facts: list[tuple[str, str]], columns: list[str], rows: list[list[str]], notes: list[str]):
        self.title, self.facts, self.columns, self.rows, self.notes = title, facts, columns, rows, notes

    def __str__(self) -> str:
        table = [self.columns, *self.rows]
        widths = [max(len(row[j]) for row in table) for j in range(len(self.columns))]
        lines = []
        for row in table:
            # The last column is text as the first one is.
            cells = [row[0].ljust(widths[0]), *(t.rjust(w) for t, w in zip(row[1:-1], widths[1:-1])), row[-1]]
            lines.append("  ".join(cells).rstrip())
        width = max(WIDTH, *map(len, lines))
        keys = max(len(k) for k, _ in self.facts) + 1
        out = [self.title.center(width).rstrip(), "=" * width]
        out += [f"{k + ':':{keys}} {v}" for k, v in self.facts]
        out += ["=" * width, lines[0], "-" * width, *lines[1:], "=" * width]
        for note in self.notes:
            out += _wrapped(note, width)
        return "\n".join(out)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        def line(cells: list[str], kind: str) -> str:
            return "<tr>" + "".join(f"<{kind}>{escape(c)}</{kind}>" for c in cells) + "</tr>"

        facts = "".join(line([k, v], "td") for k, v in self.facts)
        rows = "".join(line(row, "td") for row in self.rows)
        notes = "".join(f"<p>{escape(n)}</p>" for n in self.notes)
        head = f"<caption>{escape(self.title)}</caption>"
        return f"<table>{head}{facts}</table><table>{line(self.columns, 'th')}{rows}</table>{notes}"


def _wrapped(text: str, width: int) -> list[str]:
    lines, at = [], ""
    for word in text.split():
        if at and len(at) + 1 + len(word) > width:
            lines.append(at)
            at = word
        else:
            at = f"{at} {word}" if at else word
    return [*lines, at]


VERDICTS = {
    "better": "better than the best constant prediction",
    "worse": "worse than the best constant prediction",
    "unclear": "not shown to be better than the best constant prediction",
}
NOT_COMPARED = "not compared with a constant prediction"


def summarize(
    kind: str,
    outcome: str,
    report: Mapping[str, Any],
    coefficients: Mapping[str, Any],
    spent: Mapping[str, Any],
    effects: Mapping[str, Any] | None = None,
) -> Summary:
    """The summary of a fit. Its table has confidence intervals if effects is given, and otherwise the privacy
    noise of the terms."""
    terms = coefficients["terms"]
    facts = [
        ("Outcome", outcome),
        ("Protects", report["protects"]),
        ("Guarantee", f"({report['epsilon']:g}, {report['delta']:g})-differentially private under {report['relation']}"),
        ("Rows", f"{report['records']} (public)"),
        ("Algorithm", f"{report['algorithm']}: {report['steps']} of {report['of']} steps, {report['releases']} noisy answers"),
        ("Model", report.get("comparison") or VERDICTS.get(report.get("verdict", ""), NOT_COMPARED)),
        ("All fits", f"epsilon {spent['epsilon']:.4g} at delta {spent['delta']:g} for {spent['fits']} of {report['table']}"),
    ]
    if effects is not None:
        return _with_intervals(kind, facts, effects)
    columns = [Column("", lambda t: t["term"])]
    if any(t.get("class") for t in terms):
        columns.append(Column("class", lambda t: t["class"]))
    columns += [
        Column("coef", lambda t: "-" if t["value"] is None else f"{t['value']:.4f}" if abs(t["value"]) >= 1e-3 or t["value"] == 0 else f"{t['value']:.2e}"),
        Column("noise sd" if coefficients["noise"] != "bounded" else "noise sd at most", lambda t: _deviation(t)),
    ]
    if coefficients["unit"].startswith(("log-odds", "the logarithm")):
        columns.append(Column("exp(coef)", lambda t: "-" if t["value"] is None else f"{math.exp(t['value']):.4g}" if t["value"] < 700 else "inf"))
    columns.append(Column("per", lambda t: t.get("per", "")))
    notes = [f"coef: {coefficients['unit']}.", coefficients["meaning"]]
    if coefficients.get("not_interpretable"):
        notes.append(f"Hashed columns have no coefficients: {', '.join(coefficients['not_interpretable'])}.")
    rows = [[c.text(t) for c in columns] for t in terms]
    return Summary(kind, facts, [c.title for c in columns], rows, notes)


def _with_intervals(kind: str, facts: list[tuple[str, str]], effects: Mapping[str, Any]) -> Summary:
    """The summary of a fit with ``inference``, whose table has confidence intervals."""

    def number(value: float | None) -> str:
        return "-" if value is None else f"{value:.4g}"

    def share(t: Mapping[str, Any]) -> str:
        return f"{t['privacy_share']:.0%}" if t.get("privacy_share") is not None else "-"

    def ratio(t: Mapping[str, Any], key: str) -> str:
        return number((t.get("odds_ratio") or t.get("rate_ratio") or {}).get(key))

    columns = [
        Column("", lambda t: t["term"]),
        Column("coef", lambda t: number(t.get("estimate") if t["state"] == "reported" else None)),
        Column("std err", lambda t: number(t.get("standard_error"))),
        Column(f"[{(1 - effects['level']) / 2:.4g}", lambda t: number(t.get("low"))),
        Column(f"{(1 + effects['level']) / 2:.4g}]", lambda t: number(t.get("high"))),
        Column("privacy", share),
    ]
    terms = effects["coefficients"]
    if any(t.get("odds_ratio") for t in terms):
        columns.append(Column("odds ratio", lambda t: ratio(t, "estimate")))
    if any(t.get("rate_ratio") for t in terms):
        columns.append(Column("rate ratio", lambda t: ratio(t, "estimate")))
    columns.append(Column("per", lambda t: _against(t)))
    facts = [*facts, ("Formula", effects["formula"])]
    notes = [f"coef: {effects['unit']}. privacy: the share of an interval's width that comes from the privacy noise.", effects["meaning"]]
    notes += [f"{r['state'].capitalize()} ({', '.join(r['terms'])}): {r['text']}." for r in effects.get("reasons") or []]
    if effects.get("changes"):
        notes.append("Changed from what was asked for: " + "; ".join(effects["changes"]) + ".")
    return Summary(kind, facts, [c.title for c in columns], [[c.text(t) for c in columns] for t in terms], notes)


def _against(t: Mapping[str, Any]) -> str:
    """The effect that a term with an interval describes, or the reason why it has no interval."""
    words = f"against {t['reference']}" if t.get("reference") else ("" if t.get("intercept") else "one unit more")
    if t["state"] == "reported" and t.get("reason"):
        words = f"{words}, {t['reason']}".removeprefix(", ")
    if t["state"] != "reported":
        words = f"{words} ({t['state']})".strip()
    return words


def _deviation(t: Mapping[str, Any]) -> str:
    if t["noise_sd"] is None:
        return "not arrived" if t.get("state") == "not arrived" else "-"
    if t.get("steps_sd") is None:
        return f"{t['noise_sd']:.2g}"
    return f"{t['noise_sd']:.2g} (noise {t['steps_sd']:.2g}, {t['share']:.0%} of the way)"


TIDY = {"term": "term", "reference": "reference", "estimate": "estimate", "standard_error": "std_error", "low": "conf_low",
    "high": "conf_high", "privacy_share": "privacy_share", "state": "state", "reason": "reason"}


def tidy(coefficients: Mapping[str, Any], effects: Mapping[str, Any] | None) -> dict[str, list[Any]]:
    """The terms as columns of a data frame. They have confidence intervals if effects is given, and otherwise
    the privacy noise."""
    if effects is None:
        keys = {"term": "term", "class": "class", "reference": "reference", "value": "estimate", "noise_sd": "noise_sd", "per": "per", "state": "state", "steps_sd": "steps_sd", "share": "share"}
        return {name: [t.get(key) for t in coefficients["terms"]] for key, name in keys.items()}
    terms = effects["coefficients"]
    out = {name: [t.get(key, "" if key == "reason" else None) for t in terms] for key, name in TIDY.items()}
    for name in ("odds_ratio", "rate_ratio"):
        if any(t.get(name) for t in terms):
            for key, end in (("estimate", ""), ("low", "_low"), ("high", "_high")):
                out[name + end] = [(t.get(name) or {}).get(key) for t in terms]
    return out
