"""The checks of an estimator before it reads a row: of types, arguments and steps that learn from
rows.

A check looks at shapes, names, types and arguments alone, which count as public. No check looks at
a cell, since an error about a cell would reveal something about a person.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import StackingClassifier, StackingRegressor, VotingClassifier
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import LabelEncoder, OneHotEncoder, OrdinalEncoder
from sklearn.utils import get_tags

from stillpoint._cells import text
from stillpoint._command import ConfigurationError

# Arguments of other estimators, and why there is none here.
REFUSED = {
    "random_state": "noise is drawn from secret random bits: with a known seed anybody could take it off again",
    "class_weight": "weights that follow from how often a class is there would be learned from rows: give public"
    " weights in a configuration (model.weights) to stillpoint.fit",
    "max_iter": "how many steps a budget pays for is planned; train={'steps': 20} states them",
    "sample_weight": "a row's weight decides how much the row may move the model, so the weights need a public"
    " bound: weight='w' names a column of X with weights in [0, 1]",
}


def refuse_arguments(name: str, given: dict[str, Any]) -> None:
    """Refuses arguments that estimators of other libraries have, and that no estimator here can
    have."""
    for argument in given:
        why = REFUSED.get(argument)
        if why is None:
            raise TypeError(f"{name} got an unexpected keyword argument {argument!r}")
        raise TypeError(f"{name} has no {argument}: {why}")


def refuse_columns(columns: list[str], described: set[str], ignored: set[str]) -> None:
    """Refuses columns of X about which no argument states a fact, and columns that share a name.

    An error names a column by its place, since in a file without a header the names are a record.
    """
    refuse_twice(columns)
    unknown = [i for i, c in enumerate(columns) if c not in described and c not in ignored]
    if unknown:
        rule = "must be in bounds, categories or dates by public facts, or in ignore ('others' leaves out all that are in none)"
        raise _configuration(f"nothing is stated of {len(unknown)} of the {len(columns)} columns of X, at {_places(unknown)}", "ignore", rule)


def refuse_twice(columns: list[str]) -> None:
    """Refuses columns that share a name."""
    twice = [i for i, c in enumerate(columns) if c in columns[:i]]
    if twice:
        raise _configuration(f"X has columns of the same name: at {_places(twice)}", "X", "must have one name a column")


def _places(places: list[int]) -> str:
    some = ", ".join(map(str, places[:10])) + (", ..." if len(places) > 10 else "")
    return f"place{'s' if len(places) > 1 else ''} {some} (from 0)"


def _configuration(message: str, field: str, rule: str) -> ConfigurationError:
    return ConfigurationError(f"{message}: {rule}", code="configuration", field=field, rule=rule)


def type_of(column: Any) -> str:
    """The kind of a column's type: number, complex number, truth, text, time or duration; empty for
    types that can hold any value.

    The type alone is looked at, never a cell.
    """
    kind = getattr(column, "dtype", None)
    if kind is None:
        kind = getattr(column, "type", None)  # pyarrow
    if kind is None:
        return ""
    if isinstance(kind, np.dtype):
        kinds = {"b": "truth", "i": "number", "u": "number", "f": "number", "c": "complex number", "U": "text", "S": "text"}
        return {**kinds, "M": "time", "m": "duration"}.get(kind.kind, "")
    categories = getattr(kind, "categories", None)
    if type(kind).__name__ == "CategoricalDtype" and categories is not None:  # pandas
        return type_of(categories)
    name = str(kind).lower().removeprefix("dictionary<values=").partition(",")[0]  # pyarrow's categories
    if name.startswith(("categorical", "enum")):  # polars
        return "text"
    if name in ("str", "string", "large_string", "utf8") or name.startswith(("string[", "string_view")):
        return "text"
    if name in ("bool", "boolean"):
        return "truth"
    if name.startswith("duration"):
        return "duration"
    if name.startswith(("date", "time", "timestamp", "period")):
        return "time"
    if name.startswith(("int", "uint", "float", "double", "halffloat")):
        return "number"
    return ""


def refuse_targets(y: Any, classes: Sequence[Any] | None) -> None:
    """Refuses targets of a type that no class has. For a regressor it refuses targets of times.

    Otherwise the fit would be charged and learn from none of the targets.
    """
    kind = type_of(y)
    if classes is None:
        if kind in ("time", "duration"):
            rule = "must be numbers: give the days or seconds since a public date"
            raise _configuration("y is of a type of times", "y", rule)
        return
    texts = all(isinstance(c, str) for c in classes)
    numbers = all(isinstance(c, (bool, int, float, np.number, np.bool_)) for c in classes)
    if texts and kind in ("number", "truth", "time", "duration"):
        rule = "must be of the same type as classes: no target of this type is one of them"
        raise _configuration(f"classes are texts and y is of a type of {kind}s", "classes", rule)
    if numbers and kind in ("text", "time", "duration"):
        rule = "must be of the same type as classes: no target of this type is one of them"
        raise _configuration(f"classes are numbers and y is of a type of {kind}s", "classes", rule)


def refuse_lists(lists: dict[str, Any]) -> None:
    """Refuses values of classes and categories that are not a list. A text would be taken for a list of its
    letters, and the order of a set differs between processes."""
    for field, values in lists.items():
        if isinstance(values, (str, bytes, set, frozenset)) or not hasattr(values, "__iter__"):
            of = "a list of all public values in a fixed order"
            raise _configuration(f"{field} is of type {type(values).__name__}", field, f"must be {of}, as [\"no\", \"yes\"]")


def refuse_cells(kinds: dict[str, str], schema: dict[str, Any]) -> None:
    """Refuses a column if no cell of its type can be read as the arguments state.

    Otherwise every cell would count as missing or other, and the fit would be charged. kinds has the type of
    each column, as type_of names it. schema has the configuration's facts about each column.
    """
    for place, (name, facts) in enumerate(schema.items()):
        kind, levels = kinds[name], facts.get("category")
        rule = ""
        if kind == "complex number":
            rule = "must be of real numbers or of texts"
        elif "number" in facts and kind == "duration":
            rule = "must be of numbers: give the days or seconds"
        elif "number" in facts and kind == "time":
            rule = "must be in dates with its first and last date, not in bounds"
        elif "date" in facts and kind in ("number", "truth", "duration"):
            rule = "must be of times or of ISO texts to be in dates"
        elif levels is not None and kind == "truth" and not {"true", "false"} & set(levels):
            rule = "must have the categories True and False, or be made texts"
        elif levels is not None and kind == "number" and not any(map(_of_a_number, levels)):
            rule = "must have categories that are numbers, or be made texts"
        if rule:
            raise _configuration(f"the described column at place {place} (from 0) is of a type of {kind}s", "X", rule)


def _of_a_number(level: str) -> bool:
    """Whether a level is the text of a number, as cells of numbers are written: "1" is such a text, and "01" is
    not."""
    try:
        return text(float(level)) == level or text(int(level)) == level
    except ValueError:
        return False


def refuse_what_was_fitted(public: Sequence[str]) -> None:
    """Raises an error if an earlier step of a Pipeline learned from the rows.

    The model would contain values that such a step learned (a mean, a largest value), and no budget paid for
    them. The same holds for the transformer of a target. scikit-learn does not tell an estimator that a
    Pipeline calls it, so this function looks for one among the callers.
    """
    frame = sys._getframe(1)
    while frame is not None:
        caller = frame.f_locals.get("self")
        steps: Sequence[tuple[str, Any]] = ()
        if isinstance(caller, Pipeline):
            steps = caller.steps[:-1]
        elif isinstance(caller, TransformedTargetRegressor):
            steps = [("transformer", caller.transformer_)]
        elif isinstance(caller, (StackingClassifier, StackingRegressor)) and "final_estimator" not in public:
            last = caller.final_estimator
            if last is None or not type(last).__module__.startswith("stillpoint."):
                raise ConfigurationError(
                    "final_estimator: learns from the rows without being charged for: give it a private estimator, or"
                    " declare it with public_steps=['final_estimator'] if its predictions stay with the rows",
                    code="configuration",
                    field="public_steps",
                    rule="must name every step that learns",
                )
        for name, step in steps:
            if name in public:
                continue
            for inner, why in _learns(step, ""):
                raise ConfigurationError(
                    f"step {name!r}{inner} before it {why}: give bounds and log1p to this estimator instead, or declare"
                    f" it with public_steps=[{name!r}] if it was fitted on public data only",
                    code="configuration",
                    field="public_steps",
                    rule="must name every step that learns",
                )
        frame = frame.f_back


def encoded(y: Any, classes: Sequence[Any]) -> list[int] | None:
    """The number by which a caller encoded each class, if a caller did so.

    VotingClassifier and StackingClassifier sort the classes, and pass their numbers to the estimators in place
    of the classes. An estimator is not told so, so this function looks for one of the two among the callers. A
    class that no target of the caller has comes after the others.
    """
    if type_of(y) != "number" or not all(isinstance(c, str) for c in classes):
        return None
    frame = sys._getframe(1)
    while frame is not None:
        caller = frame.f_locals.get("self")
        coder = None
        if isinstance(caller, VotingClassifier):
            coder = getattr(caller, "le_", None)
        elif isinstance(caller, StackingClassifier):
            coder = getattr(caller, "_label_encoder", None)
        if isinstance(coder, LabelEncoder):
            known = coder.classes_.tolist()
            order = [*known, *(c for c in classes if c not in known)]
            return [order.index(c) for c in classes] if len(order) == len(classes) else None
        frame = frame.f_back
    return None


FITTED = "was fitted on the rows, which nobody charged for"


def _learns(step: Any, inner: str) -> Iterator[tuple[str, str]]:
    """Each part of a Pipeline's step that learns from rows, with the reason."""
    if step is None or isinstance(step, str):  # passthrough, drop
        return
    if isinstance(step, ColumnTransformer):
        for name, part, _ in step.transformers:
            yield from _learns(part, f"{inner}, part {name!r},")
        yield from _learns(step.remainder, f"{inner}, the remainder,")
        if step.sparse_threshold > 0 and any(_sparse(part) for _, part, _ in step.transformers):
            yield inner, "makes sparse or dense tables by what the cells hold (sparse_output=False keeps it dense)"
    elif isinstance(step, FeatureUnion):
        for name, part in step.transformer_list:
            yield from _learns(part, f"{inner}, part {name!r},")
    elif isinstance(step, Pipeline):
        for name, part in step.steps:
            yield from _learns(part, f"{inner}, step {name!r},")
    elif isinstance(step, (OneHotEncoder, OrdinalEncoder)):
        yield from ((inner, why) for why in _encodes(step))
    elif get_tags(step).requires_fit:
        yield inner, FITTED


def _encodes(encoder: OneHotEncoder | OrdinalEncoder) -> Iterator[str]:
    """The reasons why an encoder learns from rows. There is none if all its categories are stated."""
    if isinstance(encoder.categories, str):  # auto
        yield FITTED + " (state its categories)"
    elif encoder.handle_unknown == "error":
        yield "ends with an error that quotes any other value (handle_unknown='ignore', or 'use_encoded_value', does not)"
    elif encoder.min_frequency is not None or encoder.max_categories is not None:
        yield FITTED + " (min_frequency and max_categories count them)"


def _sparse(step: Any) -> bool:
    if isinstance(step, Pipeline):
        return any(_sparse(part) for _, part in step.steps)
    if isinstance(step, FeatureUnion):
        return any(_sparse(part) for _, part in step.transformer_list)
    return isinstance(step, OneHotEncoder) and step.sparse_output
