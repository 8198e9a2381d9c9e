"""Says of every table of lab/results/ how its figures are made again, or why they are not.

RECIPES has one entry for each table that is made again, found by its page and heading: either runs of
specifications (Runs) or a command that prints rows of Markdown (Printed). REASONS has the tables that are not made
again. check_test.py fails when a table has neither, and when an entry names no table.

Commands find tables that are not in this repository in the folder $DATA, which check.py takes by --data:
diamonds.csv.gz (of R's ggplot2), cps1988.csv.gz (CPS1988 of R's AER), bikes.csv.gz, housing.csv.gz, pnwflights.csv.gz
(that of examples/flights), weather.csv.gz, crashes.csv.gz, loans.csv.gz and women.csv.gz (lab/results/fresh.py),
mnist_train_a.csv.gz, mnist_train_b.csv.gz and mnist_test.csv.gz (the digits, their training rows in two files), each
with a header, and the folder outcome, which lab/results/outcome.py writes.
"""

import re
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
    one above it, and labels translates what the page says. columns maps the other columns to printed ones, to a pair of
    those whose quotient they are, or to a reason. keep says how far a figure may lie from what is written, as a share
    of it, by column; 0 is that of its rounding. Printed rows are of Markdown, or words with spaces between. before is
    a line above the printed table. command may depend on a column, which: it is then a command for each text of that
    column, or has the text where {row} stands. rows has the reason of rows, by their first cell, that are not
    compared.
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


class Said(NamedTuple):
    """A table whose figures stand in what a command says, where patterns find them.

    keys names the columns that say which row it is; a cell that is empty has the one above it, and labels translates
    what the page says. columns maps the other columns to a regular expression, with the keys' names in braces, or to a
    reason. Its groups are the numbers of a cell, and a figure is the median of all that match; of a pair of a pattern
    and words, the words say what it is of its one group (median, min or max), or that it is the quotient of its two.
    Patterns begin with ^. rows has the reason of rows, by the texts of their keys with | between. keep is that of
    Printed.
    """

    page: str
    heading: str
    command: str
    keys: dict
    columns: dict
    keep: dict
    nth: int = 0
    labels: dict = {}
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
FAMILIES = ["second-order-autoencoders", "second-order-factorizations", "second-order-networks"]
SADDLE = {
    "gd, h = 1, constant charges, last iterate (noisy steps of 1/L1)":
        "gd, h = 1, constant charges, last (noisy GD with perturbation)",
    "perturbed-gd (Ganesh et al. 2023)": "perturbed-gd", "prefix sums and products, average": "the same, average",
    "prefix sums and products, selected (the default)": "prefix sums and products",
}
NEWTON = {"without privacy": "Newton's method, of go test -tags results ./lab/results"}
METRIC = {2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 7, 8: (6, 7), 9: "absolute time"}
GO = "go test -tags results -count=1 -v -timeout 100m "
ARORA = GO + "-run Arora ./lab/experiment"
FIRST_ORDER = GO + "-run FirstOrder ./lab/experiment"
CONFIRM = ["claims", "computers", "computers-quantile", "elderly-visits", "motorway", "patients-medicines",
           "patients-visits", "pupils", "quarrels", "words"]
CHOOSE = ["adult", "adult-hinge", "chain-death", "communes-illness", "cps1988", "cps1988-quantile", "diamonds",
          "diamonds-absolute", "doctor-visits", "films", "food", "food-quantile", "germans-income", "germans-outwork",
          "germans-visits", "ratings", "wives-hours", "wives-insured"]
ONLY = {f"{task} (c)": task for task in [*CHOOSE, *CONFIRM]}
OUTCOME = {
    name: "f=$(mktemp); " + GO.replace("100m", "0") + "-run 'TestOutcome(Page)?$' ./lab/results -outcome \"$DATA\"/outcome "
    f"-only {task} -runs 6 -rules auto,nesterov -epsilons 0.01,0.02,0.05,0.1,0.5,1,2,8 -to $f -from $f; rm $f"
    for task in [*CHOOSE, *CONFIRM] for name in (task, f"{task} (c)")
}

FETCHED = "needs tables from their publishers, in a folder given by --data"
PEERS = "needs other libraries"
TIME = "absolute time, or memory, of one machine"
ONE_FIT = "of one fit with noise of its own, on which its formula depends: TestIntervalTables prints another"
BEFORE = "compares with the program of before"
VARIANTS = "of variants that are not in the program"

WITHOUT = "go test -tags results -run Flights ./lab/results, without privacy"
MEASURED = "(?:\\|.*\n)*?\\| {epsilon} \\|.*?"  # the line of an epsilon, below the name of what is measured
ROBUST = "robust \n(?:\\|.*\n)+robust \\(algorithm: gd\\)\n(?:\\|.*\n)+robust \\(algorithm: nesterov\\)\n"
DIGITS = r"^softmax, epsilon {epsilon}: accuracy ([\d.]+)"
MODELS = {
    "exclusive or of two numbers, 30,000 rows | network, 16 units of tanh | 2": "xor",
    "the same | logistic | 2": "xor-logistic", "Adult | network, 16 units of tanh (94 steps) | 1": "adult-1",
    "the same | the same | 2": "adult-2",
    "Adult, countries hashed to 30 buckets, sex & marital status crossed | logistic | .5": "adult-hashed",
    "Adult, rows mapped to 40 features | logistic | 1": "adult-jl",
}
SEVEN = (
    "for e in 1 4; do for run in 1 2 3; do rm -rf marital; go run ./cmd/stillpoint fit examples/adult/marital.yaml "
    "--epsilon $e --out marital >marital.log 2>&1; echo epsilon $e; "
    "go run ./cmd/stillpoint evaluate marital/model.json examples/adult/adult.csv.gz --where split=test; done; done; "
    "rm -rf marital marital.log"
)
METHODS = {"AdaSSP": "AdaSSP on the encoded target", "objective perturbation": "objective perturbation (AMP)",
           "a mean vector": "a mean vector alone"}
REPEATS = "repeats figures of the tables above it"


def over(head, forecast, epsilon="{epsilon}"):
    """Returns the pattern of a measured gradient over its forecast, in what lab/results/metric.sh prints below a head."""
    line = MEASURED.replace("{epsilon}", epsilon)
    return "^" + head + line + f"gradient (\\S+) .*?{forecast} (\\S+)", ("quotient",)


def rivals(table, runs):
    """Returns the command that prints the rivals of a table."""
    return GO.replace("100m", "2h") + f"-run TestRivals ./lab/results -table {table} -runs {runs}"


CURVES = {2: 0.1, 3: 0.03, 4: 0.03, 5: 0.03}  # by the deviations of diamonds' fits


CURVED = {
    "Adult, AUC": {"table": "adult", "measure": "auc"}, "Adult, accuracy": {"table": "adult", "measure": "accuracy"},
    "diamonds, MAE in dollars": {"table": "diamonds", "measure": "mae"},
    "CPS 1988, MAE in dollars a week": {"table": "cps1988", "measure": "mae"},
    "flights, MAE in minutes (curves 9.29, 9.28)": {"table": "pnwflights", "measure": "mae"},
    "linear (1)": "linear", "curves and pairs": "pairs", "effects(5)": "effects5",
}


def measured(runs, train="", *forms):
    """Returns commands of lab/results/curves.sh: for each pair of forms and tables, with settings of training."""
    settings = f"TRAIN='{train}' " if train else ""
    return "; ".join(f"{settings}FORMS='{form}' lab/results/curves.sh \"$DATA\" {runs} {tables}" for form, tables in forms)


def curves(heading, command, nth=0):
    """Returns the recipe of a table of lab/results/curves.sh, whose columns are epsilons."""
    return Said(
        "accuracy.md", heading, command, {0: "table", 1: "form"},
        {i: f"^{{table}} {{form}} \\| {e} \\|.*? {{measure}} (\\S+)"
         for i, e in ((2, "0.1"), (3, "0.5"), (4, "1"), (5, "2"))},
        CURVES, nth=nth, labels=CURVED)


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
    Printed("theorems.md", "From which size a theorem promises anything",
            GO + "-run 'TestPromises$' ./lab/experiment", [0, 1], {2: 2, 3: 3, 4: 4}, {}, before="## Promises"),
    Runs("theorems.md", "Exponents at the settings of theorems", ["theorem-rates", "theorem-rates-epsilon"],
         [Key("label"), "lab/results/rates.py says it by the bound's constants",
          *[At(("g",), {"spec": "theorem-rates", "records": n}) for n in (1e4, 1e5, 1e6, 1e7)],
          At(("slope", "slope.low", "slope.high"), {"spec": "theorem-rates"}),
          *[At(("g",), {"spec": "theorem-rates-epsilon", "epsilon": e}) for e in (.001, .01, .1, 1)],
          "lab/results/rates.py: an exponent in epsilon"],
         labels={"spiderboost, Theorem 1 (Arora et al. 2023)": "spiderboost",
                 "perturbed-gd, after Ganesh et al. 2023": "perturbed-gd", "dpzero, its bound": "dpzero",
                 "recursive with phased SGD, Theorem 5, part 2 (Arora et al. 2023)": "phased SGD",
                 "tree-spider, Theorem 4 (Arora et al. 2023)": "tree-spider, theorem",
                 "tree-spider, default": "tree-spider", "one-pass-sgd, default": "one-pass-sgd",
                 "one-pass-storm, default": "one-pass-storm"}),
    *[
        Runs("theorems.md", "One private number a step", ["dpzero"],
             [Key("label"), *[At(measures, {"family": f, "dimension": d})
                              for f in ("low-rank(5)", "tanh", "tanh-net") for d in (20, 500)]], nth=nth)
        for nth, measures in ((0, ("g", "steps")), (1, ("loss",)))
    ],
    Runs("theorems.md", "Warm starts", ["warm"],
         [Key("label"), *[At(("g",), {"family": f, "records": n})
                          for f in ("tanh", "saddle(0.15)", "slow-tail", "cosine") for n in (1e4, 1e5)]]),
    Runs("theorems.md", "Exponents where losses are quasar-convex, or rise", ["warm-rates"],
         [Key("family"), Key("label"), *sizes("g", values=(1e4, 1e5, 1e6, 1e7)), At(("slope", "slope.low", "slope.high")),
          THEORY]),
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
            before="Population, tanh", rows={"target: 1.15 times": "a target"}, labels={
                "the same, no early return": "tree-spider, theorem, no early return",
                "**rows equally often:** tree-spider": "tree-spider, whole table",
                "**rows equally often:** gd": "gd, whole table"}),
    Printed("theorems.md", "Theorems 3 and 4: the tree, one pass, the population", ARORA, [0],
            {1: 1, 2: 2, 3: 3, 4: 4}, {1: 0.05, 2: 0.05, 3: 0.05, 4: 0.05}, nth=1, before="One pass for a mean"),
    Runs("theorems.md", "Theorem 5: recursive regularization, convex losses", ["arora-convex"],
         [Key("label"), *by("N", (248, 503, 1004, 1995, 4002), "g/r"), *SLOPE, At(("passes",), {"N": 4002})]),
    Said("theorems.md", "Theorem 5: recursive regularization, convex losses", ARORA, {0: "method"},
         {**{1 + k: "^## Population, {family} \\+ (?:.*\n)+?\\| {method} \\|" + "[^|]*\\|" * k + r" ([^ ]+) \((\d+)\)"
             for k in range(4)},
          5: "^## Population, {family} \\+ (?:.*\n)+?\\| {method} \\|" + "[^|]*\\|" * 4 + r" (\S+) \|",
          6: "^## Population, {family} \\+ (?:.*\n)+?\\| {method} \\|" + "[^|]*\\|" * 5 + r" (\S+) to (\S+) \|"},
         {**dict.fromkeys(range(1, 6), 0.02), 6: 0.05}, nth=1, rows={"L0/sqrt(n) + L0/N": THEORY}, labels={
             "logistic + l2(0.01), 7.4e-2 at the start": {"family": "logistic"},
             "smoothed-hinge(0.5) + l2(0.01), 1.5e-1 at the start": {"family": "smoothed hinge"},
             "recursive, theorem's lambda, 300 steps a round": "recursive, theorem, 300 steps a round"}),
    Said("theorems.md", "Theorem 7's instance: a coin's bias", ARORA, {0: "n"},
         {k: "^## A coin's bias(?:.*\n)+?\\| {n} \\|" + "[^|]*\\|" * k + r" (\S+) \+- (\S+)" for k in range(1, 8)},
         dict.fromkeys(range(1, 8), 0.02), labels={"10^3": "1000", "10^4": "10000", "10^5": "100000"}),
    Printed("theorems.md", "The exponential start", GO + "-run TestWarmStart ./lab/experiment", [0, 1],
            {2: 2, 3: 3, 4: 5, 5: 6, 6: 7}, {4: 0.02, 5: 0.02, 6: 0.02}, before="| d | n | candidates"),
    Runs("theorems.md", "kappa 2: least squares of rank 20 (200 distinct rows)", ["kl"],
         [Key("label"), *sizes("excess/first")], labels=KL, rows=OWN),
    Runs("theorems.md", "kappa 1 and 4/3: exp-tail and quartic", ["kl-tails"],
         [Key("label"), *sizes("excess/first", family="exp-tail"), *sizes("excess/first", family="quartic")],
         labels=KL, rows=OWN),
    Runs("theorems.md", "kappa 2 and more: the proximal point method", ["kl-proximal"],
         [Key("label"), *sizes("excess/first", family="low-rank(20)"), *sizes("excess/first", family="three-halves")],
         labels=KL, rows=OWN),
    *[
        Printed("theorems.md", "Instances of lower bounds", GO + "-run TestLowerBounds ./lab/experiment", keys,
                columns, dict.fromkeys(columns, 0.02), nth=nth, before=before)
        for nth, keys, columns, before in (
            (0, [0], {i: i for i in range(1, 7)}, "## Errors of released"),
            (1, [0, 1], {i: i for i in range(2, 9)}, "## Excess risks on codes"),
            (2, [0, 1], {i: i for i in range(2, 7)}, "## Excess risks on two tables"))
    ],
    Runs("theorems.md", "Stationary points of a ball", ["ball"],
         [Key("label"), *[At(("g/r",), {"family": f, "dimension": d, "records": n})
                          for f in ("ball-tanh(1)", "ball-logistic(1)") for d in (20, 100) for n in (1e4, 1e5)]]),
    Runs("theorems.md", "Do perturbed-gd and proximal-point arrive?", ["arrive"],
         [Key("family"), Key("label"),
          *[At(("loss",), {"records": n, "epsilon": e}) for n in (1e4, 1e5, 1e6) for e in (.25, 1, 4)]]),
    Runs("theorems.md", "The proximal method over other solvers", ["kl-inner"],
         [Key("label"), *[x for f in ("low-rank(20)", "three-halves", "softmax") for x in sizes("excess/first", family=f)]]),
    Runs("theorems.md", "Lasry-Lions smoothing, and SpiderBoost after a warm start", ["nonsmooth-lasry-lions"],
         [Key("family"), Key("label"),
          *[At(("g",), {"dimension": d, "records": n}) for d in (20, 100, 500) for n in (1e4, 1e5)]],
         labels={"capped, each record's own points": "capped-components(0.4)", "capped, the same points": "capped(0.4)",
                 "ramp, each record's own points": "ramp-components(0.4)", "ramp, the same points": "ramp(0.4)"}),
    *[
        Runs("theorems.md", "Samples of multi-pass O2NC", [spec],
             [Key("label"), At(("g",)), At(("ratio", "ratio.low", "ratio.high")), At(("loss",)), At(("passes",))], nth=nth)
        for nth, spec in ((0, "nonsmooth-batches"), (1, "nonsmooth-theorem-batches"))
    ],
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
    Printed("theorems.md", "Real tables", "lab/results/nonsmooth.sh 5", [0, 2],
            {1: "the command's argument", 3: 3, 4: "another draw", 5: "a target"},
            {3: 0.01}, labels={
                "Adult, [hinge](../../examples/adult/hinge.yaml)": "adult/hinge", "share below": "share_below",
                "MAE, minutes": "mae", "AUC": "auc",
                "flights, [pinball(0.5)](../../examples/flights/median.yaml)": "flights/median",
                "flights, [pinball(0.9)](../../examples/flights/quantile.yaml)": "flights/quantile"}),
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
    Runs("theorems.md", "Generated rows", ["nonsmooth-theorem-multi", "nonsmooth-theorem-single"],
         [Key("label"), Key("records"), At(RANGE), At(("g/r",)), At(("steps",)), At(("loss",))], nth=3,
         labels={"4.1, multi-pass": "multi-pass, theorem", "6.1, single-pass": "single-pass, theorem"}),
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
    Runs("theorems.md", "Exponents (gap .15, d = 20, 400 distinct rows)", ["second-order-exponents"],
         [Key("label"), *sizes("g", values=(3e4, 1e5, 3e5, 1e6)), At(("slope", "slope.low", "slope.high"))]),
    Runs("theorems.md", "Exponents (gap .15, d = 20, 400 distinct rows)", ["second-order-theorem"],
         [Key("label"), *sizes("g", values=(1e5, 1e6, 3e6))], nth=1),
    *[
        Runs("theorems.md", "Families that no rule was fitted to, with 100,000 and 1,000,000 records", specs,
             [Key("family"), *[At(("g", "S1"), {"records": n, "label": label}) for label in (
                 "gd", "storm", "one-pass-sgd", "one-pass-storm", "prefix sums alone", "prefix sums and products",
                 "auto", "auto, passes: 1")]], nth=nth)
        for nth, n, specs in ((0, 1e5, FAMILIES), (1, 1e4, FAMILIES), (2, 1e6, ["second-order-million"]))
    ],
    # Fits of tables have noise of their own: a figure may be off by what medians of as many fits are.
    Said("theorems.md", "On a table",
         "for a in gd kl-geometric adaptive-gd strongly-convex proximal-point kl-spider; do rm -rf rising; "
         "echo $a; go run ./cmd/stillpoint plan examples/adult/adult.yaml --algorithm $a --json | grep -m 1 steps; "
         "go run ./cmd/stillpoint fit examples/adult/adult.yaml --algorithm $a --out rising >/dev/null 2>&1; "
         "go run ./cmd/stillpoint verify rising/certificate.json --model rising/model.json >/dev/null; "
         "for s in test train; do echo $s; go run ./cmd/stillpoint evaluate rising/model.json "
         "examples/adult/adult.csv.gz --where split=$s; done; done; rm -rf rising", {0: "algorithm"},
         {**{i: f"^{{algorithm}}\n(?:.*\n)*?{split}\n(?:.*\n)*?{measure} +(\\S+)" for i, split, measure in (
             (1, "test", "accuracy"), (2, "test", "auc"), (3, "test", "log_loss"), (4, "train", "gradient_norm"))},
          5: r"^{algorithm}\n.*: (\d+)"},
         {1: 0.005, 2: 0.005, 3: 0.02, 4: 0.4, 5: 0.02}),
    Printed("accuracy.md", "Adult: classification under privacy",
            {"auto: preconditioned": "lab/results/adult.sh 10 auto", "gd": "lab/results/adult.sh 10 gd"}, [0],
            {2: 1, 3: 2, 4: 3, 5: 4, 6: 5}, {2: 0.004, 3: 0.005, 4: 0.2, 5: 0.02, 6: 0.2}, which=1,
            rows=NEWTON),
    Printed("accuracy.md", "Adult: logistic regression, 32,561 rows, 113 features, delta 1e-6",
            "lab/results/tables.sh adult 5 .5 1 2", [0, 1], {2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 7, 8: 8},
            {4: 0.006, 5: 0.006, 6: 0.25, 7: 0.02, 8: 0.25}),
    Printed("accuracy.md", "Flights: arrival delay at take-off, huber(0.01), 282,252 rows, 123 features, epsilon 1",
            "lab/results/tables.sh flights 1 1", [0, 1], {2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 7, 8: 8},
            {4: 0.01, 5: 0.01, 6: 0.3, 7: 0.02, 8: 0.3}),
    Printed("accuracy.md", "Adult: 32,561 rows, 117 features, logistic",
            "lab/results/metric.sh examples/adult/adult.yaml '' 10", [0], METRIC,
            {4: 0.004, 5: 0.004, 6: 0.2, 7: 0.03, 8: 0.2},
            rows=NEWTON),
    Printed("accuracy.md", "Flights: 282,252 rows, 123 features, huber(0.01), minutes",
            "lab/results/metric.sh examples/flights/flights.yaml '' 3", [0], METRIC,
            {4: 0.01, 5: 0.01, 6: 0.25, 7: 0.03, 8: 0.25}, rows=NEWTON),
    *[
        Printed("outcome.md", heading, OUTCOME, [0, 1], {i: i for i in range(2, 14)}, {})
        for heading in ("Tables that rules were chosen by", "Tables that only confirm")
    ],
    Printed("outcome.md", "Few records for the budget", OUTCOME, [0, 1], {2: 2, 3: BEFORE, 4: BEFORE, 5: 4, 6: 9}, {},
            labels=ONLY),
    Printed("outcome.md", "Decisions of the comparison with the constant", OUTCOME, [0, 1],
            {i: i for i in range(2, 10)}, {}, before="What the comparison decides", labels=ONLY),
    Said("outcome.md", "More than 2,000 features",
         "; ".join(GO.replace("100m", "0")
                   + f"-run 'TestWide$' ./lab/results -runs 5 -words {words} -wide-epsilons {epsilons}"
                   for words, epsilons in ((1000, "0.1,0.3,1,2,8"), (4000, "0.1,0.3,1,2"))),
         {0: "d", 1: "epsilon"},
         {i + k: r"^\| 30000 \| {d} \| {epsilon} \| " + re.escape(rule) + r" \|[^|]*\| " + pattern
          for i, rule in ((2, "auto"), (4, "nesterov"), (6, "reduce: jl(400)"))
          for k, pattern in ((0, r"(\S+) \((\S+) to (\S+)\)"), (1, r"[^|]*\| (\S+)"))},
         dict.fromkeys(range(2, 8), 0.03), labels={"5,000": "5000", "20,000": "20000"}),
    *[
        Printed("accuracy.md", heading, f"lab/results/metric.sh lab/results/tables/{table}.yaml \"$DATA\"/{table}.csv.gz 10",
                [0], {**METRIC, 9: TIME}, {4: 0.005, 5: 0.03, 6: 0.35}, rows=NEWTON)
        for table, heading in (("diamonds", "Diamonds: 43,151 rows, 30 features, huber(0.1), dollars"),
                               ("cps1988", "CPS1988: 22,523 rows, 17 features, huber(0.1), dollars a week"))
    ],
    Said("accuracy.md", "After the second moment is released",
         "; ".join(f"echo {name}; lab/results/metric.sh {table} {runs}" for name, table, runs in (
             ("Diamonds", "lab/results/tables/diamonds.yaml \"$DATA\"/diamonds.csv.gz", 10),
             ("CPS1988", "lab/results/tables/cps1988.yaml \"$DATA\"/cps1988.csv.gz", 10),
             ("Adult", "examples/adult/adult.yaml ''", 3), ("Flights", "examples/flights/flights.yaml ''", 1))),
         {0: "table"},
         {i: over("{table}\n", "foreseen", e) for i, e in enumerate((r"0\.1", r"0\.5", "1", "2"), 1)},
         dict.fromkeys(range(1, 5), 0.3), labels={"Flights (one fit, three, one)": "Flights"}),
    Said("accuracy.md", "Hard in one way each", "lab/results/shapes.sh 3", {0: "table", 1: "epsilon"},
         {2: "^{table} \n" + MEASURED + "auc (\\S+)", 3: "^{table} \\(algorithm: gd\\)\n" + MEASURED + "auc (\\S+)",
          4: "^{table} \\(algorithm: nesterov\\)\n" + MEASURED + "auc (\\S+)",
          5: "^{table} \n" + MEASURED + "gradient (\\S+)", 6: over("{table} \n", "predicted"),
          7: over("{table} \n", "foreseen")}, {2: 0.02, 3: 0.1, 4: 0.1, 5: 0.3, 6: 0.3, 7: 0.3}),
    Said("accuracy.md", "Hard in one way each", "lab/results/shapes.sh 3", {0: "loss", 1: "epsilon"},
         {i: "^{loss}\n" + rule + MEASURED + f"{measure} (\\S+)" for i, rule, measure in (
             (2, "robust \n", "auc"), (3, ROBUST, "auc"), (4, "robust \n", "gradient"), (5, ROBUST, "gradient"))}
         | {6: over("{loss}\nrobust \n", "predicted"), 7: over("{loss}\nrobust \n", "foreseen")},
         {2: 0.02, 3: 0.05, 4: 0.3, 5: 0.5, 6: 0.3, 7: 0.3}, nth=1),
    Said("accuracy.md", "Ten classes",
         "cd \"$DATA\" && \"$OLDPWD\"/results/models/digits.sh "
         "mnist_train_a.csv.gz mnist_train_b.csv.gz mnist_test.csv.gz 5 softmax .5 1 3",
         {0: "epsilon"}, {1: DIGITS, 2: (DIGITS, ("min", "max")), 3: "a target"}, {1: 0.003, 2: 0.003}),
    Said("accuracy.md", "Models", "lab/results/models/models.sh", {0: "table", 1: "model", 2: "epsilon"},
         {3: r"^{row}: accuracy (\S+)", 4: r"^{row}: .*auc (\S+)"},
         {3: 0.01, 4: 0.01}, labels=MODELS, rows=dict.fromkeys(
             ("Adult | logistic, in the released metric ([metric.md](accuracy.md)) | 1",
              "Adult | logistic, in the released metric | 2"), REPEATS)),
    Said("accuracy.md", "Rivals on the same encoded rows", rivals("../../examples/adult/adult.yaml", 10), {0: "method"},
         {i: f"^\\| {{method}} \\| {e} \\| (\\S+) \\| (\\S+) \\|" for i, e in enumerate(("0.1", "0.5", "1", "2"), 1)},
         dict.fromkeys(range(1, 5), 0.005), labels=METHODS,
         rows={"preconditioned, no setting": REPEATS, "diffprivlib, logistic": PEERS}),
    Said("accuracy.md", "Rivals on the same encoded rows",
         "; ".join(f"echo {table}; " + rivals(f'"$DATA"/outcome/{table}.yaml', runs)
                   for table, runs in (("diamonds", 5), ("cps1988", 10))), {0: "method"},
         {i: f"^{table}\n(?:.*\n)*?\\| {{method}} \\| {e} \\| (\\S+) \\|" for i, (table, e) in enumerate(
             [(t, e) for t in ("diamonds", "cps1988") for e in ("0.1", "0.5", "1", "2")], 1)},
         dict.fromkeys(range(1, 9), 0.01), nth=1, labels=METHODS, rows={"preconditioned, no setting": REPEATS}),
    Printed("accuracy.md", "Classes of a diamond's cut",
            "lab/results/metric.sh lab/results/tables/cut.yaml \"$DATA\"/diamonds.csv.gz 5 '0.5 1 2'", [0],
            {1: 4, 2: "the same command with TRAIN='algorithm: nesterov'"}, {1: 0.01}),
    Said("accuracy.md", "Many features", "lab/results/models/wide.sh", {0: "rows"},
         {1: "^2000 buckets {rows}: accuracy ([^,]+)", 2: TIME, 3: "^20000 buckets {rows}: accuracy ([^,]+)", 4: TIME},
         {1: 0.015, 3: 0.015}, labels={"as they are": "plain", "mapped to 500": "jl(500)", "mapped to 50": "jl(50)"}),
    Said("accuracy.md", "Seven classes", SEVEN, {0: "epsilon"},
         {1: "the same", 2: "^epsilon {epsilon}\n(?:.*\n)*?accuracy +(\\S+)",
          3: "^epsilon {epsilon}\n(?:.*\n)*?log_loss +(\\S+)", 4: "^epsilon {epsilon}\n(?:.*\n)*?macro_f1 +(\\S+)"},
         {2: 0.004, 3: 0.006, 4: 0.03}),
    Said("accuracy.md", "Flights: robust regression under privacy", "lab/results/flights.sh 3", {0: "task", 1: "loss"},
         {2: r"^{task} +1 +{loss} +\S+ +(\S+)", 3: r"^{task} +1 +{loss} +\S+ +\S+ +([\d.]+)-([\d.]+)",
          4: r"^{task} +1 +{loss} +\S+ +\S+ +\S+ +(\S+)", 5: BEFORE, 6: WITHOUT, 7: WITHOUT},
         {2: 0.006, 3: 0.012, 4: 0.006}, labels={
             "at take-off": "flights", "timetable": "schedule", "squared(1): clipped at 1500 minutes": "squared(1)",
             "squared(0.12): clipped at 3 hours": "squared(0.12)", "huber(0.01): 15 minutes": "huber(0.01)",
             "welsch(0.02): 30 minutes": "welsch(0.02)"}),
    curves("Curves: additive models and interactions of numbers",
           measured(5, "", ("linear curves", "adult cps1988"), ("linear curves pairs", "diamonds"))),
    Said("accuracy.md", "Tables on which nothing was chosen, and the explainable boosting machine",
         "; ".join((measured(5, "", ("linear curves", "bikes housing")), measured(3, "", ("pairs", "bikes housing")),
                    "EPSILONS='0.5 1' " + measured(3, "", ("linear curves", "pnwflights")),
                    "EPSILONS='0.1 2' " + measured(1, "", ("linear curves", "pnwflights")))),
         {0: "table", 1: "form"},
         {i: rf"^{{table}} {{form}} \| {e} \|.*? mae (\S+)"
          for i, e in ((2, r"0\.1"), (3, r"0\.5"), (4, "1"), (5, "2"))},
         {2: 0.1, 3: 0.03, 4: 0.03, 5: 0.03},
         labels={"bikes, rides": "bikes", "housing, dollars": "housing", "flights, minutes": "pnwflights",
                 "curves and a pair": "pairs"}),
    Said("accuracy.md", "Four tables that only confirm",
         measured(5, "", ("linear curves", "weather crashes women")) + "; EPSILONS='0.5 1 2' "
         + measured(5, "", ("linear curves", "loans")), {0: "table", 2: "form"},
         {1: "the number of rows of the table", **{
             i: rf"^{{table}} {{form}} \| {e} \|.*? {{measure}} (\S+)"
             for i, e in ((3, r"0\.1"), (4, r"0\.5"), (5, "1"), (6, "2"))}},
         {3: 0.05, 4: 0.02, 5: 0.02, 6: 0.02},
         labels={text: {"table": text.split(",")[0], "measure": "auc" if text.endswith("AUC") else "mae"} for text in (
             "weather, MAE in degrees Fahrenheit", "crashes, AUC", "loans, MAE in points of interest",
             "women, MAE of the logarithm")}),
    Said("accuracy.md", "Digits: 784 numbers are too many for curves",
         "cd \"$DATA\"; for curves in '' auto; do echo \"curves: $curves\"; CURVES=$curves PARITY=1 ROWS=20000 "
         "\"$OLDPWD\"/results/models/digits.sh mnist_train_a.csv.gz mnist_train_b.csv.gz mnist_test.csv.gz 1 logistic "
         ".5 1; done", {0: "form"},
         {1: "the number of features", 2: r"^curves: {form}\n.*epsilon \.5: accuracy ([\d.]+)",
          3: r"^curves: {form}\n.*\n.*epsilon 1: accuracy ([\d.]+)", 4: "stillpoint plan states it"},
         {2: 0.02, 3: 0.02}, labels={"linear": "", "curves": "auto"}),
    Said("accuracy.md", "Bands of privacy noise",
         "go build -o bands.tmp ./cmd/stillpoint; for loss in logistic 'squared(1)'; do echo \"$loss\"; "
         "python3 lab/results/bands.py \"$PWD/bands.tmp\" $([ $loss = logistic ] && echo 40 || echo 25) \"$loss\"; done; "
         "rm bands.tmp", {0: "curve"},
         {i: rf"^{loss}\n(?:.*\n)*?\| {{curve}} \| (\S+) \| (\S+) \| (\S+)"
          for i, loss in ((1, "logistic"), (2, r"squared\(1\)"))}, {1: 0.3, 2: 0.5}),
    curves("Features of effects",
           measured(3, "ranks: off", ("effects effects5", "cps1988 adult diamonds pnwflights")), 1),
    Said("accuracy.md", "Knots by released ranks",
         "; ".join(f"echo {knots}; " + measured(3, f"ranks: {ranks}", ("curves", "cps1988 adult"),
                                                ("curves pairs", "diamonds"), ("curves", "pnwflights"))
                   for knots, ranks in (("equal", "off"), ("ranks", "0.05"))),
         {0: "table", 1: "knots"},
         {i: f"^{{knots}}\n(?:.*\n)*?{{table}} \\| {e} \\|.*?(?:mae|auc) (\\S+)"
          for i, e in ((2, "0.1"), (3, "0.5"), (4, "1"), (5, "2"))},
         CURVES, labels={"diamonds, MAE": "diamonds curves", "diamonds with pairs, MAE": "diamonds pairs",
                         "Adult, AUC": "adult curves", "CPS 1988, MAE": "cps1988 curves",
                         "flights, MAE": "pnwflights curves"}),
    Said("accuracy.md", "Knots by released ranks",
         "; ".join(f"echo {knots}; " + measured(3, f"ranks: {ranks}", ("curves", "pnwflights"))
                   for knots, ranks in (("equal", "off"), ("ranks", "0.05"))),
         {0: "epsilon"},
         {i: f"^{knots}\n(?:.*\n)*?pnwflights curves \\| {{epsilon}} \\|.*?mae (\\S+)"
          for i, knots in ((1, "equal"), (2, "ranks"))}, CURVES, nth=1),
    Printed("planner.md", "The planner against hindsight",
            GO + "-run TestPlanner ./lab/experiment -draw 12 -settings 60 -seeds 5 -rows 600", [0, 1, 2, 3, 5, 6],
            {i: i for i in (4, *range(8, 17))}, dict.fromkeys(range(8, 17), 0.02), nth=1),
    Printed("planner.md", "Batches of SpiderBoost",
            "; ".join(GO + f"-run 'TestBatches$' ./lab/experiment {flags}" for flags in (
                "-records 100000",
                "-records 100000 -families logistic+nonconvex,tanh -slacks 0.3,1,3,6 -seeds 3 -eps 4",
                "-records 30000 -dim 20 -families logistic+nonconvex,slow-tail,tanh -slacks 0.3,1 -eps 4")),
            [0, 1, 2, 3, 4], {i: i for i in range(5, 12)}, dict.fromkeys(range(7, 11), 0.02)),
    Printed("planner.md", "Batches of SpiderBoost", "lab/results/batches.sh 5 0.1 1 2 8", [0, 1, 3],
            {i: i for i in range(2, 8)}, {4: 0.01, 5: 0.01, 6: 0.25, 7: 0.02}, nth=1),
    Printed("planner.md", "Batches of SpiderBoost",
            "TRIES='theorem: true;theorem: true, output: tail-average' lab/results/batches.sh 5 0.1 0.5 1 2", [0, 1, 3],
            {i: i for i in range(2, 8)}, {4: 0.01, 5: 0.01, 6: 0.25, 7: 0.02}, nth=2),
    Printed("planner.md", "Batches of SpiderBoost",
            "; ".join(GO.replace("100m", "0") + "-run 'TestBatches$' ./lab/experiment -records 1000000 "
                      f"-families logistic+nonconvex {flags}" for flags in (
                          "-dim 20 -eps 0.1 -theorem -outputs random,tail-average -seeds 3",
                          "-dim 100 -eps 0.1 -theorem -outputs random,tail-average -seeds 3",
                          "-dim 100 -eps 1 -theorem -outputs random -seeds 1")),
            [0, 1, 2, 3, 4, 12], {i: i for i in range(5, 12)}, dict.fromkeys(range(7, 11), 0.02), nth=3),
    Runs("planner.md", "A million records", ["batches-auto"],
         [Key("family"),
          *[At((m,), {"label": f"auto, passes: {n}"}) for n in ("21.4", "6.5") for m in ("g/r", "passes")]], nth=1),
    Printed("inference.md", "Coverage", GO + "-run 'TestCoverage$' ./lab/results -inference.design '^{row}$'", [0, 1, 2, 3],
            {4: "the command's argument", **{i: i - 1 for i in range(5, 15)}}, {}),
    Printed("inference.md", "How much is reported", GO + "-run TestReported ./lab/results -inference.fits 20", [0, 1],
            {i: i for i in range(2, 7)}, dict.fromkeys(range(3, 7), 0.02)),
    Printed("inference.md", "Other methods, at equal (epsilon, delta), on the same rows",
            "; ".join(GO.replace("100m", "0") + f"-run TestIntervalRivals ./lab/results -inference.fits {fits} "
                      f"-inference.design '{named}'"
                      for fits, named in ((20, "^(independent,|cloglog)"), (200, "^linear"))),
            [0, 1, 2, 3], {4: 4, 5: 5, 6: 6}, {}),
    # Deviations over 100 fits are known within 7%; ratios of nine coefficients have two ends.
    *[
        Printed("inference.md", heading,
                GO.replace("100m", "0") + "-run TestCoefficientNoise ./lab/results -coefficients.cell '{row}'",
                [0], {i: i for i in range(1, 7)}, {4: 0.25, 5: 0.3, 6: 0.15},
                rows={"adult, eps 2, replace-one, again": "another run of the row below it",
                      "adult, eps 0.5, replace-one, second moment about the mean": VARIANTS})
        for heading in ("In a metric, whose second moment was released", "Every algorithm")
    ],
    Printed("cost.md", "Everybody has K rows", "lab/results/units.sh 5 1", [0, 1],
            {2: 2, 4: 4, 5: 5, 6: 6, 7: 7}, {5: 0.006, 6: 0.006, 7: 0.02}),
    Printed("cost.md", "People have unlike numbers of rows",
            "SIZES='1 1 1 1 2 2 4 16' lab/results/units.sh 5 1 1 2 4 8 16", [0, 1],
            {2: 2, 4: 4, 5: 5, 6: 6, 7: 7}, {5: 0.006, 6: 0.006, 7: 0.02}),
    Printed("speed.md", "What plans foresee", "lab/results/speed/foreseen.sh 3", [0],
            {**dict.fromkeys((1, 2, 3, 5, 6, 7), TIME), 4: 4, 8: 8}, {4: 0.5, 8: 0.2},
            rows=dict.fromkeys(("diamonds-squared", "diamonds-huber", "diamonds-absolute", "diamonds-pinball",
                                "diamonds-effects", "diamonds-effects5", "mnist"), "of tables that are not in the project")),
]

# Specifications whose figures stand in sentences, or in tables together with more runs.
ALONE = {"kl-draw", "nonsmooth-theorem-values"}



def reasons(page, why, *headings):
    """Returns one reason for all tables of some headings."""
    return [Reason(page, heading, None, why) for heading in headings]


REASONS = [
    Reason("README.md", "", None, "repeats figures of the pages, or counts them"),
    Reason("theorems.md", "In short", None, "repeats figures of the tables below it"),
    Reason("accuracy.md", "Tables on which nothing was chosen, and the explainable boosting machine", 1, PEERS),
    *reasons("accuracy.md", VARIANTS, "The clip, once more", "More knots at larger budgets",
             "Where curves lose accuracy: the ridge and the centred moment", "Where named interactions lose accuracy"),
    *reasons("accuracy.md", "fits by hand, of which no script is kept", "Which algorithm", "Steps",
             "How large a table interactions of numbers need"),
    *reasons("accuracy.md", BEFORE, "Records without a target"),
    Reason("accuracy.md", "Rivals on the same encoded rows", 2, PEERS),
    Reason("accuracy.md", "Features of effects", 0, "single fits, and fits of the program of before"),
    Reason("accuracy.md", "Features of effects", 2, "shares of what the table above it has"),
    Reason("survival.md", "", None, "lab/results/survival.py makes it, with tables of another package"),
    Reason("families.md", "", None, "lab/results/families.py makes it, of 4284 fits, with tables of other packages"),
    Reason("losses.md", "", None, "losses.py and ordered.py make its fits and its tables again, in half an hour"),
    Reason("describe.md", "", None, "lab/results/describe.py prints its tables, in four minutes"),
    Reason("audit.md", "", None, "go test ./lab/audit -v prints them, and its tests hold them to their bounds"),
    *reasons("cost.md", "go test -run Golden ./account compares them, at every change", "Golden values"),
    *reasons("cost.md", TIME, "Speed and width", "Reservations a second",
             "Releases that wait for a store across a network"),
    *reasons("cost.md", PEERS, "Against dp_accounting", "Other kinds against dp_accounting",
             "A thousand runs together"),
    *reasons("cost.md", "go test -run Calibrat ./account/... holds multipliers to the accountant",
             "What subsampling costs"),
    *reasons("cost.md", "go test ./budget/... repeats the faults, at every change", "Faults"),
    Reason("inference.md", "Coverage", 1, VARIANTS),
    Reason("inference.md", "Joint tests", None, "go test ./lab/coverage -run TestJointLong makes it, in hours"),
    Reason("inference.md", "Rare levels and many numbers", None, "go test ./lab/coverage -run TestLong -long.out FILE makes it, in hours"),
    Reason("inference.md", "Curves where the loss is little curved", None, "go test ./lab/coverage -run TestHatsLong makes it, in an hour"),
    Reason("inference.md", "Checks of fit", None, "go test ./lab/coverage -run TestChecksLong makes it, in hours"),
    *reasons("inference.md", VARIANTS, "Where the last curvature is released"),
    *[
        Reason("inference.md", f"{table}, epsilon {epsilon}, n = {n}", None, ONE_FIT)
        for table, n in (
            ("Adult, numbers and sex, logistic", 32561), ("Adult, logistic", 32561), ("diamonds, squared(0.5)", 53940),
            ("CPS 1988, squared(0.5)", 28155), ("flights, logistic", 352814))
        for epsilon in (1, 4)
    ],
    *reasons("outcome.md", VARIANTS, "Losses with kinks at much budget", "From which N radii fall"),
    *reasons("outcome.md", BEFORE, "Centring, and what a direction is worth"),
    *reasons("outcome.md", "printed by a test whose seeds are fixed", "Simulated verdicts and decisions"),
    *reasons("outcome.md", PEERS, "Beside diffprivlib and Opacus", "Rare outcomes, and counts over wide exposures",
             "Were the verdicts true?", "Eight tables that nobody had measured"),
    Reason("outcome.md", "Calibration of rare classes", None, "lab/results/calibration.py makes it, with tables of other packages"),
    Reason("outcome.md", "Calibration of counts", None, "lab/results/calibration.py makes it, with tables of other packages"),
    Reason("planner.md", "The planner against hindsight", 0, "of rules of before"),
    Reason("planner.md", "Forecasts, by algorithm", 0, "lab/results/forecasts.py makes it of the runs of the other pages"),
    Printed("planner.md", "A million records",
            GO.replace("100m", "0") + "-run 'TestBatches$' ./lab/experiment -records 1000000 -slacks 0.3,1,3 -seeds 3 "
            "-families tanh,logistic+nonconvex,huber-mean", [0, 1, 2, 3, 4], {i: i for i in range(5, 12)},
            dict.fromkeys(range(7, 11), 0.02)),
    Reason("python.md", "", None,
           "of other packages, readers and times of one machine; python/test.sh repeats the agreements"),
    Reason("speed.md", "", None, TIME),
]
