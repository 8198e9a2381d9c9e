"""Holds one partition of a table for a fit that runs elsewhere.

This code runs on the machines of an engine (Dask, Spark), beside the rows. It raises no exception
while it holds rows, since engines log the arguments of a failed call. It returns a word that says how it ended.
"""

from __future__ import annotations

import json
import os
import secrets
import struct
import subprocess
import threading
import zlib
from collections.abc import Callable
from typing import IO, Any

from stillpoint._command import command

DONE, LOST, FAILED = "done", "lost", "failed"


class Key:
    """The key of a fit, 256 random bits, and the pipe by which the fit gets it.

    The fit reports that it waits for its key. With this report it names the unit by which the table must be
    partitioned. The pipe stays open until this process ends, so the fit also notices if the process is killed.
    """

    def __init__(self) -> None:
        self.text = secrets.token_hex(32)
        self._pipe = -1
        self._opened = threading.Event()

    def open(self, pipe: IO[bytes]) -> None:
        self._pipe = os.dup(pipe.fileno())
        self._opened.set()

    def give(self) -> None:
        self._opened.wait(60)
        os.write(self._pipe, self.text.encode() + b"\n")

    def close(self) -> None:
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1


def place(cell: str) -> int:
    """A number for a unit (a person): cells that the command takes for the same unit have the same number."""
    return zlib.crc32(cell.replace("\r\n", "\n").strip().encode("utf-8", "surrogatepass"))


def hold(write: Callable[[IO[bytes]], None], address: str, key: str, partition: int, attempt: int, threads: int) -> tuple[str, str]:
    """Runs a worker over rows that ``write`` writes as CSV, until the fit ends.

    Returns a word and a message. The word is ``done``, ``lost`` if another attempt may succeed, or ``failed``.
    """
    process = None
    try:
        process = subprocess.Popen(
            [command(), "shard", f"--connect={address}", f"--partition={partition}", f"--attempt={attempt}", f"--threads={threads}", "--wait=5s", "--progress=json"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        said: list[str] = []
        listener = threading.Thread(target=lambda: said.extend(_messages(process.stderr)), daemon=True)
        listener.start()
        whole = _feed(process, write, key)
        # Standard input stays open: the worker ends when this process does.
        code = process.wait()
        listener.join()
        if code == 0:
            return DONE, ""
        if not whole and not said:
            return FAILED, "the rows could not be written to the worker to their end"
        return LOST, said[-1] if said else f"the worker ended with exit code {code}"
    except OSError as error:  # the command is not there, or cannot start
        return FAILED, f"the worker cannot start: {error.strerror}"
    except BaseException:
        return LOST, "the worker was interrupted"
    finally:
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stderr):
                try:
                    pipe.close()
                except OSError:
                    pass


def _feed(process: subprocess.Popen, write: Callable[[IO[bytes]], None], key: str) -> bool:
    """Writes the key, the rows in frames, and a frame of length 0 as the end. If the rows cannot all be
    written, it writes no end."""
    pipe = process.stdin
    try:
        pipe.write(key.encode() + b"\n")
        write(_Frames(pipe))
        pipe.write(struct.pack("<I", 0))
        pipe.flush()
        return True
    except BrokenPipeError:
        return True  # the worker has ended, and says why
    except BaseException:  # what it says may quote a cell
        process.kill()
        return False


class _Frames:
    """Writes bytes in frames. A frame is a length of four bytes, and then as many bytes as the length says."""

    def __init__(self, pipe: IO[bytes]):
        self._pipe = pipe

    def write(self, text: bytes) -> None:
        for start in range(0, len(text), 1 << 24):
            part = text[start : start + (1 << 24)]
            self._pipe.write(struct.pack("<I", len(part)))
            self._pipe.write(part)


def _messages(lines: Any) -> list[str]:
    found = []
    for line in lines:
        try:
            event = json.loads(line)
            if event.get("event") == "error":
                found.append(str(event.get("message", "")))
        except (ValueError, AttributeError):
            continue
    return found
