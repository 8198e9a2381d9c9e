"""Train models on tables of people under differential privacy.

:func:`fit` runs a configuration, and Python never holds its table. :class:`StillpointClassifier`
and :class:`StillpointRegressor` are scikit-learn estimators for tables that Python holds already;
they need scikit-learn, which is imported at their first use.

All work is done by the command ``stillpoint``, which the package brings along.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stillpoint._answers import means, tests
from stillpoint._command import ConfigurationError, StillpointError, version
from stillpoint._curves import plot_curves
from stillpoint._fit import Fit, FitWarning, describe, fit, spent

if TYPE_CHECKING:
    from stillpoint._estimators import NewTableWarning, SpentWarning, StillpointClassifier, StillpointRegressor
    from stillpoint._survival import StillpointSurvival

__all__ = [
    "ConfigurationError",
    "Fit",
    "FitWarning",
    "NewTableWarning",
    "SpentWarning",
    "StillpointClassifier",
    "StillpointError",
    "StillpointRegressor",
    "StillpointSurvival",
    "describe",
    "fit",
    "means",
    "plot_curves",
    "spent",
    "tests",
    "version",
]


def __getattr__(name: str) -> Any:
    if name in {"NewTableWarning", "SpentWarning", "StillpointClassifier", "StillpointRegressor", "StillpointSurvival"}:
        try:
            from stillpoint import _estimators, _survival
        except ModuleNotFoundError as error:
            package = (error.name or "").partition(".")[0]
            if package not in ("sklearn", "numpy"):
                raise
            raise ImportError(f"stillpoint.{name} needs {package}: pip install 'stillpoint-dp[sklearn]'") from error

        return getattr(_survival if name == "StillpointSurvival" else _estimators, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
