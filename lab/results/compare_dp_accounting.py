#!/usr/bin/env python3
"""Compares `stillpoint account` with Google's dp_accounting on random settings.

Needs Python 3 with the package dp-accounting, and Go:

    python3 -m venv venv && venv/bin/pip install dp-accounting
    venv/bin/python lab/results/compare_dp_accounting.py [SETTINGS]
    venv/bin/python lab/results/compare_dp_accounting.py kinds [SETTINGS]

The second compares the other kinds of releases, each in so many settings: its
answer over ours, at the same delta.

Each setting of the first is a number of Poisson-subsampled Gaussian releases under one of the
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

from dp_accounting import NeighboringRelation, dp_event, rdp
from dp_accounting.pld import privacy_loss_distribution as pld

# Under replace-one its pair is (1-q) N(0, s^2) + q N(-1, s^2) against
# (1-q) N(0, s^2) + q N(1, s^2): its sensitivity of 1 is the largest norm of a
# record, as in our noise multiplier, and the two outputs are 2 apart.
RELATIONS = {
    "add-or-remove": NeighboringRelation.ADD_OR_REMOVE_ONE,
    "replace-one": NeighboringRelation.REPLACE_ONE,
}


def theirs(multiplier, sampling, steps, delta, relation, pessimistic):
    start = time.perf_counter()
    one = pld.from_gaussian_mechanism(
        multiplier, value_discretization_interval=1e-4, pessimistic_estimate=pessimistic,
        use_connect_dots=pessimistic, sampling_prob=sampling, neighboring_relation=RELATIONS[relation])
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


def rdp_epsilon(event, relation, delta):
    accountant = rdp.RdpAccountant(neighboring_relation=relation)
    accountant.compose(event)
    return accountant.get_epsilon(delta)


def log_uniform(low, high):
    return math.exp(random.uniform(math.log(low), math.log(high)))


# A kind returns its event, the relation, the accountant of ours to compare with,
# and what dp_accounting says at a delta.

def discrete_gaussian():
    sigma, count = log_uniform(0.5, 20), int(log_uniform(1, 100))
    one = pld.from_discrete_gaussian_mechanism(sigma, value_discretization_interval=1e-4)
    return ({"kind": "discrete-gaussian", "sigma": sigma, "sensitivity": 1, "count": count}, "add-or-remove", "pld",
            lambda delta: one.self_compose(count).get_epsilon_for_delta(delta))


def tree(ours="pld"):
    multiplier, items = log_uniform(2, 50), int(log_uniform(1, 4096))
    event = dp_event.SingleEpochTreeAggregationDpEvent(multiplier, items)
    return ({"kind": "tree", "noise_multiplier": multiplier, "items": items, "count": 1}, "add-or-remove", ours,
            lambda delta: rdp_epsilon(event, NeighboringRelation.REPLACE_SPECIAL, delta))


def fixed_size():
    # Its multiplier is over the distance of two sums, 2 C; ours over C.
    multiplier, records = log_uniform(1.5, 16), int(log_uniform(100, 100000))
    batch, count = max(1, int(records * log_uniform(1e-3, 0.3))), int(log_uniform(1, 1000))
    event = dp_event.SelfComposedDpEvent(dp_event.SampledWithoutReplacementDpEvent(
        records, batch, dp_event.GaussianDpEvent(multiplier / 2)), count)
    return ({"kind": "fixed-size-gaussian", "noise_multiplier": multiplier, "records": records, "batch": batch, "count": count},
            "replace-one", "pld", lambda delta: rdp_epsilon(event, NeighboringRelation.REPLACE_ONE, delta))


def best_of(name, shape):
    def kind():
        multiplier, mean = log_uniform(1, 20), log_uniform(2, 200)
        own = shape if shape is not None else log_uniform(0.1, 5)
        event = dp_event.RepeatAndSelectDpEvent(dp_event.GaussianDpEvent(multiplier), mean, own)
        ours = {"kind": "repeat-and-select", "repetitions": name, "mean": mean, "count": 1,
                "events": [{"kind": "gaussian", "noise_multiplier": multiplier, "count": 1}]}
        if shape is None:
            ours["shape"] = own
        return ours, "add-or-remove", "rdp", lambda delta: rdp_epsilon(event, NeighboringRelation.ADD_OR_REMOVE_ONE, delta)
    return kind


KINDS = {
    "discrete Gaussian (its PLD), 1 to 100 uses": discrete_gaussian,
    "single-epoch tree (its RDP over our GDP)": tree,
    "the same over our RDP": lambda: tree("rdp"),
    "fixed-size samples, replace-one (its RDP)": fixed_size,
    "best of a geometric number (both RDP)": best_of("geometric", 1),
    "best of a logarithmic number (both RDP)": best_of("logarithmic", 0),
    "best of a negative binomial number (both RDP)": best_of("negative-binomial", None),
    "best of a Poisson number (both RDP)": best_of("poisson", math.inf),
}


def kinds(settings, command):
    failed = False
    for name, kind in KINDS.items():
        below, ratios = 0, []
        for _ in range(settings):
            event, relation, accountant, its = kind()
            delta = 10 ** random.uniform(-9, -4)
            with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                json.dump({"relation": relation, "events": [event]}, file)
                file.flush()
                out = subprocess.run([command, "account", "--events", file.name, "--delta", repr(delta), "--json"],
                                     check=True, capture_output=True, text=True).stdout
            row = next(r for r in json.loads(out)["results"] if r["accountant"] == accountant)
            epsilon = its(delta)
            below += epsilon < row.get("epsilon_lower", 0) * (1 - 1e-9) - 1e-9
            ratios.append(epsilon / row["epsilon_upper"] - 1)
        failed = failed or below > 0
        print(f"{name}: {settings} settings, {below} below our lower end, its epsilon over our upper end "
              f"median {statistics.median(ratios):+.1e}, from {min(ratios):+.1e} to {max(ratios):+.1e}")
    sys.exit(1 if failed else 0)


def main():
    random.seed(1)
    if sys.argv[1:2] == ["kinds"]:
        with tempfile.TemporaryDirectory() as folder:
            command = folder + "/stillpoint"
            subprocess.run(["go", "build", "-o", command, "./cmd/stillpoint"], check=True)
            kinds(int(sys.argv[2]) if len(sys.argv) > 2 else 30, command)
    settings = int(sys.argv[1]) if len(sys.argv) > 1 else 200
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
