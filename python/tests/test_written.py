"""Predictions as Parquet and Arrow: what pyarrow and DuckDB read is what the CSV says, to the bit."""

import csv
import json

import pytest
from conftest import run

pyarrow = pytest.importorskip("pyarrow")
from pyarrow import feather, parquet

CLASSES = {"two": ["naïve", "🔵, blue"], "three": ["naïve", "🔵, blue", 'a "quote"']}


@pytest.mark.parametrize("rows", [0, 1, 70_000])
@pytest.mark.parametrize("kind", ["two", "three", "number"])
def test_written(kind, rows, tmp_path):
    number, two = kind == "number", kind == "two"
    target = {"number": [0, 10]} if number else {"classes": CLASSES[kind]}
    with open(tmp_path / "people.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["a", "b", "y"])
        for i in range(900):
            table.writerow([i % 11, i % 7, i % 10 if number else CLASSES[kind][i % 11 * len(CLASSES[kind]) // 11]])
    new = ["a,b", *("?" if i % 5 == 3 else f"{i % 1001 / 100},{i % 13}" for i in range(rows))]
    (tmp_path / "new.csv").write_text("\n".join(new) + "\n", encoding="utf-8")
    config = {
        "data": "people.csv",
        "schema": {"columns": {"a": {"number": [0, 10]}, "b": {"number": [0, 6]}}, "target": {"column": "y", **target}},
        "model": {"loss": "huber(0.1)" if number else "logistic" if two else "softmax", "family": "lines"},
        "privacy": {"epsilon": 8, "delta": 1e-5, "relation": "replace-one"},
        "train": {"compare": "off"},
    }
    if two:
        config["inference"] = {"level": 0.95}
    (tmp_path / "people.yaml").write_text(json.dumps(config), encoding="utf-8")
    run(["fit", tmp_path / "people.yaml", "--out", tmp_path / "fit"])
    for ending in ("csv", "parquet", "arrow", "feather"):
        flags = ["--margin", *(["--intervals"] if two else []), "--out", tmp_path / f"out.{ending}"]
        run(["predict", tmp_path / "fit" / "model.json", tmp_path / "new.csv", *flags])

    with open(tmp_path / "out.csv", newline="", encoding="utf-8") as file:
        head, *lines = csv.reader(file)
    assert len(lines) == rows
    want = [[None if c == "" else c if n == "class" else float(c) for n, c in zip(head, line)] for line in lines]
    read = parquet.read_table(tmp_path / "out.parquet", page_checksum_verification=True)
    arrow = feather.read_table(tmp_path / "out.arrow")
    for got in (read, arrow):
        got.validate(full=True)
        assert got.column_names == head
        assert got.schema.types == [pyarrow.string() if n == "class" else pyarrow.float64() for n in head]
        for i, column in enumerate(got.columns):
            assert column.to_pylist() == [line[i] for line in want]
    assert (tmp_path / "out.feather").read_bytes() == (tmp_path / "out.arrow").read_bytes()
    assert arrow.column(0).num_chunks == parquet.read_metadata(tmp_path / "out.parquet").num_row_groups == (rows + 65535) // 65536
    duckdb = pytest.importorskip("duckdb")
    found = duckdb.sql(f"SELECT * FROM '{tmp_path / 'out.parquet'}'")
    assert found.columns == head and found.fetchall() == [tuple(line) for line in want]
