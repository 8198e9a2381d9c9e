"""Train models on tables of people under differential privacy.

:func:`fit` runs a configuration whose table Python never holds.
:class:`StillpointClassifier` and :class:`StillpointRegressor` are scikit-learn
estimators for tables that Python holds already; they need scikit-learn, which is
imported when they are first spoken of.

All work is done by the command ``stillpoint``, which the package brings along.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stillpoint._command import ConfigurationError, StillpointError, version
from stillpoint._fit import Fit, FitWarning, fit, spent

if TYPE_CHECKING:
    from stillpoint._estimators import SpentWarning, StillpointClassifier, StillpointRegressor

__all__ = [
    "ConfigurationError",
    "Fit",
    "FitWarning",
    "SpentWarning",
    "StillpointClassifier",
    "StillpointError",
    "StillpointRegressor",
    "fit",
    "spent",
    "version",
]


def __getattr__(name: str) -> Any:
    if name in {"SpentWarning", "StillpointClassifier", "StillpointRegressor"}:
        from stillpoint import _estimators

        return getattr(_estimators, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
