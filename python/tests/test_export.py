"""What is exported predicts what the command does, in the systems it is for."""

import csv
import glob
import json
import os
import shutil
import sqlite3
import subprocess
from datetime import datetime, timezone

import pytest
from conftest import cells, columns, days, number, predicted, write

from stillpoint._command import run

ONNX, SQL, SINGLE = 1e-12, 1e-7, 2e-4


def agree(got: dict, want: dict, tolerance: float) -> None:
    for name, values in want.items():
        if name.startswith("margin") and name not in got:
            continue
        assert len(got[name]) == len(values)
        if name == "class":
            assert list(got[name]) == values
            continue
        worst = max(abs(a - b) / max(1, abs(b)) for a, b in zip(got[name], values))
        print(f"{name}: {worst:.2g}")
        assert worst <= tolerance, name


def test_onnx(fitted):
    onnx_agrees(fitted)


def test_onnx_adult(adult):
    onnx_agrees(adult)


def onnx_agrees(folder):
    numpy = pytest.importorskip("numpy")
    runtime = pytest.importorskip("onnxruntime")
    run(["export", folder / "fit" / "model.json", "--onnx", folder / "m.onnx"])
    try:
        import onnx

        onnx.checker.check_model(onnx.load(folder / "m.onnx"), full_check=True)
    except ImportError:
        pass
    session = runtime.InferenceSession(str(folder / "m.onnx"), providers=["CPUExecutionProvider"])
    table, inputs = cells(folder), {}
    for c in columns(folder):
        texts = [row[c["name"]].strip() for row in table]
        if "category" not in c:
            read = days if "date" in c else number
            values = [x if (x := read(t)) is not None else float("nan") for t in texts]
            inputs[c["name"]] = numpy.array(values, dtype=numpy.float64).reshape(-1, 1)
        else:
            inputs[c["name"]] = numpy.array(texts, dtype=object).reshape(-1, 1)
    outputs = dict(zip([o.name for o in session.get_outputs()], session.run(None, inputs)))
    want, got = predicted(folder), {}
    for name in want:
        base, _, label = name.partition("=")
        among = [n for n in want if n.partition("=")[0] == base]
        got[name] = outputs[base][:, among.index(name)].tolist()
    agree(got, want, ONNX)
    numbers = [c["name"] for c in columns(folder) if "category" not in c]
    for flags, digits in (["--matrix"], ONNX), (["--float32"], SINGLE), (["--matrix", "--float32"], SINGLE):
        form_agrees(folder, flags, digits, numbers, inputs, outputs)


def form_agrees(folder, flags, digits, numbers, inputs, outputs):
    """A graph of another form gives the outputs of the first."""
    import numpy
    import onnxruntime

    run(["export", folder / "fit" / "model.json", "--onnx", folder / "other.onnx", *flags])
    session = onnxruntime.InferenceSession(str(folder / "other.onnx"), providers=["CPUExecutionProvider"])
    inputs = dict(inputs)
    if "--float32" in flags:
        with numpy.errstate(over="ignore"):
            inputs.update((n, inputs[n].astype(numpy.float32)) for n in numbers)
    if "--matrix" in flags:
        assert json.loads(session.get_modelmeta().custom_metadata_map["numbers"]) == numbers
        inputs["numbers"] = numpy.hstack([inputs.pop(n) for n in numbers])
    for output, values in zip(session.get_outputs(), session.run(None, inputs)):
        want = outputs[output.name]
        if want.dtype == object:
            margins = numpy.abs(outputs["margin"]) if outputs["margin"].shape[1] == 1 else None
            clear = numpy.ones(len(want), bool) if margins is None else margins[:, 0] > digits
            assert (values[clear] == want[clear]).all()
            continue
        worst = (numpy.abs(values - want) / numpy.maximum(1, numpy.abs(want))).max()
        print(f"{flags} {output.name}: {worst:.2g}")
        assert worst <= digits, output.name


def query(folder, dialect, name="people", keep="id"):
    return run(["export", folder / "fit" / "model.json", "--sql", dialect, "--table", name, "--keep", keep])


def by_id(rows, names):
    """Result rows as columns, in the order of the table."""
    rows = sorted(rows, key=lambda r: int(r[0]))
    return {n: [r[i] if n == "class" else float(r[i]) for r in rows] for i, n in enumerate(names) if n != "id"}


def test_duckdb(fitted):
    duckdb_agrees(fitted)


def test_duckdb_adult(adult):
    duckdb_agrees(adult)


def test_duckdb_hashed(hashed):
    duckdb_agrees(hashed)


def duckdb_agrees(folder):
    duckdb = pytest.importorskip("duckdb")
    db = duckdb.connect()
    # As text and as numbers: the query reads both.
    db.execute(f"create table people as select * from read_csv('{folder / 'people.csv'}', all_varchar=true)")
    result = db.execute(query(folder, "duckdb"))
    agree(by_id(result.fetchall(), [d[0] for d in result.description]), predicted(folder), SQL)


def test_duckdb_reads_times_with_a_zone(fitted):
    """As text they have an offset of hours alone, +00."""
    duckdb = pytest.importorskip("duckdb")
    dates = {c["name"] for c in columns(fitted) if "date" in c}
    table = cells(fitted)
    assert dates and any(days(row[n].strip()) for row in table for n in dates)

    def time(cell):
        at = days(cell.strip())
        return None if at is None else datetime.fromtimestamp(at * 86400, timezone.utc)

    db = duckdb.connect()
    db.execute("set timezone = 'UTC'")
    db.execute("create table people (" + ", ".join(f'"{n}" {"timestamptz" if n in dates else "varchar"}' for n in table[0]) + ")")
    db.executemany(
        f"insert into people values ({', '.join('?' for _ in table[0])})",
        [[time(v) if n in dates else v for n, v in row.items()] for row in table],
    )
    result = db.execute(query(fitted, "duckdb"))
    agree(by_id(result.fetchall(), [d[0] for d in result.description]), predicted(fitted), SQL)


def test_sqlite(fitted):
    sqlite_agrees(fitted)


def test_sqlite_adult(adult):
    sqlite_agrees(adult)


def test_sqlite_hashed(hashed):
    sqlite_agrees(hashed)


def sqlite_agrees(folder):
    db = sqlite3.connect(":memory:")
    try:
        db.execute("select exp(1), ln(1), sqrt(1)")
    except sqlite3.OperationalError:
        pytest.skip("this SQLite was built without its mathematical functions")
    table = cells(folder)
    names = list(table[0])
    db.execute("create table people (" + ", ".join(f'"{n}"' for n in names) + ")")
    marks = ", ".join("?" for _ in names)
    db.executemany(f"insert into people values ({marks})", [[infinite(row[n]) for n in names] for row in table])
    result = db.execute(query(folder, "sqlite"))
    agree(by_id(result.fetchall(), [d[0] for d in result.description]), predicted(folder), SQL)


def infinite(cell):
    """SQLite has no text for an infinity."""
    return float(cell) if cell in ("inf", "-inf") else cell


@pytest.fixture(scope="session")
def postgres(tmp_path_factory):
    """A server of its own on a socket, if there is one installed."""
    tools = sorted(glob.glob("/usr/lib/postgresql/*/bin")) or [os.path.dirname(shutil.which("initdb") or "")]
    tools = tools[-1]
    if not os.path.exists(os.path.join(tools, "initdb")):
        pytest.skip("no PostgreSQL server is installed")
    folder = tmp_path_factory.mktemp("postgres")
    as_user = []
    if os.name == "posix" and os.geteuid() == 0:  # which the server refuses to be
        as_user = ["runuser", "-u", "postgres", "--"]
        for path in [folder, *folder.parents]:
            if path.owner() == "root" and str(path).startswith("/tmp/") and path != path.parent:
                path.chmod(0o755)
        shutil.chown(folder, "postgres")

    def tool(name, *arguments, **options):
        return subprocess.run([*as_user, os.path.join(tools, name), *arguments], check=True, text=True, cwd="/", **options)

    data = str(folder / "data")
    tool("initdb", "-D", data, "-A", "trust", "-E", "UTF8", "--no-locale", stdout=subprocess.DEVNULL)
    started = ["-D", data, "-w", "-o", f"-k {folder} -c listen_addresses='' -c fsync=off", "-l", data + "/log"]
    tool("pg_ctl", *started, "start", stdout=subprocess.DEVNULL)

    def ask(text):
        return tool("psql", "-h", str(folder), "-d", "postgres", "-q", "-v", "ON_ERROR_STOP=1", "--csv", input=text, capture_output=True).stdout

    yield ask
    tool("pg_ctl", "-D", data, "-m", "immediate", "stop", stdout=subprocess.DEVNULL)


def test_postgresql(fitted, postgres):
    postgresql_agrees(fitted, postgres)


def test_postgresql_adult(adult, postgres):
    postgresql_agrees(adult, postgres)


def test_postgresql_hashed(hashed, postgres):
    postgresql_agrees(hashed, postgres)


def postgresql_agrees(folder, postgres):
    import csv

    table = cells(folder)
    kinds = {c["name"]: "double precision" for c in columns(folder) if "number" in c}
    lines = ["drop table if exists people;"]
    lines.append("create table people (" + ", ".join(f'"{n}" {kinds.get(n, "text")}' for n in table[0]) + ");")
    lines.append("copy people from stdin;")
    for row in table:
        texts = []
        for name, cell in row.items():
            x = number(cell) if name in kinds else cell
            texts.append("\\N" if x is None else str(x).replace("\\", "\\\\"))
        lines.append("\t".join(texts))
    lines.append("\\.")
    rows = list(csv.reader(postgres("\n".join(lines) + "\n" + query(folder, "postgresql") + ";\n").splitlines()))
    agree(by_id(rows[1:], rows[0]), predicted(folder), SQL)


HOSTILE = {"age": 'a"ge\\', "gain": "select -- x", "sex": "_c0", "work": "'; /* y", "seen": "%s {0} `é", "id": '_i"d'}
LEVELS = ["a'b", "x\\", "line\nend", "-- x", "'); drop table people --", "é", "e\u0301", "\u200b", '"', "' || chr(10) || '"]


@pytest.fixture(scope="session")
def hostile(tmp_path_factory):
    """The same with names and levels that end quotes and begin comments."""
    folder = tmp_path_factory.mktemp("hostile")
    path = write(folder, "softmax", 3)
    config = json.loads(path.read_text(encoding="utf-8"))
    schema = config["schema"]
    schema["columns"] = {HOSTILE[name]: facts for name, facts in schema["columns"].items()}
    schema["interactions"] = [[HOSTILE[name] for name in pair] for pair in schema["interactions"]]
    schema["columns"][HOSTILE["work"]] = {"category": LEVELS}
    classes = ['n"o\\', "y'es", "c`--"]
    schema["target"]["classes"] = classes
    path.write_text(json.dumps(config, ensure_ascii=False), encoding="utf-8")
    table = [{HOSTILE.get(name, name): cell for name, cell in row.items()} for row in cells(folder)]
    for i, row in enumerate(table):
        row[HOSTILE["work"]], row["y"] = [*LEVELS, "other", ""][i % 12], classes[int(row["y"])]
    with open(folder / "people.csv", "w", newline="", encoding="utf-8") as file:
        lines = csv.DictWriter(file, table[0].keys(), lineterminator="\n")
        lines.writeheader()
        lines.writerows(table)
    run(["fit", path, "--out", folder / "fit"])
    return folder


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgresql"])
def test_hostile_names(dialect, hostile, request):
    quoted = lambda name: '"' + name.replace('"', '""') + '"'
    table, source = cells(hostile), 'p"eople'
    names = list(table[0])
    kinds = {c["name"]: "double precision" for c in columns(hostile) if "number" in c} if dialect == "postgresql" else {}
    create = f"create table {quoted(source)} (" + ", ".join(f"{quoted(n)} {kinds.get(n, 'text')}" for n in names) + ")"
    text = query(hostile, dialect, quoted(source), HOSTILE["id"])
    if dialect == "postgresql":
        literal = lambda cell: "null" if cell is None else "'" + str(cell).replace("'", "''") + "'"
        rows = ",\n".join("(" + ", ".join(literal(number(row[n]) if n in kinds else row[n]) for n in names) + ")" for row in table)
        insert = f"drop table if exists {quoted(source)};\n{create};\ninsert into {quoted(source)} values {rows};\n"
        header, *result = csv.reader(request.getfixturevalue("postgres")(insert + text + ";\n").splitlines())
    else:
        db = sqlite3.connect(":memory:") if dialect == "sqlite" else pytest.importorskip("duckdb").connect()
        db.execute(create)
        insert = f"insert into {quoted(source)} values ({', '.join('?' for _ in names)})"
        db.executemany(insert, [[infinite(row[n]) if dialect == "sqlite" else row[n] for n in names] for row in table])
        done = db.execute(text)
        result, header = done.fetchall(), [d[0] for d in done.description]
    assert header == [HOSTILE["id"], "probability=n\"o\\", "probability=y'es", "probability=c`--", "class"]
    agree(by_id(result, ["id", *header[1:]]), predicted(hostile), SQL)


def test_onnx_hostile_names(hostile):
    onnx_agrees(hostile)


def test_duckdb_reads_odd_numbers(tmp_path):
    """Each text that some program reads as a number: DuckDB and predict agree, or neither reads it."""
    duckdb = pytest.importorskip("duckdb")
    odd = ["0x1p4", "0X1P4", "0x10", "inf", "+inf", "-inf", "Infinity", "-INFINITY", "nan", "1_0", "1_000", "0x_1p4", "1e400", "-1e400",
           "1e-400", ".5", "5.", "+5", " 5 ", "1e1", "1E+1", "1e", ".", "1d", "1f", "0b11", "1 0", "--1", "5%", "x", "_"]  # fmt: skip
    run(["fit", write(tmp_path, "huber(0.1)", 0), "--out", tmp_path / "fit"])
    table = cells(tmp_path)[: len(odd)]
    for row, text in zip(table, odd):
        row["age"], row["gain"] = text, text
    with open(tmp_path / "people.csv", "w", newline="", encoding="utf-8") as file:
        lines = csv.DictWriter(file, table[0].keys(), lineterminator="\n")
        lines.writeheader()
        lines.writerows(table)
    con = duckdb.connect()
    con.execute("create table people as select * from read_csv(?, all_varchar=true, header=true)", [str(tmp_path / "people.csv")])
    result = con.execute(query(tmp_path, "duckdb"))
    agree(by_id(result.fetchall(), [d[0] for d in result.description]), predicted(tmp_path), SQL)
