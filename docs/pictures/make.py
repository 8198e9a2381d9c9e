#!/usr/bin/env python3
"""Makes the pictures of the README and of the pages, from fits of the example tables.

    python docs/pictures/make.py [--command stillpoint]

Each fit has noise of its own, so that the pictures differ a little every time. Charts are those of the HTML
reports, as they stand there; the one of predictions by age is drawn here. lab/results/price.py draws price.svg.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# Configurations stand in the tutorials. The page and the name of the file in it:
TUTORIALS = {"hours.yaml": "curves.md", "income.yaml": "intervals.md", "visits.yaml": "several-rows.md"}


def configuration(name: str) -> str:
    """A file as its tutorial has it."""
    page = (HERE.parent / "tutorials" / TUTORIALS[name]).read_text(encoding="utf-8")
    return re.search(rf"<!-- file: {re.escape(name)} -->\n+```yaml\n(.*?)```", page, re.S).group(1)


def chart(report: Path, title: str) -> str:
    """The chart under a title of a report."""
    page = report.read_text(encoding="utf-8")
    return re.search(rf"<h3>{re.escape(title)}[^<]*</h3>.*?(<svg.*?</svg>)", page, re.S).group(1) + "\n"


def lines(series: dict[str, list[tuple[float, float]]], across: str, up: str) -> str:
    """A chart of lines."""
    width, height, left, bottom, top = 760, 380, 60, 40, 40
    xs = [x for points in series.values() for x, _ in points]
    ys = [y for points in series.values() for _, y in points]
    low, high = 10 * (min(ys) // 10), 10 * (max(ys) // 10 + 1)
    x_of = lambda x: left + (x - min(xs)) / (max(xs) - min(xs)) * (width - left - 120)  # noqa: E731
    y_of = lambda y: height - bottom - (y - low) / (high - low) * (height - bottom - top)  # noqa: E731
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" font-family="sans-serif" font-size="13">',
             f"<title>{up} by {across}</title>", f'<rect width="{width}" height="{height}" fill="#fff"/>']
    for y in range(int(low), int(high) + 1, 10):
        parts.append(f'<line x1="{left}" x2="{width - 120}" y1="{y_of(y):.1f}" y2="{y_of(y):.1f}" stroke="#e3e6ea"/>'
                     f'<text x="{left - 8}" y="{y_of(y) + 4:.1f}" text-anchor="end" fill="#59616b">{y}</text>')
    for x in range(int(min(xs)) // 10 * 10 + 10, int(max(xs)) + 1, 10):
        parts.append(f'<text x="{x_of(x):.1f}" y="{height - bottom + 18}" text-anchor="middle" fill="#59616b">{x}</text>')
    for (name, points), colour in zip(series.items(), ("#0072b2", "#d55e00")):
        path = " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>'
                     f'<text x="{width - 112}" y="{y_of(points[-1][1]) + 4:.1f}" fill="{colour}">{name}</text>')
    parts.append(f'<text x="{(left + width - 120) / 2}" y="{height - 4}" text-anchor="middle" fill="#1c1f23">{across}</text>'
                 f'<text x="8" y="14" fill="#1c1f23">{up}</text></svg>\n')
    return "\n".join(parts)


def bar(shares: list[float]) -> str:
    """A cap as a bar, with the share that each run has spent of it."""
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 90" role="img" font-family="sans-serif" font-size="13">',
             "<title>Spent of the cap, run by run</title>", '<rect width="760" height="90" fill="#fff"/>',
             '<rect x="20" y="20" width="680" height="34" fill="#f0f2f4" stroke="#59616b" stroke-dasharray="6 4"/>']
    at = 20.0
    for i, share in enumerate(shares):
        parts.append(f'<rect x="{at:.1f}" y="20" width="{680 * share:.1f}" height="34" fill="{("#0072b2", "#56b4e9")[i % 2]}"/>'
                     f'<text x="{at + 340 * share:.1f}" y="74" text-anchor="middle" fill="#1c1f23">run {i + 1}: {share:.1%}</text>')
        at += 680 * share
    parts.append(f'<text x="{(at + 700) / 2:.1f}" y="74" text-anchor="middle" fill="#59616b">left: {1 - sum(shares):.1%}</text></svg>')
    return "\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", default="stillpoint")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (work / "examples").symlink_to(ROOT / "examples")

        def run(*words: str) -> str:
            return subprocess.run([given.command, *words], cwd=work, check=True, capture_output=True, text=True).stdout

        run("fit", "examples/adult/adult.yaml", "--out", "adult-fit")
        run("report", "adult-fit")
        report = work / "adult-fit" / "report.html"
        (HERE / "attack.svg").write_text(chart(report, "What the best attack"), encoding="utf-8")
        (HERE / "coefficients.svg").write_text(chart(report, "The 20 largest"), encoding="utf-8")

        (work / "income.yaml").write_text(configuration("income.yaml"), encoding="utf-8")
        run("fit", "income.yaml", "--out", "income-fit")
        run("report", "income-fit")
        (HERE / "intervals.svg").write_text(chart(work / "income-fit" / "report.html", "Effects"), encoding="utf-8")

        text = configuration("hours.yaml")
        for name, of in (("curves", text), ("lines", text.replace(", curve: auto", ""))):
            (work / f"{name}.yaml").write_text(of, encoding="utf-8")
            run("fit", f"{name}.yaml", "--out", f"{name}-fit")
        ages = range(17, 76)
        with open(work / "ages.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["age", "education_num", "sex"], *([a, 10, "Female"] for a in ages)])
        series = {}
        for name in ("curves", "lines"):
            said = run("predict", f"{name}-fit/model.json", "ages.csv").split()[1:]
            series[f"with {name}"] = [(a, float(y)) for a, y in zip(ages, said)]
        (HERE / "hours.svg").write_text(lines(series, "age", "hours a week"), encoding="utf-8")

        (work / "visits.yaml").write_text(configuration("visits.yaml"), encoding="utf-8")
        page = (HERE.parent / "tutorials" / TUTORIALS["visits.yaml"]).read_text(encoding="utf-8")
        for made in (re.search(r"\$ (awk .*?)\$ head", page, re.S), re.search(r"\$ (stillpoint budget create .*)", page)):
            subprocess.run(["bash", "-c", made.group(1).replace("stillpoint", given.command, 1)], cwd=work, check=True, capture_output=True)
        run("fit", "visits.yaml")
        run("fit", "visits.yaml")
        said = json.loads(run("budget", "show", "visits-2026", "--store", "sqlite:budgets.db", "--json"))
        (HERE / "cap.svg").write_text(bar([r["charged"]["charge"] / said["charge"] for r in said["runs"]]), encoding="utf-8")
        run("report", "visits-fit")
        charged = chart(work / "visits-fit" / "report.html", "Charged to a")
        (HERE / "charges.svg").write_text(charged, encoding="utf-8")


if __name__ == "__main__":
    main()
