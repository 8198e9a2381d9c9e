"""Small tables of generated people, models of every kind, and the command."""

import csv
import json
import random
import re
import signal
from datetime import datetime, timezone
from pathlib import Path

import pytest

from stillpoint._command import run

try:
    import hypothesis

    # The same cells each time, so that a failure is repeated by running the test again;
    # --hypothesis-profile=long tries others, and more.
    same = {"database": None, "deadline": None, "suppress_health_check": list(hypothesis.HealthCheck)}
    hypothesis.settings.register_profile("default", derandomize=True, max_examples=150, **same)
    hypothesis.settings.register_profile("long", max_examples=10_000, **same)
    hypothesis.settings.load_profile("default")
except ImportError:
    pass

# A process that a script starts in the background ignores interrupts, and so do its children.
signal.signal(signal.SIGINT, signal.default_int_handler)

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent.parent / "examples"

# Losses of each kind, and the number of classes that each predicts, 0 for a number.
LOSSES = {
    "logistic": 2, "sigmoid": 2, "tanh": 2, "smoothed-hinge(0.5)": 2, "softmax": 3,
    "huber(0.1)": 0, "squared(1)": 0, "welsch(0.5)": 0, "geman-mcclure(0.5)": 0, "tukey(0.5)": 0,
    "ordered": 3, "gamma(3)": 0, "negbinomial(2,5)": 0, "tweedie(1.5,5,20)": 0, "absolute": 0, "pinball(0.3)": 0, "hinge": 2, "network(5,tanh,logistic)": 2, "network(4-3,relu,softmax)": 3,
}  # fmt: skip

WORDS = ["a b", "c'd", "é", "\\"]


def people(rows: int, classes: int, seed: int = 1) -> list[dict[str, str]]:
    """Rows of generated people; the first have odd cells."""
    coin = random.Random(seed)
    table = []
    odd = ["", "NaN", "-9", "17", "90", "16.99", "1e300", "-1e300", "inf", "-inf", "0", "1e-12", "89.99999999"]
    # None is a day that no calendar has, which ends a query of PostgreSQL.
    dates = ["", "?", "2020-02-02", "2020-02-29", "2018-12-31", "9999-12-31", "2020-02-28 18:30", "2020-02-28T18:30:59.9Z", "2020-02-28T01:30:00+05:45",
             " 2020-02-28T23:30-01:00 ", "28.02.2020", "2020-2-28", "seen", "20200228"]  # fmt: skip
    words = ["", "?", "other", " a b ", "A B", "\u00a0é\u2003", "e\u0301", *WORDS]
    for i in range(rows):
        age, gain = coin.uniform(10, 95), coin.choice([0.0, 10 ** coin.uniform(0, 6)])
        y = str(int(classes * coin.random() * age / 100)) if classes else repr(age * coin.random())
        table.append({
            "id": str(i),
            "age": odd[i] if i < len(odd) else repr(age),
            "gain": odd[-i] if i < len(odd) else repr(gain),
            "sex": "fmx"[i % 3],
            "work": words[i] if i < len(words) else coin.choice(words),
            "seen": dates[i] if i < len(dates) else f"20{coin.randrange(18, 27)}-{coin.randrange(1, 13):02}-{coin.randrange(1, 29):02}",
            "y": y,
        })  # fmt: skip
    return table


def configuration(loss: str, classes: int) -> dict:
    target = {"column": "y", "classes": [str(k) for k in range(classes)]} if classes else {"column": "y", "number": [1 if loss.startswith("gamma") else 0, 80]}
    return {
        "data": "people.csv",
        "schema": {
            "columns": {
                "id": "ignore",
                "age": {"number": [17, 90], "missing": "indicator", "curve": [17, 30, 45.5, 90]},
                "seen": {"date": ["2019-01-01", "2024-12-31"], "missing": "indicator", "curve": 4},
                "work": {"category": WORDS},
                "gain": {"number": [-0.5, 1e5], "transform": "log1p"},
                "sex": {"category": ["f", "m"]},
            },
            "interactions": [["sex", "work"], ["age", "work"], ["gain", "seen"]],
            "norm": 1.6,
            "target": target,
            "missing": ["", "?", "-9", "2020-02-02"],
        },
        "model": {"loss": loss},
        "privacy": {"epsilon": 50, "delta": 1e-6, "relation": "replace-one"},
        "train": {} if loss.startswith(("absolute", "pinball", "hinge")) else {"algorithm": "gd", "steps": 20},
    }


def write(folder: Path, loss: str, classes: int, rows: int = 400) -> Path:
    table = people(rows, classes)
    with open(folder / "people.csv", "w", newline="", encoding="utf-8") as file:
        lines = csv.DictWriter(file, table[0].keys(), lineterminator="\n")
        lines.writeheader()
        lines.writerows(table)
    path = folder / "people.yaml"
    path.write_text(json.dumps(configuration(loss, classes), ensure_ascii=False), encoding="utf-8")
    return path


@pytest.fixture(scope="session", params=LOSSES)
def fitted(request, tmp_path_factory):
    """A folder with people.csv and a model of one loss in fit/model.json."""
    folder = tmp_path_factory.mktemp("fitted")
    run(["fit", write(folder, request.param, LOSSES[request.param]), "--out", folder / "fit"])
    return folder


@pytest.fixture(scope="session")
def adult(tmp_path_factory):
    """The same of the Adult example, with a table for prediction."""
    folder = tmp_path_factory.mktemp("adult")
    run(["fit", EXAMPLES / "adult" / "adult.yaml", "--out", folder / "fit"])
    import gzip

    text = gzip.decompress((EXAMPLES / "adult" / "adult.csv.gz").read_bytes()).decode()
    lines = text.splitlines()
    head, rest = lines[0], lines[1:]
    numbered = ["id," + head, *(f"{i},{line}" for i, line in enumerate(rest))]
    (folder / "people.csv").write_text("\n".join(numbered) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def hashed(tmp_path_factory):
    """A model with a column of texts that no list names."""
    folder = tmp_path_factory.mktemp("hashed")
    path = write(folder, "logistic", 2)
    config = json.loads(path.read_text(encoding="utf-8"))
    config["schema"]["columns"]["work"] = {"hash": 50}
    del config["schema"]["interactions"]
    path.write_text(json.dumps(config), encoding="utf-8")
    run(["fit", path, "--out", folder / "fit"])
    return folder


def predicted(folder: Path) -> dict[str, list]:
    """What predict says of people.csv, margins included: columns of numbers, and class."""
    text = run(["predict", folder / "fit" / "model.json", folder / "people.csv", "--margin"])
    rows = list(csv.DictReader(text.splitlines()))
    return {name: [r[name] if name == "class" else float(r[name]) for r in rows] for name in rows[0]}


def cells(folder: Path) -> list[dict[str, str]]:
    with open(folder / "people.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def columns(folder: Path) -> list[dict]:
    """The schema's columns that are features."""
    schema = json.loads((folder / "fit" / "model.json").read_text(encoding="utf-8"))["schema"]
    return [c for c in schema["columns"] if c.keys() & {"number", "date", "category"}]


def days(cell: str) -> float | None:
    """A cell of a column of dates, as days since 1970; None where it is missing."""
    if not re.fullmatch(r"\d{4}-\d\d-\d\d([Tt ].*)?", cell):
        return None
    at = datetime.fromisoformat(cell)
    return (at if at.tzinfo else at.replace(tzinfo=timezone.utc)).timestamp() // 1 / 86400


def number(cell: str) -> float | None:
    """A cell of a column of numbers; None where it is missing."""
    try:
        x = float(cell)
    except ValueError:
        return None
    return None if x != x else x
