#!/usr/bin/env python3
"""Composes the runs of TestMixedRuns (lab/results/budget_test.go) with Google's dp_accounting.

    EVENTS=events.json go test -tags results -run TestMixedRuns -v ./lab/results
    venv/bin/python lab/results/compare_budget.py events.json 1e-6

Gaussian runs are one of the root of their summed squares. dp_accounting has no law for
a selection: each is taken as epsilon-DP, which is more. All laws are taken as fixed
beforehand.
"""

import collections
import json
import math
import sys
import time

from dp_accounting import NeighboringRelation
from dp_accounting.pld import common
from dp_accounting.pld import privacy_loss_distribution as pld


def main():
    with open(sys.argv[1]) as file:
        events = json.load(file)["events"]
    delta = float(sys.argv[2])
    square = sum(e["count"] / e["noise_multiplier"] ** 2 for e in events if e["kind"] == "gaussian")
    counts = collections.Counter()
    for e in events:
        if e["kind"] == "sampled-gaussian":
            counts[(e["noise_multiplier"], e["sampling"])] += e["count"]
    selections = collections.Counter(e["epsilon"] for e in events if e["kind"] == "selection")
    start = time.perf_counter()
    options = {"value_discretization_interval": 1e-4, "use_connect_dots": True}
    total = pld.from_gaussian_mechanism(1 / math.sqrt(square), **options)
    for (multiplier, sampling), count in counts.items():
        one = pld.from_gaussian_mechanism(
            multiplier, sampling_prob=sampling, neighboring_relation=NeighboringRelation.REPLACE_ONE, **options)
        total = total.compose(one.self_compose(count))
    print(f"epsilon {total.get_epsilon_for_delta(delta):.5f} without selections")
    for epsilon, count in selections.items():
        one = pld.from_privacy_parameters(
            common.DifferentialPrivacyParameters(epsilon, 0), value_discretization_interval=1e-4)
        total = total.compose(one.self_compose(count))
    print(f"epsilon {total.get_epsilon_for_delta(delta):.5f} with selections as pure, "
          f"in {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
