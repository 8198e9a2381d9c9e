"""Fits over Spark DataFrames: the rows stay on Spark's executors.

``stillpoint.spark.fit(frame, "people.yaml")`` needs ``pip install 'stillpoint-dp[spark]'``, here
and on the executors, in the same version.
"""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from stillpoint._command import ConfigurationError, Event, StillpointError
from stillpoint._fit import Fit, _fit
from stillpoint._progress import Shown
from stillpoint._shards import DONE, Key, hold

try:
    import pyspark
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "pyspark":
        raise
    raise ImportError("stillpoint.spark needs pyspark: pip install 'stillpoint-dp[spark]'") from error

__all__ = ["fit"]

ADAPTIVE = "spark.sql.adaptive.enabled"

# Settings without which rows or the key of a fit are on a network or a disk in the clear.
GUARDS = ("spark.authenticate", "spark.network.crypto.enabled", "spark.io.encryption.enabled")

# Seconds in which the executors of a new session come.
STARTING = 30


def fit(
    frame: Any,
    config: str | os.PathLike,
    *,
    listen: str | None = None,
    out: str | os.PathLike | None = None,
    overwrite: bool = False,
    epsilon: float | None = None,
    delta: float | None = None,
    progress: Shown = "auto",
) -> Fit:
    """Fits the model that a configuration describes to a Spark DataFrame.

    Each partition goes through a pipe, as Arrow and then as text, to a worker of the command on its
    executor's machine. The worker sends exact sums over an encrypted connection, and the fit in this
    process adds the noise. The tasks last as long as the fit. The model is bit for bit that of a fit to
    one table with all partitions, one after the other.

    If the schema has a unit, Spark first moves all rows of a unit into one partition.

    If Spark computes a partition again, it must have the same rows in the same order; otherwise the fit ends.
    Write a frame whose order may change to storage first.

    Args:
        frame: the DataFrame, of a session with ``spark.authenticate``,
            ``spark.network.crypto.enabled`` and ``spark.io.encryption.enabled``, unless all
            of it is on this machine (``local``).
        config: the configuration's file. It leaves out the key ``data``, and names the table with the key ``table``.
        listen: the address HOST:PORT at which workers find the fit; by default any port of the driver's host.
        out, overwrite, epsilon, delta, progress: as in :func:`stillpoint.fit`.
    """
    try:
        context = frame.sparkSession.sparkContext
    except AttributeError:
        raise ConfigurationError("frame: is of Spark Connect: must be of a session whose driver is this process", "configuration") from None
    settings = context.getConf()
    local = context.master.startswith("local")
    if not local:
        open_ = [s for s in GUARDS if settings.get(s, "false").lower() != "true"]
        if open_:
            raise ConfigurationError(
                f"frame: {', '.join(open_)}: must be true: Spark's connections and files carry rows and the key of the fit", "configuration"
            )
    columns = list(frame.columns)
    if len(columns) < 2:
        raise ConfigurationError("frame: columns: must be at least two", "configuration")
    # With adaptive execution a stage may have fewer partitions than were counted before.
    conf = frame.sparkSession.conf
    adaptive = conf.get(ADAPTIVE, "true")
    conf.set(ADAPTIVE, "false")
    try:
        return _over(frame, columns, context, settings, config, local, listen, out, overwrite, epsilon, delta, progress)
    finally:
        conf.set(ADAPTIVE, adaptive)


def _over(frame, columns, context, settings, config, local, listen, out, overwrite, epsilon, delta, progress) -> Fit:
    shards = frame.mapInArrow(_nothing, "ended string").rdd.getNumPartitions()
    host = "127.0.0.1" if local else settings.get("spark.driver.host", "")
    with _taken(context, settings, shards):
        running = _Running(frame, columns, shards)
        try:
            return _fit(
                config, out=out, overwrite=overwrite, epsilon=epsilon, delta=delta, progress=progress,
                feed=running.key.open, more=[f"--shards={shards}", f"--listen={listen or host + ':0'}", "--attended"], on=running.on, stop=running.failed,
            )  # fmt: skip
        except StillpointError as error:
            if running.why and error.code == "interrupted":
                raise StillpointError(f"{running.why}; {error}", "system", charged=error.charged) from None
            raise
        finally:
            running.end()


_lock = threading.Lock()
_held: dict[str, int] = {}  # by the application's id: the slots that fits of this process hold


@contextmanager
def _taken(context: Any, settings: Any, shards: int) -> Iterator[None]:
    """Takes a slot for each partition, or raises an error if there are too few."""
    application = context.applicationId
    slots = _slots(context, settings)
    fixed = context.master.partition("[")[0] == "local"
    deadline = time.monotonic() + (0 if fixed else STARTING)
    while slots is not None and slots < shards and time.monotonic() < deadline:
        time.sleep(0.5)
        slots = _slots(context, settings)
    with _lock:
        held = _held.get(application, 0)
        if slots is not None and shards > slots - held:
            others = f", of which other fits hold {held}," if held else ","
            raise ConfigurationError(
                f"frame: {shards} partitions: must be at most the {slots} tasks that run at a time{others} each of which"
                " holds one during the fit (coalesce the frame, or add cores)",
                "configuration",
            )
        _held[application] = held + shards
    try:
        yield
    finally:
        with _lock:
            _held[application] -= shards


def _slots(context: Any, settings: Any) -> int | None:
    """The number of tasks that run at a time; None if executors are added as needed, without a
    limit."""
    scala = context._jsc.sc()
    now = int(scala.maxNumConcurrentTasks(scala.resourceProfileManager().defaultResourceProfile()))
    if settings.get("spark.dynamicAllocation.enabled", "false").lower() != "true":
        return now
    most, cores = settings.get("spark.dynamicAllocation.maxExecutors"), settings.get("spark.executor.cores")
    if most is None or cores is None:
        return None
    return max(now, int(most) * (int(cores) // int(settings.get("spark.task.cpus", "1"))))


def _by_unit(frame: Any, unit: str, shards: int) -> Any:
    """A frame with all rows of a unit in one partition. Their order follows from their contents."""
    from pyspark.sql import functions

    quoted = functions.col("`" + unit.replace("`", "``") + "`")
    lines = functions.regexp_replace(quoted.cast("string"), "\r\n", "\n")
    name = functions.regexp_replace(lines, r"(?U)\A\s+|\s+\z", "")
    every = ["`" + c.replace("`", "``") + "`" for c in frame.columns]
    return frame.repartition(shards, name).sortWithinPartitions(functions.xxhash64(*every))


def _nothing(batches: Iterator[Any]) -> Iterator[Any]:
    yield from ()


class _Running:
    """The Spark job whose tasks hold the partitions of a fit."""

    def __init__(self, frame: Any, columns: list[str], shards: int):
        self._frame, self._columns, self._shards = frame, columns, shards
        self.key, self._group = Key(), f"stillpoint-{uuid.uuid4()}"
        self._context = frame.sparkSession.sparkContext
        self._thread: threading.Thread | None = None
        self._over = False
        self.failed, self.why = threading.Event(), ""

    def on(self, event: Event) -> None:
        if event["event"] == "key":
            try:
                if event["unit"] in self._columns:
                    self._frame = _by_unit(self._frame, event["unit"], self._shards)
                self.key.give()
            except BaseException as error:  # what Spark says may quote a cell
                self.why = f"Spark could not partition the table by its unit: {type(error).__name__}"
                self.failed.set()
        if event["event"] == "listening":
            task = _task(event["address"], self.key.text, self._columns)
            self._thread = pyspark.InheritableThread(target=self._run, args=(task,), daemon=True)
            self._thread.start()

    def _run(self, task: Any) -> None:
        try:
            self._context.setJobGroup(self._group, "stillpoint: holds the partitions of a fit", interruptOnCancel=True)
            self._frame.mapInArrow(task, "ended string").collect()
        except BaseException as error:  # what Spark says may quote a cell
            if not self._over:
                self.why = f"Spark's job failed: {type(error).__name__}"
                self.failed.set()

    def end(self) -> None:
        self.key.close()
        self._over = True
        self._context.cancelJobGroup(self._group)
        if self._thread is not None:
            self._thread.join(timeout=10)


def _task(address: str, key: str, columns: list[str]) -> Any:
    """A function for mapInArrow that holds a partition until the fit ends."""

    def task(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        from pyspark import TaskContext
        from stillpoint._table import _csv, writer

        def write(pipe: IO[bytes]) -> None:
            inner = columns[:-1]
            pipe.write(_csv([columns]))
            for batch in batches:
                table = pyarrow.Table.from_batches([batch])
                writer(table, range(len(inner)), inner, set(inner), columns[-1], table.column(len(inner)))(_Headless(pipe))

        here = TaskContext.get()
        how, said = hold(write, address, key, here.partitionId(), here.attemptNumber(), 1)
        if how != DONE:
            raise RuntimeError(f"stillpoint: {said}")  # so that Spark tries again; it says nothing of rows
        yield pyarrow.RecordBatch.from_pydict({"ended": [how]})

    return task


class _Headless:
    """Passes on all writes but the first, which is the header, since each partition needs only one header."""

    def __init__(self, pipe: IO[bytes]):
        self._pipe, self._begun = pipe, False

    def write(self, text: bytes) -> None:
        if self._begun:
            self._pipe.write(text)
        self._begun = True
