"""Prints what fits take beside what plan foresees for them, as rows of Markdown.

    foreseen.py [--turns N] STILLPOINT CONFIG...

Every turn makes a plan and a fit of every configuration, in a folder that is removed afterwards; figures are medians
over the turns, of which there is one if N is not given. Columns: the configuration's name, seconds on the clock,
processor seconds of user and system, foreseen seconds, foreseen over processor seconds, foreseen over seconds on the
clock, largest resident megabytes, foreseen megabytes, and foreseen over resident megabytes.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time


def estimate(value):
    """Returns the estimate in what plan --json prints."""
    if isinstance(value, dict):
        if "processor_nanoseconds" in value:
            return value
        value = list(value.values())
    if isinstance(value, list):
        return next((found for v in value if (found := estimate(v))), None)
    return None


def turn(stillpoint, config):
    """Returns the seconds on the clock, processor seconds and bytes of a fit: taken, and foreseen."""
    plan = subprocess.run([stillpoint, "plan", config, "--json"], check=True, capture_output=True, text=True)
    foreseen = estimate(json.loads(plan.stdout))
    with tempfile.TemporaryDirectory() as folder:
        command = [stillpoint, "fit", config, "--out", f"{folder}/fit"]
        start = time.monotonic()
        fit = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        said = fit.stderr.read()
        _, status, used = os.wait4(fit.pid, 0)
        wall = time.monotonic() - start
    if status:
        sys.exit(f"{config}: the fit failed: {said.decode()[-500:]}")
    return (wall, used.ru_utime + used.ru_stime, foreseen["processor_nanoseconds"] / 1e9, used.ru_maxrss * 1024,
            foreseen["memory_bytes"])


parser = argparse.ArgumentParser()
parser.add_argument("--turns", type=int, default=1)
parser.add_argument("stillpoint")
parser.add_argument("configs", nargs="+")
given = parser.parse_args()
for config in given.configs:
    turns = [turn(given.stillpoint, config) for _ in range(given.turns)]
    wall, used, seconds, resident, memory = map(statistics.median, zip(*turns))
    print(
        f"| {pathlib.Path(config).stem} | {wall:.2g} | {used:.2g} | {seconds:.2g} | {seconds / used:.2f} "
        f"| {seconds / wall:.2f} | {resident / 1e6:.0f} | {memory / 1e6:.0f} | {memory / resident:.2f} |",
        flush=True,
    )
