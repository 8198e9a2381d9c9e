#!/usr/bin/env python3
"""Compares `stillpoint account` with Google's dp_accounting on random settings.

Needs Python 3 with the package dp-accounting, and Go:

    python3 -m venv venv && venv/bin/pip install dp-accounting
    venv/bin/python results/compare_dp_accounting.py [SETTINGS]

Each setting is a number of Poisson-subsampled Gaussian releases under one of the
two relations, with epsilon asked at a delta. dp_accounting rounds every loss of a
grid of 1e-4 up for its pessimistic estimate and down for its optimistic one, so
that the truth lies between them, but for its truncation. Its optimistic end must
not lie above our certified upper end, nor its pessimistic end below our lower
end: either would mean that one of the two is wrong. Time is that of the pessimistic
composition and question alone for dp_accounting, and of a whole process for us.
"""

import json
import math
import random
import statistics
import subprocess
import sys
import tempfile
import time

from dp_accounting.pld import privacy_loss_distribution as pld

RELATIONS = {
    "add-or-remove": (pld.NeighboringRelation.ADD_OR_REMOVE_ONE, 1),
    # Its sensitivity of 1 is the distance between the two outputs, ours half of it.
    "replace-one": (pld.NeighboringRelation.REPLACE_ONE, 2),
}

def theirs(multiplier, sampling, steps, delta, relation, pessimistic):
    neighbours, distance = RELATIONS[relation]
    start = time.perf_counter()
    one = pld.from_gaussian_mechanism(
        multiplier / distance, value_discretization_interval=1e-4, pessimistic_estimate=pessimistic,
        use_connect_dots=pessimistic, sampling_prob=sampling, neighboring_relation=neighbours)
    epsilon = one.self_compose(steps).get_epsilon_for_delta(delta)
    return epsilon, time.perf_counter() - start


def ours(command, multiplier, sampling, steps, delta, relation):
    start = time.perf_counter()
    out = subprocess.run(
        [command, "account", "--noise-multiplier", repr(multiplier), "--sampling", repr(sampling),
         "--steps", str(steps), "--delta", repr(delta), "--relation", relation, "--json"],
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
        below, beyond, above, ratios, widths, excess, gaps = [], [], [], [], [], [], []
        for _ in range(settings):
            multiplier = math.exp(random.uniform(math.log(0.6), math.log(8)))
            sampling = math.exp(random.uniform(math.log(1e-3), math.log(0.5)))
            steps = int(math.exp(random.uniform(0, math.log(3000))))
            delta = 10 ** random.uniform(-9, -4)
            setting = (multiplier, sampling, steps, delta, random.choice(sorted(RELATIONS)))
            low, high, mine = ours(command, *setting)
            epsilon, others = theirs(*setting, True)
            optimistic, _ = theirs(*setting, False)
            if epsilon < low * (1 - 1e-9) - 1e-9:
                below.append((setting, epsilon, low, high))
            if optimistic > high * (1 + 1e-9) + 1e-9:
                beyond.append((setting, optimistic, low, high))
            if epsilon > high * 1.01 + 1e-3:
                above.append((setting, epsilon, low, high))
            if high > 1e-6:
                widths.append((high - low) / high)
                excess.append(epsilon / high - 1)
                gaps.append(1 - optimistic / high)
            ratios.append(others / mine)
    print(f"settings: {settings}")
    print(f"its pessimistic end below our certified lower end: {len(below)}")
    print(f"its optimistic end above our certified upper end: {len(beyond)}")
    print(f"dp_accounting above our upper end by more than 1% and 1e-3: {len(above)}")
    print(f"our relative width: median {statistics.median(widths):.1e}, largest {max(widths):.1e}")
    print(f"dp_accounting over our upper end: median {statistics.median(excess):+.1e}, "
          f"from {min(excess):+.1e} to {max(excess):+.1e}")
    print(f"its optimistic end under our upper end: median {statistics.median(gaps):.1e}, smallest {min(gaps):+.1e}")
    print(f"time of dp_accounting over ours (process start included): median {statistics.median(ratios):.2g}")
    for row in (below + beyond + above)[:10]:
        print("  ", row)
    sys.exit(1 if below or beyond else 0)


if __name__ == "__main__":
    main()
