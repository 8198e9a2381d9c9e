"""Says of every table of results/ how its figures are made again, or why they are not.

RECIPES has one entry for each table that is made again, found by its page and heading: either runs of
specifications (Runs) or a command that prints rows of Markdown (Printed). REASONS has the tables that are not made
again. check_test.py fails when a table has neither, and when an entry names no table.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Key(NamedTuple):
    """A column that says which runs a row is of. A cell that is empty has the one above it."""

    field: str  # label, family, dimension, epsilon, records, N (approximately), spec, or a name for At


class At(NamedTuple):
    """A column of figures: of these runs, these measures, one for each number of a cell."""

    measures: Sequence[str]
    where: dict = {}


class Runs(NamedTuple):
    """A table of runs of specifications. See check.Experiments.find for the measures.

    columns has an entry for each column: Key, At, a reason not to compare it, or both Key and At. In At, names in
    braces stand for the row's fields. labels translates words of the page to those of the specifications, or to
    several fields; rows has what is different in the row that begins with a text: a reason, or a pair of fields and
    measures. aside is a pattern of what stands in a cell besides its measures.
    """

    page: str
    heading: str
    specs: Sequence[str]
    columns: Sequence
    nth: int = 0
    where: dict = {}
    labels: dict = {}
    rows: dict = {}
    aside: str = ""


class Printed(NamedTuple):
    """A table whose rows a command prints.

    keys are the columns that find the printed row, where they stand in the same places; a cell that is empty has the
    one above it, and labels translates what the page says. columns maps the other columns to printed ones, or to a
    reason. keep says how far a figure may lie from what is written, as a share of it, by column; 0 is that of its
    rounding. Printed rows are of Markdown, or words with spaces between. before is a line above the printed table.
    command may depend on a column, which: it is then a command for each text of that column. rows has the reason of
    rows, by their first cell, that are not compared.
    """

    page: str
    heading: str
    command: str | dict
    keys: Sequence[int]
    columns: dict
    keep: dict
    nth: int = 0
    before: str = ""
    labels: dict = {}
    which: int = 0
    rows: dict = {}


class Reason(NamedTuple):
    page: str
    heading: str
    nth: int | None  # None is all tables of the heading, and "" in heading all of the page
    why: str


def by(field, values, *measures):
    """Returns columns of figures, a column for each value of a field."""
    return [At(measures, {field: v}) for v in values]


def sizes(*measures, values=(1e4, 1e5, 1e6), **where):
    return [At(measures, {"records": n, **where}) for n in values]


THEORY = "theory"
SLOPE = [At(("slope",)), At(("slope.low", "slope.high"))]
FIRST = ["gd, last", "gd, average", "spiderboost", "spiderboost, batches", "storm", "dp-sgd", "dp-adam"]
KL = {
    "gd, tuned (excess)": "gd, tuned average", "gd, tuned": "gd, tuned average", "gd's default (excess)": "gd",
}
OWN = {"gd, tuned (excess)": ({}, ("excess",)), "Theorem 1": THEORY}
BLOCKS = {
    f"{theorem}, {family}": {"spec": f"nonsmooth-look-{passes}", "family": f"{family}(0.4)"}
    for theorem, passes in (("4.1", "multi"), ("6.1", "single")) for family in ("capped", "ramp")
}
ORACLES = {
    f"{oracle}, {family}": {"oracle": oracle, "family": f"{family}(0.4)"}
    for oracle in ("fresh", "single-pass") for family in ("capped", "ramp")
}
RANGE = ("g", "g.min", "g.max")
SADDLE = {
    "gd, h = 1, constant charges, last iterate (noisy steps of 1/L1)":
        "gd, h = 1, constant charges, last (noisy GD with perturbation)",
    "perturbed-gd (Ganesh et al. 2023)": "perturbed-gd", "prefix sums and products, average": "the same, average",
    "prefix sums and products, selected (the default)": "prefix sums and products",
}
NEWTON = {"without privacy": "Newton's method, of go test -tags results ./results"}
QUOTIENT = "the quotient of two columns"
METRIC = {2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 7, 8: QUOTIENT, 9: "absolute time"}
GO = "go test -tags results -count=1 -v -timeout 100m "
ARORA = GO + "-run Arora ./experiment"
FIRST_ORDER = GO + "-run FirstOrder ./experiment"

PARTS = "printed in parts, by family and size: go test -tags results -run Arora -v ./experiment"
FETCHED = "needs tables from their publishers"
PEERS = "needs other libraries"
TIME = "absolute time, or memory, of one machine"
VARIANTS = "of variants that are not in the program"

RECIPES = [
    # Fixed seeds: a figure of these tests is the one that is written, up to another processor's roundings.
    Printed("theorems.md", "The first candidate of Auto", FIRST_ORDER, [0, 1],
            {2: 2, 3: 3, 4: 4, 5: "a target", 6: 6, 7: 7}, {4: 0.02, 6: 0.02, 7: 0.02}, before="first candidate"),
    Printed("theorems.md", "The last iterate of STORM", FIRST_ORDER, [0, 1, 2], {3: 3, 4: 4, 5: 5},
            {3: 0.02, 4: 0.02, 5: 0.02}, before="last iterate"),
    Printed("theorems.md", "The slow tail", FIRST_ORDER, [0], {1: 1, 2: 2, 3: 3, 4: 4, 5: 5},
            {1: 0.02, 3: 0.02, 5: 0.02}, before="slow tail"),
    Printed("theorems.md", "The centred ball", FIRST_ORDER, [0], {1: 1, 2: 2, 3: 3, 4: 4}, {2: 0.02, 3: 0.02, 4: 0.02},
            before="centred ball"),
    Runs("theorems.md", "The slow tail: where rates can show", ["slowtail"],
         [Key("dimension"), Key("label"), *SLOPE, THEORY, *by("N", (250, 8000), "g/r")]),
    *[
        Runs("theorems.md", "Generalised linear models", [spec],
             [Key("family"), Key("dimension"), Key("epsilon"), Key("records"), Key("N"), *by("label", FIRST, "g/r")],
             nth=nth)
        for nth, spec in ((0, "rates"), (2, "rates1000"))
    ],
    *[
        Runs("theorems.md", "Generalised linear models", [spec],
             [Key("family"), Key("dimension"), Key("epsilon"), *by("label", FIRST, "slope", "slope.low", "slope.high")],
             nth=nth)
        for nth, spec in ((1, "rates"), (3, "rates1000"))
    ],
    Runs("theorems.md", "Theorem 2's instance: how near to the floor", ["arora-hard"],
         [Key("label"), *by("N", (501, 2001, 5001, 20000), "g/r"), *SLOPE],
         labels={"gd, one step of 1/L1": "gd, one step", "recursive, all": "recursive"}),
    Runs("theorems.md", "Theorem 1: Private SpiderBoost", ["arora-empirical"],
         [Key("label"), *by("N", (245, 501, 1000, 1997, 3996), "g/r"), *SLOPE],
         labels={"spiderboost, theorem (random iterate)": "spiderboost, theorem"}),
    Runs("theorems.md", "Theorem 1: Private SpiderBoost", ["arora-slowtail"],
         [Key("label"), *by("N", (250, 2000, 8000), "g/r"), At(("steps",), {"N": 8000}), *SLOPE, THEORY], nth=1,
         labels={"spiderboost, theorem (random iterate)": "spiderboost, theorem"}),
    Runs("theorems.md", "The theorem's batches", ["arora-batches"],
         [Key("N"), Key("records"), At(("steps",), {"label": "theorem, all records"}),
          At(("passes",), {"label": "theorem, all records"}), At(("g/r",), {"label": "theorem, all records"}),
          At(("passes",), {"label": "theorem, its batches"}), At(("g/r",), {"label": "theorem, its batches"}),
          At(("ratio", "ratio.low", "ratio.high"), {"label": "theorem, its batches"})]),
    Printed("theorems.md", "Output rules", ARORA, [0, 1], {i: i for i in range(2, 9)}, dict.fromkeys(range(2, 9), 0.02),
            before="Output rules"),
    Printed("theorems.md", "Theorems 3 and 4: the tree, one pass, the population", ARORA, [0],
            {**{i: i for i in range(1, 6)}, 6: 7}, {1: 0.02, 2: 0.02, 3: 0.02, 4: 0.02, 5: 0.02, 6: 0.05},
            before="Population, tanh"),
    Printed("theorems.md", "Theorems 3 and 4: the tree, one pass, the population", ARORA, [0],
            {1: 1, 2: 2, 3: 3, 4: 4}, {1: 0.05, 2: 0.05, 3: 0.05, 4: 0.05}, nth=1, before="One pass for a mean"),
    Runs("theorems.md", "Theorem 5: recursive regularization, convex losses", ["arora-convex"],
         [Key("label"), *by("N", (248, 503, 1004, 1995, 4002), "g/r"), *SLOPE, At(("passes",), {"N": 4002})]),
    Runs("theorems.md", "kappa 2: least squares of rank 20 (200 distinct rows)", ["kl"],
         [Key("label"), *sizes("excess/first")], labels=KL, rows=OWN),
    Runs("theorems.md", "kappa 1 and 4/3: exp-tail and quartic", ["kl-tails"],
         [Key("label"), *sizes("excess/first", family="exp-tail"), *sizes("excess/first", family="quartic")],
         labels=KL, rows=OWN),
    Runs("theorems.md", "kappa 2 and more: the proximal point method", ["kl-proximal"],
         [Key("label"), *sizes("excess/first", family="low-rank(20)"), *sizes("excess/first", family="three-halves")],
         labels=KL, rows=OWN),
    Runs("theorems.md", "Two models people fit", ["kl-models"],
         [Key("label"), *sizes("excess/first", family="phase"), *sizes("excess/first", family="softmax")],
         labels=KL, rows=OWN),
    Runs("theorems.md", "What the theorems set", ["kl-theorem", "kl-theorem2"],
         [Key("label"), Key("records"), *by("family", ("exp-tail", "quartic", "low-rank(5)"), "excess", "steps")],
         labels=KL,
         rows={
             "slope in N": ({"label": "kl-spider, theorem", "records": None}, ("risk",)),
             "slope in N (95%)":
                 ({"label": "adaptive-gd, theorem", "records": None}, ("risk", "risk.low", "risk.high")),
             "Theorem 1": THEORY, "Theorem 4: the smaller of 2 kappa/(4-kappa) and kappa/2": THEORY,
             "gd's default (excess)": ({}, ("excess",)),
         }),
    Runs("theorems.md", "Slopes of the practical settings", ["kl-tails", "kl"],
         [Key("label"), *by("family", ("exp-tail", "quartic", "low-rank(20)"), "risk", "risk.low", "risk.high")],
         labels=KL, rows={"Theorem 1": THEORY}),
    Runs("theorems.md", "kappa 3, and Theorem 2", ["kl-theorem3"],
         [Key("label"), *sizes("excess", values=(1e3, 1e4, 1e5, 1e6))]),
    Printed("theorems.md", "Real tables", "results/nonsmooth.sh 5", [0, 2],
            {1: "the command's argument", 3: 3, 4: "another draw", 5: "a target"},
            {3: 0.01}, labels={
                "Adult, [hinge](../examples/adult/hinge.yaml)": "adult/hinge", "share below": "share_below",
                "MAE, minutes": "mae", "AUC": "auc",
                "flights, [pinball(0.5)](../examples/flights/median.yaml)": "flights/median",
                "flights, [pinball(0.9)](../examples/flights/quantile.yaml)": "flights/quantile"}),
    Runs("theorems.md", "Generated rows", ["nonsmooth"],
         [Key("family"), Key("records"),
          *by("label", ("smoothed, in the metric", "subgradient", "o2nc, fresh"), "g/r", "loss")],
         labels={"capped": "capped(0.1)", "ramp": "ramp(0.1)"}, aside=r"\(\d+( runs)?\)|(?<=e\d) \(\d+\)"),
    Runs("theorems.md", "Generated rows", ["nonsmooth-plain", "nonsmooth-plain-wide"],
         [Key("family"), Key("dimension"), *sizes("g/r", "g/r.max", "loss"), At(("slope.n",))], nth=1,
         labels={f"{f}, radius {r}": f"{f}(0{r})" for f in ("capped", "ramp") for r in (".1", ".4")}),
    Runs("theorems.md", "Generated rows", ["nonsmooth-o2nc"],
         [Key("label"), *sizes("g/r", values=(1e4, 1e5)), "absolute time"], nth=2,
         labels={"fresh, exact": "fresh", "fresh, order: first, 1 direction": "fresh, first order",
                 "fresh, order: zero, 20 directions": "fresh, zero order", "multi-pass, exact": "multi-pass"}),
    Runs("theorems.md", "Generated rows", ["nonsmooth-orders"],
         [Key("order"), *by("label", ("fresh, {order}", "multi-pass, {order}", "single-pass, {order}"), *RANGE)], nth=4,
         labels={"first": "first order", "zero": "zero order"}),
    Runs("theorems.md", "Generated rows", ["nonsmooth-pass"],
         [Key("family"), Key("records"),
          *by("label", ("o2nc, toeplitz", "o2nc, period 8", "subgradient, one pass"), "g")],
         nth=5, labels={"capped": "capped(0.4)", "ramp": "ramp(0.4)"}),
    Runs("theorems.md", "Where a single pass leaves its start", ["nonsmooth-start"],
         [Key("family"), Key("dimension"), Key("records"), Key("N"), *by("label", ("exact", "zero"), "g")],
         labels={"capped": "capped(0.4)", "ramp": "ramp(0.4)"}),
    Runs("theorems.md", "A look at O2NC's result", ["nonsmooth-look-multi", "nonsmooth-look-single"],
         [Key("block"), Key("records"), *by("label", ("random block", "look at 8", "look at 32"), *RANGE)],
         labels=BLOCKS),
    Runs("theorems.md", "A look at O2NC's result", ["nonsmooth-look"],
         [Key("oracle"), Key("records"),
          *by("label", ("{oracle}, average", "{oracle}, look at 4", "{oracle}, look at 8"), *RANGE)], nth=1,
         labels=ORACLES),
    Runs("theorems.md", "gap .15, n = 100,000 (N = 2044; gap^2 = 2.3e-2)", ["second-order-15"],
         [Key("label"), At(("g",)), At(("eigenvalue",)), At(("S1",)), At(("S2",)), At(("steps",)), At(("runs",))],
         labels=SADDLE),
    Runs("theorems.md", "gap .05 (gap^2 = 2.5e-3)", ["second-order-05"],
         [Key("label"), *[At((m,), {"records": n}) for n in (1e5, 3e5) for m in ("g", "S1", "S2", "runs")]]),
    Runs("theorems.md", "Where steps are scarce (gap .15, n = 1,000,000, h = 1, sums of 32 items, rounds: 6)",
         ["second-order-stalled"],
         [Key("label"), At(("g",)), At(("eigenvalue",)), At(("S1",)), At(("S2",)), At(("runs",))]),
    Runs("theorems.md", "One point (gap .05, n = 100,000, all records)", ["second-order-selected"],
         [(Key("label"), At(("g",))), At(("S1",)), At(("saddles",)), At(("runs",))],
         labels={"its own result": "storm", "output: selected": "storm, selected by gradient",
                 "output: selected, score: second-order": "storm, selected by curvature and gradient"}),
    Runs("theorems.md", "Exponents (gap .15, d = 20, 400 distinct rows, 3 seeds)", ["second-order-exponents"],
         [Key("label"), *sizes("g", values=(3e4, 1e5, 3e5, 1e6)), At(("slope", "slope.low", "slope.high"))]),
    Runs("theorems.md", "Exponents (gap .15, d = 20, 400 distinct rows, 3 seeds)", ["second-order-theorem"],
         [Key("label"), *sizes("g", values=(1e5, 1e6, 3e6))], nth=1),
    *[
        Runs("theorems.md", "Families that no rule was fitted to (n = 100,000 and 1,000,000)",
             ["second-order-autoencoders", "second-order-factorizations", "second-order-networks"],
             [Key("family"), *[At(("g", "S1"), {"records": n, "label": label}) for label in (
                 "gd", "storm", "one-pass-sgd", "one-pass-storm", "prefix sums alone", "prefix sums and products",
                 "auto", "auto, passes: 1")]], nth=nth)
        for nth, n in ((0, 1e5), (1, 1e4), (2, 1e6))
    ],
    # Fits of tables have noise of their own: a figure may be off by what medians of as many fits are.
    Printed("accuracy.md", "Adult: classification under privacy",
            {"auto: preconditioned": "results/adult.sh 10 auto", "gd": "results/adult.sh 10 gd"}, [0],
            {2: 1, 3: 2, 4: 3, 5: 4, 6: QUOTIENT}, {2: 0.004, 3: 0.005, 4: 0.2, 5: 0.02}, which=1,
            rows=NEWTON),
    Printed("accuracy.md", "Adult: logistic regression, 32,561 rows, 113 features, delta 1e-6",
            "results/tables.sh adult 5 .5 1 2", [0, 1], {2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 7, 8: QUOTIENT},
            {4: 0.006, 5: 0.006, 6: 0.25, 7: 0.02}),
    Printed("accuracy.md", "Flights: arrival delay at take-off, huber(0.01), 282,252 rows, 123 features, epsilon 1",
            "results/tables.sh flights 1 1", [0, 1], {2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 7, 8: QUOTIENT},
            {4: 0.01, 5: 0.01, 6: 0.3, 7: 0.02}),
    Printed("accuracy.md", "Adult: 32,561 rows, 117 features, logistic",
            "results/metric.sh examples/adult/adult.yaml '' 10", [0], METRIC, {4: 0.004, 5: 0.004, 6: 0.2, 7: 0.03},
            rows=NEWTON),
    Printed("accuracy.md", "Flights: 282,252 rows, 123 features, huber(0.01), minutes",
            "results/metric.sh examples/flights/flights.yaml '' 3", [0], METRIC,
            {4: 0.01, 5: 0.01, 6: 0.25, 7: 0.03}, rows=NEWTON),
    Printed("planner.md", "The planner against hindsight",
            GO + "-run TestPlanner ./experiment -draw 12 -settings 60 -seeds 5 -rows 600", [0, 1, 2, 3, 5, 6],
            {i: i for i in (4, *range(8, 17))}, dict.fromkeys(range(8, 17), 0.02), nth=1),
    Printed("planner.md", "Batches of SpiderBoost", "results/batches.sh 5 0.1 1 2 8", [0, 1, 3],
            {i: i for i in range(2, 8)}, {4: 0.01, 5: 0.01, 6: 0.25, 7: 0.02}, nth=1),
    Runs("planner.md", "A million records", ["batches-auto"],
         [Key("family"),
          *[At((m,), {"label": f"auto, passes: {n}"}) for n in ("21.4", "6.5") for m in ("g/r", "passes")]], nth=1),
    Printed("inference.md", "Coverage", GO + "-run TestCoverage ./results", [0, 1, 2, 3], {i: i for i in range(4, 15)},
            dict.fromkeys(range(5, 15), 0.02)),
    Printed("inference.md", "How much is reported", GO + "-run TestReported ./results -inference.fits 20", [0, 1],
            {i: i for i in range(2, 7)}, dict.fromkeys(range(3, 7), 0.02)),
    Printed("cost.md", "Everybody has K rows", "results/units.sh 5 1", [0, 1],
            {2: 2, 4: 4, 5: 5, 6: 6, 7: 7}, {5: 0.006, 6: 0.006, 7: 0.02}),
    Printed("cost.md", "People have unlike numbers of rows",
            "SIZES='1 1 1 1 2 2 4 16' results/units.sh 5 1 1 2 4 8 16", [0, 1],
            {2: 2, 4: 4, 5: 5, 6: 6, 7: 7}, {5: 0.006, 6: 0.006, 7: 0.02}),
]

# Specifications whose figures stand in sentences, or in tables together with more runs.
ALONE = {"kl-draw", "nonsmooth-theorem-multi", "nonsmooth-theorem-single", "nonsmooth-theorem-values"}

BATCHES = "go test -tags results -run TestBatches prints its columns in other words"


def reasons(page, why, *headings):
    """Returns one reason for all tables of some headings."""
    return [Reason(page, heading, None, why) for heading in headings]


REASONS = [
    Reason("README.md", "", None, "repeats figures of the pages, or counts them"),
    Reason("theorems.md", "In short", None, "repeats figures of the tables below it"),
    Reason("theorems.md", "Theorem 5: recursive regularization, convex losses", 1, PARTS),
    Reason("theorems.md", "Theorem 7's instance: a coin's bias", 0, PARTS),
    Reason("theorems.md", "On a table", 0, "one fit each with noise of its own: differences of .002 are noise"),
    Reason("theorems.md", "Generated rows", 3, "of more runs than the specifications have, as the page says"),
    Reason("theorems.md", "The exponential start", 0, "TestWarmStart, of tag results, prints lines and no rows"),
    *reasons(
        "accuracy.md", FETCHED, "Diamonds: 43,151 rows, 30 features, huber(0.1), dollars",
        "CPS1988: 22,523 rows, 17 features, huber(0.1), dollars a week", "After the second moment is released",
        "The clip, once more", "Models", "Classes of a diamond's cut", "Ten classes",
        "Curves: additive models and interactions of numbers", "How large a table interactions of numbers need",
        "Tables on which nothing was chosen, and the explainable boosting machine", "Knots by released ranks",
        "Bands of privacy noise", "Features of effects", "More knots at larger budgets",
        "Where curves lose accuracy: the ridge and the centred moment", "Where named interactions lose accuracy"),
    *reasons("accuracy.md", "compares with the program of before", "Records without a target"),
    *reasons("accuracy.md", "results/shapes.sh 3 prints its rows in other words", "Hard in one way each"),
    *reasons("accuracy.md", PEERS, "Rivals on the same encoded rows"),
    *reasons("accuracy.md", "results/models/wide.sh prints its rows in other words", "Many features"),
    *reasons("accuracy.md", "fits by hand, of which no script is kept", "Which algorithm", "Steps"),
    *reasons("accuracy.md", "one fit each, by the commands above it", "Seven classes"),
    *reasons("accuracy.md", "results/flights.sh 3 prints its rows in other words",
             "Flights: robust regression under privacy"),
    Reason("audit.md", "", None, "go test ./audit -v prints them, and its tests hold them to their bounds"),
    *reasons("cost.md", "go test -run Golden ./account compares them, at every change", "Golden values"),
    *reasons("cost.md", TIME, "Speed and width", "Reservations a second"),
    *reasons("cost.md", PEERS, "Against dp_accounting", "Other kinds against dp_accounting",
             "A thousand runs together"),
    *reasons("cost.md", "go test -run Calibrat ./account/... holds multipliers to the accountant",
             "What subsampling costs"),
    *reasons("cost.md", "go test ./budget/... repeats the faults, at every change", "Faults"),
    Reason("inference.md", "Coverage", 1, VARIANTS),
    *reasons("inference.md", VARIANTS, "Where the last curvature is released"),
    *reasons("inference.md", "go test -tags results -run TestIntervalRivals takes hours",
             "Other methods, at equal (epsilon, delta), on the same rows"),
    *[
        Reason("inference.md", f"{table}, epsilon {epsilon}, n = {n}", None, FETCHED)
        for table, n in (
            ("Adult, numbers and sex, logistic", 32561), ("Adult, logistic", 32561), ("diamonds, squared(0.5)", 53940),
            ("CPS 1988, squared(0.5)", 28155), ("flights, logistic", 352814))
        for epsilon in (1, 4)
    ],
    *reasons("inference.md", "go test -tags results -run TestCoefficientNoise takes hours",
             "In a metric, whose second moment was released", "Every algorithm"),
    Reason("outcome.md", "", None, "needs 27 tables from their publishers (results/outcome.py), and hours"),
    Reason("planner.md", "The planner against hindsight", 0, "of rules of before"),
    Reason("planner.md", "Forecasts, by algorithm", 0, "results/forecasts.py makes it of the runs of the other pages"),
    Reason("planner.md", "Batches of SpiderBoost", 0, BATCHES),
    Reason("planner.md", "A million records", 0, BATCHES),
    Reason("python.md", "", None,
           "of other packages, readers and times of one machine; python/test.sh repeats the agreements"),
    Reason("speed.md", "", None, TIME),
]
