"""Fits of configurations. The command reads their tables, and Python never holds a row."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stillpoint._command import Event, Feed, run
from stillpoint._progress import Progress, Shown


class FitWarning(UserWarning):
    """A warning about a fitted model; ``code`` names the warning for programs.

    The codes are those of ``fit --json``, such as ``not-better-than-constant``, ``table-small`` and
    ``target-unusable``.
    """

    def __init__(self, code: str, text: str):
        super().__init__(text)
        self.code = code


@dataclass(frozen=True)
class Fit:
    """The released results of a fit, and their cost.

    ``report`` is the output of ``stillpoint fit --json``. ``model`` and ``certificate`` are the
    contents of the files ``model.json`` and ``certificate.json``.
    """

    folder: Path
    report: dict[str, Any]
    model: dict[str, Any]
    certificate: dict[str, Any]

    def verify(self) -> dict[str, Any]:
        """Recomputes the guarantee from the certificate, without the data."""
        files = [self.folder / "certificate.json", "--model", self.folder / "model.json"]
        return json.loads(run(["verify", *files, "--json"]))

    def coefficients(self) -> dict[str, Any]:
        """The coefficients of a linear model in the table's units, with the privacy noise in each.

        Returns the output of ``stillpoint coefficients --json``. ``terms`` lists each coefficient
        with its ``value`` and the standard deviation ``noise_sd`` of its noise (``None`` if it is
        not stated). ``noise`` says whether the noise is ``estimated``, ``bounded`` or ``not stated``,
        and ``meaning`` says so in words. If the noise is estimated, its ``covariance`` is in the
        output, too. A network has no coefficients.
        """
        return json.loads(run(["coefficients", self.folder, "--json"]))

    def means(self, population: Any, of: Sequence[str] = ()) -> dict[str, Any]:
        """Adjusted means and average marginal effects over a public population: see :func:`stillpoint.means`."""
        from stillpoint._answers import means

        return means(self, population, of)

    def tests(self) -> list[dict[str, Any]]:
        """The joint Wald test of each column, of a fit with inference: see :func:`stillpoint.tests`."""
        from stillpoint._answers import tests

        return tests(self)


def fit(
    config: str | os.PathLike,
    *,
    out: str | os.PathLike | None = None,
    overwrite: bool = False,
    epsilon: float | None = None,
    delta: float | None = None,
    progress: Shown = "auto",
) -> Fit:
    """Fits the model that a configuration describes.

    The command reads the table, and no record comes to Python. Every fit spends a budget of its own, also on
    the same table.

    Args:
        config: the configuration's file.
        out: the output folder; by default a new folder in the current one.
        overwrite: replace the model of an earlier fit in ``out``; that fit's budget stays spent.
        epsilon, delta: replace the values of the configuration.
        progress: True shows the progress, False does not, and "auto" shows it in a terminal or a notebook.
    """
    return _fit(config, out=out, overwrite=overwrite, epsilon=epsilon, delta=delta, progress=progress)


def _fit(config, *, out=None, overwrite=False, epsilon=None, delta=None, progress="auto", feed: Feed | None = None, more=(), on=None, stop=None) -> Fit:
    shown = Progress(progress)

    def show(event: Event) -> None:
        if on is not None:
            on(event)
        shown(event)

    # A table too small for its budget is fitted, and warned of like all else.
    report = _released("fit", config, ["--anyway", *more], out, overwrite, epsilon, delta, shown, feed, show, stop)
    for told in report.get("warnings", []):
        warnings.warn(FitWarning(told["code"], told["text"]), stacklevel=3)
    return Fit(Path(report["folder"]), report, _read(report["model"]), _read(report["certificate"]))


def _released(command, config, more, out, overwrite, epsilon, delta, shown, feed=None, show=None, stop=None) -> dict[str, Any]:
    """The JSON that a command with a budget prints."""
    arguments = [command, config, "--json", *more]
    if out is not None:
        arguments += ["--out", out]
    if overwrite:
        arguments.append("--overwrite")
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        if value is not None:
            arguments.append(f"--{name}={float(value)!r}")
    try:
        return json.loads(run(arguments, feed, show or shown, stop))
    finally:
        shown.finish()


def describe(
    config: Any,
    out: str | os.PathLike | None = None,
    *,
    by: str | None = None,
    level: float = 0.95,
    overwrite: bool = False,
    epsilon: float | None = None,
    delta: float | None = None,
    progress: Shown = "auto",
    **of: Any,
) -> dict[str, Any]:
    """Describes the table of a configuration, or a table that Python holds, by private counts, quantiles and means, for a budget of its own.

    Returns the content of ``describe.json``. A configuration of a fit with ``described: OUT/describe.json`` may keep
    ``number: auto``: its bounds are then those of the description.

    Args:
        config: the configuration's file, which need not have a model; or a table of pandas, polars or pyarrow.
        out: the output folder, if config is a file.
        by: also describe the columns by the values of this category.
        level: the confidence level of the intervals, which cover the privacy noise.
        overwrite, epsilon, delta, progress: as in :func:`fit`.
        of: for a table ``bounds``, ``categories``, ``dates``, ``relation``, ``folder``, ``table``, ``records`` and ``unit``,
            as in :class:`StillpointClassifier`. A column's bounds may be ``"auto"``: they follow from released quantiles.
    """
    if not isinstance(config, (str, os.PathLike)):
        for name in ("relation", "folder", "table"):
            if name not in of:
                raise TypeError(f"{name}: must be given: nothing about privacy has a default")
        if epsilon is None or delta is None or out is not None or overwrite:
            raise TypeError("epsilon, delta: must be given with a table, and folder in place of out and overwrite")
        from stillpoint._estimators import _Description

        facts = {name: of.pop(name, None) for name in ("bounds", "categories", "dates")}
        made = _Description(by=by, level=level, epsilon=epsilon, delta=delta, progress=progress, **facts, **of)
        return made.fit(config).report_
    if out is None or of:
        raise TypeError("out: must be given with a configuration's file, and no argument of a table")
    more = [f"--level={float(level)!r}", *([] if by is None else [f"--by={by}"])]
    return _released("describe", config, more, out, overwrite, epsilon, delta, Progress(progress))


def _read(path: str) -> dict[str, Any]:
    return json.loads(Path(path).read_text(encoding="utf-8"))


def spent(*folders: str | os.PathLike, delta: float | None = None) -> list[dict[str, Any]]:
    """The total cost of all fits in output folders, or in folders that hold output folders.

    Returns an object for each table: ``table``, ``relation``, ``fits``, ``epsilon`` and
    ``delta``. Fits that were interrupted or killed count with their whole budget.
    """
    arguments = ["ledger", *folders, "--json"]
    if delta is not None:
        arguments.append(f"--delta={float(delta)!r}")
    return json.loads(run(arguments))
