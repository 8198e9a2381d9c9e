"""What an estimator would write to the command: its feed, caught before the command runs."""

import csv
import io
import warnings

from stillpoint import NewTableWarning, StillpointClassifier, StillpointRegressor, _estimators

CLASSES = ["no", "yes", "perhaps"]


class _Caught(BaseException):
    def __init__(self, text, configuration):
        self.text, self.configuration = text, configuration


def model(tmp_path, **more):
    kind = StillpointRegressor if "target_bounds" in more else StillpointClassifier
    if kind is StillpointClassifier:
        more = {"classes": CLASSES, **more}
    more = {"ignore": "others", **more}
    return kind(epsilon=1, delta=1e-5, relation="replace-one", folder=tmp_path, table="people", progress=False, **more)


def written(estimator, X, y) -> str:
    """The text that a fit hands to the command."""

    def stand_in(file, *, out, progress, feed):
        pipe = io.BytesIO()
        feed(pipe)
        raise _Caught(pipe.getvalue().decode(), file)

    kept, _estimators._fit = _estimators._fit, stand_in
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", NewTableWarning)
            estimator.fit(X, y)
    except _Caught as caught:
        return caught.text
    finally:
        _estimators._fit = kept
    raise AssertionError("nothing was written")


def rows(text: str) -> list[list[str]]:
    """The records of a text, its header first."""
    csv.field_size_limit(1 << 30)
    return list(csv.reader(io.StringIO(text, newline="")))
