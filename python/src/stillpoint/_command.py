"""Runs the command. Tables go to the command over a pipe or in memory. Its output consists of public facts and
released numbers."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sysconfig
import threading
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

Event = dict[str, Any]
Feed = Callable[[IO[bytes]], None]

UNWRITTEN = "the table could not be written to the command to its end"


class StillpointError(RuntimeError):
    """The command refused a request or failed.

    ``code`` is configuration, usage, budget, refused, system, interrupted or fault. ``field`` and
    ``rule`` name the faulty value, if there is one. ``charged`` says whether a budget was reserved;
    a reserved budget is not given back.
    """

    def __init__(self, message: str, code: str = "fault", field: str = "", rule: str = "", charged: bool = False):
        super().__init__(message)
        self.code, self.field, self.rule, self.charged = code, field, rule, charged

    def __reduce__(self):  # errors cross process borders under n_jobs
        return type(self), (str(self), self.code, self.field, self.rule, self.charged)


class ConfigurationError(StillpointError, ValueError):
    """A configuration, an argument or a table has a fault. Nothing was charged."""


@lru_cache(maxsize=1)
def command() -> str:
    """The path of the command that came with this package. Without such a command it is that of the command on
    the PATH."""
    name = "stillpoint.exe" if os.name == "nt" else "stillpoint"
    schemes = [sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user")]
    for scheme in schemes:
        path = Path(sysconfig.get_path("scripts", scheme)) / name
        if path.is_file():
            return str(path)
    found = shutil.which("stillpoint")
    if found is None:
        raise FileNotFoundError("the command stillpoint is neither beside this Python nor on the path")
    return found


def version() -> str:
    """The output of ``stillpoint version``."""
    return run(["version"]).strip()


class Typed:
    """A function that writes a table as text to a pipe. The table can be written to a file in memory
    instead."""

    def __init__(self, feed: Callable[[IO[bytes]], None], write: Callable[[IO[bytes]], None]):
        self._feed, self._write = feed, write

    def __call__(self, pipe: IO[bytes]) -> None:
        self._feed(pipe)

    def file(self) -> int | None:
        """The descriptor of an empty file in memory; None if the system has no such files."""
        try:
            return os.memfd_create("stillpoint", os.MFD_CLOEXEC)
        except (AttributeError, OSError):
            return None

    def fill(self, descriptor: int) -> None:
        """Writes the table to the file, and sets the position in the file to its start."""
        with os.fdopen(descriptor, "wb", closefd=False) as sink:
            self._write(sink)
        os.lseek(descriptor, 0, os.SEEK_SET)


def run(
    arguments: Iterable[str | os.PathLike],
    feed: Feed | None = None,
    on: Callable[[Event], None] | None = None,
    stop: threading.Event | None = None,
) -> str:
    """Runs the command and returns what it prints.

    ``feed`` writes the command's standard input to a pipe. If it can, it writes a file in memory instead,
    before the command starts. ``on`` gets the events that the command reports. Once ``stop`` is set, the
    command is interrupted, and saves the model of its steps so far.

    Ctrl-C interrupts the command as well. After the command has saved the model of its steps so
    far, KeyboardInterrupt is raised with the command's message. This exception also ends a search over
    settings, which would count other errors as bad models.
    """
    file = feed.file() if isinstance(feed, Typed) else None
    if file is None:
        return _run(arguments, subprocess.DEVNULL if feed is None else subprocess.PIPE, feed, on, stop)
    try:
        assert isinstance(feed, Typed)
        _fill(feed, file)
        return _run(arguments, file, None, on, stop)
    finally:
        os.close(file)


def _fill(feed: Typed, file: int) -> None:
    """Fills the file in a thread of its own. An interrupt reaches the main thread alone, and so cannot happen
    while a cell is read."""
    filled, ended = threading.Event(), threading.Event()

    def fill() -> None:
        try:
            feed.fill(file)
            filled.set()
        except BaseException:  # not kept: it may quote a cell
            pass
        finally:
            ended.set()

    thread = threading.Thread(target=fill, daemon=True)
    thread.start()
    try:
        _wait(ended)
    finally:
        thread.join()
    if not filled.is_set():
        raise StillpointError(UNWRITTEN, code="system")


def _run(
    arguments: Iterable[str | os.PathLike],
    stdin: int,
    feed: Feed | None,
    on: Callable[[Event], None] | None,
    stop: threading.Event | None,
) -> str:
    """Runs the command with stdin as its standard input. If feed is given, it writes the standard input, which
    must be a pipe."""
    process = subprocess.Popen(
        [command(), *map(os.fspath, arguments), "--progress=json"],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Interrupts come from here alone: at a second one the command would end at once.
        **({"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP} if os.name == "nt" else {"start_new_session": True}),
    )
    failed, ended = threading.Event(), threading.Event()
    said: list[Event] = []
    printed: list[bytes] = []

    def write() -> None:
        assert feed is not None and process.stdin is not None
        try:
            feed(process.stdin)
            process.stdin.flush()
        except BaseException as error:
            if isinstance(error, BrokenPipeError) or (os.name == "nt" and getattr(error, "errno", 0) == errno.EINVAL):
                return  # the command has ended, and says why
            # An end of the pipe is the end of the table: none that is cut short may
            # be taken for one that is whole. The error is not kept: it may quote a cell.
            process.kill()
            failed.set()
        finally:
            try:
                process.stdin.close()
            except OSError:
                pass

    def listen() -> None:
        assert process.stderr is not None
        show = on
        for line in process.stderr:
            event = _event(line)
            said.append(event)
            if show is not None and event["event"] != "error":
                try:
                    show(event)
                except Exception:  # a display that is gone ends no fit
                    show = None

    def read() -> None:
        assert process.stdout is not None
        try:
            printed.append(process.stdout.read())
        finally:
            ended.set()

    reader = threading.Thread(target=read, daemon=True)
    threads = [threading.Thread(target=listen, daemon=True), reader]
    if feed is not None:
        threads.append(threading.Thread(target=write, daemon=True))
    begun, interrupted = 0, False
    try:
        for thread in threads:
            begun += 1
            thread.start()
        if stop is None:
            _wait(ended)
        else:
            while not ended.wait(0.2):
                if stop.is_set():
                    _interrupt(process)
                    _wait(ended)
    except KeyboardInterrupt:
        # It may come while a thread starts, which then starts by itself; the others follow.
        for thread in threads[begun:]:
            thread.start()
        # The command saves what it reached. A second interrupt ends the waiting.
        interrupted = True
        _interrupt(process)
        _wait(ended)
    finally:
        if not ended.is_set():  # no thread could begin, or a second interrupt came
            process.kill()
        process.wait()
        for thread in threads:
            if thread.ident is not None:  # an interrupt may come before it has begun
                thread.join()
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()
        if process.stdin is not None:  # still open if its thread could not begin
            process.stdin.close()
    if interrupted:  # however the command ended: whoever called is to end, too
        raise KeyboardInterrupt(str(_error(said, process.returncode)) if process.returncode else "the command had ended")
    if failed.is_set():
        raise StillpointError(UNWRITTEN, code="system")
    if process.returncode != 0:
        raise _error(said, process.returncode)
    return b"".join(printed).decode()


def _interrupt(process: subprocess.Popen) -> None:
    process.send_signal(signal.CTRL_BREAK_EVENT if os.name == "nt" else signal.SIGINT)


def _wait(event: threading.Event) -> None:
    """Waits for an event, in short waits one after the other, since one unlimited wait may delay an
    interrupt."""
    while not event.wait(0.2):
        pass


def _event(line: bytes) -> Event:
    text = line.decode(errors="replace").strip()
    try:
        event = json.loads(text)
    except ValueError:
        event = None
    return event if isinstance(event, dict) and "event" in event else {"event": "said", "text": text}


def _error(said: list[Event], code: int) -> StillpointError:
    for event in reversed(said):
        if event["event"] == "error":
            kind = ConfigurationError if event["code"] in ("configuration", "usage") else StillpointError
            return kind(event["message"], event["code"], event.get("field", ""), event.get("rule", ""), event["charged"])
    # Ended by a signal or a fault, which says no more than a line.
    charged = any(event["event"] in ("plan", "step") for event in said)
    words = " ".join(event["text"] for event in said if event["event"] == "said")
    return StillpointError(f"the command ended with exit code {code}: {words}", charged=charged)
