"""Estimators for scikit-learn."""

from __future__ import annotations

import csv
import inspect
import io
import json
import math
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from stillpoint import _answers, _checks, _formula, _importance, _score, _summary, _table
from stillpoint._cells import amount, text
from stillpoint._command import ConfigurationError, StillpointError, run
from stillpoint._fit import Fit, _fit, spent, _released
from stillpoint._progress import Progress, Shown


class SpentWarning(UserWarning):
    """Several fits of one table together cost more privacy than each of them alone."""


class NewTableWarning(UserWarning):
    """The folder has no fit of a table with this name yet. If the name is misspelt, the fit's cost is not added
    to that of the other fits of the table."""


@dataclass(frozen=True)
class _Unit:
    """The column of X, or the array beside X, whose equal values make rows one record. Without a unit each row
    is a record."""

    column: str
    rows: int
    persons: Any = None

    def named(self) -> tuple[str, Any] | None:
        """The array of persons with the name of its column; None if the persons are in a column of
        X."""
        return None if self.persons is None else (self.column, self.persons)


EVERY_ROW = _Unit("", 0)


def _count(value: Any) -> bool:
    """Whether a value is a whole number from 1."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= 1


def _shared(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a constructor that _Estimator takes, too. An argument of _Estimator that the constructor
    lacks is None."""
    return {name: given.get(name) for name in inspect.signature(_Estimator.__init__).parameters if name != "self"}


class _Estimator(BaseEstimator):
    """The arguments and methods that classifier and regressor share.

    Bounds, categories and classes are arguments, and come from public knowledge. They are never learned from
    rows.
    """

    def __init__(
        self,
        *,
        epsilon: float,
        delta: float,
        relation: str,
        folder: str | Path,
        table: str,
        bounds: tuple[float, float] | Sequence[tuple[float, float]] | Mapping[str, tuple[float, float]] | None = None,
        categories: Mapping[str, Sequence[Any]] | None = None,
        log1p: Sequence[str] = (),
        dates: Mapping[str, tuple[Any, Any]] | None = None,
        indicators: Sequence[str] = (),
        curves: str | Mapping[str, str | int] | None = None,
        interactions: Sequence[Sequence[str]] = (),
        loss: str,
        regularizer: str | None = None,
        radius: float | None = None,
        family: str = "auto",
        features: str | None = None,
        train: Mapping[str, Any] | None = None,
        inference: float | Mapping[str, Any] | None = None,
        records: int | None = None,
        public_steps: Sequence[str] = (),
        progress: Shown = "auto",
        ignore: str | Sequence[str] = (),
        outcome: str | None = None,
        unit: Mapping[str, Any] | None = None,
        weight: str | None = None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.relation = relation
        self.folder = folder
        self.table = table
        self.bounds = bounds
        self.categories = categories
        self.log1p = log1p
        self.dates = dates
        self.indicators = indicators
        self.curves = curves
        self.interactions = interactions
        self.loss = loss
        self.regularizer = regularizer
        self.radius = radius
        self.family = family
        self.features = features
        self.train = train
        self.inference = inference
        self.records = records
        self.public_steps = public_steps
        self.progress = progress
        self.ignore = ignore
        self.outcome = outcome
        self.unit = unit
        self.weight = weight

    def __init_subclass__(cls, **more: Any):
        super().__init_subclass__(**more)
        # Constructors take arguments of other estimators only to refuse them with the reason.
        own = inspect.signature(cls.__init__)
        kept = [p for n, p in own.parameters.items() if n != "self" and p.kind is not p.VAR_KEYWORD]
        cls.__signature__ = own.replace(parameters=kept)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.non_deterministic = True
        return tags

    # What subclasses say of the target.

    def _loss(self) -> str:
        raise NotImplementedError

    def _target(self) -> dict[str, Any]:
        raise NotImplementedError

    def _of(self) -> Callable[[Any], str]:
        """The function that makes the text of a target."""
        raise NotImplementedError

    @classmethod
    def from_formula(cls, formula: str, **arguments: Any):
        """An estimator of the columns that a formula names: ``"ill ~ age + C(region, levels) + log1p(income)"``.

        The package formulaic reads the text of the formula alone
        (``pip install 'stillpoint-dp[formula]'``). Each column of the formula must be in ``bounds``,
        ``categories`` or ``dates``, which may also describe other columns, as a codebook does.
        ``C(column, levels)`` states the levels of a category, as a list or the name of a variable of
        the caller. The first level is the reference. ``a:b`` and ``a*b`` are interactions. A term
        that would learn from rows is refused.

        ``fit(data)`` takes the outcome from the table. The bounds of a regressor's outcome may be
        among ``bounds``.
        """
        facts = {k: dict(arguments.get(k) or {}) for k in ("bounds", "categories", "dates")}
        described = [c for k in facts.values() for c in k]
        caller = sys._getframe(1)
        outcome = formula.partition("~")[0].strip().strip("`")
        names = {**caller.f_globals, **caller.f_locals}
        parsed = _formula.parse(formula, [c for c in dict.fromkeys(described) if c != outcome], names)
        if issubclass(cls, RegressorMixin) and "target_bounds" not in arguments and parsed.outcome in facts["bounds"]:
            arguments["target_bounds"] = facts["bounds"][parsed.outcome]
        for column, levels in parsed.categories.items():
            if column in facts["categories"] and list(facts["categories"][column]) != list(levels):
                raise _formula.refused(f"{column}: must not have other levels in categories than in the formula")
            facts["categories"][column] = levels
        for column in parsed.columns:
            if not any(column in k for k in facts.values()):
                raise _formula.refused(f"{column}: must be in bounds, categories or dates by public facts, or be C(column, levels)")
        for kind, of in facts.items():
            arguments[kind] = {c: v for c, v in of.items() if c in parsed.columns}
        arguments["log1p"] = [*dict.fromkeys([*arguments.get("log1p", ()), *parsed.log1p])]
        interactions = [*map(list, arguments.get("interactions", ())), *map(list, parsed.interactions)]
        return cls(**{**arguments, "interactions": interactions, "ignore": "others", "outcome": parsed.outcome})

    def fit(self, X: Any, y: Any = None, unit: Any = None, **refused: Any):
        """Fits the model and charges the privacy budget.

        Rows go to the command over a pipe or in memory, and are not written to a disk. A cell of a
        number that cannot be read counts as missing; a cell with an unlisted category counts as
        other. A row whose target cannot be read counts as a record, contributes nothing and raises
        no error.

        Args:
            X: a table of pandas, polars or pyarrow, or an array. The rows of a Dask DataFrame
                stay with Dask's workers (:mod:`stillpoint.dask`).
            y: the targets, one for each row; with ``outcome``, X may hold them. For a Dask
                DataFrame X, y is a Dask Series with the same rows in each partition.
            unit: an array that names the person of each row, if no column of X does. The argument
                ``unit`` of the estimator says how many rows of a person are used.
        """
        _checks.refuse_arguments(f"{type(self).__name__}.fit", refused)
        _checks.refuse_lists(self._lists())
        if y is None and self.outcome is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        _checks.refuse_what_was_fitted(self.public_steps)
        self._encoded = None if self._classes() is None else _checks.encoded(y, self._classes())
        spread = _spread(X)
        X, names = (X, _table.names(X)) if spread else _rows(X)
        if spread and names is None:
            raise TypeError("X: columns: must have names that are texts")
        columns = names or [f"x{i}" for i in range(X.shape[1])]
        targets = self._targets(X, y, columns, spread)
        _checks.refuse_targets(targets, self._classes() if self._encoded is None else self._encoded)
        target = self.outcome or "y"
        while target in columns and target != self.outcome:
            target += "_"
        beside = self._beside(X, unit, [*columns, target], spread, y is None)
        config = self._configuration(None if spread else X.shape[0], columns, target, beside)
        described = config["schema"]["columns"]
        used = list(described)
        kinds = {c: _checks.type_of(X[c] if spread else _table._place(X, columns.index(c))) for c in used}
        _checks.refuse_cells(kinds, described)
        self._known()
        out = _fresh(Path(self.folder))
        file = out / "configuration.yaml"
        words = json.dumps(config, ensure_ascii=False, indent=2, default=_plain)
        file.write_text(words, encoding="utf-8")
        written = [*used, *(c for c in (beside.column, *self._named().values()) if c in columns)]
        places = [columns.index(c) for c in written]
        listed = frozenset([*(self.categories or {}), *([beside.column] if beside.column else ())])
        if spread:
            self._keep(self._over(X, y, places, written, listed, target, file, out))
        else:
            feed = _table.writer(X, places, written, listed, target, targets, self._of(), beside.named())
            self._keep(self._run(file, out, feed))
        self.n_features_in_ = len(columns)
        self.__dict__.pop("feature_names_in_", None)
        if names:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        self._fitted_columns, self._used, self._described = columns, used, described
        self._sum(beside.column)
        return self

    def _run(self, file: Path, out: Path, feed: Any) -> Any:
        return _fit(file, out=out, progress=self.progress, feed=feed)

    def _targets(self, X: Any, y: Any, columns: list[str], spread: bool) -> Any:
        """The column of targets: y, or a column of X. Shapes alone are looked at."""
        if y is None:
            if self.outcome not in columns:
                raise ValueError(f"outcome = {self.outcome!r}: must be a column of X, or y be given")
            return X[self.outcome] if spread else _table._place(X, columns.index(self.outcome))
        if spread:
            if not _spread(y) or getattr(y, "ndim", 0) != 1 or y.npartitions != X.npartitions:
                raise TypeError("y: must be a Dask Series with the partitions of X, or be left out, with outcome the name of a column")
            return y
        if hasattr(y, "tocsr"):
            raise TypeError("Sparse data was passed: y must be dense (y.toarray().ravel() makes it so)")
        targets = _table.column(y)
        if len(targets) != X.shape[0]:
            raise ValueError(f"Found input variables with inconsistent numbers of samples: {[X.shape[0], len(targets)]}")
        return targets

    def _beside(self, X: Any, persons: Any, taken: list[str], spread: bool, inside: bool) -> _Unit:
        """The unit, after a check by the names of columns and by shapes alone. taken has the names of all
        columns of X and, last, of the target."""
        columns = taken[:-1]
        self._check_named(columns)
        if self.unit is None:
            if persons is not None:
                raise ValueError("unit: was given to fit alone: must be given to the estimator, too: unit={'rows': 8}")
            return EVERY_ROW
        given = dict(self.unit) if isinstance(self.unit, Mapping) else {}
        column, rows = given.get("column"), given.get("rows")
        if not given or given.keys() - {"column", "rows"} or not _count(rows):
            raise ValueError(f"unit = {self.unit!r}: must be {{'column': a name, 'rows': how many rows of a unit are used at most}}")
        if spread and (persons is not None or not inside):
            raise TypeError("unit: of a Dask DataFrame unit and outcome must be columns of X, since rows are moved between partitions")
        if persons is None:
            if column not in columns:
                raise ValueError(f"unit.column = {column!r}: must be a column of X, or unit be given to fit")
            return _Unit(column, int(rows))
        if column is None:
            column = "unit"
            while column in taken:
                column += "_"
        if column in taken:
            raise ValueError(f"unit.column = {column!r}: must not be a column of X if unit is given to fit")
        persons = _table.column(persons)
        if len(persons) != X.shape[0]:
            raise ValueError(f"unit: has {len(persons)} entries: must have one for each of the {X.shape[0]} rows")
        return _Unit(column, int(rows), persons)

    def _over(
        self, X: Any, y: Any, places: list[int], used: list[str], listed: frozenset[str], target: str, file: Path, out: Path
    ) -> Fit:
        """Fits a Dask DataFrame, with Dask's current client."""
        from stillpoint import dask

        outcome = list(X.columns).index(self.outcome) if y is None else None
        make = dask._Chosen(places, used, listed, target, outcome, self._of())
        parts = X.to_delayed()
        pairs = list(zip(parts, [None] * len(parts) if y is None else y.to_delayed()))
        return dask._over(pairs, make, file, by_unit=dask._moved(X), out=out, progress=self.progress)

    def _configuration(self, rows: int | None, columns: list[str], target: str, beside: _Unit = EVERY_ROW) -> dict[str, Any]:
        """The content of the configuration's file. rows is None for a table in partitions."""
        if self.relation not in ("replace-one", "add-or-remove"):
            raise ValueError(f"relation = {self.relation!r}: must be replace-one or add-or-remove")
        # Under replace-one a pipe that ends early is found out by the number of rows. That of persons is not counted here.
        counted = self.relation == "replace-one" and rows is not None and not beside.column
        records = rows if counted else self.records
        if records is None and self.relation != "replace-one":
            raise ValueError("records: must be given under add-or-remove: the public number of records")
        model: dict[str, Any] = {"loss": self._loss(), "family": self.family}
        for key in ("regularizer", "radius", "features"):
            if getattr(self, key) is not None:
                model[key] = getattr(self, key)
        privacy = {"epsilon": float(self.epsilon), "delta": float(self.delta), "relation": self.relation}
        if records is not None:
            privacy["records"] = records
        asked = self.inference
        if asked is not None:
            asked = dict(asked) if isinstance(asked, Mapping) else {"level": float(asked)}
        return {
            **({} if rows is None else {"data": "-"}),
            "table": self.table,
            "schema": self._schema(columns, target, beside),
            "model": model,
            "privacy": privacy,
            **({"train": dict(self.train)} if self.train else {}),
            **({} if asked is None else {"inference": asked}),
        }

    def _known(self) -> None:
        """Warns, before anything is charged, if the folder has no fit of a table with this name."""
        folder = Path(self.folder)
        try:
            sums = spent(folder) if folder.is_dir() and any(folder.iterdir()) else []
        except StillpointError:  # a folder without a ledger
            sums = []
        if not any(t["table"] == f"table {self.table}" for t in sums):
            others = f", which has fits of {len(sums)} others" if sums else ""
            warnings.warn(
                f"table {self.table!r} is new in folder {str(folder)!r}{others}: fits of the same people under another"
                " name or in another folder are not summed with it",
                NewTableWarning,
                stacklevel=3,
            )

    def summary(self) -> _summary.Summary:
        """The fit as text: guarantee, cost, quality and a table of the coefficients.

        ``print(model.summary())`` shows it, and a notebook shows it as a table.
        """
        check_is_fitted(self)
        name = f"Private {'regression' if self._classes() is None else 'classification'}, loss {self._loss()}"
        return _summary.summarize(name, self._outcome(), self.report_, self.coefficients_, self.spent_, self.effects_)

    @property
    def feature_importances_(self) -> np.ndarray:
        """The importance of each column of X for the model's scores, as a share of all.

        A column's importance is the largest change of the score when the column varies within its
        public bounds, levels or knots. Importances are divided by their sum. They are computed from
        the released coefficients, so they cost no privacy. They do not show how often two rows
        differ by as much. With ``features`` or ``interactions``, only the columns' own effects count.
        Privacy noise gives a column without effect some importance, too.
        ``feature_importances_noise_`` has the standard deviation of the noise in each share, or NaN
        if the fit states none. After a fit with ``inference``, this deviation includes the sampling
        error.
        """
        return self._importances()[0]

    @property
    def feature_importances_noise_(self) -> np.ndarray:
        """The standard deviation of the privacy noise in each of ``feature_importances_``. The sum by which
        importances are divided counts as known."""
        return self._importances()[1]

    def _importances(self) -> tuple[np.ndarray, np.ndarray]:
        if "coefficients_" not in self.__dict__:
            raise AttributeError("feature_importances_: the estimator is not fitted")
        shares, noise = _importance.importances(self.coefficients_, self._fitted_columns, self._described)
        return np.array(shares), np.array(noise)

    def contrast(self, weights: Mapping[str, float], *, class_: Any = None) -> _summary.Contrast:
        """A weighted sum of coefficients, with its confidence interval or the privacy noise in it.

        After a fit with ``inference`` the result has a confidence interval, from the released
        covariance of the coefficients. After another fit it has the standard deviation of the
        privacy noise alone.

        Args:
            weights: the factor of each term, by the names in ``coefficients_["terms"]``:
                ``{"region=north": 1, "region=south": -1}``, ``{"age": 10}``. The coefficient of a
                reference level is 0. After a fit with ``inference`` a value of a curve, such as ``age@30``, stands
                for its difference from the curve's middle knot.
            class_: the class whose coefficients are summed, if each class has its own. Without it each term is named
                with its class, so that a contrast compares classes: ``{"bus: age": 1, "car: age": -1}``.
        """
        check_is_fitted(self)
        if not isinstance(weights, Mapping):
            raise TypeError(f"weights = {weights!r}: must be a mapping of terms to factors, such as {{'age': 10}}")
        try:
            one = _summary.contrast(self.coefficients_, weights, None if class_ is None else text(class_))
        except ValueError:
            if self.effects_ is None or not any("@" in name for name in weights):
                raise
            one = _summary.Contrast(math.nan, None, "not stated")  # the command knows the values of curves
        return self._with_intervals([one], [weights], class_)[0]

    def contrasts(self, column: str, *, reference: Any = None, class_: Any = None) -> dict[str, _summary.Contrast]:
        """The difference of every level of a category from the level ``reference``, which is the first listed
        level by default."""
        check_is_fitted(self)
        base = "" if reference is None else text(reference)
        found = _summary.levels(self.coefficients_, column, base, None if class_ is None else text(class_))
        weights = _summary.pairs(self.coefficients_, column, base)
        return dict(zip(found, self._with_intervals(list(found.values()), list(weights.values()), class_)))

    def means(self, population: Any, of: Sequence[str] = ()) -> dict[str, Any]:
        """Adjusted means and average marginal effects over a public population, without a cost of privacy.

        For each level of a category, the answer is the mean prediction if every row of the
        population had that level, and the difference from the same mean for the first level. For
        each number, the answer is the mean change of the prediction for one unit more. After a fit
        with ``inference`` each answer has a confidence interval for the sampling error and the
        privacy noise together.

        Args:
            population: a PUBLIC table with the columns of the fit. Never give the private table.
            of: the columns whose means or effects are computed; all by default.

        Returns:
            the output of ``stillpoint means --json``: ``of`` (the predicted quantity), ``rows``, ``mean``, and
            ``answers``, a list with ``column``, ``level``, ``against``, ``estimate``, ``low`` and ``high``.
            A column or level that the formula of the fit lacks has the ``estimate`` None and a ``reason``.
            Beside an interval, ``reason`` names columns outside the formula whose effects the estimate contains, too.
        """
        X, places = self._read(population)
        feed = _table.writer(X, places, self._used, self.categories or {}, "", np.full(X.shape[0], "x"))
        return _answers.of_bytes(self._model, "means", "--over", "-", *(f"--of={c}" for c in of), feed=feed)

    def tests(self) -> list[dict[str, Any]]:
        """The joint Wald test of each column, of a fit with ``inference``, without a cost of privacy.

        A column's hypothesis is that all its coefficients are 0: all levels of a category, or the line and all knots of a curve.

        Returns:
            what :func:`stillpoint.tests` returns.
        """
        check_is_fitted(self)
        return _answers.of_bytes(self._model, "coefficients", "--tests")

    def tidy(self) -> Any:
        """The terms as a pandas data frame with a row for each.

        After a fit with ``inference`` the columns are term, reference, estimate, std_error, conf_low,
        conf_high, privacy_share, state and reason (why a term has no interval), and odds_ratio or
        rate_ratio with its interval. After another fit they are term, class, reference, estimate,
        noise_sd and per. The frame's ``attrs`` have the ``formula`` of the intervals, their ``level``
        and the ``unit``.
        """
        check_is_fitted(self)
        import pandas

        frame = pandas.DataFrame(_summary.tidy(self.coefficients_, self.effects_))
        facts = self.coefficients_ if self.effects_ is None else self.effects_
        frame.attrs = {k: facts[k] for k in ("formula", "level", "unit") if k in facts}
        return frame

    def _with_intervals(
        self, found: list[_summary.Contrast], weights: list[Mapping[str, float]], class_: Any = None
    ) -> list[_summary.Contrast]:
        """The contrasts, with their confidence intervals if the fit has intervals."""
        if self.effects_ is None:
            return found
        if class_ is not None:
            weights = [{f"{text(class_)}: {name}": weight for name, weight in of.items()} for of in weights]
        said = _answers.of_bytes(self._model, "contrast", *map(_summary.contrast_text, weights))
        return [_summary.with_interval(c, one) for c, one in zip(found, said["contrasts"])]

    def _classes(self) -> Sequence[Any] | None:
        """The classes; None for a regressor."""
        return None

    def _lists(self) -> dict[str, Any]:
        """The arguments that list public values. The keys are the names by which errors call them."""
        classes = {"classes": self.classes} if isinstance(self, ClassifierMixin) else {}
        return {**classes, **{f"categories[{c!r}]": v for c, v in (self.categories or {}).items()}}

    def _outcome(self) -> str:
        """The name of the predicted quantity."""
        return self.coefficients_["target"]

    def _exposed(self) -> dict[str, tuple[str, Any]]:
        """The name of the column of exposures or offsets, with the word exposure or offset and the bounds. It
        is empty without such a column."""
        given = {use: getattr(self, use, None) for use in ("exposure", "offset")}
        for use, of in given.items():
            if of is not None and not (isinstance(of, Mapping) and len(of) == 1 and all(np.shape(b) == (2,) for b in of.values())):
                raise ValueError(f"{use} = {of!r}: must be {{a column of X: (its public lower bound, its upper one)}}")
        if None not in given.values():
            raise ValueError("offset: must not be given beside an exposure")
        return {str(name): (use, bounds) for use, of in given.items() if of for name, bounds in of.items()}

    def _named(self) -> dict[str, Any]:
        """The columns of X that belong to the target, each under its use (such as weight or exposure). A use
        without a column has None."""
        return {"weight": self.weight, **{use: name for name, (use, _) in self._exposed().items()}}

    def _check_named(self, columns: list[str]) -> None:
        for use, name in self._named().items():
            if name is not None and name not in columns:
                raise ValueError(f"{use} = {name!r}: must be a column of X")

    def _schema(self, columns: list[str], target: str, beside: _Unit) -> dict[str, Any]:
        """The schema."""
        schema = {"columns": self._columns(columns, beside.column), "target": {"column": target, **self._target()}}
        if self.weight is not None:
            schema["target"]["weight"] = self.weight
        for name, (use, bounds) in self._exposed().items():
            schema["target"][use] = {"column": name, "number": [float(b) for b in bounds]}
        if beside.column:
            schema["unit"] = {"column": beside.column, "rows": beside.rows}
        if isinstance(self.curves, str):
            schema["curves"] = self.curves
        if len(self.interactions) > 0:
            schema["interactions"] = [[str(c) for c in pair] for pair in self.interactions]
        return schema

    def _sum(self, unit: str) -> None:
        """Keeps the total cost of all fits of the table in spent_, and warns of it if there are several."""
        sums = spent(self.folder)
        key = (f"table {self.table}", self.relation, unit)
        self.spent_ = next(t for t in sums if (t["table"], t["relation"], t.get("unit", "")) == key)
        if self.spent_["fits"] > 1:
            warnings.warn(
                f"{self.spent_['fits']} fits of {self.table} in {self.folder} cost together epsilon"
                f" {self.spent_['epsilon']:.4g} at delta {self.spent_['delta']}",
                SpentWarning,
                stacklevel=3,
            )

    def _columns(self, columns: list[str], unit: str = "") -> dict[str, Any]:
        """The columns of the schema. It is an error if a column of X is neither described nor ignored."""
        categories, dates = dict(self.categories or {}), dict(self.dates or {})
        stated = {"outcome": self.outcome, "unit": unit or None, **self._named()}
        left = {*stated.values(), *(() if self._ignores_others() else self.ignore)}
        numbers = [c for c in columns if c not in categories and c not in dates and c not in left]
        bounds = self.bounds
        if bounds is None:
            bounds = {}
        elif not isinstance(bounds, Mapping):
            pairs = list(bounds)
            if len(pairs) == 2 and all(np.ndim(x) == 0 for x in pairs):
                pairs = [tuple(pairs)] * len(numbers)
            if len(pairs) != len(numbers):
                raise ValueError(f"bounds: {len(pairs)} pairs: must be one pair, or one for each of {len(numbers)} columns of numbers")
            bounds = dict(zip(numbers, pairs))
        curves = dict(self.curves) if isinstance(self.curves, Mapping) else {}
        for name in [*bounds, *categories, *dates, *self.log1p, *self.indicators, *curves, *chain(*self.interactions)]:
            if name not in columns:
                # Without the names of X: read from a file that has no header, they are a record.
                called = ", whose columns are called x0, x1, ... since their names are not all texts" if columns[0] == "x0" else ""
                raise ValueError(f"column {name!r}: must be in X{called}")
            if (name in bounds) + (name in categories) + (name in dates) > 1:
                raise ValueError(f"column {name!r}: must be in one of bounds, categories and dates")
        for name in self.log1p:
            if name not in bounds:
                raise ValueError(f"log1p: column {name!r}: must have bounds")
        for name in self.indicators:
            if name not in bounds and name not in dates:
                raise ValueError(f"indicators: column {name!r}: must be in bounds or dates")
        for name in curves:
            if name not in bounds and name not in dates:
                raise ValueError(f"curves: column {name!r}: must be in bounds or dates")
        described = {*bounds, *categories, *dates}
        if not described:
            raise ValueError("bounds, categories, dates: must describe at least one column of X by public facts")
        ignored = set(columns) - described if self._ignores_others() else left
        for name in [] if self._ignores_others() else self.ignore:
            if name in described:
                raise ValueError(f"ignore: column {name!r}: must not be in bounds, categories or dates, too")
        for i, (use, name) in enumerate(stated.items()):
            if name is not None and (name in described or name in list(stated.values())[:i]):
                raise ValueError(f"{use} = {name!r}: must not be in bounds, categories or dates, nor be another of outcome, unit, weight and exposure")
        _checks.refuse_columns(columns, described, ignored)
        schema: dict[str, Any] = {}
        for name in columns:
            if name in categories:
                schema[name] = {"category": [text(v) for v in categories[name]]}
            elif name in dates:
                schema[name] = {"date": "auto" if _auto(dates[name]) else [text(v)[:10] for v in dates[name]]}
            elif name in bounds:
                schema[name] = {"number": _number(bounds[name])}
                if name in self.log1p:
                    schema[name]["transform"] = "log1p"
            if name in self.indicators:
                schema[name]["missing"] = "indicator"
            if name in curves:
                schema[name]["curve"] = curves[name]
        return schema

    def _ignores_others(self) -> bool:
        if isinstance(self.ignore, str) and self.ignore != "others":
            raise ValueError(f"ignore = {self.ignore!r}: must be a list of columns, or 'others'")
        return isinstance(self.ignore, str)

    def _keep(self, fit: Fit) -> None:
        self.folder_ = fit.folder
        self.report_ = fit.report
        self.certificate_ = fit.certificate
        self.coefficients_ = fit.coefficients()
        self.effects_ = fit.report.get("coefficients")
        self._model = (fit.folder / "model.json").read_bytes()
        features = len(fit.model["features"])
        scored = str(fit.model["loss"]).startswith("ordered")  # the weights go on with those of the thresholds
        weights = np.asarray(fit.model["weights"], dtype=np.float64)[: features if scored else None].reshape(-1, features)
        self.feature_names_out_ = np.asarray(fit.model["features"][:-1], dtype=object)
        self.coef_ = weights[:, :-1]
        self.intercept_ = weights[:, -1]

    def predict_interval(self, X: Any) -> np.ndarray:
        """The confidence interval of each prediction, after a fit with ``inference``: columns lower and upper.

        The interval is for the mean outcome of rows with the same features (the probability of the
        second class, the rate). It covers the sampling error and the privacy noise. Single rows
        vary around that mean. A row without a stated interval has NaN. Rows with a column or a
        level that the formula of the intervals lacks have NaN, too, and a warning names these
        columns. For ordered classes the array has the dimensions rows, thresholds and the two ends.
        Its first threshold is the probability of the second class or a higher one.
        """
        check_is_fitted(self)
        if self.effects_ is None:
            raise ValueError("predict_interval: the fit has no intervals: inference=0.95 asks for them")
        if self.effects_["method"] == "not identified":
            why = [r["text"] for r in self.effects_["reasons"] if r["state"] == "not identified"]
            warnings.warn(f"predict_interval: no prediction has an interval: {why[0]}", UserWarning, stacklevel=2)
        elif self.effects_["short"]:
            warnings.warn(
                "predict_interval: predictions of rows that depend on these terms have no interval, since the formula of "
                f"the fit lacks the terms: {'; '.join(self.effects_['changes'])}",
                UserWarning,
                stacklevel=2,
            )
        scores = self._score(X, "", "--intervals")
        if "lower" not in scores:
            ends = [np.column_stack([v for k, v in scores.items() if k.startswith(end)]) for end in ("lower=", "upper=")]
            return np.stack(ends, axis=-1)
        return np.column_stack([scores["lower"], scores["upper"]])

    def _read(self, X: Any, used: Sequence[str] | None = None) -> tuple[Any, list[int]]:
        """The table, and the indices of the columns that the model needs, or of those in used."""
        check_is_fitted(self)
        used = self._used if used is None else used
        if _spread(X):
            raise TypeError("X: must be one table: X.map_partitions(model.predict, meta=...) predicts a Dask DataFrame")
        X, names = _rows(X)
        if names is None and X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} features as input"
            )
        if names is not None:
            _checks.refuse_twice(names)
        absent = [c for c in used if names is not None and c not in names]
        if absent:
            raise ValueError(f"The feature names should match those that were passed during fit: {absent} are absent")
        places = [(names or self._fitted_columns).index(c) for c in used]
        _checks.refuse_cells({c: _checks.type_of(_table._place(X, j)) for c, j in zip(self._used, places)}, self._described)
        return X, places

    def _score(self, X: Any, only: str, *flags: str) -> dict[str, Any]:
        """The columns that the command predict prints, with a value for each row. A class is its index. If only
        is a name, just the columns of this name are computed.

        Rows are scored in this process, with the same bits as by the command. The command scores them if
        intervals are asked for, if this package cannot score the model, and if there are many rows and the
        model has interactions of all columns, since the command is then faster.
        """
        X, places = self._read(X)
        rows = X.shape[0]
        own = None if flags else _score.read(self._model)
        if own is not None and rows <= own.most:
            held = {c: _table.numbers(_table._place(X, j)) for c, j in zip(self._used, places)}
            return own.score(lambda c, start, stop: _table.cut(held[c], start, stop), rows, _table.longest(len(self._used)), only)
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder) / "model.json"
            model.write_bytes(self._model)
            # The last column keeps lines from being empty; it is not read.
            feed = _table.writer(X, places, self._used, self.categories or {}, "", np.full(rows, "x"))
            printed = run(["predict", model, "-", "--margin", *flags], feed)
        lines = csv.reader(io.StringIO(printed, newline=""))
        header = next(lines)
        columns = list(zip(*lines))
        if len(columns[0]) != rows:
            raise RuntimeError(f"{len(columns[0])} predictions of {rows} rows")
        classes = {text(c): i for i, c in enumerate(self._classes() or ())}
        return {n: np.array([classes[c] for c in v]) if n == "class" else _floats(v) for n, v in zip(header, columns)}


def _floats(cells: Sequence[str]) -> np.ndarray:
    """The printed cells as numbers. An empty cell, which stands for no interval, is NaN."""
    return np.array([cell or "nan" for cell in cells], dtype=np.float64)


def _plain(value: Any) -> Any:
    """A setting as a value of Python. Searches of scikit-learn pass settings as values of numpy."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"a setting of type {type(value).__name__}: must be a number, a text, or a list or mapping of them")


def _spread(table: Any) -> bool:
    """Whether a table or a column is Dask's, so that its rows are in other processes. A Dask array does not
    count as one."""
    return type(table).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(table, "map_partitions")


def _rows(X: Any) -> tuple[Any, list[str] | None]:
    """X as a table with the names of its columns, or as an array without names."""
    if hasattr(X, "tocsr"):
        raise TypeError("Sparse data was passed: X must be dense (X.toarray() makes it so)")
    kind = f"{type(X).__module__.partition('.')[0]}.{type(X).__name__}"
    if kind == "polars.LazyFrame":
        raise TypeError("X: is a polars LazyFrame: must be a table whose rows are there: X.collect() makes one")
    row = {
        "pandas.Series": "X.to_frame().T",
        "polars.Series": "X.to_frame().transpose()",
        "pyarrow.ChunkedArray": "pyarrow.table({name: X})",
    }.get(kind)
    if row is not None:
        raise ValueError(f"X: Expected 2D array, got 1D array instead, a {kind}: must be a table, with a row for each record ({row})")
    names = _table.names(X)
    X = _table.array(X)
    if isinstance(X, np.ndarray):
        if X.ndim != 2:
            raise ValueError(f"Expected 2D array, got {X.ndim}D array instead. Reshape your data either using array.reshape(-1, 1)")
        if X.dtype.kind == "c":
            raise ValueError("Complex data not supported")
    if X.shape[0] == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape={tuple(X.shape)}) while a minimum of 1 is required.")
    if X.shape[1] == 0:
        raise ValueError(f"Found array with 0 feature(s) (shape={tuple(X.shape)}) while a minimum of 1 is required.")
    return X, names


def _auto(bounds: Any) -> bool:
    """Whether bounds are "auto", so that a description releases them."""
    return isinstance(bounds, str) and bounds == "auto"


def _number(bounds: Any) -> Any:
    if _auto(bounds):
        return bounds
    low, high = bounds
    return [float(low), float(high)]


class _Description(_Estimator):
    """The description of a table. It reads columns as a fit does, with one of them in the place of the
    target."""

    def __init__(self, *, by: str | None, level: float, **given: Any):
        columns = {kind: dict(given[kind] or {}) for kind in ("bounds", "categories", "dates")}
        can = [*columns["bounds"], *(c for c, levels in columns["categories"].items() if len(levels) > 1)]
        if not can:
            raise ValueError("bounds, categories: must describe a number, or a category of two levels or more")
        self._last, self.by, self.level = can[-1], by, level
        self._as = next(of.pop(can[-1]) for of in columns.values() if can[-1] in of)
        self._several = can[-1] in (given["categories"] or {})
        if not any(columns.values()):
            raise ValueError("bounds, categories, dates: must describe two columns or more")
        super().__init__(**{**given, **columns}, loss="logistic" if self._several else "squared(1)", outcome=can[-1], ignore="others")

    def _loss(self) -> str:
        return self.loss

    def _target(self) -> dict[str, Any]:
        return {"classes": [text(c) for c in self._as]} if self._several else {"number": _number(self._as)}

    def _of(self) -> Callable[[Any], str]:
        return text if self._several else amount

    def _configuration(self, rows: int | None, columns: list[str], target: str, beside: _Unit = EVERY_ROW) -> dict[str, Any]:
        config = super()._configuration(rows, columns, target, beside)
        del config["model"]
        return config

    def _run(self, file: Path, out: Path, feed: Any) -> dict[str, Any]:
        more = [f"--level={float(self.level)!r}", *([] if self.by is None else [f"--by={self.by}"])]
        return _released("describe", file, more, out, False, None, None, Progress(self.progress), feed)

    def _keep(self, report: dict[str, Any]) -> None:
        self.report_ = report


def _fresh(folder: Path) -> Path:
    """Makes the next numbered folder, such as fit-0002, in folder. Two fits at the same time get different
    ones."""
    folder.mkdir(parents=True, exist_ok=True)
    number = 1 + max((int(p.name[4:]) for p in folder.glob("fit-*") if p.name[4:].isdigit()), default=0)
    while True:
        try:
            (folder / f"fit-{number:04}").mkdir()
            return folder / f"fit-{number:04}"
        except FileExistsError:
            number += 1


class StillpointClassifier(ClassifierMixin, _Estimator):
    """A linear classifier, trained under differential privacy.

    The number of columns of a table, and their types and names, count as public: an error may
    depend on them. If your reader of files guesses types from cells, state the types when reading.

    Args:
        classes: all classes, from public knowledge. Of two classes, the negative one is first.
        epsilon, delta, relation: the guarantee of one fit. ``relation`` is ``replace-one``, which
            makes the number of rows public, or ``add-or-remove``, which needs the argument
            ``records``, the public number of rows.
        folder: the folder of all fits. Each fit has a folder of its own in it, with its model, its
            certificate and its ledger. Fits of clones of the estimator (cross-validation, searches)
            are kept there, too, and their costs are added up.
        table: a public name of the table of people. The costs of all fits under one name are added up.
        bounds: public bounds of columns of numbers: one pair for all columns, a list with a pair
            for each column, or pairs by name. A number beyond a bound counts as the bound.
        categories: public values of columns of categories, by name. Any other value counts as the
            level other.
        log1p: columns of numbers that are replaced by log(1+x). Their bounds are transformed, too.
        dates: public first and last dates of columns of dates, by name, as dates or as ISO
            texts, as in the cells. A date beyond them counts as the bound; a time without a zone is UTC.
        indicators: columns of numbers or dates in which a missing cell has a coefficient of its
            own. In other columns a missing cell counts as the midpoint of the bounds.
        curves: "auto" fits a curve for every number and date, with a number of knots that follows
            from the number of rows and the budget. A dict states "auto", "none" or a number of knots by
            column.
        interactions: pairs of columns whose effects depend on each other: numbers, dates and
            categories.
        loss: a loss of classes that ``stillpoint losses`` lists, such as hinge; "auto" is
            logistic for two classes and softmax for more; "ordered" is proportional odds of
            three classes or more in the order of ``classes``.
        regularizer, radius, train: as the keys of a configuration, for example ``train={"algorithm": "gd"}``.
        family: "lines", "curves" (a curve beside each number and date), "effects" (curves, and
            interactions of all columns), or "auto". With "auto" a rule takes the richest family that
            gained accuracy on benchmarks with as many rows and the same budget. For two classes a
            simpler family may follow from the released base rate.
        features: "effects" adds interactions of all columns, which a second stage of the fit finds
            without being told their names. "effects(5)" is for tables on which interactions matter much.
            ``coefficients_`` then has the coefficients of the additive part of the score alone.
        inference: the level of confidence intervals, such as .95; None for no intervals. A fit with
            intervals has a plan of its own, so ``train``, ``regularizer`` and ``radius`` must be
            left out. {"level": .95, "rows": "unweighted"} gives every row the weight 1, with more
            noise. The loss must be logistic, squared(clip), huber(delta), poisson(clip), gamma(clip),
            negbinomial(theta,clip), ordered or, without ``unit``, softmax.
        public_steps: the names of earlier steps of a Pipeline that were fitted on public data only,
            or that learn nothing from rows. The name ``transformer`` stands for the transformer
            of a TransformedTargetRegressor. A ColumnTransformer of encoders whose categories are
            stated learns nothing and needs no name here.
        progress: True shows the progress, False does not, and "auto" shows it in a terminal or a notebook.
        ignore: columns of X to leave out, or "others" for all columns that are not in bounds,
            categories or dates. A column that is in none of these arguments is an error.
        outcome: the column of X that holds the targets, if ``fit`` gets no y.
        unit: ``{"column": "person", "rows": 8}`` protects all rows of a person together, of which at
            most 8 are used. The rows of a person have the same value in this column of X, or in the
            array ``persons`` of ``fit(X, y, unit=persons)``. With such an array ``{"rows": 8}`` is
            enough. Each person has the same weight. ``records`` is then the number of persons, and
            may be left out under ``replace-one``.
        weight: a column of X with weights in [0, 1], which multiply the losses of rows. A weight
            outside counts as the nearer bound. A row whose weight cannot be read contributes
            nothing.

    Attributes:
        classes_: the classes.
        coef_, intercept_: weights of the encoded features, which ``feature_names_out_`` names: a
            number is -1 at its lower bound and 1 at its upper, a level of a category is 1 or 0, and
            all are divided by the largest norm of a row. Other tools of scikit-learn expect these
            attributes. Do not interpret them: use coefficients_.
        coefficients_: the coefficients in the columns' own units, each with the standard deviation
            of its privacy noise, as :meth:`stillpoint.Fit.coefficients` returns them. The
            coefficient of a level is the difference from the first level listed.
            ``pandas.DataFrame(model.coefficients_["terms"])`` is a table of them, and
            ``print(model.summary())`` shows it. :meth:`contrast` and :meth:`contrasts` state
            differences of terms.
        effects_: with ``inference``, a dict with the coefficients, their confidence intervals
            and the formula of the intervals, which may have fewer terms than the requested one. Its
            entry ``coefficients`` is a list with a dict for each term
            (``pandas.DataFrame(model.effects_["coefficients"])``). None without ``inference``.
        certificate_: the certificate, which ``stillpoint verify`` rechecks.
        report_: the released results of the fit, and their cost.
        spent_: the cost of all fits of the table in ``folder`` together.
        folder_: this fit's folder.
    """

    def __init__(
        self,
        *,
        classes,
        epsilon,
        delta,
        relation,
        folder,
        table,
        bounds=None,
        categories=None,
        log1p=(),
        dates=None,
        indicators=(),
        curves=None,
        interactions=(),
        loss="auto",
        regularizer=None,
        radius=None,
        family="auto",
        features=None,
        train=None,
        inference=None,
        records=None,
        public_steps=(),
        progress="auto",
        ignore=(),
        outcome=None,
        unit=None,
        weight=None,
        **refused,
    ):
        _checks.refuse_arguments(type(self).__name__, refused)
        self.classes = classes
        super().__init__(**_shared(locals()))

    def _loss(self) -> str:
        if self.loss != "auto":
            return self.loss
        return "logistic" if len(self.classes) == 2 else "softmax"

    def _target(self) -> dict[str, Any]:
        if len({issubclass(type(c), str) for c in self.classes}) > 1:
            raise ValueError("classes: must be texts, all or none of them")  # an array would make texts of all
        return {"classes": [text(c) for c in self.classes]}

    def _classes(self) -> Sequence[Any] | None:
        return self.classes

    def _outcome(self) -> str:
        names = [text(c) for c in self.classes]
        target = self.coefficients_["target"]
        return f"{target} = {names[1]} against {names[0]}" if len(names) == 2 else f"{target}, one of {', '.join(names)}"

    def _of(self) -> Callable[[Any], str]:
        given = self.classes if self._encoded is None else self._encoded
        known = dict(zip(np.asarray(given).tolist(), map(text, np.asarray(self.classes).tolist())))
        return lambda target: known.get(target, "")

    def _keep(self, fit: Fit) -> None:
        super()._keep(fit)
        self.classes_ = np.asarray(self.classes)
        self._order = np.arange(len(self.classes_))  # the place of each of classes_ among the classes
        if self._encoded is not None:  # by whoever asked for the fit, who decodes predictions
            self._order = np.argsort(self._encoded)
            self.classes_ = np.sort(self._encoded)

    def _by_class(self, scores: dict[str, Any], name: str) -> np.ndarray:
        """The columns of scores called name, or name=CLASS in the order of classes_."""
        columns = _several(scores, name)
        return columns if columns.shape[1] == 1 else columns[:, self._order]

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row."""
        places = self._score(X, "class")["class"]
        return self.classes_[np.argsort(self._order)][places]

    def decision_function(self, X: Any) -> np.ndarray:
        """The score (margin) of each row, or one score for each class if there are three or more."""
        margins = self._by_class(self._score(X, "margin"), "margin")
        return margins[:, 0] * (1 if self._order[0] == 0 else -1) if margins.shape[1] == 1 else margins

    def _has_probability(self) -> bool:
        return self._loss() == "logistic" or self._loss().startswith(("softmax", "ordered"))

    @available_if(_has_probability)
    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class. Losses without probabilities raise an error."""
        p = self._by_class(self._score(X, "probability"), "probability")
        return np.hstack([1 - p, p])[:, self._order] if p.shape[1] == 1 else p

    @available_if(_has_probability)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The natural logarithm of the probability of each class, computed from the scores, so that small probabilities do not round to 0."""
        margins = self._by_class(self._score(X, "margin"), "margin")
        if margins.shape[1] == 1:
            return -np.hstack([np.logaddexp(0, margins), np.logaddexp(0, -margins)])[:, self._order]
        top = margins.max(axis=1, keepdims=True)
        return margins - top - np.log(np.exp(margins - top).sum(axis=1, keepdims=True))


def _several(scores: dict[str, Any], name: str) -> np.ndarray:
    """An array with the columns of scores that are called name or name=CLASS."""
    return np.column_stack([v for n, v in scores.items() if n == name or n.startswith(name + "=")])


class StillpointRegressor(RegressorMixin, _Estimator):
    """A linear regressor, trained under differential privacy.

    Args:
        target_bounds: the public bounds of the target. A number beyond them counts as the bound.
        loss: a loss of numbers that ``stillpoint losses`` lists, such as squared(0.5). Its
            parameters are in units of half the target's range.
        exposure: ``{"years": (0.1, 10)}``, a column of X with the extent over which each row was counted, and its public
            bounds, for a loss of counts or tweedie. A prediction is per unit of exposure, and needs no such column.
        offset: a column of natural logarithms of exposures and its bounds, ``{"log_years": (-2.3, 2.3)}``. A prediction is for the offset 0.

    The other arguments and attributes are those of :class:`StillpointClassifier`.
    """

    def __init__(
        self,
        *,
        target_bounds,
        epsilon,
        delta,
        relation,
        folder,
        table,
        bounds=None,
        categories=None,
        log1p=(),
        dates=None,
        indicators=(),
        curves=None,
        interactions=(),
        loss="huber(0.1)",
        regularizer=None,
        radius=None,
        family="auto",
        features=None,
        train=None,
        inference=None,
        records=None,
        public_steps=(),
        progress="auto",
        ignore=(),
        outcome=None,
        unit=None,
        weight=None,
        exposure=None,
        offset=None,
        **refused,
    ):
        _checks.refuse_arguments(type(self).__name__, refused)
        self.target_bounds = target_bounds
        self.exposure = exposure
        self.offset = offset
        super().__init__(**_shared(locals()))

    def _loss(self) -> str:
        return self.loss

    def _target(self) -> dict[str, Any]:
        low, high = self.target_bounds
        return {"number": [float(low), float(high)]}

    def _of(self) -> Callable[[Any], str]:
        return amount

    def _keep(self, fit: Fit) -> None:
        super()._keep(fit)
        self.coef_, self.intercept_ = self.coef_[0], self.intercept_[0]

    def predict(self, X: Any) -> np.ndarray:
        """The prediction for each row, in the target's units. It may lie outside the target's bounds."""
        return self._score(X, "prediction")["prediction"]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R squared. With an exposure or an offset, R squared is computed from the predictions times the
        exposures, so X must have the column of the exposure or of the offset."""
        from sklearn.metrics import r2_score

        expected = self.predict(X)
        for name, (use, bounds) in self._exposed().items():
            table, names = _rows(X)
            if name not in (names or self._fitted_columns):
                raise ValueError(f"X: must have the column {name!r}: the score of a fit with an {use} compares counts")
            column = _table._place(table, (names or self._fitted_columns).index(name))
            given = np.clip(np.asarray(column, dtype=np.float64), *map(float, bounds))
            expected = expected * (np.exp(given) if use == "offset" else given)
        return r2_score(y, expected, sample_weight=sample_weight)
