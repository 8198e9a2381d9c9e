"""A plugin of pytest that notes, for each test, how long it takes and which functions of the package it calls.

The folder of the package is in DRAW_SOURCE, and the file to be written in DRAW_REACH.
"""

import json
import os
import sys
import threading
import time

import pytest

_folder = os.path.realpath(os.environ["DRAW_SOURCE"]) + os.sep
_tests = {}
_current = None


def _called(frame, event, _):
    code = frame.f_code
    if _current is not None and event == "call" and code.co_filename.startswith(_folder):
        _current["calls"].add(code.co_filename[len(_folder):] + " " + code.co_name)


def pytest_configure():
    sys.settrace(_called)
    threading.settrace(_called)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    global _current
    _current = _tests.setdefault(item.nodeid, {"calls": set()})
    start = time.monotonic()
    sys.settrace(_called)
    yield
    _current["takes"] = time.monotonic() - start
    _current = None


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    if outcome.get_result().outcome == "failed":
        _tests[item.nodeid]["failed"] = True


def pytest_sessionfinish():
    with open(os.environ["DRAW_REACH"], "w", encoding="utf-8") as f:
        json.dump({test: {**of, "calls": sorted(of["calls"])} for test, of in _tests.items()}, f)
