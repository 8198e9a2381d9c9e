"""Shows the progress of a fit in a terminal or a notebook."""

from __future__ import annotations

import sys
from typing import Any, Literal

from stillpoint._command import Event

Shown = bool | Literal["auto"]


class Progress:
    """Shows the events of a fit on a line of the terminal, or in the output of a notebook's cell.

    With ``auto``, other outputs show no progress.
    """

    def __init__(self, shown: Shown = "auto"):
        self._cell: Any = None
        self._open = False
        self._notebook = shown is not False and _in_notebook()
        # A process without a console may have no stderr.
        self._line = sys.stderr is not None and (shown is True or (shown == "auto" and sys.stderr.isatty()))

    def __call__(self, event: Event) -> None:
        if event["event"] == "plan":
            plan = event["plan"]["plan"]
            self._show(f"{plan['algorithm']}: {plan['steps']} steps")
        elif event["event"] == "step":
            self._show(
                f"step {event['step']} of {event['of']}: noisy gradient norm {event['gradient_norm']:.2g}"
                f" (noise alone {event['noise']:.2g}), charged {event['charged']:.4g}"
            )

    def finish(self) -> None:
        """Ends the line."""
        if self._open:
            sys.stderr.write("\n")
            sys.stderr.flush()

    def _show(self, text: str) -> None:
        if self._notebook:
            from IPython.display import display  # type: ignore[import-not-found]

            data = {"text/plain": text}
            if self._cell is None:
                self._cell = display(data, raw=True, display_id=True)
            else:
                self._cell.update(data, raw=True)
        elif self._line:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
            self._open = True


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    if shell is None:
        return False
    running = shell.get_ipython()
    return running is not None and type(running).__name__ == "ZMQInteractiveShell"
