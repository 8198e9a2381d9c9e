"""Answers with a released model, which cost no privacy."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stillpoint._command import run
from stillpoint._fit import Fit


def means(model: Fit | str | os.PathLike, population: Any, of: Sequence[str] = ()) -> dict[str, Any]:
    """Adjusted means and average marginal effects of a saved model over a public population, without a cost of privacy.

    Args:
        model: a :class:`Fit`, the folder of a fit, or a file ``model.json``.
        population: a PUBLIC table of pandas, polars or pyarrow with the columns of the model. Never give the private table.
        of: the columns whose means or effects are computed; all by default.

    Returns:
        what :meth:`StillpointClassifier.means` returns.
    """
    import numpy as np

    from stillpoint import _table

    place = _place(model)
    file = place / "model.json" if place.is_dir() else place
    schema = json.loads(file.read_text(encoding="utf-8"))["schema"]
    names = _table.names(population)
    if names is None:
        raise TypeError("population: must be a table of pandas, polars or pyarrow, whose columns have names")
    columns = [c for c in schema["columns"] if c["name"] in names]
    used = [c["name"] for c in columns]
    kinds = {c: str(getattr(_table._place(population, names.index(c)), "dtype", "")).lower() for c in used}
    # The text of a float that is a whole number has no ".0", as the markers of missing cells have none.
    listed = [c["name"] for c in columns if not {"number", "date"} & c.keys() or kinds[c["name"]].startswith("float")]
    feed = _table.writer(population, [names.index(c) for c in used], used, listed, "", np.full(population.shape[0], "x"))
    return json.loads(run(["means", place, "--over", "-", "--json", *(f"--of={c}" for c in of)], feed))


def tests(model: Fit | str | os.PathLike) -> list[dict[str, Any]]:
    """The joint Wald test of each column of a saved model with intervals, without a cost of privacy.

    A column's hypothesis is that all its coefficients are 0: all levels of a category, all pairs of levels of an
    interaction, or the line and all knots of a curve.

    Args:
        model: a :class:`Fit`, the folder of a fit, or a file ``model.json``.

    Returns:
        the output of ``stillpoint coefficients --tests --json``: for each column ``column``, ``terms`` (the number of
        coefficients), ``statistic``, ``p``, ``p_holm`` (``p`` adjusted for all columns). Without a test of
        the column, ``reason`` says why. Beside a test, ``without`` lists the coefficients that the test leaves out, and
        ``reason`` says why.
    """
    return json.loads(run(["coefficients", _place(model), "--tests", "--json"]))


def _place(model: Fit | str | os.PathLike) -> Path:
    return model.folder if isinstance(model, Fit) else Path(model)


def of_bytes(model: bytes, *arguments: Any, feed: Any = None) -> Any:
    """The JSON output of a command about a model that Python holds. arguments[0] is the command's name; the
    file of the model follows it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.json"
        file.write_bytes(model)
        return json.loads(run([arguments[0], file, *arguments[1:], "--json"], feed))
