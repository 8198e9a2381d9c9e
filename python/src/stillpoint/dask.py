"""Fits over Dask DataFrames: the rows stay on Dask's workers.

``stillpoint.dask.fit(frame, "people.yaml")`` needs ``pip install 'stillpoint-dp[dask]'``, here
and on the workers, in the same version.
"""

from __future__ import annotations

import ipaddress
import os
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any, Union
from urllib.parse import urlsplit

from stillpoint._command import ConfigurationError, Event, StillpointError
from stillpoint._fit import Fit, _fit
from stillpoint._progress import Shown
from stillpoint._shards import DONE, FAILED, LOST, Key, hold, place

try:
    import distributed
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "distributed":
        raise
    raise ImportError("stillpoint.dask needs distributed: pip install 'stillpoint-dp[dask]'") from error

__all__ = ["fit"]

ATTEMPTS = 5  # of a partition
ENDING = 10  # seconds in which the tasks of a fit that has ended are gone
HOLDS = "stillpoint-hold-"  # how the key of a task begins that holds a partition
PLACE = "stillpoint: place of the unit"  # a column, while rows are moved

# Writes a partition as text, and makes such a function of a partition and its targets, or says why it cannot.
Write = Callable[[IO[bytes]], Any]
Make = Callable[[Any, Any], Union[Write, str]]


def fit(
    frame: Any,
    config: str | os.PathLike,
    *,
    client: distributed.Client | None = None,
    listen: str | None = None,
    out: str | os.PathLike | None = None,
    overwrite: bool = False,
    epsilon: float | None = None,
    delta: float | None = None,
    progress: Shown = "auto",
) -> Fit:
    """Fits the model that a configuration describes to a Dask DataFrame.

    Each partition goes to a worker of the command on the same machine. The worker sends exact sums over an
    encrypted connection, and the fit in this process adds the noise. The model is bit for bit that of a
    fit to one table with all partitions, one after the other. Columns keep their names, and booleans are
    written as true and false.

    If the schema has a unit, Dask first moves all rows of a unit into one partition, and keeps
    the partitions in its workers' memory until the fit ends.

    If Dask computes a partition again, it must have the same rows in the same order; otherwise the fit ends.
    Persist a frame whose order may change.

    Args:
        frame: the DataFrame.
        config: the configuration's file. It leaves out the key ``data``, and names the table with the key ``table``.
        client: the Dask client; by default the current one. Its connections carry the key of the fit. They
            must be encrypted (``tls://``), unless they stay on this machine.
        listen: the address HOST:PORT at which workers find the fit; by default any port of the address by
            which this machine reaches the scheduler.
        out, overwrite, epsilon, delta, progress: as in :func:`stillpoint.fit`.
    """
    parts = [(part, None) for part in frame.to_delayed()]
    client = client or distributed.get_client()
    settings = {"out": out, "overwrite": overwrite, "epsilon": epsilon, "delta": delta, "progress": progress}
    return _over(parts, _whole, config, client, listen, _moved(frame), **settings)


def _moved(frame: Any) -> Callable[[distributed.Client, str], list[tuple[Any, Any]]]:
    """A function that returns the partitions of a frame after all rows of each unit were moved into one
    partition."""
    return lambda client, unit: _by_unit(client, frame, unit)


def _by_unit(client: distributed.Client, frame: Any, unit: str) -> list[tuple[Any, Any]]:
    """The partitions of a frame after all rows of each unit were moved into one partition.

    The rows are moved before the fit takes connections, since the tasks of a shuffle need the threads that hold
    partitions later.
    """
    if unit not in frame.columns:
        return [(part, None) for part in frame.to_delayed()]  # the fit says that it is not there
    placed = frame.map_partitions(_placed, unit, meta=_placed(frame._meta, unit))
    moved = placed.shuffle(on=PLACE, npartitions=frame.npartitions).map_partitions(_ordered, meta=frame._meta)
    moved = client.persist(moved)
    futures = distributed.futures_of(moved)
    distributed.wait(futures)
    if any(f.status != "finished" for f in futures):
        raise RuntimeError("the table could not be shuffled")
    return [(part, None) for part in moved.to_delayed()]


def _placed(part: Any, unit: str) -> Any:
    """A partition with one more column, of numbers by which its rows are moved."""
    import numpy as np

    from stillpoint._table import RECORD, cells

    return part.assign(**{PLACE: np.array([place(c) for c in cells(part[unit], RECORD)], dtype=np.int64)})


def _ordered(part: Any) -> Any:
    """The rows of a partition in an order that follows from their contents, and not from their earlier
    order."""
    import numpy as np
    from pandas.util import hash_pandas_object

    part = part.drop(columns=PLACE)
    try:
        keys = hash_pandas_object(part, index=False).to_numpy()
    except BaseException:  # of cells that have no hash; what it says may quote one
        return part
    return part.iloc[np.argsort(keys, kind="stable")]


def _over(
    parts: list[tuple[Any, Any]], make: Make, config: Any, client: Any = None, listen: str | None = None, by_unit: Any = None, **settings: Any
) -> Fit:
    """Fits a configuration to partitions, each of which is a pair of rows and of targets or None. make returns
    the function that writes one of them.

    If the configuration has a unit, by_unit returns the partitions that replace them.
    """
    client = client or distributed.get_client()
    address = client.scheduler.address
    if not _guarded(address):
        raise ConfigurationError(
            f"client: the connections to {address} are not encrypted: must be tls://, since they carry rows and the key of the fit"
            " (distributed.Security)",
            "configuration",
        )
    _count(client, len(parts))
    running = _Running(client, parts, make, by_unit)
    arguments = [f"--shards={len(parts)}", f"--listen={listen or _listen(address)}", "--attended"]
    try:
        return _fit(config, **settings, feed=running.key.open, more=arguments, on=running.on, stop=running.failed)
    except StillpointError as error:
        if running.why and error.code == "interrupted":
            raise StillpointError(f"{running.why}; {error}", "system", charged=error.charged) from None
        raise
    finally:
        running.end()


def _count(client: distributed.Client, parts: int) -> None:
    """Raises an error if Dask's workers have fewer threads than there are partitions to hold."""
    deadline = time.monotonic() + ENDING
    while True:
        threads, held = sum(client.nthreads().values()), _holding(client)
        if parts <= threads - held:
            return
        if parts > threads or time.monotonic() > deadline:  # otherwise a fit may be ending
            others = f", of which other fits hold {held}," if held else ","
            raise ConfigurationError(
                f"frame: {parts} partitions: must be at most the {threads} threads of Dask's workers{others} each of which holds one"
                " during the fit (repartition the frame, or add workers)",
                "configuration",
            )
        time.sleep(0.2)


def _holding(client: distributed.Client) -> int:
    """The number of threads that hold partitions of fits, of all clients of the scheduler."""
    return sum(str(key).startswith(HOLDS) for keys in client.processing().values() for key in keys)


def _guarded(address: str) -> bool:
    """Whether the data that Dask sends are encrypted or stay on this machine."""
    url = urlsplit(address)
    if url.scheme in ("tls", "inproc", "wss"):
        return True
    return _local(url.hostname or "")


def _local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _listen(address: str) -> str:
    url = urlsplit(address)
    host = url.hostname or ""
    if url.scheme == "inproc" or _local(host):
        return "127.0.0.1:0"
    own = distributed.utils.get_ip(host, url.port or 80)
    return f"[{own}]:0" if ":" in own else f"{own}:0"


def _hold(part: Any, targets: Any, make: Make, address: str, key: str, partition: int, attempt: int) -> tuple[str, str]:
    """A task of Dask that holds a partition until the fit ends. It raises no exception."""
    try:
        write = make(part, targets)
        if isinstance(write, str):
            return FAILED, write
        return hold(write, address, key, partition, attempt, 1)
    except BaseException:  # it may quote a cell, and Dask logs the rows beside it
        return FAILED, "the worker has a fault"


def _whole(part: Any, targets: None) -> Write | str:
    """A function that writes all columns of a partition."""
    from stillpoint._table import _csv, names, writer

    columns = names(part)
    if columns is None or len(columns) < 2:
        return "frame: columns: must be at least two, whose names are texts"
    if len(part) == 0:
        return lambda pipe: pipe.write(_csv([columns]))
    inner = columns[:-1]
    return writer(part, range(len(inner)), inner, set(inner), columns[-1], part.iloc[:, len(inner)])


@dataclass(frozen=True)
class _Chosen:
    """Returns a function that writes the columns of a partition in the order of an estimator's configuration,
    with the targets last."""

    places: list[int]
    columns: list[str]
    listed: frozenset[str]
    last: str
    outcome: int | None  # the place of the targets, where they are a column of the partition
    of: Callable[[Any], str]

    def __call__(self, part: Any, targets: Any) -> Write | str:
        from stillpoint._table import _csv, writer

        if self.outcome is not None:
            targets = part.iloc[:, self.outcome]
        if len(targets) != len(part):
            return "y: must have as many rows as X in every partition"
        if len(part) == 0:
            return lambda pipe: pipe.write(_csv([[*self.columns, self.last]]))
        return writer(part, self.places, self.columns, self.listed, self.last, targets, self.of)


class _Running:
    """The tasks that hold the partitions of a fit."""

    def __init__(self, client: distributed.Client, parts: list[tuple[Any, Any]], make: Make, by_unit: Any):
        self._client, self._parts, self._make, self._by_unit = client, parts, make, by_unit
        self.key = Key()
        self._lock = threading.Lock()
        self._futures: dict[int, Any] = {}
        self._address = ""
        self._over = False
        self.failed, self.why = threading.Event(), ""

    def on(self, event: Event) -> None:
        if event["event"] == "key":
            try:
                if event["unit"] and self._by_unit is not None:
                    self._parts = self._by_unit(self._client, event["unit"])
                self.key.give()
            except BaseException as error:  # what it says may quote a cell
                self._fail(f"Dask could not partition the table by its unit: {type(error).__name__}")
        if event["event"] == "listening":
            self._address = event["address"]
            try:
                for i in range(len(self._parts)):
                    self._start(i, 0)
            except BaseException as error:
                self._fail(f"Dask takes no tasks: {type(error).__name__}")

    def _fail(self, why: str) -> None:
        self.why = self.why or why
        self.failed.set()

    def _start(self, partition: int, attempt: int) -> None:
        import dask

        held = (*self._parts[partition], self._make, self._address, self.key.text, partition, attempt)
        task = dask.delayed(_hold, pure=False)(*held, dask_key_name=HOLDS + str(uuid.uuid4()))
        with self._lock:
            if self._over:
                return
            future = self._client.compute(task, retries=ATTEMPTS, priority=-partition)
            self._futures[partition] = future
        future.add_done_callback(lambda f: self._ended(f, partition, attempt))

    def _ended(self, future: Any, partition: int, attempt: int) -> None:
        try:
            how, said = future.result()
        except BaseException as error:  # what it says may quote a cell
            how, said = FAILED, f"Dask could not compute it: {type(error).__name__}"
        if how == DONE or self._over:
            return
        if how == LOST and attempt + 1 < ATTEMPTS:
            try:
                return self._start(partition, attempt + 1)
            except BaseException as error:
                said = f"Dask takes no tasks: {type(error).__name__}"
        self._fail(f"partition {partition}: {said}")

    def end(self) -> None:
        self.key.close()
        with self._lock:
            self._over = True
            futures = list(self._futures.values())
        self._client.cancel(futures)
