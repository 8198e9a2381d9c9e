"""The estimator of the time to an event, after scikit-survival's conventions."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stillpoint import _checks, _table
from stillpoint._cells import amount
from stillpoint._estimators import EVERY_ROW, _Estimator, _Unit
from stillpoint._fit import Fit


class StillpointSurvival(_Estimator):
    """A model of proportional hazards, trained under differential privacy.

    Args:
        cuts: the public ends of the intervals in each of which the baseline hazard is constant. The
            last is the end of the time that is modelled: later times count as observed until then.

    The other arguments are those of :class:`StillpointClassifier`. ``y`` is a structured array with a
    field of truth values, whether the event occurred, and one of times, as scikit-survival's.

    Attributes:
        event_times_: the cuts, with time 0 before them.
        cumulative_baseline_hazard_: the baseline hazard summed up to each of them, as a share of the last sum.
    """

    def __init__(
        self,
        *,
        cuts,
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
        loss="hazard",
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
        **refused,
    ):
        _checks.refuse_arguments(type(self).__name__, refused)
        self.cuts = cuts
        super().__init__(
            epsilon=epsilon, delta=delta, relation=relation, folder=folder, table=table, bounds=bounds,
            categories=categories, log1p=log1p, dates=dates, indicators=indicators,
            curves=curves, interactions=interactions, loss=loss, regularizer=regularizer,
            radius=radius, family=family, features=features, train=train, inference=inference, records=records,
            public_steps=public_steps, progress=progress, ignore=ignore, outcome=None, unit=None, weight=None,
        )  # fmt: skip

    def fit(self, X: Any, y: Any):
        """Fits the model: charges the budget.

        Args:
            X: a table of pandas, polars or pyarrow, or an array.
            y: a structured array of as many rows, with a field of truth values (the event) and a field of times.
                A row with a negative time counts, and contributes nothing.
        """
        self._events, times = _outcome(y)
        try:
            return super().fit(X, times)
        finally:
            del self._events

    def _loss(self) -> str:
        return self.loss

    def _target(self) -> dict[str, Any]:
        return {"cuts": [float(c) for c in self.cuts]}

    def _of(self) -> Callable[[Any], str]:
        return amount

    def _beside(self, X: Any, persons: Any, taken: list[str], spread: bool, inside: bool) -> _Unit:
        """The column of events, which is written before the times."""
        if spread:
            raise TypeError("X: must be one table: a Dask DataFrame has no estimator of the time to an event")
        column = "event"
        while column in taken:
            column += "_"
        return _Unit(column, 1, self._events)

    def _configuration(self, rows: int | None, columns: list[str], target: str, beside: _Unit = EVERY_ROW) -> dict[str, Any]:
        config = super()._configuration(rows, columns, target)
        config["schema"]["target"]["event"] = beside.column
        return config

    def _sum(self, unit: str) -> None:
        super()._sum("")

    def _keep(self, fit: Fit) -> None:
        super()._keep(fit)
        self.coef_, self.intercept_ = self.coef_[0], self.intercept_[0]
        target = json.loads(self._model)["schema"]["target"]
        widths = np.diff([0, *target["cuts"]])
        hazards = np.asarray(target.get("hazards", widths / widths.sum()))
        self.event_times_ = np.asarray([0.0, *target["cuts"]])
        self.cumulative_baseline_hazard_ = np.concatenate([[0.0], np.cumsum(hazards) / hazards.sum()])

    def predict(self, X: Any) -> np.ndarray:
        """The risk score of each row: the logarithm of the expected number of events up to the last cut."""
        return self._score(X, "score")["score"]

    def predict_survival_function(self, X: Any, times: Sequence[float] | None = None) -> np.ndarray:
        """The probability of no event until each of the times (columns), for each row; ``event_times_`` by default."""
        times = self.event_times_ if times is None else np.asarray(times, dtype=np.float64)
        if np.any(times < 0) or np.any(times > self.event_times_[-1]):
            raise ValueError(f"times: must be between 0 and the last cut, {self.event_times_[-1]}")
        hazard = np.interp(times, self.event_times_, self.cumulative_baseline_hazard_)
        return np.exp(-np.exp(self.predict(X))[:, None] * hazard)

    def restricted_mean(self, X: Any) -> np.ndarray:
        """The mean time without an event, of at most the last cut, for each row."""
        totals = np.exp(self.predict(X))[:, None] * self.cumulative_baseline_hazard_
        rises = np.maximum(np.diff(totals), 1e-12)
        return np.sum(np.exp(-totals[:, :-1]) * -np.expm1(-rises) / rises * np.diff(self.event_times_), axis=1)

    def score(self, X: Any, y: Any) -> float:
        """Harrell's concordance index. It is not private: it is computed from the rows."""
        events, times = _outcome(y)
        scores = self.predict(X)
        pairs = right = 0.0
        for i in np.flatnonzero(events):
            later = (times > times[i]) | ((times == times[i]) & ~events)
            pairs += later.sum()
            right += (scores[later] < scores[i]).sum() + 0.5 * (scores[later] == scores[i]).sum()
        return right / pairs


def _outcome(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """The events and the times of a structured array."""
    names = getattr(getattr(y, "dtype", None), "names", None) or ()
    kinds = "".join(y.dtype[n].kind for n in names)
    if len(names) != 2 or "b" not in kinds or kinds == "bb":
        raise ValueError("y: must be a structured array with two fields, one of truth values (the event) and one of times")
    at = kinds.index("b")
    return _table.column(np.ascontiguousarray(y[names[at]])), _table.column(np.ascontiguousarray(y[names[1 - at]], dtype=np.float64))
