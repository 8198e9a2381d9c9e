"""Ctrl-C ends what runs fits, and not the fit alone: no budget is charged after it."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("sklearn", "1.6")
from sklearn.model_selection import GridSearchCV, cross_validate

import stillpoint
from stillpoint import StillpointClassifier, _command

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals are sent to a thread")

coin = np.random.default_rng(5)
X = coin.normal(size=(900, 2))
Y = np.where(X[:, 0] > 0, "yes", "no")


def model(folder, steps):
    return StillpointClassifier(
        classes=["no", "yes"], bounds=[(-2, 2)] * 2, epsilon=1, delta=1e-5, relation="replace-one", folder=folder,
        table="patients", train={"algorithm": "gd", "steps": steps}, progress=False,
    )  # fmt: skip


class Interrupter:
    """Sends one interrupt to the main thread, as Ctrl-C does, while the so-manieth fit of a folder releases."""

    def __init__(self, folder: Path, fits: int):
        self._over, self.sent = threading.Event(), False
        self._thread = threading.Thread(target=self._watch, args=(folder, fits), daemon=True)

    def _watch(self, folder, fits):
        while not self._over.wait(0.02):
            if len(list(folder.glob("*/ledger.jsonl"))) >= fits and list(folder.glob("*/journal-*")):
                self._over.wait(0.3)
                self.sent = not self._over.is_set()
                if self.sent:
                    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
                return

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()


def charged(folder):
    """The number of fits that the folder's ledgers charge."""
    return sum(t["fits"] for t in stillpoint.spent(folder)) if list(folder.glob("*/ledger.jsonl")) else 0


SEARCHES = {
    "cross_validate": lambda folder: cross_validate(model(folder, 30_000), X, Y, cv=3),
    "cross_validate with n_jobs": lambda folder: cross_validate(model(folder, 30_000), X, Y, cv=3, n_jobs=1, error_score=0.0),
    "GridSearchCV": lambda folder: GridSearchCV(
        model(folder, 0), {"train": [{"algorithm": "gd", "steps": n} for n in (5, 30_000)]}, cv=[(range(900), range(900))]
    ).fit(X, Y),
}


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_interrupt_ends_a_search(name, tmp_path):
    """The fit that ran is charged, is saved and verifies; no fit is charged after the interrupt."""
    fits = 2 if name == "GridSearchCV" else 1
    assert charged(tmp_path) == 0
    with Interrupter(tmp_path, fits) as sent, pytest.raises(KeyboardInterrupt, match="interrupted after .* is saved"):
        SEARCHES[name](tmp_path)
    assert sent.sent and charged(tmp_path) == fits
    folders = sorted(tmp_path.glob("fit-*"))
    assert len(folders) == fits
    for folder in folders:
        _command.run(["verify", folder / "certificate.json", "--model", folder / "model.json"])
    time.sleep(0.5)
    assert charged(tmp_path) == fits and sorted(tmp_path.glob("fit-*")) == folders


def test_an_interrupt_while_predictions_are_made(tmp_path, monkeypatch):
    """Nothing is charged by predictions, and the interrupt is one there, too."""
    fitted = model(tmp_path, 5).fit(X, Y)
    timer = threading.Timer(0.2, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        end = time.monotonic() + 60
        while time.monotonic() < end:
            fitted.predict(np.tile(X, (200, 1)))
    assert charged(tmp_path) == 1


def test_an_interrupt_of_a_notebook(tmp_path):
    """A cell that is interrupted ends with KeyboardInterrupt, and the cells after it do not run."""
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell.instance()
    shell.user_ns.update(search=SEARCHES["cross_validate"], folder=tmp_path)
    with Interrupter(tmp_path, 1):
        result = shell.run_cell("search(folder)")
    assert isinstance(result.error_in_exec, KeyboardInterrupt) and charged(tmp_path) == 1
