#!/usr/bin/env python3
"""Compares `stillpoint account` with Google's dp_accounting on random settings.

Needs Python 3 with the package dp-accounting, and Go:

    python3 -m venv venv && venv/bin/pip install dp-accounting
    venv/bin/python results/compare_dp_accounting.py [SETTINGS]

Each setting is a number of Poisson-subsampled Gaussian releases under
add-or-remove, with epsilon asked at a delta. dp_accounting's PLD accountant is
pessimistic on a grid of 1e-4; its epsilon should lie above our certified lower
end and, up to its discretisation, not far above our upper end. Time is that of
the composition and the question alone for dp_accounting, and of a whole process
for us.
"""

import json
import math
import random
import statistics
import subprocess
import sys
import tempfile
import time

from dp_accounting import dp_event
from dp_accounting.pld import pld_privacy_accountant


def theirs(multiplier, sampling, steps, delta):
    event = dp_event.SelfComposedDpEvent(
        dp_event.PoissonSampledDpEvent(sampling, dp_event.GaussianDpEvent(multiplier)), steps)
    start = time.perf_counter()
    accountant = pld_privacy_accountant.PLDAccountant(value_discretization_interval=1e-4)
    accountant.compose(event)
    epsilon = accountant.get_epsilon(delta)
    return epsilon, time.perf_counter() - start


def ours(command, multiplier, sampling, steps, delta):
    start = time.perf_counter()
    out = subprocess.run(
        [command, "account", "--noise-multiplier", repr(multiplier), "--sampling", repr(sampling),
         "--steps", str(steps), "--delta", repr(delta), "--relation", "add-or-remove", "--json"],
        check=True, capture_output=True, text=True).stdout
    seconds = time.perf_counter() - start
    bracket = json.loads(out)
    return bracket["epsilon_lower"], bracket["epsilon_upper"], seconds


def main():
    settings = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    random.seed(1)
    with tempfile.TemporaryDirectory() as folder:
        command = folder + "/stillpoint"
        subprocess.run(["go", "build", "-o", command, "./cmd/stillpoint"], check=True)
        below, above, ratios, widths, excess = [], [], [], [], []
        for _ in range(settings):
            multiplier = math.exp(random.uniform(math.log(0.6), math.log(8)))
            sampling = math.exp(random.uniform(math.log(1e-3), math.log(0.5)))
            steps = int(math.exp(random.uniform(0, math.log(3000))))
            delta = 10 ** random.uniform(-9, -4)
            setting = (multiplier, sampling, steps, delta)
            low, high, mine = ours(command, *setting)
            epsilon, others = theirs(*setting)
            # Their discretisation adds up to steps * 1e-4 in the worst case.
            if epsilon < low * (1 - 1e-9) - 1e-9:
                below.append((setting, epsilon, low, high))
            if epsilon > high * 1.01 + 1e-3:
                above.append((setting, epsilon, low, high))
            if high > 1e-6:
                widths.append((high - low) / high)
                excess.append(epsilon / high - 1)
            ratios.append(others / mine)
    print(f"settings: {settings}")
    print(f"dp_accounting below our certified lower end: {len(below)}")
    print(f"dp_accounting above our upper end by more than 1% and 1e-3: {len(above)}")
    print(f"our relative width: median {statistics.median(widths):.1e}, largest {max(widths):.1e}")
    print(f"dp_accounting over our upper end: median {statistics.median(excess):+.1e}, "
          f"from {min(excess):+.1e} to {max(excess):+.1e}")
    print(f"time of dp_accounting over ours (process start included): median {statistics.median(ratios):.2g}")
    for row in (below + above)[:10]:
        print("  ", row)
    sys.exit(1 if below else 0)


if __name__ == "__main__":
    main()
