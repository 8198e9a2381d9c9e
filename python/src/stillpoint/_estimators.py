"""Estimators for scikit-learn."""

from __future__ import annotations

import csv
import io
import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from stillpoint import _table
from stillpoint._cells import amount, text
from stillpoint._command import ConfigurationError, run
from stillpoint._fit import Fit, _fit, spent
from stillpoint._progress import Shown


class SpentWarning(UserWarning):
    """Fits of one table cost more together than each by itself."""


class _Estimator(BaseEstimator):
    """What classifier and regressor share.

    Everything that shapes a fit is given, never learned from rows: bounds, categories
    and classes must come from public knowledge.
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
        loss: str,
        regularizer: str | None = None,
        radius: float | None = None,
        train: Mapping[str, Any] | None = None,
        records: int | None = None,
        public_steps: Sequence[str] = (),
        progress: Shown = "auto",
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
        self.loss = loss
        self.regularizer = regularizer
        self.radius = radius
        self.train = train
        self.records = records
        self.public_steps = public_steps
        self.progress = progress

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
        """What makes the text of a target."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any):
        """Fits the model: charges the budget.

        Rows go to the command over a pipe and are on no disk. A cell that is no number
        or no listed category is missing or other; a row whose target is neither a class
        nor a number is silent: it counts, and contributes nothing.

        Args:
            X: a table of pandas, polars or pyarrow, or an array.
            y: the targets, one for each row.
        """
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        _refuse_what_was_fitted(self.public_steps)
        X, names = _rows(X)
        columns = names or [f"x{i}" for i in range(X.shape[1])]
        targets = _table.column(y)
        if len(targets) != X.shape[0]:
            raise ValueError(f"Found input variables with inconsistent numbers of samples: {[X.shape[0], len(targets)]}")
        target = "y"
        while target in columns:
            target += "_"
        config = self._configuration(X.shape[0], columns, target)
        used = list(config["schema"]["columns"])
        out = _fresh(Path(self.folder))
        file = out / "configuration.yaml"
        words = json.dumps(config, ensure_ascii=False, indent=2, default=_plain)
        file.write_text(words, encoding="utf-8")
        places = [columns.index(c) for c in used]
        feed = _table.writer(X, places, used, self.categories or {}, target, targets, self._of())
        self._keep(_fit(file, out=out, progress=self.progress, feed=feed))
        self.n_features_in_ = X.shape[1]
        self.__dict__.pop("feature_names_in_", None)
        if names:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        self._fitted_columns, self._used = columns, used
        self._sum()
        return self

    def _configuration(self, rows: int, columns: list[str], target: str) -> dict[str, Any]:
        """The configuration, as its file has it."""
        if self.relation not in ("replace-one", "add-or-remove"):
            raise ValueError(f"relation = {self.relation!r}: must be replace-one or add-or-remove")
        # Under replace-one a pipe that ends early is found out by the number of rows.
        records = rows if self.relation == "replace-one" else self.records
        if records is None:
            raise ValueError("records: must be given under add-or-remove: the public number of records")
        model: dict[str, Any] = {"loss": self._loss()}
        for key in ("regularizer", "radius"):
            if getattr(self, key) is not None:
                model[key] = getattr(self, key)
        privacy = {"epsilon": float(self.epsilon), "delta": float(self.delta), "relation": self.relation, "records": records}
        return {
            "data": "-",
            "table": self.table,
            "schema": {"columns": self._columns(columns), "target": {"column": target, **self._target()}},
            "model": model,
            "privacy": privacy,
            **({"train": dict(self.train)} if self.train else {}),
        }

    def _sum(self) -> None:
        """Says what the fits of the table cost together."""
        sums = spent(self.folder)
        self.spent_ = next(t for t in sums if t["table"] == f"table {self.table}" and t["relation"] == self.relation)
        if self.spent_["fits"] > 1:
            warnings.warn(
                f"{self.spent_['fits']} fits of {self.table} in {self.folder} cost together epsilon"
                f" {self.spent_['epsilon']:.4g} at delta {self.spent_['delta']}",
                SpentWarning,
                stacklevel=3,
            )

    def _columns(self, columns: list[str]) -> dict[str, Any]:
        """The schema's columns. Those of X that are neither bounded nor listed are left out."""
        categories, dates = dict(self.categories or {}), dict(self.dates or {})
        numbers = [c for c in columns if c not in categories and c not in dates]
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
        for name in [*bounds, *categories, *dates, *self.log1p, *self.indicators]:
            if name not in columns:
                # Without the names of X: read from a file that has no header, they are a record.
                raise ValueError(f"column {name!r}: must be in X")
            if (name in bounds) + (name in categories) + (name in dates) > 1:
                raise ValueError(f"column {name!r}: must be in one of bounds, categories and dates")
        for name in self.log1p:
            if name not in bounds:
                raise ValueError(f"log1p: column {name!r}: must have bounds")
        for name in self.indicators:
            if name not in bounds and name not in dates:
                raise ValueError(f"indicators: column {name!r}: must be in bounds or dates")
        schema: dict[str, Any] = {}
        for name in columns:
            if name in categories:
                schema[name] = {"category": [text(v) for v in categories[name]]}
            elif name in dates:
                schema[name] = {"date": [text(v)[:10] for v in dates[name]]}
            elif name in bounds:
                low, high = bounds[name]
                schema[name] = {"number": [float(low), float(high)]}
                if name in self.log1p:
                    schema[name]["transform"] = "log1p"
            if name in self.indicators:
                schema[name]["missing"] = "indicator"
        if not schema:
            raise ValueError("bounds, categories, dates: must describe at least one column of X by public facts")
        return schema

    def _keep(self, fit: Fit) -> None:
        self.folder_ = fit.folder
        self.report_ = fit.report
        self.certificate_ = fit.certificate
        self.coefficients_ = fit.coefficients()
        self._model = (fit.folder / "model.json").read_bytes()
        weights = np.asarray(fit.model["weights"], dtype=np.float64).reshape(-1, len(fit.model["features"]))
        self.feature_names_out_ = np.asarray(fit.model["features"][:-1], dtype=object)
        self.coef_ = weights[:, :-1]
        self.intercept_ = weights[:, -1]

    def _score(self, X: Any) -> dict[str, Any]:
        """What the command predicts of each row, by column."""
        check_is_fitted(self)
        X, names = _rows(X)
        if names is None and X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} features as input"
            )
        absent = [c for c in self._used if names is not None and c not in names]
        if absent:
            raise ValueError(f"The feature names should match those that were passed during fit: {absent} are absent")
        places = [(names or self._fitted_columns).index(c) for c in self._used]
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder) / "model.json"
            model.write_bytes(self._model)
            # The last column keeps lines from being empty; it is not read.
            feed = _table.writer(X, places, self._used, self.categories or {}, "", np.full(X.shape[0], "x"))
            printed = run(["predict", model, "-", "--margin"], feed)
        lines = csv.reader(io.StringIO(printed, newline=""))
        header = next(lines)
        columns = list(zip(*lines))
        if len(columns[0]) != X.shape[0]:
            raise RuntimeError(f"{len(columns[0])} predictions of {X.shape[0]} rows")
        return {name: list(v) if name == "class" else np.array(v, dtype=np.float64) for name, v in zip(header, columns)}


def _plain(value: Any) -> Any:
    """A setting of numpy's as one of Python's: searches make them."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"a setting of type {type(value).__name__}: must be a number, a text, or a list or mapping of them")


def _rows(X: Any) -> tuple[Any, list[str] | None]:
    """X as a table with the names of its columns, or as an array, without."""
    if hasattr(X, "tocsr"):
        raise TypeError("Sparse data was passed: X must be dense (X.toarray() makes it so)")
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


def _fresh(folder: Path) -> Path:
    """Makes the next numbered folder. Fits at the same time get one each."""
    folder.mkdir(parents=True, exist_ok=True)
    number = 1 + max((int(p.name[4:]) for p in folder.glob("fit-*") if p.name[4:].isdigit()), default=0)
    while True:
        try:
            (folder / f"fit-{number:04}").mkdir()
            return folder / f"fit-{number:04}"
        except FileExistsError:
            number += 1


def _refuse_what_was_fitted(public: Sequence[str]) -> None:
    """Refuses to be fitted behind a step of a Pipeline that learned from the rows.

    What such a step learned (a mean, a largest value) would be in the model without
    having been charged for; so would what the transformer of a target learned. Neither
    says that it calls, so they are looked for among the callers.
    """
    frame = sys._getframe(1)
    while frame is not None:
        caller = frame.f_locals.get("self")
        steps: Sequence[tuple[str, Any]] = ()
        if isinstance(caller, Pipeline):
            steps = caller.steps[:-1]
        elif isinstance(caller, TransformedTargetRegressor):
            steps = [("transformer", caller.transformer_)]
        for name, step in steps:
            learns = step is not None and step != "passthrough" and get_tags(step).requires_fit
            if learns and name not in public:
                raise ConfigurationError(
                    f"step {name!r} before it was fitted on the rows, which nobody charged for: give bounds and"
                    f" log1p to this estimator instead, or declare it with public_steps=[{name!r}] if it was"
                    " fitted on public data only",
                    code="configuration",
                    field="public_steps",
                    rule="must name every step that learns",
                )
        frame = frame.f_back


class StillpointClassifier(ClassifierMixin, _Estimator):
    """A linear classifier, trained under differential privacy.

    Args:
        classes: all classes, from public knowledge; of two the negative one first.
        epsilon, delta, relation: the guarantee of one fit. ``relation`` is
            ``replace-one``, which makes the number of rows public, or
            ``add-or-remove``, which needs ``records``, the public number of them.
        folder: where fits are kept, each in a folder of its own with its model, its
            certificate and its ledger. Fits of clones (cross-validation, searches) go
            there too, and are summed.
        table: a public name of the table of people; fits are summed by it.
        bounds: public bounds of columns of numbers: one pair for all, a pair for each,
            or pairs by name. Beyond them counts as the bound.
        categories: public values of columns of categories, by name. Any other is other.
        log1p: columns of numbers that are replaced by log(1+x), their bounds as well.
        dates: public first and last dates of columns of dates, by name: dates or ISO texts,
            as cells are. Beyond them counts as the bound; a time without a zone is UTC.
        indicators: columns of numbers or dates of which a missing cell is a feature of its
            own, and not the midpoint alone.
        loss: logistic, sigmoid, tanh, smoothed-hinge(w); softmax of three classes or
            more, and "auto" chooses it or logistic.
        regularizer, radius, train: as in a configuration; ``train={"algorithm": "gd"}``.
        public_steps: names of steps before this one in a Pipeline that were fitted on
            public data only, or learn nothing from rows; ``transformer`` is that of a
            TransformedTargetRegressor.
        progress: show it, or not, or only in a terminal or a notebook.

    Attributes:
        classes_: the classes.
        coef_, intercept_: weights of the encoded features, which
            ``feature_names_out_`` names: numbers in [-1, 1] and one of a category's
            values, all divided by the square root of the number of columns and 1.
        coefficients_: the same in the columns' own units, levels of a category against the
            first one listed, with the deviation of privacy noise in each: what
            :meth:`stillpoint.Fit.coefficients` returns. ``pandas.DataFrame(
            model.coefficients_["terms"])`` is a table of them.
        certificate_: what ``stillpoint verify`` rechecks.
        report_: what the fit released and cost.
        spent_: what all fits of the table in ``folder`` cost together.
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
        loss="auto",
        regularizer=None,
        radius=None,
        train=None,
        records=None,
        public_steps=(),
        progress="auto",
    ):
        self.classes = classes
        super().__init__(
            epsilon=epsilon, delta=delta, relation=relation, folder=folder, table=table, bounds=bounds,
            categories=categories, log1p=log1p, dates=dates, indicators=indicators, loss=loss, regularizer=regularizer,
            radius=radius, train=train, records=records, public_steps=public_steps, progress=progress,
        )  # fmt: skip

    def _loss(self) -> str:
        if self.loss != "auto":
            return self.loss
        return "logistic" if len(self.classes) == 2 else "softmax"

    def _target(self) -> dict[str, Any]:
        if len({issubclass(type(c), str) for c in self.classes}) > 1:
            raise ValueError("classes: must be texts, all or none of them")  # an array would make texts of all
        return {"classes": [text(c) for c in self.classes]}

    def _of(self) -> Callable[[Any], str]:
        known = {c: text(c) for c in np.asarray(self.classes).tolist()}
        return lambda target: known.get(target, "")

    def _keep(self, fit: Fit) -> None:
        super()._keep(fit)
        self.classes_ = np.asarray(self.classes)

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row."""
        scores = self._score(X)
        places = {text(c): i for i, c in enumerate(self.classes_)}
        return self.classes_[[places[c] for c in scores["class"]]]

    def decision_function(self, X: Any) -> np.ndarray:
        """The margin of each row, or the margins of its classes if there are three or more."""
        margins = _several(self._score(X), "margin")
        return margins[:, 0] if margins.shape[1] == 1 else margins

    def _has_probability(self) -> bool:
        return self._loss() == "logistic" or self._loss().startswith("softmax")

    @available_if(_has_probability)
    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class, of the losses that have one."""
        p = _several(self._score(X), "probability")
        return np.hstack([1 - p, p]) if p.shape[1] == 1 else p


def _several(scores: dict[str, Any], name: str) -> np.ndarray:
    """The columns called name, or name=CLASS, side by side."""
    return np.column_stack([v for n, v in scores.items() if n == name or n.startswith(name + "=")])


class StillpointRegressor(RegressorMixin, _Estimator):
    """A linear regressor, trained under differential privacy.

    Args:
        target_bounds: the public bounds of the target. Beyond them counts as the bound.
        loss: huber(d), welsch(c), geman-mcclure(c), tukey(c) or squared(clip), in units
            of half the target's range.

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
        loss="huber(0.1)",
        regularizer=None,
        radius=None,
        train=None,
        records=None,
        public_steps=(),
        progress="auto",
    ):
        self.target_bounds = target_bounds
        super().__init__(
            epsilon=epsilon, delta=delta, relation=relation, folder=folder, table=table, bounds=bounds,
            categories=categories, log1p=log1p, dates=dates, indicators=indicators, loss=loss, regularizer=regularizer,
            radius=radius, train=train, records=records, public_steps=public_steps, progress=progress,
        )  # fmt: skip

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
        """The prediction for each row, in the target's units and not clamped."""
        return self._score(X)["prediction"]
