"""The command as a process: what it is started with, how it may end, and what is heard of it.

Commands that end in ways of their own stand in for the real one.
"""

import json
import os
import shlex
import signal
import sys
import threading
import time

import pytest
from conftest import write

import stillpoint
from stillpoint import StillpointError, _command, _fit
from stillpoint._progress import Progress

pytestmark = pytest.mark.skipif(os.name == "nt", reason="commands are scripts here")

HEAD = """
import json, os, signal, sys, time
def tell(**event):
    sys.stderr.write(json.dumps(event) + "\\n")
    sys.stderr.flush()
PLAN = {"plan": {"algorithm": "gd", "steps": 9}}
ERROR = {"event": "error", "message": "the budget is spent", "code": "budget", "charged": True}
"""


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Makes a script of Python the command."""

    def made(script):
        (tmp_path / "command.py").write_text(f"{HEAD}{script}")
        path = tmp_path / "command"
        # By a shell: a first line cannot name an interpreter whose path has a space in it.
        words = shlex.join([sys.executable, str(tmp_path / "command.py")])
        path.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        path.chmod(0o755)
        monkeypatch.setattr(_command, "command", lambda: str(path))

    return made


@pytest.mark.parametrize(
    "script, code, charged",
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", -9, False),
        ("tell(event='plan', plan=PLAN); print('{}', flush=True); os.kill(os.getpid(), signal.SIGKILL)", -9, True),
        ("print('[]'); sys.exit(3)", 3, False),
        ("tell(event='step', step=1); sys.stderr.write('it is gone\\n'); sys.exit(3)", 3, True),
    ],
)
def test_an_end_without_an_error_is_none_of_success(command, script, code, charged):
    """However a command ends: a signal's code is below zero, and words may be all there is."""
    command(script)
    for on in (None, lambda event: None):
        with pytest.raises(StillpointError, match=f"^the command ended with exit code {code}: ") as caught:
            _command.run([], on=on)
        assert (caught.value.code, caught.value.charged) == ("fault", charged)
        assert str(caught.value).endswith(": it is gone" if "gone" in script else ": ")


def test_errors_are_heard_whoever_listens(command):
    """With a display, without one, and with one that fails at the first event, however it fails."""
    command("tell(event='plan', plan=PLAN); tell(event='step', step=1); tell(**ERROR); sys.exit(4)")
    seen = []

    def failing(kind):
        def show(event):
            seen.append(event["event"])
            raise kind("no display")

        return show

    for on in (None, seen.append, *(failing(k) for k in (OSError, ValueError, RuntimeError, AttributeError, KeyError))):
        with pytest.raises(StillpointError, match="^the budget is spent$") as caught:
            _command.run([], on=on)
        assert caught.value.code == "budget" and caught.value.charged
    assert [e if type(e) is str else e["event"] for e in seen] == ["plan", "step", *["plan"] * 5]


def test_long_answers_are_whole(command):
    """What is printed is read to its end, also where much is said at the same time."""
    command("for i in range(9): print('x' * 999, flush=True); time.sleep(0.05)")
    assert len(_command.run([])) == 9_000
    command("for i in range(40): print('x' * 24_999, flush=True); tell(event='step', step=i, more='y' * 9_999)")
    seen = []
    assert len(_command.run([], on=seen.append)) == 1_000_000
    assert [e["step"] for e in seen] == list(range(40))


def test_the_command_has_no_input_and_no_terminal_of_ours(command):
    """Without a table it reads nothing, and Ctrl-C of the terminal does not reach it."""
    command("print(json.dumps([sys.stdin.read(), os.getsid(0), sys.argv[1:]]))")
    ours, typed = os.pipe()
    os.write(typed, b"typed")
    os.close(typed)
    kept = os.dup(0)
    os.dup2(ours, 0)
    try:
        read, session, arguments = json.loads(_command.run(["predict", "a b"]))
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        os.close(ours)
    assert read == "" and session != os.getsid(0) and arguments == ["predict", "a b", "--progress=json"]
    read, _, _ = json.loads(_command.run([], lambda pipe: pipe.write("é".encode())))
    assert read == "é"


STUBBORN = """
signal.signal(signal.SIGINT, lambda *_: tell(event="step", step=2))
tell(event="step", step=1)
until = time.monotonic() + 15
while time.monotonic() < until:
    time.sleep(0.05)
open({ended!r}, "w").close()
"""


def test_a_second_interrupt_ends_the_command(command, tmp_path):
    """The first asks it to end; at the second nothing is waited for, and nothing goes on."""
    command(STUBBORN.format(ended=str(tmp_path / "ended")))

    def interrupt(_):
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        _command.run([], on=interrupt)
    assert not (tmp_path / "ended").exists()


SAVING = """
def save(*_):
    open({saved!r}, "w").close()
    {end}
signal.signal(signal.SIGINT, save)
tell(event="step", step=1)
time.sleep(15)
"""


@pytest.mark.parametrize(
    "end, words",
    [
        ("tell(event='error', message='it is saved', code='interrupted', charged=True); sys.exit(130)", "it is saved"),
        ("tell(**ERROR); sys.exit(4)", "the budget is spent"),
        ("print('{{}}'); sys.exit(0)", "the command had ended"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "the command ended with exit code -9: "),
    ],
)
def test_an_interrupt_is_raised_once_all_is_saved(command, tmp_path, end, words):
    """However the command then ends, and so that nothing that handles errors goes on."""
    command(SAVING.format(saved=str(tmp_path / "saved"), end=end.replace("{{}}", "{}")))

    def interrupt(event):
        if event["event"] == "step":
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as told:
        _command.run([], on=interrupt)
    assert (tmp_path / "saved").exists() and str(told.value) == words


@pytest.mark.parametrize("begun", [0, 1, 2])
def test_a_thread_that_cannot_begin_ends_the_command(command, tmp_path, monkeypatch, begun):
    """No command is left behind that waits for a table which nobody writes."""
    command(STUBBORN.format(ended=str(tmp_path / "ended")))
    start, left = threading.Thread.start, [begun]

    def none(thread):
        if left[0] == 0:
            raise RuntimeError("can't start new thread")
        left[0] -= 1
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", none)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        _command.run([], lambda pipe: time.sleep(0))
    assert not (tmp_path / "ended").exists()


def test_a_source_that_fails_is_no_command_that_ended(command):
    """An error of the system while rows are read, as of a disk that is gone, is the table's."""
    command("print(len(sys.stdin.read()))")
    for error in (OSError(5, "gone"), ConnectionResetError(), TimeoutError(), EOFError()):

        def feed(pipe, error=error):
            pipe.write(b"x0\n1\n")
            raise error

        with pytest.raises(StillpointError, match="could not be written to the command to its end"):
            _command.run([], feed)
    # The other way round the command's own word counts, also where it reads nothing.
    command("os.close(0); tell(**ERROR); sys.exit(4)")
    with pytest.raises(StillpointError, match="the budget is spent"):
        _command.run([], lambda pipe: [pipe.write(b"x" * 9_999) for _ in range(99)])


def test_a_fit_that_fails_ends_its_line(monkeypatch, capsys):
    """What is told of an error begins a line of its own."""

    def run(arguments, feed, on, stop):
        on({"event": "plan", "plan": {"plan": {"algorithm": "gd", "steps": 9}}})
        raise StillpointError("gone")

    monkeypatch.setattr(_fit, "run", run)
    with pytest.raises(StillpointError, match="gone"):
        stillpoint.fit("people.yaml", progress=True)
    assert capsys.readouterr().err.endswith("gd: 9 steps\n")


@pytest.mark.parametrize("shown", [False, True, "auto"])
def test_progress_without_stderr(shown, monkeypatch):
    """A process without a console has no stderr, and fits."""
    monkeypatch.setattr(sys, "stderr", None)
    progress = Progress(shown)
    progress({"event": "plan", "plan": {"plan": {"algorithm": "gd", "steps": 9}}})
    progress.finish()


def test_budgets_are_what_was_given(tmp_path, monkeypatch):
    """To the last digit, of Python's types and of numpy's."""
    np = pytest.importorskip("numpy")
    config, seen = write(tmp_path, "logistic", 2), []
    budget = {"epsilon": np.float64(2.123456789), "delta": np.float64(1.23456789e-6)}
    fit = stillpoint.fit(config, out=tmp_path / "fit", **budget, progress=False)
    assert (fit.report["epsilon"], fit.report["delta"]) == (2.123456789, 1.23456789e-6)
    monkeypatch.setattr(_fit, "run", lambda arguments, *_: seen.append(list(arguments)) or "[]")
    for delta in (1.23456789e-6, np.float64(1.23456789e-6), np.float32(0.25), 1):
        stillpoint.spent("a", delta=delta)
        assert float(seen[-1][-1].removeprefix("--delta=")) == delta


def test_each_fit_is_warned_of_where_it_is_called(tmp_path):
    """Python shows a warning once for a line: that must be the line that fits."""
    config = write(tmp_path, "logistic", 2, rows=40)
    for name in ("one", "two"):
        with pytest.warns(stillpoint.FitWarning) as told:
            fit = stillpoint.fit(config, out=tmp_path / name, epsilon=50.0, delta=0.4, progress=False)
        reported = [(w["code"], w["text"]) for w in fit.report["warnings"]]
        assert [(w.message.code, str(w.message)) for w in told] == reported
        assert len(told) >= 2 and {w.filename for w in told} == {__file__}


def test_another_model_is_not_verified(tmp_path):
    fit = stillpoint.fit(write(tmp_path, "logistic", 2), out=tmp_path / "fit", progress=False)
    model = json.loads((fit.folder / "model.json").read_text(encoding="utf-8"))
    assert fit.verify()["epsilon"] == 50
    model["weights"][0] += 0.5
    (fit.folder / "model.json").write_text(json.dumps(model), encoding="utf-8")
    with pytest.raises(StillpointError):
        fit.verify()
