"""Reads the columns of a model from the text of a formula.

formulaic parses the text. It makes no matrix and sees no row: a transformation that looks at
rows (a scale, splines with knots at quantiles, the levels of a factor) would put values into the
model that no budget pays for.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stillpoint._command import ConfigurationError


@dataclass
class Parsed:
    """The content of a formula: the outcome, the columns in order, and the facts that it states
    about them."""

    outcome: str
    columns: list[str] = field(default_factory=list)
    categories: dict[str, Sequence[Any]] = field(default_factory=dict)
    stated: set[str] = field(default_factory=set)
    log1p: list[str] = field(default_factory=list)
    interactions: list[tuple[str, str]] = field(default_factory=list)


def refused(rule: str) -> ConfigurationError:
    return ConfigurationError(f"formula: {rule}", code="configuration", field="formula", rule=rule)


def parse(formula: str, described: Sequence[str], names: Mapping[str, Any]) -> Parsed:
    """Reads a formula.

    ``described`` lists the columns with public facts; the sign ``.`` in a formula stands for all of them.
    ``names`` are the caller's variables, one of which may hold the levels in ``C(column, levels)``.
    """
    try:
        import formulaic
        from formulaic.errors import FormulaParsingError
    except ImportError as error:
        raise ImportError("from_formula needs formulaic: pip install 'stillpoint-dp[formula]'") from error
    left, tilde, right = formula.partition("~")
    outcome = left.strip().strip("`")
    if not tilde or not outcome:
        raise refused("must name one outcome before ~, as in 'ill ~ age + region'")
    try:
        whole = formulaic.Formula(f"`{outcome}` ~ {right}", _context={"__formulaic_variables_available__": [*described, outcome]})
        sides, terms = list(whole.lhs), [(str(term), list(term.factors)) for term in whole.rhs]
    except (FormulaParsingError, AttributeError, TypeError) as error:
        raise refused("must be one outcome, ~, and a sum of columns") from error
    if len(sides) != 1 or any(c in outcome for c in "`()+"):
        raise refused("must name one outcome before ~, a column as it is: give target_bounds or classes instead of a transformation")
    out = Parsed(outcome)
    mains, pairs, intercept = [], [], False
    for term, parts in terms:
        factors = [f.expr for f in parts]
        if factors == ["1"]:
            intercept = True
        elif any(f in ("0", "1") or f.isdigit() for f in factors):
            raise refused(f"{term}: must not scale terms by numbers")
        elif len(factors) == 1:
            mains.append(_factor(parts[0], out, names))
        elif len(factors) == 2:
            pairs.append((term, tuple(_factor(f, out, names) for f in parts)))
        else:
            raise refused(f"{term}: must be an interaction of two columns")
    if not intercept:
        raise refused("must have an intercept: every model has one")
    if not mains:
        raise refused("must name at least one column after ~")
    if outcome in mains:
        raise refused(f"{outcome}: must not stand on both sides of ~")
    for name in mains:
        if name in out.columns:
            raise refused(f"{name}: must stand once: as it is, or under log1p or C")
        out.columns.append(name)
    for text, pair in pairs:
        for name in pair:
            if name not in out.columns:
                raise refused(f"{text}: must have the columns by themselves, too: write * instead of :")
        out.interactions.append(pair)
    return out


def _factor(factor: Any, out: Parsed, names: Mapping[str, Any]) -> str:
    """The column of a factor of the formula. Facts that the formula states about the column are added to
    out."""
    expr = factor.expr
    if factor.eval_method.value == "lookup":
        return expr
    rule = (
        "must be a column, log1p(column) or C(column, levels): a transformation that looks at the rows would not be"
        " charged for, so state bounds instead of scale() and levels instead of a factor's own"
    )
    try:
        call = ast.parse(expr, mode="eval").body
    except SyntaxError:
        call = None
    if not isinstance(call, ast.Call) or not call.args or not isinstance(call.args[0], ast.Name):
        raise refused(f"{expr}: {rule}")
    column = call.args[0].id
    if column not in out.stated and _called(call) in ("log1p", "np.log1p") and len(call.args) == 1 and not call.keywords:
        out.log1p.append(column)
        out.stated.add(column)
        return column
    if _called(call) in ("log1p", "np.log1p") and column in out.log1p:
        return column
    if _called(call) != "C":
        raise refused(f"{expr}: {rule}")
    given = [*call.args[1:], *(k.value for k in call.keywords if k.arg == "levels")]
    if len(given) > 1 or any(k.arg != "levels" for k in call.keywords):
        raise refused(f"{expr}: must be C(column, levels): the first level stated is the reference of the others")
    if not given:  # the levels are those in categories
        return column
    levels = _levels(given[0], names, expr)
    if column in out.categories and list(out.categories[column]) != list(levels):
        raise refused(f"{expr}: must have the same levels wherever it stands")
    out.categories[column] = levels
    return column


def _called(call: ast.Call) -> str:
    return ast.unparse(call.func)


def _levels(node: ast.expr, names: Mapping[str, Any], expr: str) -> Sequence[Any]:
    """The levels, which are written in the formula or held by a variable of the caller."""
    if isinstance(node, ast.Name):
        if node.id not in names:
            raise refused(f"{expr}: {node.id} must be a variable where from_formula is called, or a list")
        value = names[node.id]
    else:
        try:
            value = ast.literal_eval(node)
        except ValueError:
            raise refused(f"{expr}: levels must be a list, or a variable") from None
    # A column of a table is no list of levels: the levels would be learned from it.
    if not isinstance(value, (list, tuple, range)) or not value:
        raise refused(f"{expr}: levels must be a list or tuple of public values, never taken from the rows")
    return list(value)
