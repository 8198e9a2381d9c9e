"""The estimator of the time to an event, after scikit-survival's conventions."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stillpoint import _answers, _checks, _table
from stillpoint._cells import amount
from stillpoint._estimators import EVERY_ROW, _Estimator, _shared, _Unit
from stillpoint._fit import Fit


class StillpointSurvival(_Estimator):
    """A model of proportional hazards, trained under differential privacy.

    Args:
        cuts: the public ends of the time intervals. The baseline hazard is constant within each interval. The last cut is the end of the modelled time. A later time counts as observed until the last cut.
        grouped: True if only the interval of an event is known, for example if times and cuts are whole years.
            With "logit" the model is one of logit hazards, whose coefficients are log odds ratios.
        changing: a column of ``categories`` whose hazard ratios change between the intervals; ``coefficients_`` then has
            ``hazard_ratios``.
        entry: a column of X with the time at which each row came under observation (delayed entry, ``time_enter`` of
            scikit-survival); None if it is 0 for all. A row whose entry is not before its time contributes nothing.

    The other arguments are those of :class:`StillpointClassifier`. ``y`` is a structured array as for
    scikit-survival. It has a field of truth values, which say whether the event occurred, and a field of times.

    Attributes:
        event_times_: the cuts, with time 0 before them.
        cumulative_baseline_hazard_: the baseline hazard summed up to each of these times, as a share of the last sum;
            with ``changing``, one row for each level. With ``grouped="logit"`` it is the sum of the baseline odds.
    """

    def __init__(
        self,
        *,
        cuts,
        grouped=False,
        changing=None,
        entry=None,
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
        self.grouped = grouped
        self.changing = changing
        self.entry = entry
        super().__init__(**_shared(locals()))

    def fit(self, X: Any, y: Any):
        """Fits the model and charges the privacy budget.

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
        if not isinstance(self.grouped, bool) and self.grouped != "logit":
            raise ValueError(f"grouped = {self.grouped!r}: must be True, False or 'logit'")
        changing = {} if self.changing is None else {"changing": self.changing}
        return {"cuts": [float(c) for c in self.cuts], **({"grouped": self.grouped} if self.grouped else {}), **changing}

    def _named(self) -> dict[str, Any]:
        return {"entry": self.entry}

    def _of(self) -> Callable[[Any], str]:
        return amount

    def _beside(self, X: Any, persons: Any, taken: list[str], spread: bool, inside: bool) -> _Unit:
        """The column of events, which the command gets before the column of times."""
        if spread:
            raise TypeError("X: must be one table: a Dask DataFrame has no estimator of the time to an event")
        self._check_named(taken[:-1])
        column = "event"
        while column in taken:
            column += "_"
        return _Unit(column, 1, self._events)

    def _configuration(self, rows: int | None, columns: list[str], target: str, beside: _Unit = EVERY_ROW) -> dict[str, Any]:
        config = super()._configuration(rows, columns, target)
        config["schema"]["target"]["event"] = beside.column
        if self.entry is not None:
            config["schema"]["target"]["entry"] = self.entry
        return config

    def _sum(self, unit: str) -> None:
        super()._sum("")

    def _keep(self, fit: Fit) -> None:
        super()._keep(fit)
        self.coef_, self.intercept_ = self.coef_[0], self.intercept_[0]
        target = json.loads(self._model)["schema"]["target"]
        widths = np.diff([0, *target["cuts"]])
        hazards = np.asarray(target.get("hazards", widths / widths.sum())).reshape(-1, len(widths))
        self.event_times_ = np.asarray([0.0, *target["cuts"]])
        sums = np.cumsum(hazards, axis=1) / hazards.sum(axis=1, keepdims=True)
        sums = np.concatenate([np.zeros((len(sums), 1)), sums], axis=1)
        self.cumulative_baseline_hazard_ = sums[0] if self.changing is None else sums

    def predict(self, X: Any) -> np.ndarray:
        """The risk score of each row: the logarithm of the expected number of events up to the last cut.

        With ``grouped="logit"`` it is the logarithm of the sum of the odds of the intervals.
        """
        return self._score(X, "score")["score"]

    def predict_survival_function(self, X: Any, times: Sequence[float] | None = None) -> np.ndarray:
        """The probability of no event until each of the times, which are ``event_times_`` by default. The
        result has a row for each row of X and a column for each time."""
        times = self.event_times_ if times is None else np.asarray(times, dtype=np.float64)
        if np.any(times < 0) or np.any(times > self.event_times_[-1]):
            raise ValueError(f"times: must be between 0 and the last cut, {self.event_times_[-1]}")
        return np.exp(-self._expected(X, times))

    def _expected(self, X: Any, times: np.ndarray) -> np.ndarray:
        """The expected number of events until each of the times. The result has a row for each row of X and a
        column for each time."""
        if self.grouped == "logit":
            odds = np.exp(self.predict(X))[:, None] * np.diff(self.cumulative_baseline_hazard_)
            sums = np.concatenate([np.zeros((len(odds), 1)), np.cumsum(np.log1p(odds), axis=1)], axis=1)
            return np.array([np.interp(times, self.event_times_, row) for row in sums]).reshape(len(sums), len(times))
        if self.changing is None:
            hazard = np.interp(times, self.event_times_, self.cumulative_baseline_hazard_)
            return np.exp(self.predict(X))[:, None] * hazard
        later = [float(t) for t in times if t > 0]
        risks = self._score(X, "risk", "--horizon=" + ",".join(map(repr, later))) if later else {}
        columns = iter([v for name, v in risks.items() if name.startswith("risk=")])
        rows = len(self.predict(X))
        return np.column_stack([-np.log1p(-np.minimum(next(columns), 1 - 1e-16)) if t > 0 else np.zeros(rows) for t in times])

    def restricted_mean(self, X: Any) -> np.ndarray:
        """The mean time without an event, up to the last cut, for each row."""
        totals = self._expected(X, self.event_times_)
        rises = np.maximum(np.diff(totals), 1e-12)
        return np.sum(np.exp(-totals[:, :-1]) * -np.expm1(-rises) / rises * np.diff(self.event_times_), axis=1)

    def evaluate(self, X: Any, y: Any, horizon: float | None = None) -> dict[str, Any]:
        """Measures of the predictions of events up to a time, by default the last cut. They are not private.

        Returns:
            the output of ``stillpoint evaluate --json``: ``concordance`` (Harrell's), ``concordance_uno``, ``brier`` at
            the horizon, ``integrated_brier``, and ``calibration`` in tenths of the rows. With ``entry`` X must have
            the entry column, and ``concordance_uno`` and the Brier scores are absent.
        """
        events, times = _outcome(y)
        used = self._used if self.entry is None else [*self._used, self.entry]
        X, places = self._read(X, used)
        target = json.loads(self._model)["schema"]["target"]
        feed = _table.writer(X, places, used, self.categories or {}, target["column"], times, amount, (target["event"], events))
        return _answers.of_bytes(self._model, "evaluate", "-", *([] if horizon is None else [f"--horizon={horizon}"]), feed=feed)

    def score(self, X: Any, y: Any) -> float:
        """Harrell's concordance index. It is not private: it is computed from the rows."""
        return self.evaluate(X, y)["concordance"]


def _outcome(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """The events and the times of a structured array."""
    names = getattr(getattr(y, "dtype", None), "names", None) or ()
    kinds = "".join(y.dtype[n].kind for n in names)
    if len(names) != 2 or "b" not in kinds or kinds == "bb":
        raise ValueError("y: must be a structured array with two fields, one of truth values (the event) and one of times")
    at = kinds.index("b")
    return _table.column(np.ascontiguousarray(y[names[at]])), _table.column(np.ascontiguousarray(y[names[1 - at]], dtype=np.float64))
