"""Parts of predictions and scores, worked out by hand from fits that were made up. No command is run."""

from __future__ import annotations

import json

import numpy as np
import pandas
import pytest
from sklearn.metrics import r2_score

from stillpoint import StillpointRegressor, StillpointSurvival
from stillpoint._estimators import _Estimator
from stillpoint._readings import Reader


@pytest.mark.parametrize("use", ["exposure", "offset"])
def test_scores_clamp_exposures(use, monkeypatch):
    """An exposure or an offset beyond its bounds counts as the bound, as in the fit; within them it counts as it is."""
    model = StillpointRegressor.__new__(StillpointRegressor)
    setattr(model, use, {"years": (0.5, 2)})
    rates = np.array([1.0, 3, 2, 5])
    monkeypatch.setattr(StillpointRegressor, "predict", lambda self, X: rates)
    X = pandas.DataFrame({"years": [0.1, 0.75, 1.5, 9], "age": [1, 2, 3, 4]})
    counted = np.array([0.5, 0.75, 1.5, 2])
    expected = rates * (counted if use == "exposure" else np.exp(counted))
    y = np.array([1.0, 2, 4, 7])
    assert model.score(X, y) == pytest.approx(r2_score(y, expected), abs=1e-12)
    weights = [1, 2, 3, 4]
    assert model.score(X, y, weights) == pytest.approx(r2_score(y, expected, sample_weight=weights), abs=1e-12)
    with pytest.raises(ValueError, match=f"must have the column 'years': the score of a fit with an {use} compares counts"):
        model.score(X[["age"]], y)


@pytest.mark.parametrize(
    ("hazards", "changing", "want"),
    [
        (None, None, [0, 0.25, 0.5, 1]),  # without hazards they are alike: shares of time
        ([0.1, 0.3, 0.4], None, [0, 0.125, 0.5, 1]),
        ([0.1, 0.3, 0.4, 0.2, 0.1, 0.1], "sex", [[0, 0.125, 0.5, 1], [0, 0.5, 0.75, 1]]),
    ],
)
def test_cumulative_baselines_end_at_one(hazards, changing, want, monkeypatch):
    """The cumulative baseline of each level is a share of that level's own sum."""

    def keep(self, fit):
        self.coef_, self.intercept_ = np.array([[2.0, 3.0]]), np.array([7.0])
        self._model = json.dumps({"schema": {"target": {"cuts": [1, 2, 4], **({} if hazards is None else {"hazards": hazards})}}})

    monkeypatch.setattr(_Estimator, "_keep", keep)
    model = StillpointSurvival.__new__(StillpointSurvival)
    model.changing = changing
    model._keep(None)
    np.testing.assert_allclose(model.cumulative_baseline_hazard_, want, atol=1e-12)
    assert model.event_times_.tolist() == [0, 1, 2, 4]
    assert model.coef_.tolist() == [2, 3]
    assert model.intercept_ == 7


def test_markers_are_texts():
    """A number is missing if its text is a marker. Another way to write the same number is no such text."""
    column = {"name": "v", "number": [-2000, 2000]}
    cells = np.array([-999.0, 7, 1000, 0.5, 3])
    for markers, missing in [
        ([], []),
        (["-999"], [-999]),
        (["-999.0"], []),
        (["1e3", "0.50"], []),
        (["0.5", "07", "-999", "x"], [0.5, -999]),
        (["7", "1000"], [7, 1000]),
    ]:
        got = Reader(column, markers).read(cells, 5)
        assert cells[np.isnan(got)].tolist() == sorted(missing, key=cells.tolist().index), markers
