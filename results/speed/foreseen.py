"""Prints what a fit takes beside what plan foresees for it, as a row of Markdown.

    foreseen.py STILLPOINT CONFIG OUT

OUT is the folder of the fit, which must not exist. Columns: CONFIG's name, seconds on the clock, processor seconds of
user and system, foreseen seconds, largest resident megabytes, foreseen megabytes.
"""

import json
import os
import pathlib
import subprocess
import sys
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


stillpoint, config, out = sys.argv[1:]
plan = subprocess.run([stillpoint, "plan", config, "--json"], check=True, capture_output=True, text=True)
foreseen = estimate(json.loads(plan.stdout))
start = time.monotonic()
fit = subprocess.Popen([stillpoint, "fit", config, "--out", out], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
said = fit.stderr.read()
_, status, used = os.wait4(fit.pid, 0)
wall = time.monotonic() - start
if status:
    sys.exit(f"{config}: the fit failed: {said.decode()[-500:]}")
print(
    f"| {pathlib.Path(config).stem} | {wall:.1f} | {used.ru_utime + used.ru_stime:.1f} "
    f"| {foreseen['processor_nanoseconds'] / 1e9:.1f} | {used.ru_maxrss * 1024 / 1e6:.0f} "
    f"| {foreseen['memory_bytes'] / 1e6:.0f} |",
    flush=True,
)
